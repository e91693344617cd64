"""How a server is given the authorization it wants, when somebody can be asked."""

import json
import logging
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mcphost import Host
from mcphost.errors import AuthRequired, ServerError
from mcphost.oauth.loopback import Came, Loopback
from mcphost.oauth.provider import authorization
from mcphost.oauth.store import Login, Logins
from mcphost.oauth.web import Trouble, Web
from mcphost.specs import AuthSpec

from .http_servers import closed_port, refusing
from .oauth_servers import Protected, person, protected

pytestmark = pytest.mark.anyio


async def stored(server: Protected, name: str = "safe") -> Login:
    login = await Logins().load(name, server.url)
    assert login is not None
    return login


def trouble(host: Host, name: str = "safe") -> ServerError:
    error = host.servers[name].error
    assert error is not None
    return error


async def refused(server: Protected, **auth: Any) -> ServerError:
    """Why no login came about, with somebody there who says yes."""
    async with server.host(person(), **auth) as host:
        return trouble(host)


async def test_a_person_grants_access_and_the_login_holds_for_the_next_time():
    server = protected()
    async with server.host(person()) as host:
        assert (await host.call_tool("safe/hello", {})).content == "hello"
    async with server.host() as host:  # with nobody to ask
        assert (await host.call_tool("safe/hello", {})).content == "hello"
    assert server.grants() == ["authorization_code"]
    [page] = server.pages()
    assert (page["response_type"], page["code_challenge_method"]) == ("code", "S256")
    assert page["resource"] == server.url
    assert page["redirect_uri"].startswith("http://127.0.0.1:")
    assert "scope" not in page
    assert page["tenant"] == "1"  # what the page's address has of its own


@pytest.mark.parametrize(
    ("described", "metadata", "issuer"),
    [
        ("header", "oauth", ""),
        ("path", "oauth", "/tenant"),
        ("root", "oidc", ""),
        ("header", "oidc", "/tenant"),
        ("path", "oidc-path", "/tenant"),
    ],
)
async def test_the_authorization_server_is_found_wherever_it_describes_itself(
    described: str, metadata: str, issuer: str
):
    server = protected(described=described, metadata=metadata, issuer=issuer)
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
    assert (await stored(server)).issuer == server.authority + issuer


async def test_a_server_of_2025_03_26_is_its_own_authorization_server():
    server = protected(described="nowhere", metadata="own")
    server.control(says_issuer=server.url.removesuffix("/mcp"))
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
    assert "resource" not in server.pages()[0]


async def test_a_server_that_knows_nothing_of_oauth_is_told_as_such():
    error = await refused(protected(described="nowhere", metadata="nowhere"))
    assert error.reason == "no authorization: it says nothing of an authorization server"


async def test_where_nobody_can_be_asked_the_command_is_told_and_nothing_is_asked():
    server = protected()
    async with server.host() as host:
        error = trouble(host)
    assert isinstance(error, AuthRequired)
    assert error.exit_code == 3
    assert error.reason == "the server wants authorization (HTTP 401)"
    assert (error.hint or "").startswith("Log in: mcphost login safe. Or give safe its token")
    assert server.log() == []


@pytest.mark.parametrize("more", [{"headers": {"Authorization": "Bearer mine"}}, {"auth": False}])
async def test_a_server_with_its_own_header_or_without_auth_never_starts_oauth(more: dict[str, Any]):
    server = protected()
    config = {"mcpServers": {"safe": {**server.entry(), **more}}}
    async with Host.from_config(config, visitor=person(), save=False) as host:
        await host.ready()
        assert trouble(host).reason == "the server wants authorization (HTTP 401)"
        assert (trouble(host).hint or "").startswith("Give safe its token")
    assert server.log() == []


# What has to be refused


@pytest.mark.parametrize("methods", [None, ["plain"]])
async def test_without_pkce_nobody_is_asked(methods: list[str] | None):
    server = protected(pkce=methods)
    error = await refused(server)
    assert "PKCE" in error.reason and isinstance(error, AuthRequired)
    assert server.pages() == [] and server.grants() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"resource": "https://other.example/mcp"}, "describes itself as another server"),
        ({"says_issuer": "https://other.example"}, "speaks for https://other.example"),
        ({"metadata": "nowhere"}, "does not describe itself"),
    ],
)
async def test_descriptions_of_others_are_not_trusted(options: dict[str, Any], says: str):
    server = protected(**options)
    assert says in (await refused(server)).reason
    assert server.pages() == []


