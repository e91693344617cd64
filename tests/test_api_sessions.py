"""Servers that are not shared between the backend's callers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcphost import Host
from mcphost.api.keys import Caller, Key, Keys

from .backend import Running, Upstream, backend, until
from .conftest import rogue
from .endpoint import call, calls, text


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def running(upstream: Upstream) -> Iterator[Running]:
    keys = Keys([Key.of(f"key-of-{name}", Caller(name)) for name in ("alice", "bob")])
    with backend(
        upstream,
        keys=keys,
        all=rogue(),
        key={**rogue(), "session": "per-key"},
        once={**rogue(), "session": "per-request"},
        brief={**rogue(), "session": "per-key", "session_idle": 0.3},
    ) as started:
        yield started


def pid_of(running: Running, server: str, caller: str) -> str:
    answer = running.post(
        "/v1/tools/call", {"name": f"{server}/pid"}, authorization=f"Bearer key-of-{caller}"
    )
    return answer.json()["content"]


def test_a_server_is_shared_unless_it_says_otherwise(running: Running):
    assert len({pid_of(running, "all", caller) for caller in ("alice", "bob", "alice")}) == 1


def test_a_server_can_be_each_keys_own(running: Running):
    alices, bobs = pid_of(running, "key", "alice"), pid_of(running, "key", "bob")
    assert alices != bobs
    assert pid_of(running, "key", "alice") == alices and pid_of(running, "key", "bob") == bobs


def test_a_server_can_be_each_requests_own(running: Running, upstream: Upstream):
    upstream.play(calls(call("once-pid")), calls(call("once-pid")), text("Done."), *[calls(call("once-pid"))])
    running.chat_as("alice")
    first, second = [each["content"] for each in upstream.bodies[2]["messages"] if each["role"] == "tool"]
    assert first == second
    assert pid_of(running, "once", "alice") != first
    until(lambda: not Path(f"/proc/{first}").exists())


def test_what_is_not_used_ends(running: Running):
    pid = pid_of(running, "brief", "alice")
    until(lambda: not Path(f"/proc/{pid}").exists())
    assert pid_of(running, "brief", "alice") != pid


def test_a_call_of_a_private_server_that_cannot_start_fails_as_any_other(upstream: Upstream, tmp_path: Path):
    count = tmp_path / "starts"
    script = tmp_path / "once.py"
    script.write_text(
        "import os, runpy, sys\n"
        f"started = open({str(count)!r}, 'a'); started.write('x'); started.flush()\n"
        f"if os.path.getsize({str(count)!r}) > 1: sys.exit('only once')\n"
        f"sys.argv = {rogue()['args']!r}\n"
        f"runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    entry = {**rogue(), "args": [str(script)], "session": "per-key", "timeout": 1}
    with backend(upstream, flaky=entry) as started:
        answer = started.post("/v1/tools/call", {"name": "flaky/pid"})
    error: Any = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (502, "call_server")
    assert "only once" in error["message"]


@pytest.mark.anyio
async def test_a_turn_of_the_library_shares_all():
    config = {"mcpServers": {"key": {**rogue(), "session": "per-key"}}}
    async with Host.from_config(config) as host:
        await host.ready()
        first, second = await host.call_tool("key/pid"), await host.call_tool("key/pid")
    assert first.content == second.content


@pytest.mark.parametrize("given", ["per-user", 5])
@pytest.mark.anyio
async def test_another_word_is_told(given: Any):
    async with Host.from_config({"mcpServers": {"x": {**rogue(), "session": given}}}) as host:
        await host.ready()
        assert "session" in str(host.servers["x"].error)
