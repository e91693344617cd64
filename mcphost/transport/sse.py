"""HTTP with SSE, the transport of revision 2024-11-05: one stream down, a POST for each message up.

Differs from the SDK's in what a refused POST does: it fails its own request, with the HTTP status, and the
others go on.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCRequest

from mcphost import net
from mcphost.errors import ServerError
from mcphost.transport.http import TIMEOUTS, broken, read, refused, unauthorized
from mcphost.transport.lines import Ends, Line, parse_line

_Inbox = MemoryObjectSendStream[SessionMessage | Exception]
_STREAM_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
_SAID = 65536
_DATA = b"data:"
_BOM = b"\xef\xbb\xbf"
_ENDS = 1024
_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError)


def sse_transport(
    url: str,
    headers: Mapping[str, str],
    *,
    message_bytes: int,
    complain: Callable[[str], None],
    auth: httpx2.Auth | None = None,
) -> Transport:
    """The stream at `url`. `complain` is told of each event that is no message; `auth` authorizes requests.

    Raises `httpx2.HTTPError` when the stream cannot be opened, and what `auth` raises.
    """
    return _sse(url, headers, message_bytes, complain, auth)


@asynccontextmanager
async def _sse(
    url: str,
    headers: Mapping[str, str],
    message_bytes: int,
    complain: Callable[[str], None],
    auth: httpx2.Auth | None,
) -> AsyncGenerator[Any]:
    async with (
        net.client(url, headers=headers, timeout=TIMEOUTS, auth=auth) as client,
        client.stream("GET", url, headers=_STREAM_HEADERS) as response,
    ):
        response.raise_for_status()
        to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        async with to_session, from_server, to_server, from_session, anyio.create_task_group() as tg:
            events = _events(response, message_bytes)
            endpoint = await tg.start(_receive, url, events, message_bytes, to_session, complain)
            tg.start_soon(_send, client, endpoint, from_session, to_session)
            try:
                yield from_server, to_server
            finally:
                tg.cancel_scope.cancel()


async def _receive(
    url: str,
    events: AsyncIterator[tuple[str, bytes | Ends]],
    limit: int,
    to_session: _Inbox,
    complain: Callable[[str], None],
    *,
    task_status: anyio.abc.TaskStatus[str],
) -> None:
    """Hand messages on until the stream ends. Reports the address to POST to, which comes first."""
    known = False
    async with to_session:
        try:
            async for kind, data in events:
                if isinstance(data, Ends):
                    messages = data.failure(f"is larger than {limit:,} bytes")
                    complaint = f"an event of over {limit:,} bytes"
                elif kind == "endpoint" and not known:
                    known = True
                    task_status.started(_endpoint(url, data.decode(errors="replace")))
                    continue
                else:
                    messages, complaint = parse_line(data) if kind == "message" else ([], None)
                if complaint:
                    complain(f"sent what is no message: {complaint}")
                for message in messages:
                    await to_session.send(SessionMessage(message))
        except (httpx2.TransportError, *_LEFT):
            if not known:
                raise
        if not known:
            raise ValueError("the stream ended without saying where to send messages")


async def _events(response: httpx2.Response, limit: int) -> AsyncIterator[tuple[str, bytes | Ends]]:
    """The kind and the data of each event, of which those of over `limit` bytes are not kept whole.

    WHATWG HTML, "Server-sent events", but for lines that end in a lone CR, which no server sends.
    """
    line, kind, data = Line(limit + len(_DATA) + 1), "message", list[bytes | Ends]()
    async for chunk in response.aiter_bytes():
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            line.add(piece)
            ended = line.end()
            if isinstance(ended, Ends):
                data.append(Ends(_value(ended.head), ended.tail))
            elif stripped := ended.removeprefix(_BOM).rstrip(b"\r"):
                name, _, _ = stripped.partition(b":")
                if name == b"event":
                    kind = _value(stripped).decode(errors="replace")
                elif name == b"data":
                    data.append(_value(stripped))
            else:
                if data:
                    yield kind, _joined(data, limit)
                kind, data = "message", []
        line.add(rest)


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")


def _joined(data: list[bytes | Ends], limit: int) -> bytes | Ends:
    """The data of an event from its lines."""
    for part in data:
        if isinstance(part, Ends):
            return part
    whole = b"\n".join(part for part in data if isinstance(part, bytes))
    return whole if len(whole) <= limit else Ends(whole[:_ENDS], whole[-_ENDS:])


def _endpoint(url: str, data: str) -> str:
    """The address to POST to, which must be of the stream's own origin."""
    endpoint = urljoin(url, data)
    if urlsplit(endpoint)[:2] != urlsplit(url)[:2]:
        raise ValueError(f"the server wants messages sent to another origin: {endpoint.split('?')[0]}")
    return endpoint


async def _send(client: httpx2.AsyncClient, endpoint: str, from_session: Any, to_session: _Inbox) -> None:
    async with anyio.create_task_group() as tg:
        async for outgoing in from_session:
            if isinstance(outgoing.message, JSONRPCRequest):
                tg.start_soon(_post, client, endpoint, outgoing, to_session)
            else:  # a server must have `initialized` before the request that follows it
                await _post(client, endpoint, outgoing, to_session)


async def _post(
    client: httpx2.AsyncClient, endpoint: str, outgoing: SessionMessage, to_session: _Inbox
) -> None:
    message = outgoing.message
    try:
        body = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        async with client.stream("POST", endpoint, json=body) as response:
            said = await read(response, _SAID) or b""
        error = None if response.is_success else refused(response, said)
    except httpx2.TransportError as exc:
        error = broken(exc)
    except ServerError as exc:
        error = unauthorized(exc)
    if error is not None and isinstance(message, JSONRPCRequest):
        failure = JSONRPCError(jsonrpc="2.0", id=message.id, error=ErrorData.model_validate(error))
        try:
            await to_session.send(SessionMessage(failure))
        except _LEFT:
            return
