"""The `auth` of a server entry, in every host's words."""

from pathlib import Path
from typing import Any

import pytest

from mcphost.config import ServerSpec, parse
from mcphost.masking import secrets_of
from mcphost.specs import AuthSpec
from mcphost.written import server_lines

URL = "https://safe.example/mcp"


def spec(entry: dict[str, Any], **environ: str) -> ServerSpec:
    return parse({"mcpServers": {"safe": {"url": URL, **entry}}}, source=None, environ=environ).servers[
        "safe"
    ]


def problem(auth: object, **environ: str) -> str:
    return spec({"auth": auth}, **environ).problem or ""


def warnings(entry: dict[str, Any]) -> tuple[str, ...]:
    return parse({"mcpServers": {"safe": {"url": URL, **entry}}}, source=None, environ={}).warnings


@pytest.mark.parametrize(
    ("entry", "auth"),
    [
        ({}, AuthSpec()),
        ({"auth": None}, AuthSpec()),
        ({"auth": True}, AuthSpec()),
        ({"auth": "oauth"}, AuthSpec()),
        ({"auth": "OAuth2"}, AuthSpec()),
        ({"oauth": {}}, AuthSpec()),
        ({"auth": {"type": "oauth"}}, AuthSpec()),
        ({"oauth": {"enabled": True}}, AuthSpec()),
        ({"headers": {"X-Org": "a"}}, AuthSpec()),
        ({"auth": False}, None),
        ({"auth": "none"}, None),
        ({"oauth": False}, None),
        ({"oauth": {"enabled": False, "clientId": 5}}, None),
        ({"auth": {"type": "none"}}, None),
        ({"headers": {"authorization": "Bearer x"}}, None),
        ({"url": "https://user:pw@safe.example/mcp"}, None),
        ({"headers": {"Authorization": "Bearer x"}, "auth": "oauth"}, AuthSpec()),
        ({"url": None, "command": "x"}, None),
    ],
)
def test_whether_a_server_is_authorized_by_oauth(entry: dict[str, Any], auth: AuthSpec | None):
    read = spec(entry)
    assert read.problem is None
    assert read.authorization() == auth


