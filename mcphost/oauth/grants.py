"""Tokens, by each of the grants of OAuth 2.1 and its extensions."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from mcphost.oauth.client import Client, configured, proof, secret_text
from mcphost.oauth.discovery import Authority
from mcphost.oauth.store import Login
from mcphost.oauth.web import Answer, Refused, Trouble, Web
from mcphost.specs import AuthSpec

_URN: Final = "urn:ietf:params:oauth:"
_EARLY_SECONDS: Final = 30.0


async def exchanged(
    web: Web,
    authority: Authority,
    auth: AuthSpec,
    login: Login,
    form: Mapping[str, str],
    *,
    client: Client | None,
    scope: str | None,
) -> Login:
    """`login` with the tokens that the token endpoint gives for `form`, which names the grant, to `client`.

    `scope` is what was asked for, and what was granted unless the answer says otherwise. A refresh token that
    is used and not replaced is kept (RFC 6749, section 6). Raises `Refused` and other `Trouble`.
    """
    proving, headers = await proof(client, authority, auth) if client is not None else ({}, {})
    target = {"resource": authority.resource} if authority.resource is not None else {}
    answer = await web.post(
        str(authority.metadata.token_endpoint), form={**form, **target, **proving}, headers=headers
    )
    data = _token_data(answer)
    tokens = {
        "access_token": data["access_token"],
        "refresh_token": data.get("refresh_token") or form.get("refresh_token"),
        "scope": data.get("scope") or scope,
    }
    return replace(
        login,
        issuer=authority.issuer,
        resource=authority.resource,
        client={"client_id": auth.client_id} if auth.client_id is not None else client or {},
        metadata=authority.metadata.model_dump(mode="json", exclude_none=True),
        tokens={key: value for key, value in tokens.items() if isinstance(value, str)},
        expires_at=_expiry(data.get("expires_in")),
        wanted=(),
    )


def _token_data(answer: Answer) -> Mapping[str, Any]:
    """A token answer. Some say no with HTTP 200. Nothing of what it holds gets into an error but its own."""
    if not answer.ok or "error" in answer.data:
        if answer.failing:
            raise Trouble(f"its authorization server has trouble: HTTP {answer.status}", passing=True)
        raise Refused("the authorization", *answer.error)
    token, kind = answer.data.get("access_token"), answer.data.get("token_type", "Bearer")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
        raise Trouble("its authorization server's answer holds no access token")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise Trouble(
            "its authorization server gives tokens of a kind that is not supported (only Bearer is)"
        )
    return answer.data


def _expiry(seconds: object) -> float | None:
    """When to get another token: a little before this one is over."""
    try:
        lasts = float(str(seconds))
    except ValueError:
        return None
    return time.time() + lasts - min(_EARLY_SECONDS, lasts / 10)


async def renewed(web: Web, authority: Authority, auth: AuthSpec, login: Login) -> Login:
    """New tokens for the refresh token. Raises as `exchanged` does."""
    form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token or ""}
    scope = login.tokens.get("scope")
    client = await configured(auth) or login.client
    return await exchanged(web, authority, auth, login, form, client=client, scope=scope)


async def unattended(
    web: Web, authority: Authority, auth: AuthSpec, login: Login, *, scope: str | None
) -> Login:
    """Tokens that need no person: by `client_credentials` or `jwt_bearer`. Raises as `exchanged` does."""
    if auth.grant == "client_credentials":
        form = {"grant_type": "client_credentials"}
    else:
        given = await secret_text(auth.assertion)
        assertion = given or await _vouched(web, authority, auth)
        form = {"grant_type": f"{_URN}grant-type:jwt-bearer", "assertion": assertion}
    if scope:
        form["scope"] = scope
    client = await configured(auth)
    return await exchanged(web, authority, auth, login, form, client=client, scope=scope)


async def _vouched(web: Web, authority: Authority, auth: AuthSpec) -> str:
    """What an organisation's identity provider says of its user to the authorization server: an ID-JAG for
    the user's ID token (RFC 8693; MCP extension "Enterprise-Managed Authorization")."""
    form = {
        "grant_type": f"{_URN}grant-type:token-exchange",
        "requested_token_type": f"{_URN}token-type:id-jag",
        "subject_token": await secret_text(auth.id_token) or "",
        "subject_token_type": f"{_URN}token-type:id_token",
        "audience": authority.issuer,
        "client_id": auth.id_client_id or auth.client_id or "",
    }
    if authority.resource is not None:
        form["resource"] = authority.resource
    if secret := await secret_text(auth.id_client_secret):
        form["client_secret"] = secret
    answer = await web.post(auth.id_token_url or "", form=form)
    assertion = answer.data.get("access_token")
    if not answer.ok or not isinstance(assertion, str):
        if answer.failing:
            raise Trouble(f"the identity provider has trouble: HTTP {answer.status}", passing=True)
        raise Refused("the identity provider's word", *answer.error)
    return assertion


async def revoked(web: Web, authority: Authority, auth: AuthSpec, login: Login) -> bool:
    """Have the tokens forgotten (RFC 7009); False where the authorization server does not offer that."""
    endpoint = authority.metadata.revocation_endpoint
    if endpoint is None:
        return False
    client = await configured(auth) or login.client
    proving, headers = await proof(client, authority, auth) if client else ({}, {})
    for hint in ("refresh_token", "access_token"):  # some forget only what they are told to
        if token := login.tokens.get(hint):
            form = {"token": str(token), "token_type_hint": hint, **proving}
            answer = await web.post(str(endpoint), form=form, headers=headers)
            if not answer.ok:
                raise Refused("to revoke the tokens", *answer.error)
    return True


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    """`url`, which may have a query of its own, with `parameters`."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"
