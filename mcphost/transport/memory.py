"""A server that lives in this process, over memory streams."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.client import Transport
from mcp.server import MCPServer, Server
from mcp.shared.memory import create_client_server_memory_streams

from mcphost.transport.process import GRACE_SECONDS

InProcessServer = MCPServer | Server[Any]
"""A server object of the MCP SDK."""


def memory_transport(server: InProcessServer) -> Transport:
    """Run `server` beside its client, and end it on leaving."""
    return _run(server)


@asynccontextmanager
async def _run(server: InProcessServer) -> AsyncGenerator[Any]:
    # MCPServer offers its protocol loop only over stdio and HTTP; the server under it takes any streams
    lowlevel = server._lowlevel_server if isinstance(server, MCPServer) else server  # pyright: ignore[reportPrivateUsage]
    async with create_client_server_memory_streams() as (client, (server_read, server_write)):
        ended = anyio.Event()

        async def serve() -> None:
            try:
                await lowlevel.run(server_read, server_write, lowlevel.create_initialization_options())
            finally:
                ended.set()

        async with anyio.create_task_group() as tg:
            tg.start_soon(serve)
            try:
                yield client
            finally:
                await client[1].aclose()
                await server_write.aclose()
                with anyio.move_on_after(GRACE_SECONDS):
                    await ended.wait()
                tg.cancel_scope.cancel()
