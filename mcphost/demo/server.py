"""What the two demo servers share: tools as data, checked arguments, stdio, today's date."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from jsonschema import Draft7Validator
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from mcphost import __version__

DATE_VARIABLE = "MCPHOST_DEMO_DATE"
"""Environment variable that holds the servers' today (YYYY-MM-DD) instead of the real one."""

WEEKDAYS = "一二三四五六日"

JsonSchema = dict[str, Any]
"""The schema of a tool's arguments: an object with `properties`."""

Handler = Callable[[Mapping[str, Any]], str]


class Refusal(Exception):
    """A tool cannot do what was asked. The message goes back as an error result, for the model to read."""


@dataclass(frozen=True, slots=True)
class DemoTool:
    """`handler` gets arguments that fit `schema`, defaults filled in, and gives the result's text."""

    name: str
    description: str
    schema: JsonSchema
    handler: Handler


def today() -> date:
    """The date in China (UTC+8 all year round, so no time zone database is needed).

    Raises ValueError when `DATE_VARIABLE` is set to something that is no date.
    """
    fixed = os.environ.get(DATE_VARIABLE)
    return date.fromisoformat(fixed) if fixed else datetime.now(timezone(timedelta(hours=8))).date()


def weekday(day: date) -> str:
    return f"星期{WEEKDAYS[day.weekday()]}"


def run_tool(tool: DemoTool, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Check the arguments, call the handler; trouble of either kind is an error result."""
    try:
        text = tool.handler(_checked(tool.schema, arguments))
    except Refusal as refusal:
        return types.CallToolResult(content=[types.TextContent(text=str(refusal))], is_error=True)
    return types.CallToolResult(content=[types.TextContent(text=text)])


def _checked(schema: JsonSchema, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    problems: list[str] = []
    for error in Draft7Validator(schema).iter_errors(dict(arguments)):  # pyright: ignore[reportUnknownMemberType]
        where = ".".join(str(part) for part in error.absolute_path)
        problems.append(f"{where}: {error.message}" if where else error.message)
    if problems:
        raise Refusal("参数有误：" + "；".join(problems))
    defaults = {k: v["default"] for k, v in schema["properties"].items() if "default" in v}
    return defaults | dict(arguments)


def build(name: str, tools: Sequence[DemoTool]) -> Server[Any]:
    """An MCP server that lists and runs `tools`. All of them only read, and say so."""
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
        return run_tool(tool, params.arguments or {})

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
