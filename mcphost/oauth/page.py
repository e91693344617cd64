"""The authorization code grant: a person says yes on a page (RFC 6749, section 4.1; RFC 7636; RFC 9207)."""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthFlowError, PKCEParameters
from mcp.client.auth.utils import validate_authorization_response_iss

from mcphost.oauth.client import Client, introduced
from mcphost.oauth.discovery import Authority
from mcphost.oauth.grants import exchanged, with_query
from mcphost.oauth.store import Login
from mcphost.oauth.visitor import Visit, Visitor
from mcphost.oauth.web import Refused, Trouble, Web
from mcphost.specs import AuthSpec


@dataclass(frozen=True, slots=True)
class Asking:
    """What access is asked for with, once somebody can be asked. `held` is entered while that takes time."""

    web: Web
    authority: Authority
    auth: AuthSpec
    visitor: Visitor
    held: Callable[[], AbstractContextManager[None]]


async def granted(asking: Asking, login: Login, *, scope: str | None) -> Login:
    """`login` with the tokens for what a person has granted. Raises `Trouble`, and `NotVisited`.

    A registration that the authorization server does not know any more is renewed, once.
    """
    _check(asking)
    stored: Client = login.client
    async with asking.visitor.receiving(asking.auth.redirect_uri) as visit:
        while True:
            client = await introduced(
                asking.web,
                asking.authority,
                asking.auth,
                stored,
                redirect_uri=visit.redirect_uri,
                scope=scope,
            )
            try:
                return await _visited(asking, login, visit, client, scope)
            except Refused as exc:
                if exc.error != "invalid_client" or client is not stored:
                    raise
                stored = {}


def _check(asking: Asking) -> None:
    metadata = asking.authority.metadata
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise Trouble(
            f"{asking.authority.issuer} does not say that it protects logins against theft (PKCE with S256)",
            hint="MCP forbids going on. Its operator has to list code_challenge_methods_supported.",
        )
    if metadata.authorization_endpoint == metadata.token_endpoint:
        raise Trouble(f"{asking.authority.issuer} has no page on which access could be granted")
    asking.web.check(str(metadata.authorization_endpoint))


async def _visited(asking: Asking, login: Login, visit: Visit, client: Client, scope: str | None) -> Login:
    authority = asking.authority
    pkce = PKCEParameters.generate()
    state = secrets.token_urlsafe(32)
    asked = {
        "response_type": "code",
        "client_id": str(client["client_id"]),
        "redirect_uri": visit.redirect_uri,
        "state": state,
        "code_challenge": pkce.code_challenge,
        "code_challenge_method": "S256",
    }
    if authority.resource is not None:
        asked["resource"] = authority.resource
    if scope:
        asked["scope"] = scope
        if "offline_access" in scope.split():
            asked["prompt"] = "consent"  # OpenID Connect Core, section 11
    with asking.held():
        url = await visit.visit(with_query(str(authority.metadata.authorization_endpoint), asked))
    form = {
        "grant_type": "authorization_code",
        "code": code_of(url, state, authority),
        "redirect_uri": visit.redirect_uri,
        "code_verifier": pkce.code_verifier,
    }
    return await exchanged(asking.web, authority, asking.auth, login, form, client=client, scope=scope)


def code_of(url: str, state: str, authority: Authority) -> str:
    """The code in the URL that somebody came back by. Raises `Trouble`, and `Refused` when they said no."""
    given = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    if not secrets.compare_digest(given.get("state", "").encode(), state.encode()):
        raise Trouble("what came back from the page is not the answer to what was asked (its state differs)")
    try:
        if authority.described:
            validate_authorization_response_iss(given.get("iss"), authority.metadata)
    except OAuthFlowError as exc:
        raise Trouble(f"the answer does not come from {authority.issuer} (its iss differs)") from exc
    if "error" in given:
        raise Refused("access", given["error"][:200], given.get("error_description", "")[:500])
    if not given.get("code"):
        raise Trouble("what came back from the page holds no code")
    return given["code"]
