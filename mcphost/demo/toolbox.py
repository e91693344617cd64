"""The tools of a request: what the scripted model may call, and how it recognises one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcphost.jsontext import as_list, as_object


@dataclass(frozen=True, slots=True)
class Function:
    """One entry of a request's `tools`. `name` is the public one, whatever the host made of the server's."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]


def read_tools(tools: object) -> list[Function]:
    """The functions of a request's `tools`. Anything else in there is left out."""
    functions: list[Function] = []
    for tool in as_list(tools) or []:
        entry = as_object((as_object(tool) or {}).get("function"))
        if entry is None:
            continue
        parameters = as_object(entry.get("parameters")) or {}
        properties = {
            k: as_object(v) or {} for k, v in (as_object(parameters.get("properties")) or {}).items()
        }
        required = tuple(str(name) for name in as_list(parameters.get("required")) or [])
        functions.append(
            Function(str(entry["name"]), str(entry.get("description") or ""), properties, required)
        )
    return functions


def is_tool(name: str, raw: str) -> bool:
    """Whether the public `name` is that of the tool a server calls `raw`.

    Public names have something before the server's name, `_` for `-`, and perhaps a digest behind.
    """
    plain = raw.replace("-", "_")
    return (
        re.search(rf"(?:^|[_-]){re.escape(plain)}(?:_[0-9a-f]{{6,}})?$", name.replace("-", "_")) is not None
    )


def find_tool(functions: Sequence[Function], raw: str) -> Function | None:
    """The tool that a server calls `raw`, by the end of its public name."""
    return next((function for function in functions if is_tool(function.name, raw)), None)


def short_name(function: Function, functions: Sequence[Function]) -> str:
    """A tool's name as people would say it: without its server's, or what it shares with other tools."""
    if "__" in function.name:
        return function.name.rpartition("__")[2] or function.name
    head, dash, tail = function.name.rpartition("-")
    shared = dash and any(other.name.startswith(head + dash) for other in functions if other != function)
    return tail if shared else function.name
