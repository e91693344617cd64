"""Logins that are there: used, renewed, and shared with other processes."""

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest

from mcphost.config import parse
from mcphost.errors import AuthRequired, ConnectFailed
from mcphost.oauth.logout import log_out
from mcphost.oauth.provider import Authorization, authorization
from mcphost.oauth.store import Login, Logins
from mcphost.specs import AuthSpec

from .oauth_servers import Protected, person, protected

pytestmark = pytest.mark.anyio
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def logged_in(server: Protected, *, expired: bool = False, **auth: object) -> Login:
    """Log in, as a run before; the token may be over since."""
    async with server.host(person(), **auth) as host:
        assert host.servers["safe"].state == "ready"
    login = await Logins().load("safe", server.url)
    assert login is not None
    if expired:
        login = replace(login, expires_at=time.time() - 1)
        await Logins().save(login)
        server.control(forget=["access"])
    return login


def signing(server: Protected) -> Authorization:
    """What a process of its own would sign its requests with."""
    config = parse({"mcpServers": {"safe": server.entry()}}, source=None, environ={})
    made = authorization(config.servers["safe"])
    assert made is not None
    return made


async def ping(server: Protected, auth: Authorization) -> int:
    async with httpx2.AsyncClient(auth=auth) as client:
        return (await client.post(server.url, json=PING)).status_code


async def test_an_expired_token_is_renewed_before_it_is_used_with_nobody_there():
    server = protected()
    old = await logged_in(server, expired=True)
    asked = len(server.log("mcp"))
    async with server.host() as host:
        assert (await host.call_tool("safe/hello", {})).ok
    assert server.grants() == ["authorization_code", "refresh_token"]
    assert len(server.pages()) == 1
    sent = [entry["authorization"] for entry in server.log("mcp")[asked:]]
    assert sent and f"Bearer {old.token}" not in sent and None not in sent
    [renewal] = [entry["form"] for entry in server.log(path="/token") if "refresh_token" in entry["form"]]
    assert renewal["resource"] == server.url


@pytest.mark.parametrize(("lasts", "expired"), [(1, False), (3600, False), (None, False), (0, True)])
async def test_a_token_counts_as_expired_a_little_early(lasts: int | None, expired: bool):
    server = protected(expires_in=lasts)
    before = time.time()
    login = await logged_in(server)
    assert login.expired is expired
    if lasts:
        assert login.expires_at is not None
        assert before + lasts * 0.9 - 30 < login.expires_at < time.time() + lasts


async def test_a_refresh_token_is_kept_when_the_answer_has_no_other():
    server = protected(rotates=False)
    old = await logged_in(server, expired=True)
    assert await ping(server, signing(server)) != 401
    login = await Logins().load("safe", server.url)
    assert login is not None
    assert login.token != old.token
    assert login.refresh_token == old.refresh_token


async def test_another_login_keeps_nothing_of_the_former_one():
    server = protected()
    await logged_in(server)
    server.control(forget=["access", "refresh"], refresh=False)
    login = await logged_in(server)
    assert login.refresh_token is None


async def test_a_token_that_is_taken_back_is_renewed_without_a_person():
    server = protected()
    await logged_in(server)
    server.control(forget=["access"])
    async with server.host() as host:
        assert (await host.call_tool("safe/hello", {})).ok
    assert server.grants() == ["authorization_code", "refresh_token"]


async def test_a_login_that_is_over_says_so_and_how_to_get_another():
    server = protected()
    await logged_in(server, expired=True)
    server.control(forget=["refresh"])
    async with server.host() as host:
        error = host.servers["safe"].error
    assert isinstance(error, AuthRequired)
    assert error.reason == "no authorization: its login is over, or was taken back"
    assert error.hint == "Log in anew: mcphost login safe"
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"


async def test_a_client_that_is_not_known_any_more_registers_anew():
    server = protected()
    await logged_in(server, expired=True)
    server.control(forget=["clients", "refresh"])
    async with server.host(person()) as host:
        assert host.servers["safe"].state == "ready"
    assert len([entry for entry in server.log() if entry["path"] == "/register"]) == 2


