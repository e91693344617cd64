"""Servers that live in this process."""

from collections.abc import Callable, Mapping
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from mcphost.instructed import THINK


def _think() -> MCPServer:
    server = MCPServer("think", instructions=THINK)

    def think(thought: Annotated[str, Field(description="The thought, in full sentences.")]) -> str:
        del thought
        return "Noted."

    server.add_tool(
        think,
        description=(
            "Write a thought down. Nothing is looked up and nothing changes; the thought stays in the "
            "conversation. Good for planning several calls, or for checking results against the request."
        ),
    )
    return server


_MAKERS: Mapping[str, Callable[[], MCPServer]] = {"think": _think}

NAMES = tuple(_MAKERS)


def make(name: str) -> MCPServer:
    """The built-in server of that name. Raises `KeyError` when there is none."""
    return _MAKERS[name]()
