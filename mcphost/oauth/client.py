"""Who we are to an authorization server, and how that is proved to it."""

import base64
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import anyio
from mcp.client.auth.utils import is_valid_client_metadata_url, issuers_match
from mcp.shared.auth import OAuthClientMetadata
from pydantic import ValidationError

from mcphost import __version__
from mcphost.oauth.discovery import Authority, parse_metadata
from mcphost.oauth.store import Login
from mcphost.oauth.web import Refused, Trouble, Web, host
from mcphost.specs import AuthSpec

Client = Mapping[str, Any]
"""A client as RFC 7591 has it: `client_id`, perhaps `client_secret` and `token_endpoint_auth_method`."""

_KNOWN: Final = ("client_secret_basic", "client_secret_post", "none")
_SIGNED: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def remembered(login: Login) -> Authority | None:
    """The authorization server that a login came from, as it described itself then."""
    metadata = parse_metadata(login.metadata)
    return Authority(metadata, login.resource) if metadata is not None else None


async def configured(auth: AuthSpec) -> Client | None:
    """The client that the configuration names."""
    if auth.client_id is None:
        return None
    secret = await secret_text(auth.client_secret)
    return {"client_id": auth.client_id} | ({"client_secret": secret} if secret else {})


async def introduced(
    web: Web, authority: Authority, auth: AuthSpec, stored: Client, *, redirect_uri: str, scope: str | None
) -> Client:
    """Who we are when a person is to be sent to `redirect_uri` again: as configured, by our own document, or
    as registered, before or now. Raises `Trouble`."""
    client = await configured(auth)
    if client is not None:
        return client
    by_document = authority.metadata.client_id_metadata_document_supported and auth.client_metadata_url
    if by_document:
        if not is_valid_client_metadata_url(by_document):
            raise Trouble("client_metadata_url must begin with https:// and have a path")
        return {"client_id": by_document, "token_endpoint_auth_method": "none"}
    if is_good(stored, authority, redirect_uri):
        return stored
    return await _registered(web, authority, redirect_uri, scope)


def is_good(client: Client, authority: Authority, redirect_uri: str | None) -> bool:
    """Whether a registration may still be used: with this authorization server (SEP-2352), this address to
    come back to, and a secret that is not over."""
    until = client.get("client_secret_expires_at") or 0
    return (
        bool(client.get("client_id"))
        and issuers_match(str(client.get("issuer")), authority.issuer)
        and (redirect_uri is None or redirect_uri in client.get("redirect_uris", ()))
        and not (isinstance(until, int | float) and 0 < until < time.time())
    )


async def _registered(web: Web, authority: Authority, redirect_uri: str, scope: str | None) -> Client:
    """Dynamic client registration (RFC 7591)."""
    where = authority.metadata.registration_endpoint
    by_hand = f"Register a client with {authority.issuer}, and give its id in the server's entry: "
    by_hand += '"auth": {"client_id": "…"}.'
    if where is None:
        raise Trouble(f"{host(authority.issuer)} registers no clients by itself", hint=by_hand)
    asked = _about_us(redirect_uri, scope, _preferred(authority))
    answer = await web.post(str(where), body=asked)
    if not answer.ok:
        if not authority.described and answer.status in (401, 403, 404, 405):
            own = 'If it has tokens of its own, give it one: "headers": {"Authorization": "Bearer ${TOKEN}"}.'
            raise Trouble("it says nothing of an authorization server", hint=own)
        refused = Refused("registration", *answer.error)
        raise Trouble(refused.reason, hint=None if answer.failing else by_hand, passing=answer.failing)
    given = {key: value for key, value in answer.data.items() if value not in (None, "")}
    method = given.get("token_endpoint_auth_method")
    if not isinstance(given.get("client_id"), str):
        raise Trouble("the registration's answer names no client_id")
    if method not in (None, *_KNOWN):
        raise Trouble(f"it registered us to prove ourselves by {method!r}, which cannot be done here")
    if method in _KNOWN[:2] and "client_secret" not in given:
        raise Trouble(f"it registered us for {method}, and gave no secret for it")
    return {"redirect_uris": [redirect_uri], **given, "issuer": authority.issuer}


def _about_us(redirect_uri: str, scope: str | None, method: Any) -> dict[str, Any]:
    try:
        metadata = OAuthClientMetadata.model_validate(
            {
                "client_name": "mcphost",
                "software_id": "mcphost",
                "software_version": __version__,
                "redirect_uris": [redirect_uri],
                "grant_types": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_method": method,
                "scope": scope,
            }
        )
    except ValidationError as exc:
        raise Trouble(f"nothing can be received at {redirect_uri}") from exc
    return metadata.model_dump(by_alias=True, mode="json", exclude_none=True)


def _preferred(authority: Authority) -> str | None:
    """How a client that can keep no secret proves itself: not at all, where the server allows that."""
    offered = authority.metadata.token_endpoint_auth_methods_supported
    if offered is None:
        return None
    return next((method for method in ("none", *_KNOWN[:2]) if method in offered), None)


async def proof(
    client: Client, authority: Authority, auth: AuthSpec
) -> tuple[dict[str, str], dict[str, str]]:
    """What of a form, and which headers, prove to the token endpoint who we are."""
    client_id, secret = str(client["client_id"]), client.get("client_secret")
    if auth.private_key is not None:
        return {**await _assertion(client_id, authority, auth), "client_id": client_id}, {}
    method = auth.client_auth or client.get("token_endpoint_auth_method")
    if method not in _KNOWN:
        method = _by_secret(authority) if secret else "none"
    if method == "none" or not secret:
        return {"client_id": client_id}, {}
    if method == "client_secret_post":
        return {"client_id": client_id, "client_secret": str(secret)}, {}
    both = f"{quote(client_id, safe='')}:{quote(str(secret), safe='')}"
    return {}, {"Authorization": "Basic " + base64.b64encode(both.encode()).decode()}


def _by_secret(authority: Authority) -> str:
    """RFC 8414, section 2: a server that lists nothing takes `client_secret_basic`."""
    offered = authority.metadata.token_endpoint_auth_methods_supported or _KNOWN[:1]
    return next((method for method in _KNOWN[:2] if method in offered), _KNOWN[0])


async def _assertion(client_id: str, authority: Authority, auth: AuthSpec) -> dict[str, str]:
    """A JWT that we sign (RFC 7523, section 2.2), for nobody but the issuer."""
    # cryptography is slow to import: only who signs needs it
    from jwt import PyJWTError
    from mcp.client.auth.extensions.client_credentials import SignedJWTParameters

    key = await secret_text(auth.private_key) or ""
    signed = SignedJWTParameters(
        issuer=client_id, subject=client_id, signing_key=key, signing_algorithm=auth.algorithm
    )
    try:
        assertion = await signed.create_assertion_provider()(authority.issuer)
    except (PyJWTError, ValueError, TypeError, NotImplementedError) as exc:
        reason = f"its private_key cannot sign with {auth.algorithm}: {type(exc).__name__}"
        raise Trouble(reason, hint="It is a key in PEM, or @ and the name of its file.") from exc
    return {"client_assertion_type": _SIGNED, "client_assertion": assertion}


async def secret_text(value: str | None) -> str | None:
    """A secret of the configuration; of a file, for `@` and its name. Raises `Trouble`."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return (await anyio.Path(value[1:]).read_text(encoding="utf-8-sig")).strip()
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or type(exc).__name__
        raise Trouble(f"{value[1:]}, which its auth names, cannot be read: {reason}") from exc
