"""What is kept of the events of a turn, as statements for the file of sessions. Pure."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from mcphost.database import Values
from mcphost.events import Call, Event, Reasoning, Result, Round, RoundUsage, Text
from mcphost.messages import ToolResult, Usage
from mcphost.text import json_text

Statement = tuple[str, Values]
"""A query, and its values but for `:session` and `:message`, the last message that is kept."""

_PIECE = "INSERT INTO pieces (session, kind, text) VALUES (:session, :kind, :text)"
_USAGE = (
    "INSERT INTO usage (session, at, round, model, prompt_tokens, completion_tokens, cached_tokens,"
    " reasoning_tokens) VALUES (:session, :at, :round, :model, :prompt, :completion, :cached, :reasoning)"
)
_BEGUN = (
    "INSERT INTO calls (session, message, at, id, name, server, tool, arguments)"
    " VALUES (:session, :message, :at, :id, :name, :server, :tool, :arguments)"
)
_OPEN = "SELECT max(number) FROM calls WHERE session = :session AND id = :id AND ok IS NULL"
_UNHEARD_OF = (
    "INSERT INTO calls (session, message, at, id, name, server, tool, arguments)"
    " SELECT :session, :message, :at, :id, :name, :server, :tool, :arguments"
    f" WHERE ({_OPEN}) IS NULL"
)
_ENDED = (
    "UPDATE calls SET ok = :ok, seconds = :seconds, error = :error, content = :content,"
    f" attachments = :attachments WHERE number = ({_OPEN})"
)


def statements(event: Event, *, model: str) -> Iterator[Statement]:
    """What to do for an event; nothing for many."""
    match event:
        case Round():
            yield _PIECE, {"kind": "round", "text": ""}
        case Reasoning(text):
            yield _PIECE, {"kind": "reasoning", "text": text}
        case Text(text):
            yield _PIECE, {"kind": "text", "text": text}
        case Call(call_id, name, server, tool, arguments):
            yield _BEGUN, _call(call_id, name, server, tool, arguments)
        case Result(result):
            yield from _result(result)
        case RoundUsage(n, usage):
            yield _USAGE, {"at": time.time(), "round": n, "model": model, **_tokens(usage)}
        case _:
            pass


def _result(result: ToolResult) -> Iterator[Statement]:
    """The end of the call; one that was refused has not begun, and gets its row now."""
    yield (
        _UNHEARD_OF,
        _call(result.call_id, result.name, result.server, result.tool, result.arguments),
    )
    paths = [str(each.path) for each in result.attachments if each.path is not None]
    ended: Values = {
        "id": result.call_id,
        "ok": result.ok,
        "seconds": result.seconds,
        "error": result.error,
        "content": result.content,
        "attachments": json_text(paths) if paths else None,
    }
    yield _ENDED, ended


def _call(
    call_id: str, name: str, server: str | None, tool: str | None, arguments: Mapping[str, Any] | None
) -> Values:
    return {
        "at": time.time(),
        "id": call_id,
        "name": name,
        "server": server,
        "tool": tool,
        "arguments": None if arguments is None else json_text(dict(arguments)),
    }


def _tokens(usage: Usage) -> Values:
    return {
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cached": usage.cached_tokens,
        "reasoning": usage.reasoning_tokens,
    }
