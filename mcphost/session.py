"""A connected server: what it is, its tools, and calls to it until it ends."""

from collections.abc import Mapping
from typing import Any, Final, cast

import anyio
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, REQUEST_TIMEOUT, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcphost.config import ServerSpec
from mcphost.errors import ServerLost, ToolError
from mcphost.events import ProgressFn
from mcphost.transport.process import Child
from mcphost.transport.wire import Wire
from mcphost.trouble import explain, http_status, is_closed, last_words, retry_after, rpc_data

PAGES: Final = 1000
"""More pages of tools than this is a server that pages forever."""


class Session:
    """A connected server. Calls may come from any task; its `Connector` alone opens and closes it."""

    def __init__(self, spec: ServerSpec, client: Client, wire: Wire, child: Child | None) -> None:
        self._spec = spec
        self._client = client
        self._wire = wire
        self._child = child
        info = client.server_info
        self.protocol = client.protocol_version
        self.server = f"{info.name} {info.version}".strip() if info is not None else ""
        self.instructions = client.instructions
        self.tools: tuple[Any, ...] = ()

    async def list_tools(self) -> tuple[Any, ...]:
        """The server's tools as they came, of all pages: JSON objects, or whatever stood in their place."""
        tools: list[Any] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(PAGES):
            try:
                page = await self._client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            except MCPError as exc:
                if exc.code == METHOD_NOT_FOUND and not tools:
                    return ()
                raise
            listed = self._wire.take(page.meta).get("tools")
            tools.extend(cast("list[Any]", listed) if isinstance(listed, list) else [])
            cursor = page.next_cursor
            if not cursor or cursor in seen:
                break
            seen.add(cursor)
        return tuple(tools)

    @property
    def over(self) -> bool:
        """Whether the connection has ended, or leads nowhere any more."""
        return self._wire.closed.is_set()

    async def answers(self, seconds: float) -> bool:
        """Whether the server still answers anything at all."""
        with anyio.move_on_after(seconds):
            try:
                if self.protocol in MODERN_PROTOCOL_VERSIONS:
                    await self._client.session.send_discover(self.protocol)
                else:
                    await self._client.session.send_ping()
            except MCPError as exc:
                return not is_closed(exc)
            return True
        return False

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, seconds: float, progress: ProgressFn | None = None
    ) -> Mapping[str, Any]:
        """Call a tool; its `CallToolResult` as the server sent it.

        Raises `ToolError` when the server refuses the call, `TimeoutError` when it does not answer within
        `seconds`, `AuthRequired`, and `ServerLost` when it went away, with whether the call was sent.
        """
        if self.over:
            raise ServerLost(self._spec.name, "the server went away", sent=False)
        try:
            with anyio.fail_after(seconds + 1):  # also bounds the wait for a server that does not read
                result = await self._client.call_tool(
                    tool, dict(arguments), read_timeout_seconds=seconds, progress_callback=progress
                )
        except MCPError as exc:
            raise await self._call_failed(exc, seconds) from exc
        except TimeoutError as exc:
            raise TimeoutError(_no_answer(seconds)) from exc
        except RuntimeError as exc:  # a result of a kind that needs an answer from us, which we did not offer
            raise ToolError(f"the server asks for something this host does not offer: {exc}") from exc
        return self._wire.take(result.meta)

    async def _call_failed(self, exc: MCPError, seconds: float) -> Exception:
        name, data, status = self._spec.name, rpc_data(exc), http_status(exc)
        if exc.code == REQUEST_TIMEOUT:
            return TimeoutError(_no_answer(seconds))
        if status in (401, 403):
            return explain(self._spec, exc)
        if data.get("session") and (status == 404 or (status == 400 and "session" in exc.message.lower())):
            self._wire.closed.set()  # specification, "Transports", session management: begin a new session
            return ServerLost(name, "the server does not know the session any more", sent=False)
        if "broken" in data:
            return ServerLost(name, exc.message, sent=data.get("sent") is not False)
        if is_closed(exc):
            details = await last_words(self._child) if self._child is not None else f": {exc.message}"
            return ServerLost(name, "the server went away during the call" + details)
        wait = retry_after(data) if status == 429 else None
        return ToolError(f"the server answered with an error: {exc.message}", retry_after=wait)


def _no_answer(seconds: float) -> str:
    return f"no answer within {round(seconds, 1):g} s; the call was cancelled, and may have taken effect"
