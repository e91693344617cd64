"""A scripted model endpoint for tests: real HTTP on loopback, in a thread of its own.

    with Endpoint(text("Hello"), failure(500)) as endpoint:
        ... endpoint.url ...          # "http://127.0.0.1:PORT/v1"
        endpoint.requests[0].body     # what was asked

The n-th POST gets the n-th answer. An answer may also be a function from the request to an answer. When the
script is used up, the endpoint answers 400 and says so. GET /v1/models lists one model. Every path is fine.

Because it runs in a thread, the code under test may run in the same process or in another.
"""

import json
import select
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT_SECONDS = 30
"""Every wait in here ends after this time, so that a wrong test fails and does not hang."""


@dataclass(frozen=True)
class Answer:
    """One prepared answer.

    The bytes of `pieces` are sent and flushed one by one; at a `threading.Event` the sender waits until it
    is set, or until the client is gone. `cut` breaks the connection after the last piece.
    """

    pieces: Sequence[bytes | threading.Event] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    cut: bool = False


@dataclass(frozen=True)
class Received:
    """One request. `body` is its JSON, `headers` by lower-case name."""

    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes


Script = Answer | Callable[[Received], Answer]


def raw(*pieces: bytes | threading.Event, status: int = 200, cut: bool = False, **options: Any) -> Answer:
    """An answer of exactly these bytes."""
    return Answer(pieces, status=status, cut=cut, **options)


def chunk(*, finish: str | None = None, usage: Any = None, **delta: Any) -> dict[str, Any]:
    """One chat.completion.chunk whose delta holds the given fields."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return {**head, "choices": [choice]} | ({} if usage is None else {"usage": usage})


def call(name: str, arguments: Any = "{}", *, index: int = 0, id: str | None = None) -> dict[str, Any]:
    """One item of a delta's `tool_calls`. Arguments that are no string are written as JSON."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": name, "arguments": written}
    return {"index": index, "id": id or f"call_{index}", "type": "function", "function": function}


def event(data: Any) -> bytes:
    """One server-sent event: a string as it stands, all else as JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def stream(*chunks: Any, done: bool = True, **options: Any) -> Answer:
    """An answer of chunks (and `threading.Event`s), one piece each, ended by `[DONE]`."""
    pieces = [each if isinstance(each, threading.Event) else event(each) for each in chunks]
    return Answer([*pieces, *([event("[DONE]")] if done else [])], **options)


def text(*parts: str, usage: Any = None, **options: Any) -> Answer:
    """An answer in text, a chunk for each part."""
    deltas = [chunk(content=part) for part in parts]
    return stream(*deltas, chunk(finish="stop", usage=usage), **options)


def calls(*items: dict[str, Any], content: str = "", usage: Any = None, **options: Any) -> Answer:
    """An answer that makes calls (see `call`), all in one chunk."""
    return stream(
        chunk(content=content, tool_calls=list(items)), chunk(finish="tool_calls", usage=usage), **options
    )


def failure(status: int, message: str = "scripted failure", **error: Any) -> Answer:
    """An HTTP error in OpenAI's form. It is not worth a retry unless `headers` say otherwise."""
    headers = error.pop("headers", {"x-should-retry": "false"})
    body = json.dumps({"error": {"message": message, **error}}, ensure_ascii=False).encode()
    return Answer([body], status=status, headers=headers, content_type="application/json")


class Endpoint:
    """Serves a script from `with` to its end. `gone` is set when a client left before its answer was over."""

    def __init__(self, *script: Script) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.arrived = threading.Event()
        self.gone = threading.Event()
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def __enter__(self) -> "Endpoint":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join(WAIT_SECONDS)

    def answer(self, request: Received) -> Answer:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        self.arrived.set()
        if number >= len(self._script):
            return failure(
                400, f"the script has {len(self._script)} answers, and this is request {number + 1}"
            )
        entry = self._script[number]
        return entry if isinstance(entry, Answer) else entry(request)

    def wait(self, gate: threading.Event, connection: socket.socket) -> bool:
        """Wait for `gate`; whether it was set before the client left or the endpoint closed."""
        for _ in range(WAIT_SECONDS * 100):
            if gate.wait(0.01):
                return True
            if self._closing.is_set() or _has_left(connection):
                return False
        raise TimeoutError("a gate was never opened")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._sockets: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._sockets.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._sockets.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open, and with them their threads."""
        for connection in list(self._sockets):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed meanwhile

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are part of many tests."""


def _has_left(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    try:
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            endpoint.connections += 1
            super().setup()

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            models = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            self.send(Answer([json.dumps(models).encode()], content_type="application/json"))

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(data) if data else None
            try:
                self.send(endpoint.answer(Received(self.path, headers, body, data)))
            except OSError:
                self.close_connection = True
                endpoint.gone.set()

        def send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Transfer-Encoding", "chunked")
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in answer.pieces:
                if isinstance(piece, bytes):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b"")
                elif not endpoint.wait(piece, self.connection):
                    raise ConnectionAbortedError
            if answer.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

    return Handler
