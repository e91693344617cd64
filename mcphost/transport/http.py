"""HTTP clients for MCP servers, and the streamable HTTP transport over the SDK's.

The SDK tells most HTTP failures apart by nothing but "Server returned an error response", and lets one
connection that breaks end all calls of a session. Here both become the JSON-RPC error that the SDK does
hand on, to the very request that failed. Its `data` holds `status`, `reason` and, where the server sent
them, `retryAfter` and `authenticate`; or, for a broken connection, `broken` and whether the request was
`sent`; or, for one that could not be authorized, `UNAUTHORIZED`.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Any, Final, cast

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from mcphost import net
from mcphost.errors import AuthRequired, ServerError
from mcphost.transport.lines import own_code, parse_line

UNAUTHORIZED: Final = f"unauthorized {token_hex(8)}"
"""Where our own reason and hint for a lack of authorization are. No server can guess it and speak for us."""

_EXCERPT: Final = 300
_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class _Client(httpx2.AsyncClient):
    """Gives a POST that was refused or broken off a JSON-RPC error as its answer, unless it has one."""

    message_bytes = 0
    """The largest answer that is taken, unless it is a stream of events, whose sizes are looked at singly."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if request.method != "POST":
            return await super().send(request, **options)
        await request.aread()  # one that follows a redirect has its body as a stream
        try:
            response = await super().send(request, **options)
            kind = response.headers.get("content-type", "").lower()
            is_json = kind.startswith("application/json") and response.status_code < 300
            if response.status_code < 400 and not is_json:
                return response  # a stream of events, nothing, or a redirect
            body = await read(response, self.message_bytes)
        except httpx2.RequestError as exc:
            return _answer(request, 502, {}, broken(exc))
        except ServerError as exc:
            error = unauthorized(exc)
            return _answer(request, error["data"]["status"], {}, error)
        if body is None:
            return _answer(request, 502, {}, too_large(self.message_bytes))
        if is_json:
            headers = _plain(response.headers)
            content = _repaired(body, request)
            return httpx2.Response(response.status_code, headers=headers, content=content, request=request)
        error = refused(response, body)
        if "mcp-session-id" in request.headers:
            error["data"]["session"] = True
        return _answer(request, response.status_code, _plain(response.headers), error)


def _repaired(body: bytes, request: httpx2.Request) -> bytes:
    """An answer as valid JSON-RPC with the id of the request that it came for, where it can be made so."""
    wanted: Any = json.loads(request.content).get("id")
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
        if wanted is None or getattr(message, "id", wanted) == wanted:
            return body
    except ValidationError:
        pass
    try:
        data: Any = json.loads(body.removeprefix(b"\xef\xbb\xbf").decode(errors="replace"))
    except (ValueError, RecursionError):
        return body
    batch = cast("list[Any]", data) if isinstance(data, list) else [data]
    answers = [
        cast("dict[str, Any]", each) for each in batch if isinstance(each, dict) and "method" not in each
    ]
    if wanted is None or len(answers) != 1:
        return body
    messages, _ = parse_line(json.dumps({**answers[0], "id": wanted}).encode())
    return messages[0].model_dump_json(by_alias=True, exclude_unset=True).encode() if messages else body


async def read(response: httpx2.Response, limit: int) -> bytes | None:
    """The body of a response, which is closed then; None when it is larger than `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in response.aiter_bytes():
            size += len(part)
            if size > limit:
                return None
            parts.append(part)
    finally:
        await response.aclose()
    return b"".join(parts)


def _answer(
    request: httpx2.Request, status: int, headers: dict[str, str], error: Mapping[str, Any]
) -> httpx2.Response:
    content = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = {**headers, "content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=content, request=request)


def _plain(headers: httpx2.Headers) -> dict[str, str]:
    """Headers that still hold for a body that was read and decoded."""
    dropped = {"content-length", "content-encoding", "transfer-encoding"}
    return {name: value for name, value in headers.items() if name.lower() not in dropped}


def _rpc_error(body: bytes) -> dict[str, Any]:
    """The JSON-RPC error that a body holds, or nothing."""
    try:
        error: Any = json.loads(body)["error"]
        return dict(error) if isinstance(error["code"], int) and isinstance(error["message"], str) else {}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def broken(exc: httpx2.RequestError) -> dict[str, Any]:
    """The JSON-RPC error for a request whose connection failed."""
    reason, sent = net.what_failed(exc), not isinstance(exc, _UNSENT)
    message = f"the connection broke: {reason}" if sent else f"cannot connect: {reason}"
    return {"code": INTERNAL_ERROR, "message": message, "data": {"broken": reason, "sent": sent}}


def unauthorized(exc: ServerError) -> dict[str, Any]:
    """The JSON-RPC error for a request that its `httpx2.Auth` had to give up."""
    status = 401 if isinstance(exc, AuthRequired) else 503
    data = {"status": status, UNAUTHORIZED: {"reason": exc.reason, "hint": exc.hint}}
    return {"code": INTERNAL_ERROR, "message": exc.reason, "data": data}


def too_large(limit: int) -> dict[str, Any]:
    """The JSON-RPC error for a request whose answer is not taken."""
    message = f"the answer is larger than {limit:,} bytes"
    return {"code": INTERNAL_ERROR, "message": message, "data": {}}


def refused(response: httpx2.Response, body: bytes) -> dict[str, Any]:
    """The JSON-RPC error for a request that was answered with an HTTP error, which may hold one itself."""
    given = _rpc_error(body)
    data: dict[str, Any] = dict(given["data"]) if isinstance(given.get("data"), dict) else {}
    data |= {"status": response.status_code, "reason": response.reason_phrase}
    for key, header in (("retryAfter", "retry-after"), ("authenticate", "www-authenticate")):
        if value := response.headers.get(header):
            data[key] = value
    said = given.get("message") or " ".join(body[:_EXCERPT].decode(errors="replace").split())
    said = "" if said.startswith("<") else f": {said}"
    message = f"HTTP {response.status_code} {response.reason_phrase}".rstrip() + said.rstrip(": ")
    return {"code": own_code(given.get("code", INTERNAL_ERROR)), "message": message, "data": data}


TIMEOUTS: Final = httpx2.Timeout(30.0, read=None)
"""For all but silence within an answer: calls have their own deadlines, and streams may idle for days."""


@asynccontextmanager
async def _streamable(
    url: str, headers: Mapping[str, str], message_bytes: int, auth: httpx2.Auth | None
) -> AsyncGenerator[Any]:
    async with net.client(url, headers=headers, timeout=TIMEOUTS, auth=auth, kind=_Client) as client:
        assert isinstance(client, _Client)
        client.message_bytes = message_bytes
        async with streamable_http_client(
            url, http_client=client, max_sse_event_size=message_bytes
        ) as streams:
            yield streams


def streamable_transport(
    url: str, headers: Mapping[str, str], *, message_bytes: int, auth: httpx2.Auth | None = None
) -> Transport:
    """Streamable HTTP. Redirects are followed only within the origin of `url`.

    `auth` authorizes the requests; where it raises a `ServerError`, just that request fails.
    """
    return _streamable(url, headers, message_bytes, auth)
