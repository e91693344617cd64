"""Servers that go away, and come back."""

import json
import os
import queue
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from mcphost import AuthRequired, Host, ServerLost
from mcphost.terminal.steps import trouble_of

from .conftest import rogue
from .http_servers import closed_port, process_serving
from .test_fleet import gone, host

pytestmark = pytest.mark.anyio


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_killed_server_is_used_by_the_next_call_without_anyone_asking():
    async with host({"good": rogue()}) as running:
        await running.ready()
        first = int((await running.call_tool("good/pid")).content)
        os.kill(first, signal.SIGKILL)
        await running.servers["good"].until("lost")
        result = await running.call_tool("good/pid")
        assert result.ok
        assert int(result.content) != first


async def test_a_call_to_a_server_killed_a_moment_ago_is_made_to_the_new_one():
    async with host({"good": rogue()}) as running:
        await running.ready()
        os.kill(int((await running.call_tool("good/pid")).content), signal.SIGKILL)
        await running.servers["good"].until("lost")
        results: list[Any] = [None] * 5

        async def call(n: int) -> None:
            results[n] = await running.call_tool("good/echo", {"text": str(n)})

        async with anyio.create_task_group() as tg:
            for n in range(5):
                tg.start_soon(call, n)
        assert [result.content for result in results] == ["0", "1", "2", "3", "4"]


async def test_a_server_that_always_exits_keeps_failing_and_holds_nobody_up():
    async with host({"exits": rogue("exit-at-start"), "good": rogue()}) as running:
        await running.ready()
        assert running.servers["exits"].state == "failed"
        with anyio.fail_after(20):
            assert not (await running.call_tool("exits/echo", {"text": "x"})).ok
            assert (await running.call_tool("good/echo", {"text": "x"})).ok


async def test_a_server_that_dies_while_it_lists_says_so_and_is_tried_again():
    async with host({"weak": rogue("exit-in-list"), "good": rogue()}) as running:
        await running.ready()
        assert "(exit status 5): fatal: too many tools" in str(running.servers["weak"].error)
        assert running.servers["good"].state == "ready"


async def test_why_and_since_when_a_server_is_lost_is_kept():
    async with host({"weak": rogue("exit-when-idle")}) as running:
        server = running.servers["weak"]
        began = server.since
        await server.until("lost")
        assert "exit status 4" in str(server.error)
        assert server.since >= began
        assert re.fullmatch(r"since \d\d:\d\d:\d\d, .*exit status 4.*", trouble_of(server))


async def test_a_server_killed_many_times_costs_nothing_in_the_end():
    async with host({"good": rogue()}) as running:
        await running.ready()
        before, tasks = open_files(), len(anyio.get_running_tasks())
        pids: list[int] = []
        for _ in range(100):
            pids.append(int((await running.call_tool("good/pid")).content))
            os.kill(pids[-1], signal.SIGKILL)
            await running.servers["good"].until("lost")
            await running.servers["good"].reconnect()
        assert len(set(pids)) == 100
        assert open_files() <= before + 2
        assert len(anyio.get_running_tasks()) <= tasks + 2


