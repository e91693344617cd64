"""The `auth` of a server entry, in whatever host's words, → `AuthSpec`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from mcphost.documents import as_list, as_number, as_object, fold, kind, suggestion
from mcphost.endpoints import check_url, is_loopback
from mcphost.fields import Fields
from mcphost.specs import AuthSpec, ClientAuth, Grant
from mcphost.spellings import is_comment
from mcphost.variables import expand_home

_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "enabled": (),
    "type": (),
    "grant": ("grantType",),
    "scopes": ("scope",),
    "client_id": (),
    "client_secret": (),
    "client_auth": ("tokenEndpointAuthMethod",),
    "client_metadata_url": (),
    "private_key": ("privateKeyPem",),
    "algorithm": ("signingAlgorithm",),
    "assertion": (),
    "id_token": ("idpIdToken",),
    "id_client_id": ("idpClientId",),
    "id_client_secret": ("idpClientSecret",),
    "id_token_url": ("idpTokenEndpoint",),
    "issuer": (),
    "metadata_url": ("authServerMetadataUrl",),
    "authorization_url": ("authorizationEndpoint",),
    "token_url": ("tokenEndpoint",),
    "redirect_uri": ("redirectUrl",),
    "redirect_port": (),
    "callbackPort": (),
}
"""Our key, or Claude Code's for `callbackPort`, and other spellings, each style of a name once."""

_KEYS: Mapping[str, str] = {fold(name): key for key, more in _SPELLINGS.items() for name in (key, *more)}
_HARMLESS: Final = frozenset(("registrationurl", "audiences", "audience", "tokenparamname", "idpissuer"))
"""What other hosts have besides, folded: with metadata and resource indicators it has no meaning."""

_WORDS: Mapping[str, bool] = {"oauth": True, "oauth2": True, "true": True, "none": False, "false": False}
_TEXTS: Final = ("client_id", "id_client_id", "algorithm")
_SECRETS: Final = ("client_secret", "private_key", "assertion", "id_token", "id_client_secret")
_URLS: Final = (
    "client_metadata_url", "issuer", "metadata_url", "authorization_url", "token_url", "id_token_url"
)  # fmt: skip
_TOKEN_HINT = 'A token of your own goes into "headers": {"Authorization": "Bearer ${TOKEN}"}.'


def read(fields: Fields, folder: Path) -> tuple[AuthSpec | None, tuple[str, ...]]:
    """What an entry says of its authorization, None for nothing; and the keys that mean nothing here.
    `folder` is what the paths of files start from."""
    value = fields.values.get("auth")
    label = fields.label("auth")
    if value is None:
        return None, ()
    word = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
    if isinstance(word, str):
        enabled = _WORDS.get(fold(word.strip()))
        if enabled is None:
            fields.complain(f'{label} must be "oauth", "none" or an object', _TOKEN_HINT)
        return AuthSpec(enabled=enabled is not False), ()
    entry = as_object(value)
    if entry is None:
        fields.complain(f'{label} must be "oauth", "none" or an object, not {kind(value)}')
        return None, ()
    return _object(fields, entry, label, folder)


def _object(
    fields: Fields, entry: Mapping[str, object], label: str, folder: Path
) -> tuple[AuthSpec | None, tuple[str, ...]]:
    values: dict[str, object] = {}
    written: dict[str, str] = {}
    unknown: list[str] = []
    for key, value in entry.items():
        ours = _KEYS.get(fold(key))
        if ours is not None:
            if value is not None and value != "":
                values[ours], written[ours] = value, f"{label}.{key}"
        elif not is_comment(key) and fold(key) not in _HARMLESS:
            unknown.append(f"{label}.{key}{suggestion(key, _SPELLINGS)}")
    inner = fields.within(values, written)
    if inner.flag("enabled") is False or not _typed(inner):
        return AuthSpec(enabled=False), ()
    return _spec(inner, folder), tuple(unknown)


def _typed(inner: Fields) -> bool:
    """Whether the `type` of authorization, where one is given, is ours."""
    given = inner.text("type")
    if given is None:
        return True
    meant = _WORDS.get(fold(given))
    if meant is None:
        inner.complain(f"{inner.label('type')} must be oauth or none", _TOKEN_HINT)
    return meant is not False


