"""The stdio transport: JSON-RPC messages, a line each, over a child's stdin and stdout.

Differs from the SDK's in what a server may get wrong without being lost: bytes that are not UTF-8 are
replaced, lines that are no JSON-RPC are dropped with one warning, batches (2025-03-26) are taken apart, and
a malformed answer fails its own request instead of leaving it to time out. Reading takes time linear in the
length of a message. MCP specification, "Transports", stdio.
"""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from mcphost.transport.process import Child

logger = logging.getLogger(__name__)

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_FLUSH_SECONDS = 0.5
_CHUNK = 256 * 1024
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@asynccontextmanager
async def stdio_transport(server: str, child: Child, *, message_bytes: int) -> AsyncGenerator[Streams]:
    """Talk to `child`, and stop it on leaving. A line of over `message_bytes` is dropped with a warning."""
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()

    async def read() -> None:
        warned = False
        async with to_session:
            async for line in _lines(child, message_bytes):
                messages, complaint = (
                    parse_line(line) if line is not None else ([], "a line over the size limit")
                )
                if complaint and not warned:
                    warned = True
                    logger.warning("%s: wrote to stdout what is no JSON-RPC, ignored: %s", server, complaint)
                try:
                    for message in messages:
                        await to_session.send(SessionMessage(message))
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    break  # the session has left; keep reading, so that the server can write and leave too
            async for _ in _lines(child, message_bytes):
                pass

    async def write() -> None:
        assert child.process.stdin is not None
        try:
            async with from_session:
                async for outgoing in from_session:
                    data = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await child.process.stdin.send(data.encode() + b"\n")
        except _GONE:
            await to_session.aclose()  # callers learn at once that nobody listens
        finally:
            written.set()

    async with anyio.create_task_group() as tg:
        tg.start_soon(child.drain_stderr)
        tg.start_soon(read)
        tg.start_soon(write)
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


async def _lines(child: Child, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of a child's stdout; None for one that was longer than `limit` bytes."""
    assert child.process.stdout is not None
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            chunk = await child.process.stdout.receive(_CHUNK)
        except _GONE:
            if parts and size <= limit:
                yield b"".join(parts)  # a last line without its newline
            return
        first, *rest = chunk.split(b"\n")
        for piece in (first, *rest):
            if piece is not first:  # a newline came before this piece
                yield b"".join(parts) if size <= limit else None
                parts, size = [], 0
            size += len(piece)
            if size <= limit:
                parts.append(piece)
            else:
                parts = []


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
    except (ValueError, RecursionError):
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


def _encodable(data: Any) -> Any:
    """`data` with lone surrogates replaced, which are valid in JSON's escapes and in no encoding."""
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def _quote(text: str) -> str:
    return repr(text[:120] + ("…" if len(text) > 120 else ""))