async def test_trouble_at_the_authorization_server_costs_no_login():
    server = protected()
    await logged_in(server, expired=True)
    server.control(failing=True)
    async with server.host() as host:
        error = host.servers["safe"].error
        assert isinstance(error, ConnectFailed)
        assert error.reason == "no authorization: its authorization server has trouble: HTTP 503"
    server.control(failing=False)
    async with server.host() as host:
        assert host.servers["safe"].state == "ready"


async def test_a_call_whose_token_cannot_be_renewed_fails_alone():
    server = protected()
    async with server.host(person()):
        pass
    async with server.host() as host:
        server.control(forget=["access"], failing=True)
        assert "HTTP 503" in ((await host.call_tool("safe/hello", {})).error or "")
        server.control(failing=False)
        assert (await host.call_tool("safe/hello", {})).ok


async def test_an_expired_token_that_cannot_be_renewed_is_tried_all_the_same():
    """This machine's clock may be what is wrong."""
    server = protected(refresh=False)
    login = await logged_in(server)
    await Logins().save(replace(login, expires_at=1.0))
    assert await ping(server, signing(server)) != 401


async def test_connections_that_share_a_login_use_its_refresh_token_once():
    """The authorization server takes a second use for a theft, and ends the login."""
    server = protected()
    await logged_in(server, expired=True)
    statuses: list[int] = []

    async def use(auth: Authorization) -> None:
        statuses.append(await ping(server, auth))

    async with anyio.create_task_group() as tg:
        for auth in [signing(server) for _ in range(4)]:
            tg.start_soon(use, auth)
    assert 401 not in statuses
    assert server.grants() == ["authorization_code", "refresh_token"]


async def test_processes_that_share_a_login_use_its_refresh_token_once(tmp_path: Path):
    server = protected()
    await logged_in(server, expired=True)
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"safe": server.entry()}}))
    command = [sys.executable, "-m", "mcphost", "call", "-c", str(path), "safe/hello"]
    outs: list[bytes] = []

    async def run() -> None:
        outs.append((await anyio.run_process(command)).stdout)

    async with anyio.create_task_group() as tg:
        tg.start_soon(run)
        tg.start_soon(run)
    assert outs == [b"hello\n", b"hello\n"]
    assert server.grants() == ["authorization_code", "refresh_token"]


async def test_what_another_process_has_got_meanwhile_is_used():
    server = protected()
    await logged_in(server)
    ours, other = signing(server), signing(server)
    assert await ping(server, ours) != 401
    server.control(forget=["access"])
    assert await ping(server, other) != 401
    assert await ping(server, ours) != 401
    assert server.grants() == ["authorization_code", "refresh_token"]


async def test_a_login_that_was_taken_back_elsewhere_is_not_renewed():
    server = protected(revokes=False)
    login = await logged_in(server)
    running = signing(server)
    assert await ping(server, running) != 401
    assert await log_out(login, AuthSpec(), logins=Logins()) == f"{server.authority} does not offer that"
    server.control(forget=["access"])
    with pytest.raises(AuthRequired, match="its login is over, or was taken back"):
        await ping(server, running)
    assert server.grants() == ["authorization_code"]
    assert await Logins().all() == []


async def test_a_login_of_another_client_or_issuer_than_is_configured_is_none():
    server = protected()
    await logged_in(server)
    for auth in ({"client_id": "another"}, {"issuer": "https://another.example"}):
        asked = len(server.log("mcp"))
        async with server.host(**auth) as host:
            assert isinstance(host.servers["safe"].error, AuthRequired)
        assert {entry["authorization"] for entry in server.log("mcp")[asked:]} == {None}


async def test_under_another_name_the_same_address_is_another_login():
    server = protected()
    await logged_in(server)
    async with server.host(name="other") as host:
        assert isinstance(host.servers["other"].error, AuthRequired)


async def test_where_nothing_can_be_kept_the_login_holds_for_the_run(caplog: pytest.LogCaptureFixture):
    server = protected()
    folder = Path(os.environ["HOME"]) / ".local/share/mcphost"
    folder.mkdir(parents=True)
    (folder / "logins").write_text("in the way")
    async with server.host(person()) as host:
        assert (await host.call_tool("safe/hello", {})).ok
    assert "safe: the login cannot be kept" in caplog.text
