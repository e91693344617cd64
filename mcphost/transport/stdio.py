"""The stdio transport: JSON-RPC messages, a line each, over a child's stdin and stdout.

Differs from the SDK's in what a server may get wrong without being lost: bytes that are not UTF-8 are
replaced, lines that are no JSON-RPC are dropped with one warning, batches (2025-03-26) are taken apart, and
a malformed answer fails its own request instead of leaving it to time out. Reading takes time linear in the
length of a message. MCP specification, "Transports", stdio.
"""

import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mcphost.transport.process import Child

_Inbox = MemoryObjectSendStream[SessionMessage | Exception]
_Outbox = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_FLUSH_SECONDS = 0.5
_CHUNK = 256 * 1024
_ENDS = 1024
_ID = rb'"id"\s*:\s*(-?\d+|"[^"\\]{1,100}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@asynccontextmanager
async def stdio_transport(
    child: Child, *, message_bytes: int, complain: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """Talk to `child`, and stop it on leaving. An answer of over `message_bytes` fails its request.

    `complain` is told of each line that is no message.
    """
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    # without bound: a server that does not read holds up nobody, least of all a cancellation
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](math.inf)
    written = anyio.Event()
    async with anyio.create_task_group() as tg:
        tg.start_soon(child.drain_stderr)
        tg.start_soon(_read, child, to_session, message_bytes, complain)
        tg.start_soon(_write, child, from_session, to_session, written)
        try:
            yield from_server, to_server
        finally:
            with anyio.CancelScope(shield=True):
                from_server.close()
                to_server.close()
                with anyio.move_on_after(_FLUSH_SECONDS):
                    await written.wait()
                await child.stop()
            tg.cancel_scope.cancel()


async def _read(child: Child, to_session: _Inbox, limit: int, complain: Callable[[str], None]) -> None:
    """Hand messages on until stdout ends; when the session has left, go on reading, so that the child can
    write what it has to, and leave too."""
    async with to_session:
        async for line in _lines(child, limit):
            if isinstance(line, _Ends):
                messages = line.failure(f"is larger than {limit:,} bytes")
                complaint = f"a line of over {limit:,} bytes"
            else:
                messages, complaint = parse_line(line)
            if complaint:
                complain(f"wrote to stdout what is no message: {complaint}")
            try:
                for message in messages:
                    await to_session.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                break
        async for _ in _lines(child, limit):
            pass


async def _write(child: Child, from_session: _Outbox, to_session: _Inbox, written: anyio.Event) -> None:
    """Write messages until the session has left, or the child has: then callers learn it at once."""
    assert child.process.stdin is not None
    try:
        async with from_session:
            async for outgoing in from_session:
                data = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                await child.process.stdin.send(data.encode() + b"\n")
    except _GONE:
        await to_session.aclose()
    finally:
        written.set()


@dataclass(frozen=True, slots=True)
class _Ends:
    """Both ends of a line that cannot be read whole."""

    head: bytes
    tail: bytes

    def failure(self, why: str) -> list[JSONRPCMessage]:
        """The failure of the request that the line answered, if its id can be seen at either end."""
        found = _ID_FIRST.match(self.head) or _ID_LAST.search(self.tail)
        if found is None:
            return []
        error = ErrorData(code=INTERNAL_ERROR, message=f"the answer {why}")
        return [JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=error)]


def _ends(line: bytes) -> _Ends:
    return _Ends(line[:_ENDS], line[-_ENDS:])


async def _lines(child: Child, limit: int) -> AsyncIterator[bytes | _Ends]:
    """The lines of a child's stdout, of which those longer than `limit` bytes are not kept."""
    assert child.process.stdout is not None
    line = _Line(limit)
    while True:
        try:
            chunk = await child.process.stdout.receive(_CHUNK)
        except _GONE:
            last = line.end()
            if isinstance(last, bytes) and last.rstrip().endswith((b"}", b"]")):
                yield last  # whole, but for its newline; anything else was cut off by the server's end
            return
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            line.add(piece)
            yield line.end()
        line.add(rest)


class _Line:
    """A line on its way."""

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._parts: list[bytes] = []
        self._head = b""

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self._parts.append(piece)
        if self.size > self._limit:
            kept = b"".join(self._parts)
            self._head = self._head or kept[:_ENDS]
            self._parts = [kept[-_ENDS:]]

    def end(self) -> bytes | _Ends:
        kept = b"".join(self._parts)
        line = kept if self.size <= self._limit else _Ends(self._head, kept[-_ENDS:])
        self.size, self._parts, self._head = 0, [], b""
        return line


def parse_line(line: bytes) -> tuple[list[JSONRPCMessage], str | None]:
    """The messages of one line, and what is wrong with it (its beginning quoted) or None."""
    line = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not line:
        return [], None
    try:
        return [jsonrpc_message_adapter.validate_json(line, by_name=False)], None
    except ValidationError:
        pass
    text = line.decode(errors="replace")
    try:
        data: Any = json.loads(text)
    except RecursionError:
        return _ends(line).failure("is nested too deeply"), _quote(text)
    except ValueError:
        return [], _quote(text)
    batch = cast("list[Any]", data) if isinstance(data, list) else [data]
    messages = [message for item in batch if (message := _repaired(item)) is not None]
    return messages, None if len(messages) == len(batch) else _quote(text)


def _repaired(data: Any) -> JSONRPCMessage | None:
    """A message that is valid but for its text's encoding or a missing `jsonrpc`; or one that fails the
    request which it answers."""
    if not isinstance(data, dict):
        return None
    message: dict[str, Any] = {"jsonrpc": "2.0", **cast("dict[str, Any]", data)}
    try:
        return jsonrpc_message_adapter.validate_python(_encodable(message), by_name=False)
    except (ValidationError, RecursionError):
        pass
    request_id = message.get("id")
    if (
        not isinstance(request_id, int | str)
        or not message.keys() & {"result", "error"}
        or "method" in message
    ):
        return None
    error = message.get("error")
    said = error if isinstance(error, str) else _quote(json.dumps(message, ensure_ascii=False))
    failure = ErrorData(code=INTERNAL_ERROR, message=f"the server's answer is malformed: {said}")
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=failure)


def own_code(code: int) -> int:
    """A server's error code, unless it is one by which the SDK marks errors of its own making."""
    return INTERNAL_ERROR if code in (CONNECTION_CLOSED, REQUEST_TIMEOUT) else code


def _encodable(data: Any) -> Any:
    """`data` with lone surrogates replaced, which are valid in JSON's escapes and in no encoding."""
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def _quote(text: str) -> str:
    return repr(text[:120] + ("…" if len(text) > 120 else ""))
