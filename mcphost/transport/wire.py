"""What every transport passes through: results kept as they came, and lists that one bad tool cannot spoil.

The SDK validates a whole result before anyone sees it, so one malformed tool costs the list and one unknown
content block costs the result. Here the raw `result` objects of lists, calls and reads are set aside, and the
SDK gets the little of them that it acts on. Nothing is lost: `Wire.take` gives the raw ones back, as JSON, to
be judged by code that repairs (`catalog`, `content`, `offers`).

Notifications that are for the host are taken here too, in the order in which they come: what a server says
before a result is known before the result is.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, cast

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from mcphost.text import json_text
from mcphost.transport.lines import own_code

_KEY: Final = "mcphost/raw"
_SHOWN: Mapping[str, dict[str, Any]] = {
    "tools/list": {"tools": []},
    "tools/call": {"content": []},
    "prompts/list": {"prompts": []},
    "prompts/get": {"messages": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": []},
    "completion/complete": {"completion": {"values": []}},
}
"""The methods whose results are set aside, and the least that the SDK takes for one."""
_HEARD: Final = frozenset(
    f"notifications/{what}"
    for what in (
        "message",
        "tools/list_changed",
        "prompts/list_changed",
        "resources/list_changed",
        "resources/updated",
        "elicitation/complete",
    )
)
"""The notifications that the host takes; the SDK gets the others."""


class Wire:
    """A transport around a transport.

    `probe_seconds`: how long `server/discover` may stay unanswered before it is answered here with "method
    not found". The SDK waits ten seconds, which is all that some hosts' files give a server to start in.
    `trace` is told of every message, `send` or `receive`; `hear` of the notifications for the host: the
    method and its params. `closed` is set when the server's side has ended.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        probe_seconds: float,
        trace: Callable[[str, Any], None],
        hear: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        self._transport = transport
        self._trace = trace
        self._hear = hear
        self._probe_seconds = probe_seconds
        self._probe: JSONRPCRequest | None = None
        self._probe_deadline = 0.0
        self._reading: anyio.CancelScope | None = None
        self._methods: dict[str, str] = {}
        self._raw: dict[int, Mapping[str, Any]] = {}
        self._count = 0
        self._has_handshake = False
        self.closed = anyio.Event()

    def take(self, meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """The raw result behind one that the SDK returned, by its `_meta`. Gives it away: once only."""
        return self._raw.pop((meta or {}).get(_KEY, -1), {})

    async def __aenter__(self) -> tuple[Any, Any]:
        read, write = await self._transport.__aenter__()
        return _Read(read, self), _Write(write, self)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(exc_type, exc, traceback)

    def sending(self, item: SessionMessage) -> None:
        self._trace("send", item.message)
        match item.message:
            case JSONRPCRequest(id=request_id, method=method) if (
                method in _SHOWN or method == "server/discover"
            ):
                self._methods[str(request_id)] = method
                if method == "server/discover":
                    self._probe = item.message
                    self._probe_deadline = anyio.current_time() + self._probe_seconds
                    if self._reading is not None:
                        self._reading.deadline = self._probe_deadline
            case JSONRPCRequest(method="initialize"):
                self._has_handshake = True  # in these revisions, a result has no type
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._methods.pop(str((params or {}).get("requestId")), None)  # nobody will take that result
            case _:
                pass

    async def receive(self, stream: Any) -> SessionMessage | Exception:
        with anyio.CancelScope() as self._reading:
            if self._probe is not None:
                self._reading.deadline = self._probe_deadline
            while True:
                item = await stream.receive()
                if not self._heard(item):
                    return self._received(item)
        # only a probe sets the deadline that ends the scope
        probe, self._probe = self._probe, None
        assert probe is not None
        silence = ErrorData(code=METHOD_NOT_FOUND, message="no answer to server/discover")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=probe.id, error=silence))

    def _heard(self, item: SessionMessage | Exception) -> bool:
        """Whether it was a notification for the host, which is told then."""
        if isinstance(item, Exception) or not isinstance(item.message, JSONRPCNotification):
            return False
        if item.message.method not in _HEARD:
            return False
        self._trace("receive", item.message)
        self._hear(item.message.method, item.message.params or {})
        return True

    def _received(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, Exception) or not isinstance(item.message, JSONRPCResponse | JSONRPCError):
            if not isinstance(item, Exception):
                self._trace("receive", item.message)
            return item
        message = item.message
        self._trace("receive", message)
        if isinstance(message, JSONRPCError) and not message.error.message.startswith("SSE stream"):
            message.error.code = own_code(message.error.code)  # the SDK's own HTTP errors begin so
        method = self._methods.pop(str(message.id), None)
        if method == "server/discover":
            self._probe = None
        if isinstance(message, JSONRPCResponse) and method is not None and method in _SHOWN:
            kind = None if self._has_handshake else message.result.get("resultType")
            if kind in (None, "complete"):
                message.result = self._keep(message.result, _shown(method, message.result))
            elif kind != "input_required":
                said = f"the server's answer is malformed: its resultType is {json_text(kind):.80}"
                unknown = ErrorData(code=INTERNAL_ERROR, message=said)
                return SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=unknown))
        return item

    def _keep(self, raw: Mapping[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        self._raw[self._count] = raw
        return {**shown, "resultType": "complete", "_meta": {_KEY: self._count}}


def _shown(method: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """What the SDK acts on in a result."""
    shown: dict[str, Any] = {"tools": _tools(raw)} if method == "tools/list" else dict(_SHOWN[method])
    if method == "tools/call":
        shown["isError"] = raw.get("isError") is True
    elif method.endswith("/list") or method == "resources/read":
        shown |= {"ttlMs": 0, "cacheScope": "private"}
        if cursor := raw.get("nextCursor"):
            shown["nextCursor"] = str(cursor)
    return shown


def _tools(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of a list of tools their names, and the arguments that are mirrored into HTTP headers."""
    listed = raw.get("tools")
    tools = [
        cast("dict[str, Any]", tool)
        for tool in (cast("list[Any]", listed) if isinstance(listed, list) else [])
        if isinstance(tool, dict)
    ]
    return [
        {"name": tool["name"], "inputSchema": _header_schema(tool.get("inputSchema"))}
        for tool in tools
        if isinstance(tool.get("name"), str)
    ]


def _header_schema(schema: Any) -> dict[str, Any]:
    """What of a schema asks for arguments in headers (2026-07-28, streamable HTTP), else nothing."""
    properties = cast("dict[str, Any]", schema).get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {"type": "object"}
    named = cast("dict[str, Any]", properties)
    kept = {name: part for name, part in named.items() if _mentions(part, 8)}
    return {"type": "object", "properties": kept}


def _mentions(part: Any, depth: int) -> bool:
    """Whether a schema, or one of the properties inside it, is to be mirrored into a header."""
    if not isinstance(part, dict) or depth == 0:
        return False
    schema = cast("dict[str, Any]", part)
    inner = schema.get("properties")
    values = cast("dict[str, Any]", inner).values() if isinstance(inner, dict) else ()
    return "x-mcp-header" in schema or any(_mentions(value, depth - 1) for value in values)


class _Read:
    """The read stream, each message passed through its wire."""

    def __init__(self, inner: Any, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    @property
    def last_context(self) -> Any:
        """The sender's context, which the SDK looks for on its own streams."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._wire.receive(self._inner)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._wire.closed.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Write:
    """The write stream, each message noted by its wire."""

    def __init__(self, inner: Any, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    async def send(self, item: SessionMessage, /) -> None:
        self._wire.sending(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
