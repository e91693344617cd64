"""Programs that log in by themselves."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mcphost.errors import AuthRequired
from mcphost.oauth.store import Logins

from .oauth_servers import protected

pytestmark = pytest.mark.anyio
SECRET = "s3cret-words"
CLIENT: dict[str, Any] = {"client_id": "robot", "client_secret": SECRET, "grant": "client_credentials"}


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_program_with_a_secret_needs_nobody(method: str):
    server = protected(methods=[method], clients={"robot": SECRET}, pkce=None, scope="read")
    async with server.host(**CLIENT) as host:
        assert (await host.call_tool("safe/hello", {})).ok
    [asked] = server.log(path="/token")
    assert asked["form"]["scope"] == "read"
    assert asked["form"]["resource"] == server.url
    assert server.pages() == []
    login = await Logins().load("safe", server.url)
    assert login is not None and SECRET not in repr(dict(login.client))


async def test_its_token_is_had_anew_when_it_is_over():
    server = protected(methods=["client_secret_post"], clients={"robot": SECRET}, expires_in=0)
    async with server.host(**CLIENT) as host:
        assert (await host.call_tool("safe/hello", {})).ok
    assert set(server.grants()) == {"client_credentials"}
    sent = [entry["authorization"] for entry in server.log("mcp", path="/mcp")]
    assert sent.count(None) == 1  # the first request, before anything is known


async def test_it_asks_for_more_when_a_call_needs_more():
    server = protected(methods=["client_secret_post"], clients={"robot": SECRET}, scope="read")
    async with server.host(**CLIENT) as host:
        assert (await host.call_tool("safe/secret", {})).ok
    assert [entry["form"]["scope"] for entry in server.log(path="/token")] == ["read", "read admin"]


async def test_a_wrong_secret_is_told_without_being_shown():
    server = protected(methods=["client_secret_post"], clients={"robot": "another"})
    async with server.host(**CLIENT) as host:
        error = host.servers["safe"].error
    assert isinstance(error, AuthRequired)
    assert error.reason == "no authorization: the authorization was refused (invalid_client: who are you?)"


def keys() -> tuple[str, str]:
    """A private key and its public one."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


@pytest.mark.parametrize("from_file", [False, True])
async def test_a_program_with_a_key_signs(tmp_path: Path, from_file: bool):
    private, public = keys()
    (tmp_path / "key.pem").write_text(private)
    server = protected(methods=["private_key_jwt"], key=public)
    key = f"@{tmp_path}/key.pem" if from_file else private
    async with server.host(client_id="robot", private_key=key, algorithm="ES256") as host:
        assert (await host.call_tool("safe/hello", {})).ok
    assert server.grants() == ["client_credentials"]


@pytest.mark.parametrize(
    ("key", "says"),
    [("no key at all", "its private_key cannot sign with RS256"), ("@/nowhere/key.pem", "cannot be read")],
)
async def test_a_key_that_is_none_is_the_servers_trouble(key: str, says: str):
    server = protected(methods=["private_key_jwt"])
    async with server.host(client_id="robot", private_key=key) as host:
        error = host.servers["safe"].error
    assert isinstance(error, AuthRequired) and says in error.reason
    assert "no key at all" not in str(error)


async def test_a_workload_presents_its_own_token(tmp_path: Path):
    (tmp_path / "token").write_text("a-workload\n")
    server = protected()
    async with server.host(assertion=f"@{tmp_path}/token") as host:
        assert (await host.call_tool("safe/hello", {})).ok
    assert server.grants() == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


async def test_an_organisations_identity_provider_speaks_for_its_user():
    server = protected()
    settings = {"id_token": "an-id-token", "id_token_url": f"{server.authority}/identity"}
    async with server.host(**settings, client_id="robot") as host:
        assert (await host.call_tool("safe/hello", {})).ok
    [asked] = server.log(path="/identity")
    assert asked["form"]["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag"
    assert asked["form"]["audience"] == server.authority
    async with server.host(**{**settings, "id_token": "another"}, client_id="stranger") as host:
        error = host.servers["safe"].error
    assert "the identity provider's word was refused (invalid_grant: who is that?)" in str(error)
