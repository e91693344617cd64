"""A turn's events as lines for a person: one a call, one a result."""

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from mcphost.events import Call, Event, Progress, Result, ServerChanged, ServerLog, Warned
from mcphost.messages import ToolResult
from mcphost.server import Server
from mcphost.terminal.output import styled
from mcphost.text import printable

_WIDTH = 100


def line_of(event: Event) -> str | None:
    """The line for an event, or None for one that is not shown."""
    match event:
        case Call():
            where = printable(f"{event.server}/{event.tool}" if event.server else event.name)
            return _paint("→ ", "cyan") + f"{where} {short_json(event.arguments)}"
        case Progress():
            total = f"/{event.total:g}" if event.total is not None else ""
            return _paint(f"  … {event.progress:g}{total} {printable(event.message or '')}".rstrip(), "dim")
        case Result():
            return result_line(event.result)
        case ServerChanged() if event.error:
            return _paint(f"{event.name} is {event.state}: {printable(event.error)}", "yellow")
        case ServerLog() if event.level not in ("debug", "info"):
            return _paint(f"{event.server} says: {printable(event.text)}", "dim")
        case Warned():
            return _paint(f"warning: {printable(event.text)}", "yellow")
        case _:
            return None


def trouble_of(server: Server) -> str:
    """Why a server is not there, and since when it is lost; "" for one without trouble."""
    if server.error is None:
        return ""
    since = time.strftime("since %H:%M:%S, ", time.localtime(server.since)) if server.state == "lost" else ""
    return since + printable(server.error.reason)


def result_line(result: ToolResult) -> str:
    mark = _paint("✓ ", "green") if result.ok else _paint("✗ ", "red")
    said = short(result.content if result.ok else result.error or result.content)
    return f"{mark}{said} " + _paint(f"({result.seconds:.1f} s)", "dim")


def short_json(value: Mapping[str, Any] | None) -> str:
    """Arguments on part of a line."""
    return short(json.dumps(value, ensure_ascii=False)) if value is not None else "(unreadable arguments)"


def short(text: str, width: int = _WIDTH) -> str:
    """`text` as one line of at most `width` characters, safe to print."""
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _paint(text: str, style: str) -> str:
    return styled(text, style, sys.stderr)
