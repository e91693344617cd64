"""The stdio transport: JSON-RPC messages, a line each, over a child's stdin and stdout.

Differs from the SDK's in what a server may get wrong without being lost: bytes that are not UTF-8 are
replaced, lines that are no JSON-RPC are dropped with one warning, batches (2025-03-26) are taken apart, and
a malformed answer fails its own request instead of leaving it to time out. Reading takes time linear in the
length of a message. MCP specification, "Transports", stdio.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from mcphost.transport.lines import Ends, Line, parse_line
from mcphost.transport.process import Child

_Inbox = MemoryObjectSendStream[SessionMessage | Exception]
_Outbox = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_FLUSH_SECONDS = 0.5
_CHUNK = 256 * 1024
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
            if isinstance(line, Ends):
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


async def _lines(child: Child, limit: int) -> AsyncIterator[bytes | Ends]:
    """The lines of a child's stdout, of which those longer than `limit` bytes are not kept."""
    assert child.process.stdout is not None
    line = Line(limit)
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
