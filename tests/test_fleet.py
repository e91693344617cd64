"""Connections: every transport, what servers get wrong, and that nothing is left behind."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcphost import AuthRequired, ConnectFailed, Host, ServerLost
from mcphost.paths import cache_folder

from .conftest import rogue
from .http_servers import closed_port, refusing, serving, weather_server

pytestmark = pytest.mark.anyio


def host(servers: dict[str, Any], **options: Any) -> Host:
    return Host.from_config({"mcpServers": servers}, **options)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


async def gone(pid: int) -> bool:
    """Whether a process ends; a signal that was sent may still be on its way."""
    with anyio.move_on_after(5):
        while alive(pid):  # noqa: ASYNC110 (nothing tells about a process that is not our child)
            await anyio.sleep(0.01)
    return not alive(pid)


# what a server may do and still be served


@pytest.mark.parametrize(
    "fault",
    ["", "bad-utf8", "batch", "bom", "crlf", "junk", "no-envelope", "stderr-flood", "pages", "endless-pages"],
)
async def test_a_server_with_odd_manners_works(fault: str):
    async with host({"odd": rogue(*[fault] if fault else [])}) as running:
        await running.ready()
        server = running.servers["odd"]
        assert server.error is None
        names = [tool["name"] for tool in server.tools]
        if fault == "endless-pages":
            assert names == ["echo", "env"]
        else:
            assert names == ["echo", "env", "fail", "wait", "pid"]
        result = await running.call_tool("odd/echo", {"text": "hello"})
        assert result.ok
        assert result.content.endswith("hello")


async def test_bad_tools_cost_only_themselves():
    async with host({"odd": rogue("bad-tools")}) as running:
        await running.ready()
        names = [route.tool for route in running.catalog().routes.values()]
        assert names[:6] == ["echo", "env", "fail", "wait", "pid", "no_schema"]
        assert len(running.catalog().dropped["odd"]) >= 2


async def test_a_server_without_tools_is_ready():
    async with host({"odd": rogue("no-tools")}) as running:
        await running.ready()
        assert running.servers["odd"].state == "ready"
        assert running.tools == []


async def test_content_of_unknown_kinds_is_shown():
    async with host({"odd": rogue("odd-content")}) as running:
        await running.ready()
        result = await running.call_tool("odd/echo", {"text": "x"})
        assert result.ok
        assert "hologram" in result.content


async def test_a_big_result_arrives_and_is_cut_for_the_model():
    async with host({"odd": rogue("big")}) as running:
        await running.ready()
        result = await running.call_tool("odd/echo", {"text": "x"})
        assert result.ok
        assert len(result.content) <= running.config.limits.result_chars
        assert result.attachments[0].path is not None
        assert result.attachments[0].path.stat().st_size == 5 * 1024 * 1024


async def test_a_malformed_answer_fails_its_call_and_the_server_lives():
    async with host({"odd": rogue("malformed-result")}) as running:
        await running.ready()
        result = await running.call_tool("odd/echo", {"text": "x"})
        assert not result.ok
        assert "malformed" in (result.error or "")
        assert running.servers["odd"].state == "ready"


# negotiation


async def test_a_server_that_dies_of_the_probe_gets_the_old_handshake_and_that_is_remembered():
    async with host({"old": rogue("exit-on-discover")}) as running:
        await running.ready()
        assert running.servers["old"].state == "ready"
        assert running.servers["old"].protocol == "2025-06-18"
    assert (cache_folder() / "handshake.json").exists()


async def test_a_server_that_is_silent_on_the_probe_gets_the_old_handshake():
    entry = {**rogue("silent-on-discover"), "start_timeout": 6}
    async with host({"old": entry}) as running:
        await running.ready()
        assert running.servers["old"].state == "ready"
    async with host({"old": rogue("silent-on-discover")}) as running:  # known by now: no probe, no silence
        await running.ready()
        assert running.servers["old"].state == "ready"


async def test_a_server_of_the_newest_revision_is_spoken_to_in_it():
    async with host({}, local={"weather": weather_server()}) as running:
        await running.ready()
        assert running.servers["weather"].protocol == "2026-07-28"
        result = await running.call_tool("weather/temperature", {"city": "Suzhou"})
        assert result.content == "Suzhou: 21"


async def test_builtin_think_is_a_server_like_others():
    async with host({"notes": {"builtin": "think"}}) as running:
        await running.ready()
        result = await running.call_tool("think", {"thought": "trains first, weather second"})
        assert result.ok


# HTTP


@pytest.mark.parametrize(
    ("kind", "entry"),
    [("http", {}), ("http", {"type": "http"}), ("sse", {"type": "sse"}), ("sse", {})],
)
async def test_http_and_sse_servers(kind: Any, entry: dict[str, Any]):
    with serving(kind) as url:
        async with host({"weather": {**entry, "url": url}}) as running:
            await running.ready()
            assert running.servers["weather"].error is None
            result = await running.call_tool("weather/temperature", {"city": "Suzhou"})
            assert result.content == "Suzhou: 21"
            failed = await running.call_tool("weather/broken")
            assert not failed.ok
            assert "offline" in (failed.error or "")
            structured = await running.call_tool("weather/structured")
            assert "21" in structured.content


@pytest.mark.parametrize("kind", ["http", "url", "sse"])
async def test_a_refused_port_is_said_as_such(kind: str):
    entry = {"url": f"http://127.0.0.1:{closed_port()}/mcp"} | ({} if kind == "url" else {"type": kind})
    async with host({"away": entry}) as running:
        await running.ready()
        error = running.servers["away"].error
        assert isinstance(error, ConnectFailed)
        assert "cannot connect to 127.0.0.1" in error.reason
        assert error.hint


@pytest.mark.parametrize("kind", ["http", "url", "sse"])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_server_that_wants_authorization_is_told_apart(status: int, kind: str):
    with refusing(status, WWW_Authenticate="Bearer") as url:
        entry = {"url": url} | ({} if kind == "url" else {"type": kind})
        async with host({"shut": entry}) as running:
            await running.ready()
            error = running.servers["shut"].error
            assert isinstance(error, AuthRequired)
            assert error.exit_code == 3
            assert "headers" in (error.hint or "")


@pytest.mark.parametrize("status", [404, 405, 500, 503])
async def test_an_http_error_is_named(status: int):
    with refusing(status, b"<html>away</html>") as url:
        async with host({"web": {"type": "http", "url": url}}) as running:
            await running.ready()
            error = running.servers["web"].error
            assert isinstance(error, ConnectFailed)
            assert f"HTTP {status}" in error.reason


async def test_a_web_page_is_no_mcp_server():
    with refusing(200, b"<html>hello</html>", Content_Type="text/html") as url:
        async with host({"web": {"url": url}}) as running:
            await running.ready()
            assert isinstance(running.servers["web"].error, ConnectFailed)


# failure of one, and what it says


async def test_one_failed_server_leaves_the_others_alone():
    servers = {
        "good": rogue(),
        "exits": rogue("exit-at-start"),
        "silent": {**rogue("never-init"), "start_timeout": 2},
        "missing": {"command": "no-such-command-anywhere"},
        "unset": {"command": "x", "env": {"KEY": "${NOT_SET_ANYWHERE}"}},
        "odd": {"type": "carrier-pigeon"},
        "off": {**rogue(), "enabled": False},
    }
    async with host(servers) as running:
        await running.ready()
        states = {name: server.state for name, server in running.servers.items()}
        assert states == dict.fromkeys(servers, "failed") | {"good": "ready", "off": "disabled"}
        reasons = {name: str(server.error) for name, server in running.servers.items() if server.error}
        assert "exit status 3" in reasons["exits"]
        assert "no licence file found" in reasons["exits"]
        assert "no answer within 2 s" in reasons["silent"]
        assert "command not found: no-such-command-anywhere" in reasons["missing"]
        assert "NOT_SET_ANYWHERE" in reasons["unset"]
        assert "carrier-pigeon" in reasons["odd"]
        assert (await running.call_tool("good/echo", {"text": "here"})).content == "here"


async def test_a_working_folder_that_is_missing_is_named(tmp_path: Path):
    async with host({"lost": {**rogue(), "cwd": str(tmp_path / "nowhere")}}) as running:
        await running.ready()
        assert "nowhere" in str(running.servers["lost"].error)


async def test_a_file_that_cannot_be_executed_says_so(tmp_path: Path):
    script = tmp_path / "server.sh"
    script.write_text("echo")
    async with host({"text": {"command": str(script)}}) as running:
        await running.ready()
        error = running.servers["text"].error
        assert error is not None
        assert error.hint is not None
        assert "executable" in error.hint


async def test_a_tool_list_that_fails_is_the_reason():
    async with host({"odd": rogue("list-error")}) as running:
        await running.ready()
        assert "the index is being rebuilt" in str(running.servers["odd"].error)


# loss


async def test_a_server_lost_in_a_call_fails_that_call_with_its_last_words():
    async with host({"weak": rogue("exit-in-call")}) as running:
        await running.ready()
        result = await running.call_tool("weak/echo", {"text": "x"})
        assert not result.ok
        assert result.cause == "server"
        assert "exit status 9" in (result.error or "")
        assert "lost the database" in (result.error or "")
        assert "unknown" in (result.error or "")


async def test_a_server_lost_while_idle_is_lost_and_comes_back():
    async with host({"weak": rogue("exit-when-idle")}) as running:
        server = running.servers["weak"]
        await server.until("lost")
        assert isinstance(server.error, ServerLost)
        assert "tired" in str(server.error)
        await server.until("ready")
        assert server.error is None


async def test_reconnect_brings_a_new_process():
    async with host({"good": rogue()}) as running:
        await running.ready()
        first = int((await running.call_tool("good/pid")).content)
        await running.servers["good"].reconnect()
        second = int((await running.call_tool("good/pid")).content)
        assert second != first
        assert await gone(first)


async def test_a_call_without_an_answer_ends_at_its_deadline_and_the_server_lives():
    async with host({"slow": {**rogue("hang-in-call"), "timeout": 0.3}}) as running:
        await running.ready()
        result = await running.call_tool("slow/echo", {"text": "x"})
        assert result.cause == "timeout"
        assert "0.3 s" in (result.error or "")
        assert running.servers["slow"].state == "ready"


# what is left behind


@pytest.mark.parametrize("fault", ["", "stay", "grandchild"])
async def test_no_process_is_left(fault: str):
    async with host({"good": rogue(*[fault] if fault else [])}) as running:
        await running.ready()
        pids = [int((await running.call_tool("good/pid")).content)]
        pids += [
            int(line.split()[1]) for line in running.servers["good"].last_words(5) if "grandchild" in line
        ]
        assert len(pids) == (2 if fault == "grandchild" else 1)
    assert all([await gone(pid) for pid in pids])


async def test_stubborn_servers_are_ended_together():
    servers = {f"stubborn-{n}": rogue("ignore-sigterm", "stay") for n in range(3)}
    async with host(servers) as running:
        await running.ready()
        pids = [int((await running.call_tool(f"{name}/pid")).content) for name in servers]
    assert all([await gone(pid) for pid in pids])


async def test_no_process_is_left_when_the_block_raises():
    pids: list[int] = []
    with pytest.raises(ZeroDivisionError):
        async with host({"good": rogue()}) as running:
            await running.ready()
            pids.append(int((await running.call_tool("good/pid")).content))
            raise ZeroDivisionError
    assert await gone(pids[0])


async def test_no_process_is_left_when_cancelled_while_starting(tmp_path: Path):
    mark = tmp_path / "pid"
    code = (
        f"import os, pathlib, time; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    with anyio.CancelScope() as scope:
        async with host({"silent": {"command": sys.executable, "args": ["-c", code]}}):
            while not (mark.exists() and mark.read_text()):  # noqa: ASYNC110 (as above)
                await anyio.sleep(0.01)
            scope.cancel()
            await anyio.sleep_forever()
    assert await gone(int(mark.read_text()))


async def test_children_get_what_they_need_and_no_secrets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    monkeypatch.setenv("SHARED_SETTING", "given")
    entry = {**rogue(), "env": {"OWN": "1"}, "inherit_env": ["SHARED_*"]}
    async with host({"good": entry}) as running:
        await running.ready()

        async def variable(name: str) -> str:
            return (await running.call_tool("good/env", {"name": name})).content

        assert await variable("OWN") == "1"
        assert await variable("SHARED_SETTING") == "given"
        assert await variable("OPENAI_API_KEY") == "(not set)"
        assert await variable("PATH") == os.environ["PATH"]


async def test_an_answer_over_the_size_limit_fails_its_call_and_the_server_lives():
    config = {"mcpServers": {"big": rogue("big")}, "limits": {"message_bytes": 1_000_000}}
    async with Host.from_config(config) as running:
        await running.ready()
        result = await running.call_tool("big/echo", {"text": "x"})
        assert not result.ok
        assert "larger than 1,000,000 bytes" in (result.error or "")
        assert running.servers["big"].state == "ready"
        assert len(running.servers["big"].tools) == 5


async def test_secrets_of_an_entry_are_not_in_what_its_server_says_last():
    code = "import os, sys; print(os.environ['PASSWORD'], sys.argv[2], file=sys.stderr); sys.exit(1)"
    command = ["-c", code, "--api-key", "sk-very-secret"]
    entry = {"command": sys.executable, "args": command, "env": {"PASSWORD": "hunter2hunter2"}}
    async with host({"leaky": entry}) as running:
        await running.ready()
        shown = str(running.servers["leaky"].error) + " ".join(running.servers["leaky"].last_words(5))
    assert "exit status 1" in shown
    assert "hunter2hunter2" not in shown
    assert "sk-very-secret" not in shown


async def test_secrets_of_an_entry_are_not_in_what_a_web_server_echoes():
    with refusing(500, b"bad Bearer abcdef123456 for key=zyxwvu654321") as url:
        headers = {"Authorization": "Bearer abcdef123456"}
        entry = {"type": "http", "url": f"{url}?key=zyxwvu654321", "headers": headers}
        async with host({"leaky": entry}) as running:
            await running.ready()
            error = str(running.servers["leaky"].error)
    assert "HTTP 500" in error
    assert "abcdef123456" not in error
    assert "zyxwvu654321" not in error


async def test_a_server_that_exits_while_its_child_holds_the_pipes_is_noticed():
    async with host({"forked": {**rogue("exit-forked"), "timeout": 20}}) as running:
        await running.ready()
        result = await running.call_tool("forked/echo", {"text": "x"})
        assert result.cause == "server"


async def test_leaving_while_reconnecting_ends_everything():
    async with anyio.create_task_group() as tg:
        async with host({"good": rogue()}) as running:
            await running.ready()

            async def reconnect() -> None:
                with suppress(ConnectFailed):
                    await running.servers["good"].reconnect()

            tg.start_soon(reconnect)
            await anyio.lowlevel.checkpoint()


async def test_cancelling_a_call_does_not_wait_for_a_server_that_does_not_read():
    async with host({"stopped": rogue()}) as running:
        await running.ready()
        pid = int((await running.call_tool("stopped/pid")).content)
        os.kill(pid, signal.SIGSTOP)
        try:
            async with anyio.create_task_group() as tg:
                tg.start_soon(running.call_tool, "stopped/echo", {"text": "x" * 500_000})
                tg.start_soon(running.call_tool, "stopped/echo", {"text": "y"})
                await anyio.lowlevel.checkpoint()
                tg.cancel_scope.cancel()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (await running.call_tool("stopped/echo", {"text": "z"})).content == "z"