@pytest.mark.parametrize("iss", ["wrong", "none"])
async def test_an_answer_from_another_issuer_gets_no_further(iss: str):
    server = protected(iss=iss)
    assert "its iss differs" in (await refused(server)).reason
    assert len(server.pages()) == 1 and server.grants() == []


async def test_a_person_who_says_no_is_understood():
    error = await refused(protected(grants=False))
    assert "access_denied: the person said no" in error.reason


async def test_tokens_of_an_unknown_kind_are_refused_without_being_shown():
    error = await refused(protected(token_type="DPoP"))
    assert "of a kind that is not supported" in error.reason
    assert "access-" not in repr(error) + str(error.hint)


async def test_a_token_endpoint_that_leads_elsewhere_gets_nothing_sent_there():
    with refusing(500) as elsewhere:
        server = protected(redirects=elsewhere)
        error = await refused(server)
    assert "secrets are not sent on to there" in error.reason
    assert server.grants() == ["authorization_code"]


async def test_a_token_is_never_sent_on_to_where_the_server_redirects():
    thief = protected()
    with refusing(307, Location=thief.url) as url:
        config = {"mcpServers": {"safe": {"type": "http", "url": url}}}
        await Logins().save(Login("safe", url, issuer="x", tokens={"access_token": "access-mine"}))
        async with Host.from_config(config, save=False) as host:
            await host.ready()
            assert host.servers["safe"].state == "failed"
    assert thief.log("mcp") == []


async def test_a_token_that_was_just_given_and_is_refused_is_no_reason_to_ask_again():
    server = protected(accepts=False)
    error = await refused(server)
    assert error.reason.endswith("it refuses the very token that its authorization server has just given")
    assert len(server.pages()) == 1


async def test_a_call_may_be_what_needs_authorization_first_and_a_no_is_not_asked_about_again():
    server = protected(open=True, grants=False)
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
        for _ in range(2):
            assert "access_denied" in ((await host.call_tool("safe/hello", {})).error or "")
        assert len(server.pages()) == 1
    server.control(grants=True)
    async with server.host(person()) as host:
        assert (await host.call_tool("safe/hello", {})).content == "hello"


REMOTE, INTERN, LOCAL = (
    "https://safe.example/mcp",
    "http://intern.example:8000/mcp",
    "http://127.0.0.1:8000/mcp",
)


@pytest.mark.parametrize(
    ("server", "auth", "url", "says"),
    [
        (REMOTE, AuthSpec(), "https://login.example/token", None),
        (REMOTE, AuthSpec(), "http://login.example/token", "login.example is not https"),
        (REMOTE, AuthSpec(), "http://safe.example/token", "safe.example is not https"),
        (REMOTE, AuthSpec(), "http://127.0.0.1:9000/token", "it leads to this machine"),
        (REMOTE, AuthSpec(), "https://localhost/token", "it leads to this machine"),
        (REMOTE, AuthSpec(token_url="http://localhost:9000/token"), "http://127.0.0.1:9000/token", None),
        (REMOTE, AuthSpec(), "file:///etc/passwd", "must begin with http:// or https://"),
        (INTERN, AuthSpec(), "http://intern.example:9000/token", None),
        (INTERN, AuthSpec(), "http://login.example/token", "login.example is not https"),
        (LOCAL, AuthSpec(), "http://localhost:9000/token", None),
        (LOCAL, AuthSpec(), "http://login.example/token", "login.example is not https"),
    ],
)
async def test_secrets_are_sent_only_where_nobody_listens_in(
    server: str, auth: AuthSpec, url: str, says: str | None
):
    if says is None:
        return Web(server, auth).check(url)
    with pytest.raises(Trouble, match=says):
        Web(server, auth).check(url)


# Who we are


async def test_where_nobody_can_register_the_client_has_to_be_named():
    server = protected(registers=False, methods=["client_secret_basic"], clients={"ours": "s3cret-words"})
    error = await refused(server)
    assert "registers no clients by itself" in error.reason
    assert '"auth": {"client_id": "…"}' in (error.hint or "")
    async with server.host(person(), client_id="ours", client_secret="s3cret-words") as host:
        assert host.servers["safe"].state == "ready"
        assert "s3cret-words" not in repr(host.config)
    assert "s3cret-words" not in json.dumps([dict((await stored(server)).client)])