def _spec(inner: Fields, folder: Path) -> AuthSpec:
    given: dict[str, Any] = {key: inner.text(key) for key in _TEXTS}
    given |= {key: _secret(inner, key, folder) for key in _SECRETS}
    given |= {key: _url(inner, key) for key in _URLS}
    given["scopes"] = _scopes(inner)
    given["client_auth"] = _one_of(inner, "client_auth", get_args(ClientAuth))
    given["grant"] = _one_of(inner, "grant", get_args(Grant)) or _grant(given)
    given["redirect_uri"] = _redirect_uri(inner)
    _complain_of_gaps(inner, given)
    return AuthSpec(**{key: value for key, value in given.items() if value is not None})


def _secret(inner: Fields, key: str, folder: Path) -> str | None:
    """A secret, or `@` and the name of the file that it is in."""
    given = inner.text(key)
    if given is None or not given.startswith("@"):
        return given
    return f"@{folder / expand_home(given[1:], inner.scope)}"


def _grant(given: Mapping[str, Any]) -> Grant:
    """What the keys can only mean."""
    if given["assertion"] or given["id_token"]:
        return "jwt_bearer"
    return "client_credentials" if given["private_key"] else "authorization_code"


def _complain_of_gaps(inner: Fields, given: Mapping[str, Any]) -> None:
    match given["grant"]:
        case "client_credentials":
            if not given["client_id"] or not (given["client_secret"] or given["private_key"]):
                inner.complain("auth: client_credentials needs client_id, and client_secret or private_key")
        case "jwt_bearer":
            if not given["assertion"] and not (given["id_token"] and given["id_token_url"]):
                inner.complain("auth: jwt_bearer needs assertion, or id_token and id_token_url")
        case _:
            pass
    if given["authorization_url"] and not (given["token_url"] and given["client_id"]):
        inner.complain("auth: authorization_url needs token_url and client_id beside it")


def _scopes(inner: Fields) -> tuple[str, ...]:
    """A list of scopes, or one text with spaces between them, as OAuth itself has it."""
    value = inner.values.get("scopes")
    if isinstance(value, str):
        value = inner.expanded(value, inner.label("scopes"))
    words = value.split() if isinstance(value, str) else as_list(value)
    if value is None or words is None:
        if value is not None:
            inner.complain(f"{inner.label('scopes')} must be a list of strings, not {kind(value)}")
        return ()
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) < len(words) or any(re.search(r"[^\x21\x23-\x5b\x5d-\x7e]", word) for word in texts):
        inner.complain(f"{inner.label('scopes')}: a scope is a word without spaces and quotes")
    return tuple(texts)


def _one_of(inner: Fields, key: str, known: tuple[Any, ...]) -> Any:
    given = inner.text(key)
    found = {fold(name): name for name in known}.get(fold(given or ""))
    if given is not None and found is None:
        inner.complain(f"{inner.label(key)} must be one of {', '.join(known)}{suggestion(given, known)}")
    return found


def _url(inner: Fields, key: str) -> str | None:
    url = inner.text(key)
    if url is not None and "${" not in url:
        try:
            check_url(url)
        except ValueError as exc:
            inner.complain(f"{inner.label(key)} {exc}")
    return url


def _redirect_uri(inner: Fields) -> str | None:
    """Where the page leads back to. Claude Code's `callbackPort` means its own address, which is what such a
    client was registered with; an address that we cannot listen at is passed over."""
    given = inner.text("redirect_uri")
    if given is not None:
        if given.lower().startswith("http://") and is_loopback(given) and re.search(r":\d+(/|$)", given):
            return given
        inner.warnings.append(f"{inner.label('redirect_uri')} is ignored: it is no http://127.0.0.1:PORT/…")
    for key, host in (("redirect_port", "127.0.0.1"), ("callbackPort", "localhost")):
        value = inner.values.get(key)
        port = int(value) if isinstance(value, str) and value.isdigit() else as_number(value)
        if isinstance(port, int) and 0 < port < 65536:
            return f"http://{host}:{port}/callback"
        if value is not None:
            inner.complain(f"{inner.label(key)} must be the number of a port")
    return None