async def test_nothing_outlives_a_host_that_is_killed(tmp_path: Path):
    path = tmp_path / "servers.json"
    servers = {"stubborn": rogue("ignore-sigterm", "stay", "grandchild")}
    path.write_text(json.dumps({"mcpServers": servers}))
    program = (
        "import anyio, sys\n"
        "from mcphost import Host\n"
        "async def main():\n"
        "    async with Host.from_config(sys.argv[1]) as host:\n"
        "        await host.ready()\n"
        "        grandchild = host.servers['stubborn'].last_words(1)[0].split()[1]\n"
        "        print((await host.call_tool('pid')).content, grandchild, flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 100)
        pids = [int(word) for word in line.split()]
        assert len(pids) == 2
        process.kill()
    assert all([await gone(pid) for pid in pids])


# what is sent again


@pytest.mark.parametrize("hint", ["readOnlyHint", "idempotentHint", None])
async def test_a_call_is_sent_again_only_if_the_tool_says_it_may(hint: str | None, tmp_path: Path):
    count = tmp_path / "count"
    server = {**rogue("exit-once", f"count={count}", *([f"hint={hint}"] if hint else []))}
    async with host({"weak": server}) as running:
        await running.ready()
        result = await running.call_tool("weak/echo", {"text": "x"})
        assert result.ok is (hint is not None)
        assert count.read_text() == ("xx" if hint else "x")
        if not hint:
            assert "unknown" in (result.error or "")


# HTTP, where a server is made to misbehave request by request


class Scripted:
    """A streamable HTTP server (2025-06-18, with sessions) whose calls can be made to fail.

    `on_call(n)` says what happens to call number n (from 1): a status, "reset", "cut", or None for an answer.
    """

    def __init__(self, on_call: Callable[[int], Any] = lambda n: None) -> None:
        self.on_call = on_call
        self.counts: Counter[str] = Counter()
        self.session = 0
        self.forgotten: tuple[int, bytes] = (404, b"")
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                if self.path == "/moved":
                    self.rfile.read(int(self.headers["Content-Length"]))
                    return outer.send(self, 307, headers={"Location": "/mcp"})
                outer.answer(self)

            def do_GET(self) -> None:
                outer.resume(self)

            def do_DELETE(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/mcp"

    def __enter__(self) -> "Scripted":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def forget(self) -> None:
        """Lose all sessions, as a restart does."""
        self.session += 1

    def answer(self, handler: Any) -> None:
        message = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        method, request_id = message.get("method"), message.get("id")
        with self.lock:
            self.counts[method] += 1
            n = self.counts[method]
            self.headers.append(dict(handler.headers))
        known = handler.headers.get("Mcp-Session-Id") in (None, f"s{self.session}")
        if request_id is None:
            return self.send(handler, 202)
        if method == "initialize":
            info = {"name": "scripted", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.send(handler, 200, request_id, result, {"Mcp-Session-Id": f"s{self.session}"})
        if not known:
            status, body = self.forgotten
            return self.send(handler, status, raw=body)
        if method == "tools/list":
            tool = {"name": "count", "inputSchema": {"type": "object"}}
            return self.send(handler, 200, request_id, {"tools": [tool]})
        if method == "tools/call":
            return self.call(handler, request_id, n)
        return self.send(handler, 400)

    def call(self, handler: Any, request_id: Any, n: int) -> None:
        what = self.on_call(n)
        result = {"content": [{"type": "text", "text": f"call {n}"}]}
        if what == "reset":
            handler.connection.close()
            handler.close_connection = True
        elif what == "cut":
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.end_headers()
            handler.wfile.write(b"id: e1\nretry: 10\ndata:\n\n")
            handler.close_connection = True
            self.pending = (request_id, result)
        elif what == "bare":  # an answer that is right but for its envelope
            body = json.dumps({"id": None, "result": result}).encode()
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body) + 3))
            handler.end_headers()
            handler.wfile.write(b"\xef\xbb\xbf" + body)
        elif what == "gzip":
            self.send(handler, 200, request_id, result, {"Content-Encoding": "gzip"})
        elif what == "large":
            self.send(handler, 200, request_id, {"content": [{"type": "text", "text": "x" * 20_000}]})
        elif isinstance(what, tuple):
            self.send(handler, what[0], headers=what[1])
        elif what is not None:
            self.send(handler, what)
        else:
            self.send(handler, 200, request_id, result)

    def resume(self, handler: Any) -> None:
        if handler.headers.get("Last-Event-ID") != "e1":
            return self.send(handler, 405)
        self.counts["resumed"] += 1
        request_id, result = self.pending
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        data = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result})
        handler.wfile.write(f"id: e2\ndata: {data}\n\n".encode())
        handler.close_connection = True

    def send(
        self,
        handler: Any,
        status: int,
        request_id: Any = None,
        result: Any = None,
        headers: Any = None,
        raw: bytes = b"",
    ) -> None:
        message = {"jsonrpc": "2.0", "id": request_id, "result": result}
        body = raw if result is None else json.dumps(message).encode()
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


