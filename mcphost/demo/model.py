"""A stand-in for a model: an OpenAI-compatible endpoint on loopback that answers from a script.

It is not a language model and does not pass for one. Questions about trains are worked through step by step
(date, station codes, tickets, answer); for anything else it takes the tool whose name and description share
most words with what was typed, fills its parameters from the text, and presents what came back. Every reply
follows from the request alone: there is no state, and the same request gives the same reply.

It speaks real HTTP: `GET /v1/models` and `POST /v1/chat/completions`, as a stream of server-sent events or as
a whole, with errors in OpenAI's shape.
"""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import BaseRequestHandler, ThreadingTCPServer
from types import TracebackType
from typing import Any, Self

from mcphost.demo.plan import plan
from mcphost.demo.wire import MODEL, BadRequest, Json, check, chunks, completion
from mcphost.jsontext import as_object

MAX_BODY = 256 * 1024 * 1024
"""Bytes of a request's body that are taken."""

_MODELS = {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "mcphost"}]}


class _Server(ThreadingTCPServer):
    """Keeps its open connections, so that closing ends those that a client keeps alive."""

    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], handler: type[BaseRequestHandler], pause: float) -> None:
        super().__init__(address, handler)
        self.pause = pause
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is a fault of ours, and shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        self.closing.set()
        self.shutdown()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "mcphost-demo"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: the terminal is the host's."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Errors found by http.server itself (a method that nobody handles, a malformed request line)."""
        self.close_connection = True
        code = 405 if code == 501 else code
        self._send(code, BadRequest(message or "Bad request.", status=code).body())

    def do_GET(self) -> None:
        try:
            self._expect("/v1/models")
            self._send(200, _MODELS)
        except BadRequest as bad:
            self._send(bad.status, bad.body())

    def do_POST(self) -> None:
        try:
            body = self._read()
            self._expect("/v1/chat/completions")
            request = check(body)
            reply = plan(request["messages"], request.get("tools"), request.get("tool_choice"))
            whole = completion(reply, request)
        except BadRequest as bad:
            self._send(bad.status, bad.body())
            return
        if request.get("stream"):
            options = as_object(request.get("stream_options")) or {}
            self._stream(chunks(whole, include_usage=bool(options.get("include_usage"))))
        else:
            self._send(200, whole)

    def _expect(self, path: str) -> None:
        asked = self.path.partition("?")[0].rstrip("/")
        if asked != path:
            raise BadRequest(f"There is nothing at {self.command} {asked}.", status=404, code="not_found")

    def _read(self) -> object:
        length = self.headers.get("Content-Length") or ""
        if not length.isdecimal():
            self.close_connection = True
            raise BadRequest("A Content-Length header is needed.", status=411)
        if int(length) > MAX_BODY:
            self.close_connection = True
            raise BadRequest(f"The body is over {MAX_BODY} bytes.", status=413)
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as exc:
            raise BadRequest(f"The body is not JSON: {exc}") from exc

    def _send(self, status: int, body: Json) -> None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Json]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self._event(json.dumps(event, ensure_ascii=False))
            if self.server.closing.wait(self.server.pause):
                self.close_connection = True
                return
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        line = f"data: {data}\n\n".encode("utf-8", "replace")
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))


class ScriptedModel:
    """The endpoint, served from a thread.

        with ScriptedModel() as model:
            client = openai.OpenAI(base_url=model.base_url, api_key="none")

    `pause` is the time between two chunks of a stream, in seconds. The system chooses the port unless given.
    """

    def __init__(self, *, pause: float = 0.0, port: int = 0) -> None:
        self._pause = pause
        self._port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """Where it answers, such as http://127.0.0.1:40123/v1. RuntimeError while it is not started."""
        if self._server is None:
            raise RuntimeError("the scripted model has not been started")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> Self:
        """Bind and serve. OSError when a port that was asked for is taken. Once started, does nothing."""
        if self._server is None:
            self._server = _Server(("127.0.0.1", self._port), _Handler, self._pause)
            self._thread = threading.Thread(
                target=self._server.serve_forever, args=(0.05,), name="scripted-model"
            )
            self._thread.daemon = True
            self._thread.start()
        return self

    def close(self) -> None:
        """End all connections and the thread. Once closed, does nothing."""
        server, thread, self._server, self._thread = self._server, self._thread, None, None
        if server is not None and thread is not None:
            server.close()
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