@pytest.mark.parametrize(
    ("entry", "auth"),
    [
        pytest.param(
            {"oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "a b"}},
            AuthSpec(client_id="c", redirect_uri="http://localhost:8080/callback", scopes=("a", "b")),
            id="claude code",
        ),
        pytest.param(
            {"oauth": {"authServerMetadataUrl": "https://login.example/.well-known/x"}},
            AuthSpec(metadata_url="https://login.example/.well-known/x"),
            id="claude code, its authorization server",
        ),
        pytest.param(
            {"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "s3cret", "scopes": ["a"]}},
            AuthSpec(client_id="c", client_secret="s3cret", scopes=("a",)),
            id="cursor",
        ),
        pytest.param(
            {
                "oauth": {
                    "enabled": True,
                    "clientId": "c",
                    "authorizationUrl": "https://login.example/authorize",
                    "tokenUrl": "https://login.example/token",
                    "redirectUri": "http://localhost:7777/oauth/callback",
                    "audiences": ["x"],
                    "tokenParamName": "token",
                }
            },
            AuthSpec(
                client_id="c",
                authorization_url="https://login.example/authorize",
                token_url="https://login.example/token",
                redirect_uri="http://localhost:7777/oauth/callback",
            ),
            id="gemini cli",
        ),
        pytest.param(
            {"oauth": {"clientId": "c", "clientSecret": "s3cret", "scope": "a", "redirect_port": "19876"}},
            AuthSpec(
                client_id="c",
                client_secret="s3cret",
                scopes=("a",),
                redirect_uri="http://127.0.0.1:19876/callback",
            ),
            id="opencode, and a port of our own",
        ),
        pytest.param(
            {"auth": {"grant": "client_credentials", "client_id": "c", "client_secret": "${S}"}},
            AuthSpec(grant="client_credentials", client_id="c", client_secret="s3cret"),
            id="a program with a secret",
        ),
        pytest.param(
            {"auth": {"client_id": "c", "private_key": "KEY", "signing_algorithm": "ES256"}},
            AuthSpec(grant="client_credentials", client_id="c", private_key="KEY", algorithm="ES256"),
            id="a program with a key",
        ),
        pytest.param(
            {"auth": {"id_token": "t", "idp_token_endpoint": "https://idp.example/token"}},
            AuthSpec(grant="jwt_bearer", id_token="t", id_token_url="https://idp.example/token"),
            id="an identity provider",
        ),
        pytest.param(
            {"auth": {"assertion": "@/var/run/token", "token_endpoint_auth_method": "none"}},
            AuthSpec(grant="jwt_bearer", assertion="@/var/run/token", client_auth="none"),
            id="a workload",
        ),
    ],
)
def test_settings_of_every_host_are_understood(entry: dict[str, Any], auth: AuthSpec):
    read = spec(entry, S="s3cret")
    assert (read.problem, read.auth) == (None, auth)
    assert warnings(entry) == ()


@pytest.mark.parametrize(
    ("auth", "says"),
    [
        ("Bearer s3cret", 'auth must be "oauth", "none" or an object'),
        (5, 'auth must be "oauth", "none" or an object, not a number'),
        ({"type": "bearer", "token": "s3cret"}, "auth.type must be oauth or none"),
        ({"client_id": 5}, "auth.client_id must be a string, not a number"),
        ({"clientSecret": "${UNSET}"}, "$UNSET is not set (used in auth.clientSecret)"),
        ({"scopes": ["a b"]}, "auth.scopes: a scope is a word without spaces and quotes"),
        ({"scope": 1}, "auth.scope must be a list of strings, not a number"),
        (
            {"grant": "pasword"},
            "auth.grant must be one of authorization_code, client_credentials, jwt_bearer",
        ),
        ({"grant": "client_credentials", "client_id": "c"}, "client_credentials needs client_id, and"),
        ({"grant": "jwt_bearer"}, "jwt_bearer needs assertion, or id_token and id_token_url"),
        ({"authorization_url": "https://x.example/a"}, "authorization_url needs token_url and client_id"),
        ({"issuer": "login.example"}, "auth.issuer must begin with http:// or https://"),
        ({"callbackPort": 70000}, "auth.callbackPort must be the number of a port"),
    ],
)
def test_what_is_wrong_is_the_servers_problem(auth: object, says: str):
    assert says in problem(auth)
    assert "s3cret" not in problem(auth)


def test_slips_are_pointed_out():
    assert warnings({"auth": {"client_idd": "c", "//": "mine"}}) == (
        "the configuration: unknown keys are ignored: safe.auth.client_idd (did you mean client_id?)",
    )
    assert (
        "is ignored: it is no http://127.0.0.1:PORT/"
        in warnings({"oauth": {"redirectUri": "https://app.example/callback"}})[0]
    )
    assert (
        "oauth has no effect: the server has no url"
        in warnings({"url": None, "command": "x", "oauth": {}})[0]
    )


def test_a_file_of_secrets_is_looked_for_beside_the_configuration(tmp_path: Path):
    data = {"mcpServers": {"safe": {"url": URL, "auth": {"client_id": "c", "client_secret": "@keys/secret"}}}}
    auth = parse(data, source=tmp_path / "servers.json", environ={}).servers["safe"].auth
    assert auth is not None and auth.client_secret == f"@{tmp_path}/keys/secret"
    data["mcpServers"]["safe"]["auth"] = {"client_id": "c", "client_secret": "@~/secret"}
    auth = parse(data, source=None, environ={"HOME": "/home/me"}).servers["safe"].auth
    assert auth is not None and auth.client_secret == "@/home/me/secret"


def test_secrets_of_auth_are_not_shown():
    read = spec({"auth": {"client_id": "c", "client_secret": "s3cret-words", "private_key": "@key.pem"}})
    assert "s3cret" not in repr(read)
    assert secrets_of(read) == ("s3cret-words",)


def test_who_confirms_a_file_sees_where_secrets_would_go():
    lines = server_lines(
        {"url": URL, "auth": {"token_url": "https://evil.example", "client_secret": "${KEY}"}}
    )
    assert "auth token_url=https://evil.example" in lines and "auth client_secret=${KEY}" in lines