class RefusingSse:
    """A server of the old SSE transport that refuses its first call with HTTP 500.

    With `cut`, it ends its stream instead, and goes on taking messages that lead nowhere.
    """

    def __init__(self, *, cut: bool = False) -> None:
        outer = self
        self.cut = cut
        self.outbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.calls = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b"event: endpoint\ndata: /messages\n\n")
                while (message := outer.outbox.get()) is not None:
                    self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
                    self.wfile.flush()

            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(outer.take(message))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/sse"

    def take(self, message: dict[str, Any]) -> int:
        """Answer a message over the stream. The status of its POST."""
        results = {
            "initialize": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "count", "inputSchema": {"type": "object"}}]},
        }
        result = results.get(message["method"])
        if message["method"] == "tools/call":
            self.calls += 1
            if self.calls == 1:
                if self.cut:
                    self.outbox.put(None)
                    return 202
                return 500
            result = {"content": [{"type": "text", "text": f"call {self.calls}"}]}
        if result is not None:
            self.outbox.put({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return 202

    def __enter__(self) -> "RefusingSse":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.outbox.put(None)
        self._server.shutdown()
        self._server.server_close()


def web(server: Scripted, limits: dict[str, Any] | None = None, **more: Any) -> Host:
    entry = {"type": "http", "url": server.url, **more}
    return Host.from_config({"mcpServers": {"web": entry}, "limits": limits or {}})


async def test_an_answer_over_the_size_limit_fails_its_call_alone():
    with Scripted(lambda n: "large" if n == 1 else None) as server:
        async with web(server, {"message_bytes": 10_000}) as running:
            await running.ready()
            large = await running.call_tool("count")
            assert "larger than 10,000 bytes" in (large.error or "")
            assert (await running.call_tool("count")).content == "call 2"


NO_SESSION = (
    b'{"jsonrpc": "2.0", "error": {"code": %d, "message": "Bad Request: No valid session ID provided"}}'
)


@pytest.mark.parametrize(
    "forgotten",
    [(404, b""), (404, NO_SESSION % -32001), (404, NO_SESSION % -32600), (400, NO_SESSION % -32000)],
)
async def test_a_forgotten_session_is_begun_anew_and_the_call_made_again(forgotten: tuple[int, bytes]):
    with Scripted() as server:
        server.forgotten = forgotten
        async with web(server) as running:
            await running.ready()
            assert (await running.call_tool("count")).content == "call 1"
            server.forget()
            assert (await running.call_tool("count")).content == "call 3"  # the second was refused
            assert server.counts["initialize"] == 2
            assert running.servers["web"].state == "ready"


@pytest.mark.parametrize("what", [500, 503, "reset", "gzip"])
async def test_trouble_with_one_of_two_parallel_calls_leaves_the_other_alone(what: Any):
    held = threading.Event()

    def on_call(n: int) -> Any:
        if n == 1:
            held.wait(20)
            return None
        return what

    with Scripted(on_call) as server:
        async with web(server) as running:
            await running.ready()
            first: list[Any] = []

            async def call_first() -> None:
                first.append(await running.call_tool("count"))

            async with anyio.create_task_group() as tg:
                tg.start_soon(call_first)
                while not server.counts["tools/call"]:  # noqa: ASYNC110 (the server is in another thread)
                    await anyio.sleep(0.01)
                second = await running.call_tool("count")
                held.set()
            assert not second.ok
            assert ("unknown" in (second.error or "")) is (what in ("reset", "gzip"))
            assert first[0].content == "call 1"
            assert server.counts["initialize"] == 1


async def test_an_answer_to_the_very_request_counts_whatever_its_envelope():
    with Scripted(lambda n: "bare") as server:
        async with web(server) as running:
            await running.ready()
            assert (await running.call_tool("count")).content == "call 1"


async def test_a_redirect_within_the_origin_is_followed():
    with Scripted() as server:
        entry = {"type": "http", "url": server.url.replace("/mcp", "/moved")}
        async with Host.from_config({"mcpServers": {"web": entry}}) as running:
            await running.ready()
            assert running.servers["web"].error is None
            assert (await running.call_tool("count")).content == "call 1"


async def test_too_many_requests_are_waited_for():
    with Scripted(lambda n: (429, {"Retry-After": "0"}) if n == 1 else None) as server:
        async with web(server) as running:
            await running.ready()
            assert (await running.call_tool("count")).content == "call 2"


async def test_too_many_requests_for_longer_than_the_call_may_take_is_told():
    with Scripted(lambda n: (429, {"Retry-After": "3600"})) as server:
        async with web(server, timeout=5) as running:
            await running.ready()
            result = await running.call_tool("count")
            assert "429" in (result.error or "")
            assert server.counts["tools/call"] == 1


async def test_authorization_that_is_lost_in_mid_session_is_told_as_such():
    with Scripted(lambda n: 401) as server:
        async with web(server) as running:
            await running.ready()
            result = await running.call_tool("count")
            assert "authorization" in (result.error or "")
            with pytest.raises(AuthRequired):
                await running.servers["web"].call("count", {}, seconds=5)


async def test_a_stream_that_is_cut_is_resumed():
    with Scripted(lambda n: "cut") as server:
        async with web(server) as running:
            await running.ready()
            result = await running.call_tool("count")
            assert result.content == "call 1"
            assert server.counts["resumed"] == 1
            assert server.counts["tools/call"] == 1


async def test_a_cancelled_call_is_cancelled_at_the_server_and_the_next_one_works():
    held = threading.Event()

    def on_call(n: int) -> Any:
        if n == 1:
            held.wait(20)

    with Scripted(on_call) as server:
        async with web(server) as running:
            await running.ready()
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tg:
                    tg.start_soon(running.call_tool, "count")
                    while not server.counts["tools/call"]:  # noqa: ASYNC110 (the server is in another thread)
                        await anyio.sleep(0.01)
                    scope.cancel()
            result = await running.call_tool("count")
            held.set()
            assert result.content == "call 2"
            assert server.counts["notifications/cancelled"] == 1


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_an_http_server_that_restarts_is_used_again_without_anyone_asking(kind: Any):
    port = closed_port()
    entry = {
        "type": kind,
        "url": f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}",
        "timeout": 10,
    }
    with ExitStack() as first:
        first.enter_context(process_serving(kind, port))
        async with host({"weather": entry}) as running:
            await running.ready()
            assert (await running.call_tool("temperature", {"city": "Suzhou"})).ok
            first.close()
            if kind == "sse":
                await running.servers["weather"].until("lost")
            away = await running.call_tool("temperature", {"city": "Suzhou"})
            assert not away.ok
            assert "not sent" in (away.error or "")
            with process_serving(kind, port):
                back = await running.call_tool("temperature", {"city": "Suzhou"})
                assert back.content == "Suzhou: 21"


async def test_an_sse_stream_that_ends_is_noticed_though_messages_are_still_taken():
    with RefusingSse(cut=True) as server:
        async with host({"old": {"type": "sse", "url": server.url}}) as running:
            await running.ready()
            lost = await running.call_tool("count")
            assert lost.cause == "server"
            assert "unknown" in (lost.error or "")
            assert (await running.call_tool("count")).content == "call 2"


async def test_reconnecting_twice_at_once_is_done_one_after_the_other():
    async with host({"good": rogue()}) as running:
        await running.ready()
        async with anyio.create_task_group() as tg:
            for _ in range(3):
                tg.start_soon(running.servers["good"].reconnect)
        assert (await running.call_tool("good/echo", {"text": "x"})).ok


async def test_a_message_that_an_sse_server_refuses_fails_its_own_call():
    with RefusingSse() as server:
        async with host({"old": {"type": "sse", "url": server.url}}) as running:
            await running.ready()
            assert running.servers["old"].error is None
            refused = await running.call_tool("count")
            assert "HTTP 500" in (refused.error or "")
            assert (await running.call_tool("count")).content == "call 2"


# every fault beside good servers


@pytest.mark.parametrize(
    "fault",
    "banner stderr-flood slow-start never-init exit-at-start exit-in-call hang-in-call bad-utf8 pages "
    "endless-pages big-result".split(),
)
async def test_good_servers_are_not_disturbed_by_a_bad_one(shared: Path, fault: str):
    replay = [str(shared / "tools/replay_server.py"), str(shared / "trace/amap-maps.server.json")]
    bad = {"command": sys.executable, "args": [*replay, "--fault", fault], "start_timeout": 20, "timeout": 1}
    async with host({"one": rogue(), "bad": bad, "two": rogue()}) as running:
        for name in ("one", "two"):
            await running.servers[name].settled()
            assert running.servers[name].state == "ready"
        if fault in ("slow-start", "never-init"):
            assert running.servers["bad"].state == "starting"
        else:
            await running.servers["bad"].settled()
        results: list[bool] = []

        async def call(server: str, tool: str, arguments: dict[str, Any]) -> None:
            result = await running.call_tool(f"{server}/{tool}", arguments)
            if server != "bad":
                results.append(result.content == arguments["text"])

        async with anyio.create_task_group() as tg:
            tg.start_soon(call, "bad", "maps_geo", {"address": "苏州站"})
            for n in range(10):
                tg.start_soon(call, ("one", "two")[n % 2], "echo", {"text": str(n)})
        assert results == [True] * 10


async def test_a_lost_connection_says_whether_the_call_was_sent():
    async with host({"weak": rogue("exit-in-call")}) as running:
        await running.ready()
        with pytest.raises(ServerLost) as lost:
            await running.servers["weak"].call("echo", {"text": "x"}, seconds=5)
        assert lost.value.sent
