"""Streamable HTTP and SSE, over the SDK's transports and one shared way to make HTTP clients.

The SDK tells most HTTP failures apart by nothing but "Server returned an error response". Here such an
answer becomes the JSON-RPC error that the SDK does hand on, to the very request that failed: its `data`
holds `status`, `reason` and, where the server sent them, `retryAfter` and `authenticate`.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from mcphost import net

_CONNECT_SECONDS: Final = 30.0
_EXCERPT: Final = 300


class _Client(httpx2.AsyncClient):
    """Gives a refused POST a JSON-RPC error as its body, unless it brings one."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        if response.status_code < 400 or request.method != "POST":
            return response
        body = await response.aread()
        await response.aclose()
        headers = _plain(response.headers)
        if not _is_rpc_error(body):
            body = json.dumps(_rpc_error(response, body)).encode()
            headers["content-type"] = "application/json"
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request)


def _plain(headers: httpx2.Headers) -> dict[str, str]:
    """Headers that still hold for a body that was decoded."""
    dropped = {"content-length", "content-encoding", "transfer-encoding"}
    return {name: value for name, value in headers.items() if name.lower() not in dropped}


def _is_rpc_error(body: bytes) -> bool:
    try:
        data: Any = json.loads(body)
        return isinstance(data["error"]["code"], int) and isinstance(data["error"]["message"], str)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _rpc_error(response: httpx2.Response, body: bytes) -> dict[str, Any]:
    data: dict[str, Any] = {"status": response.status_code, "reason": response.reason_phrase}
    for key, header in (("retryAfter", "retry-after"), ("authenticate", "www-authenticate")):
        if value := response.headers.get(header):
            data[key] = value
    text = " ".join(body[:_EXCERPT].decode(errors="replace").split())
    said = f": {text}" if text and not text.startswith("<") else ""
    message = f"HTTP {response.status_code} {response.reason_phrase}".rstrip() + said
    return {"jsonrpc": "2.0", "id": None, "error": {"code": INTERNAL_ERROR, "message": message, "data": data}}


def http_client(url: str, headers: Mapping[str, str], *, read_seconds: float) -> httpx2.AsyncClient:
    """A client for one server. `read_seconds` bounds the silence within an answer."""
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=read_seconds)
    return _Client(headers=dict(headers), timeout=timeout, **net.client_settings(url))


@asynccontextmanager
async def _streamable(
    url: str, headers: Mapping[str, str], read_seconds: float, message_bytes: int
) -> AsyncGenerator[Any]:
    async with http_client(url, headers, read_seconds=read_seconds) as client:
        async with streamable_http_client(
            url, http_client=client, max_sse_event_size=message_bytes
        ) as streams:
            yield streams


def streamable_transport(
    url: str, headers: Mapping[str, str], *, read_seconds: float, message_bytes: int
) -> Transport:
    """Streamable HTTP. Redirects are followed only within the origin of `url`."""
    return _streamable(url, headers, read_seconds, message_bytes)


def sse_transport(url: str, headers: Mapping[str, str], *, read_seconds: float) -> Transport:
    """HTTP with SSE, the transport of 2024-11-05."""

    def factory(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        del timeout, auth
        return http_client(url, headers or {}, read_seconds=read_seconds)

    return sse_client(url, headers=dict(headers), httpx_client_factory=factory)
