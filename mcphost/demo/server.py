"""The demo's tools served over MCP on stdin and stdout."""

import signal
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from mcphost import __version__
from mcphost.demo.tool import DATE_VARIABLE, DemoTool, Refusal, today


def build(name: str, tools: Sequence[DemoTool]) -> Server[Any]:
    """An MCP server that lists and runs `tools`. All of them only read, and say so.

    A refusal is an error result, for the model to read; a tool that does not exist is a protocol error
    (MCP 2025-11-25, "Tools", error handling).
    """
    by_name = {tool.name: tool for tool in tools}
    read_only = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    listed = [
        types.Tool(name=t.name, description=t.description, input_schema=t.schema, annotations=read_only)
        for t in tools
    ]

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
        try:
            return types.CallToolResult(content=[types.TextContent(text=tool(params.arguments or {}))])
        except Refusal as refusal:
            return types.CallToolResult(content=[types.TextContent(text=str(refusal))], is_error=True)

    return Server(name, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def main(name: str, tools: Sequence[DemoTool]) -> None:
    """Serve over stdio until stdin is closed. Ctrl-C, which reaches children too, ends it quietly."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        today()
    except ValueError:
        sys.exit(f"{name}: {DATE_VARIABLE} must be a date such as 2025-08-01")
    anyio.run(partial(_serve, build(name, tools)))
