"""Which authorization server a server trusts, and how that is spoken to (RFC 9728, RFC 8414).

MCP specification, "Authorization": authorization server location, authorization server metadata discovery;
for servers of revision 2025-03-26, which name none, that revision's fallbacks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    extract_field_from_www_auth,
    issuers_match,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import ValidationError

from mcphost.oauth.web import Answer, Trouble, Web, host
from mcphost.specs import AuthSpec


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a server that refuses a request says about the authorization it wants.

    `step_up`: it has had a token, which does not cover the request. `scope`: what would, if it says so.
    `metadata_url`: where it describes itself.
    """

    step_up: bool = False
    scope: str | None = None
    metadata_url: str | None = None

    @classmethod
    def of(cls, response: httpx2.Response) -> Self | None:
        """The challenge in an answer; None where it is none (RFC 6750, section 3)."""
        missing = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        if response.status_code != 401 and not (response.status_code == 403 and missing):
            return None
        return cls(
            step_up=response.status_code == 403,
            scope=extract_field_from_www_auth(response, "scope"),
            metadata_url=extract_field_from_www_auth(response, "resource_metadata"),
        )


@dataclass(frozen=True, slots=True)
class Authority:
    """An authorization server. `resource` is what tokens for our server are asked for (RFC 8707; None for a
    server that does not describe itself), `scopes` what the server says there are. `described`: it has told
    its metadata itself, which else are our configuration, or the defaults."""

    metadata: OAuthMetadata
    resource: str | None = None
    scopes: tuple[str, ...] = ()
    described: bool = True

    @property
    def issuer(self) -> str:
        return str(self.metadata.issuer)


async def discover(web: Web, server_url: str, auth: AuthSpec, challenge: Challenge) -> Authority:
    """The authorization server to ask. Raises `Trouble`."""
    resource = await _resource(web, server_url, challenge)
    scopes = tuple(resource.scopes_supported or ()) if resource is not None else ()
    name = str(resource.resource) if resource is not None else None
    described = auth.token_url is None
    if auth.token_url is not None:
        metadata = _configured(auth)
    elif auth.metadata_url is not None:
        metadata = await _first_metadata(web, [auth.metadata_url], auth.issuer)
    else:
        issuer = _issuer(auth, [str(url) for url in resource.authorization_servers] if resource else [])
        expected = issuer or _origin(server_url)
        urls = build_oauth_authorization_server_metadata_discovery_urls(issuer, server_url)
        metadata = await _first_metadata(web, urls, expected)
        if metadata is None and issuer is None:
            metadata, described = _by_default(expected), False
    if metadata is None:
        raise Trouble("its authorization server does not describe itself (RFC 8414) where it should")
    return Authority(metadata, name, scopes, described)


async def _resource(web: Web, server_url: str, challenge: Challenge) -> ProtectedResourceMetadata | None:
    """How the server describes itself (RFC 9728); None where it does not."""
    failing: Answer | None = None
    for url in build_protected_resource_metadata_discovery_urls(challenge.metadata_url, server_url):
        answer = await web.get(url)
        if answer.failing:
            failing = answer
        try:
            found = ProtectedResourceMetadata.model_validate(answer.data) if answer.ok else None
        except ValidationError:
            continue
        if found is not None:
            ours = resource_url_from_server_url(server_url)
            if not check_resource_allowed(requested_resource=ours, configured_resource=str(found.resource)):
                raise Trouble(f"it describes itself as another server, {found.resource}, and is not trusted")
            return found
    if failing is not None:  # that says nothing about whether there is such a description
        raise Trouble(f"{host(server_url)} cannot describe itself now: HTTP {failing.status}", passing=True)
    return None


def _issuer(auth: AuthSpec, named: Iterable[str]) -> str | None:
    """The issuer to ask, of those that the server names: the configured one, else the first."""
    named = list(named)
    if auth.issuer is None:
        return next(iter(named), None)
    if named and not any(issuers_match(each, auth.issuer) for each in named):
        hint = "If that is right, change or drop `issuer` in its `auth`."
        raise Trouble(
            f"it names other authorization servers than {auth.issuer}: {', '.join(named)}", hint=hint
        )
    return auth.issuer


async def _first_metadata(web: Web, urls: Iterable[str], issuer: str | None) -> OAuthMetadata | None:
    """The metadata of `issuer`, from the first of `urls` that has any."""
    for url in urls:
        answer = await web.get(url)
        if answer.failing:
            raise Trouble(f"{host(url)} cannot describe itself now: HTTP {answer.status}", passing=True)
        metadata = parse_metadata(answer.data) if answer.ok else None
        if metadata is None:
            continue
        if issuer is not None and not issuers_match(str(metadata.issuer), issuer):
            raise Trouble(f"{host(url)} speaks for {metadata.issuer}, not for {issuer}, and is not trusted")
        return metadata
    return None


def parse_metadata(data: Mapping[str, Any]) -> OAuthMetadata | None:
    """Metadata of an authorization server. One that no person visits has no page (RFC 8414, section 2)."""
    try:
        return OAuthMetadata.model_validate({"authorization_endpoint": data.get("token_endpoint"), **data})
    except ValidationError:
        return None


def _configured(auth: AuthSpec) -> OAuthMetadata:
    token_url = auth.token_url or ""
    return _metadata(
        issuer=auth.issuer or _origin(token_url),
        authorization_endpoint=auth.authorization_url or token_url,
        token_endpoint=token_url,
    )


def _by_default(origin: str) -> OAuthMetadata:
    """MCP specification 2025-03-26, "Authorization", section 2.3.3."""
    return _metadata(
        issuer=origin,
        authorization_endpoint=f"{origin}/authorize",
        token_endpoint=f"{origin}/token",
        registration_endpoint=f"{origin}/register",
    )


def _metadata(**data: Any) -> OAuthMetadata:
    return OAuthMetadata.model_validate({**data, "code_challenge_methods_supported": ["S256"]})


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