async def test_a_client_may_be_known_by_its_own_document():
    server = protected(documents=True)
    document = "https://client.example/mcphost.json"
    async with server.host(person(), client_metadata_url=document) as host:
        assert host.servers["safe"].state == "ready"
    assert server.pages()[0]["client_id"] == document
    assert not [entry for entry in server.log() if entry["path"] == "/register"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_we_prove_ourselves_as_the_authorization_server_wants(method: str):
    server = protected(methods=[method])
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
    [asked] = server.log(path="/token")
    assert (asked["authorization"] or "").startswith("Basic") is (method == "client_secret_basic")
    assert ("client_secret" in asked["form"]) is (method == "client_secret_post")


async def test_a_registration_that_is_not_known_any_more_is_renewed_once():
    server = protected(refresh=False)
    redirect = {"redirect_uri": f"http://127.0.0.1:{closed_port()}/callback"}
    async with server.host(person(), **redirect) as host:
        assert host.servers["safe"].state == "ready"
    server.control(forget=["access"], methods=["client_secret_post"])
    async with server.host(person(), **redirect) as host:
        assert host.servers["safe"].state == "ready"
    assert len([entry for entry in server.log() if entry["path"] == "/register"]) == 2
    assert server.grants() == ["authorization_code"] * 3


async def test_only_the_issuer_that_is_configured_is_asked():
    server = protected(clients={"ours": "s3cret-words"}, methods=["client_secret_post"])
    settings = {"client_id": "ours", "client_secret": "s3cret-words", "issuer": "https://mine.example"}
    error = await refused(server, **settings)
    assert "names other authorization servers than https://mine.example" in error.reason
    assert server.log() == []


async def test_an_authorization_server_may_be_described_by_the_configuration():
    secret = {"client_id": "ours", "client_secret": "s3cret-words"}
    server = protected(metadata="nowhere", clients={"ours": "s3cret-words"}, methods=["client_secret_basic"])
    there = {"authorization_url": f"{server.authority}/authorize", "token_url": f"{server.authority}/token"}
    async with server.host(person(), **secret, **there) as host:
        assert host.servers["safe"].state == "ready"
    assert server.pages()[0]["code_challenge_method"] == "S256"
    server = protected(metadata="oidc", issuer="/tenant", described="nowhere")
    described = {"metadata_url": f"{server.authority}/.well-known/openid-configuration/tenant"}
    async with server.host(person(), **described) as host:
        assert host.servers["safe"].state == "ready"


async def test_another_authorization_server_gets_nothing_of_the_former_one():
    server = protected()
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
    server.control(forget=["access"], issuer="/tenant")
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
    assert server.grants() == ["authorization_code", "authorization_code"]
    assert len([entry for entry in server.log() if entry["path"].endswith("/register")]) == 2
    assert (await stored(server)).issuer == f"{server.authority}/tenant"


# Scopes


@pytest.mark.parametrize(
    ("options", "settings", "asked"),
    [
        ({"scope": "a b"}, {}, "a b"),
        ({"scopes_supported": ["c"]}, {}, "c"),
        (
            {"scope": "a", "scopes_supported": ["c"], "as_scopes": ["a", "offline_access"]},
            {},
            "a offline_access",
        ),
        ({"scope": "a", "as_scopes": ["a", "offline_access"]}, {"scopes": ["x", "y"]}, "x y"),
        ({"as_scopes": ["z"]}, {}, None),
    ],
)
async def test_scopes_are_what_the_server_names_unless_configured(
    options: dict[str, Any], settings: dict[str, Any], asked: str | None
):
    server = protected(**options)
    async with server.host(person(), **settings) as host:
        assert host.servers["safe"].state == "ready"
    assert server.pages()[0].get("scope") == asked


async def test_a_call_that_needs_more_asks_for_it_and_keeps_what_there_is():
    server = protected(scope="read")
    async with server.host(person()) as host:
        assert (await host.call_tool("safe/secret", {})).content == "the treasure is under the oak"
    assert [page["scope"] for page in server.pages()] == ["read", "read admin"]
    assert (await stored(server)).scopes == ("read", "admin")


async def test_more_is_asked_for_only_once():
    server = protected(scope="read", gives="read")
    async with server.host(person()) as host:
        for _ in range(2):
            result = await host.call_tool("safe/secret", {})
            assert not result.ok and "HTTP 403" in (result.error or "")
        assert (await host.call_tool("safe/hello", {})).ok
    assert len(server.pages()) == 2


async def test_what_is_missing_is_told_where_nobody_can_be_asked_and_asked_for_by_the_next_login():
    server = protected(scope="read")
    async with server.host(person()):
        pass
    async with server.host() as host:
        result = await host.call_tool("safe/secret", {})
        assert not result.ok
        assert "the login does not cover what this needs: admin" in (result.error or "")
        assert (await host.call_tool("safe/hello", {})).ok
    server.control(forget=["access", "refresh"])
    async with server.host(person()) as host:
        assert (await host.call_tool("safe/secret", {})).ok
    assert server.pages()[-1]["scope"] == "read admin"
    assert (await stored(server)).wanted == ()


async def test_a_running_host_takes_up_the_login_that_was_made_for_it_meanwhile():
    server = protected(scope="read")
    async with server.host(person()):
        pass
    async with server.host() as host:
        assert not (await host.call_tool("safe/secret", {})).ok
        signing = authorization(host.servers["safe"].spec, visitor=person())
        assert signing is not None
        await signing.log_in()
        assert (await host.call_tool("safe/secret", {})).ok


# Secrets


async def test_no_token_gets_into_logs_traces_and_errors(caplog: pytest.LogCaptureFixture, tmp_path: Path):
    caplog.set_level(logging.DEBUG)
    server = protected(methods=["client_secret_post"])
    trace = tmp_path / "trace.jsonl"
    config = {"mcpServers": {"safe": server.entry()}}
    async with Host.from_config(config, visitor=person(), save=False, trace=trace) as host:
        await host.ready()
        shown = [repr(await host.call_tool("safe/hello", {}))]
        server.control(forget=["access"])
        shown.append(repr(await host.call_tool("safe/hello", {})))
        server.control(forget=["access", "refresh"], grants=False)
        shown.append(repr(await host.call_tool("safe/hello", {})))
        login = await Logins().load("safe", server.url)
    written = "\n".join([*shown, repr(login), caplog.text, trace.read_text()])
    assert "access_denied" in shown[-1]
    posted = [value for entry in server.log() for value in entry["form"].values()]
    secrets = {value for value in posted if value.startswith(("refresh-", "client-secret-"))}
    secrets |= {entry["authorization"].split()[1] for entry in server.log("mcp") if entry["authorization"]}
    assert len(secrets) >= 3
    assert not [secret for secret in secrets if secret in written]


# Over SSE


async def test_sse_servers_are_authorized_too():
    server = protected("sse", scope="read")
    async with server.host(person()) as host:
        assert (await host.call_tool("safe/hello", {})).content == "hello"
        assert (await host.call_tool("safe/secret", {})).ok
    assert [page["scope"] for page in server.pages()] == ["read", "read admin"]
    async with server.host() as host:
        assert (await host.call_tool("safe/hello", {})).ok
        server.control(forget=["access", "refresh"])
        result = await host.call_tool("safe/hello", {})
        assert "its login is over, or was taken back" in (result.error or "")


# Side by side


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_calls_stay_parallel(transport: Any):
    server = protected(transport)
    async with server.host(person()) as host:
        await together(host, 3)


class Slow:
    """Somebody who takes the time that a test says."""

    def __init__(self) -> None:
        self.asked, self.ready = anyio.Event(), anyio.Event()

    async def visit(self, url: str, came: Came) -> None:
        del came
        self.asked.set()
        await self.ready.wait()
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            await client.get(url)


async def test_calls_go_on_while_a_person_is_asked_about_another():
    server = protected(scope="read")
    async with server.host(person()):
        pass
    slow = Slow()
    async with server.host(Loopback(slow.visit)) as host, anyio.create_task_group() as tg:

        async def treasure() -> None:
            assert (await host.call_tool("safe/secret", {})).ok

        tg.start_soon(treasure)
        await slow.asked.wait()
        assert (await host.call_tool("safe/hello", {})).ok
        slow.ready.set()


async def test_the_time_that_a_person_takes_is_not_the_calls():
    server = protected(open=True)
    slow = Slow()
    config = {"mcpServers": {"safe": {**server.entry(), "timeout": 0.5}}}
    async with Host.from_config(config, visitor=Loopback(slow.visit), save=False) as host:
        await host.ready()
        async with anyio.create_task_group() as tg:

            async def hello() -> None:
                assert (await host.call_tool("safe/hello", {})).ok

            tg.start_soon(hello)
            await slow.asked.wait()
            await anyio.sleep(0.8)  # longer than the call may take
            slow.ready.set()


async def test_calls_that_are_refused_together_renew_the_token_once():
    server = protected()
    async with server.host(person()) as host:
        server.control(forget=["access"])
        await together(host, 5)
    assert server.grants() == ["authorization_code", "refresh_token"]


async def together(host: Host, people: int) -> None:
    """Calls that only come back when all are under way at the same time."""
    results: list[str] = []

    async def call() -> None:
        results.append((await host.call_tool("safe/meet", {"people": people})).content)

    async with anyio.create_task_group() as tg:
        for _ in range(people):
            tg.start_soon(call)
    assert results == ["we met"] * people
