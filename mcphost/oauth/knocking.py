"""A first request to a server, to see whether it lets one in; what it answers besides is not looked at."""

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
from mcp_types.version import LATEST_MODERN_VERSION

from mcphost import __version__, net
from mcphost.oauth.discovery import Challenge
from mcphost.oauth.web import TIMEOUT
from mcphost.specs import ServerSpec

_REFUSAL: Final = 65536
"""What is read of an answer that is only a refusal, in bytes."""

_META: Final[dict[str, Any]] = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "mcphost", "version": __version__},
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": True},
        "sampling": {"tools": {}},
    },
}
_METHOD: Final = "server/discover"
_DISCOVER: Final = {"jsonrpc": "2.0", "id": 0, "method": _METHOD, "params": {"_meta": _META}}
"""The request that a connection begins with too, in the revision that all others are asked for after."""
_ACCEPT: Final = {"Accept": "application/json, text/event-stream"}
_HEADERS: Final = {**_ACCEPT, "MCP-Protocol-Version": LATEST_MODERN_VERSION, "Mcp-Method": _METHOD}


async def knock(spec: ServerSpec, auth: httpx2.Auth | None = None) -> Challenge | None:
    """The challenge that a server answers with, None when it does not want authorization. Raises
    `httpx2.RequestError` when it does not answer, and what `auth` raises."""
    url = spec.url or ""
    async with net.client(url, headers=spec.headers, timeout=TIMEOUT, auth=auth) as client:
        if spec.type != "sse":
            async with client.stream("POST", url, json=_DISCOVER, headers=_HEADERS) as response:
                if spec.type == "http" or response.status_code not in (400, 404, 405):
                    return Challenge.of(response)
        async with client.stream("GET", url, headers=_ACCEPT) as response:
            return Challenge.of(response)


class Beginning(httpx2.AsyncByteStream):
    """The stream of a response, with no more of it than is looked at."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            yield part
            size += len(part)
            if size > _REFUSAL:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()
