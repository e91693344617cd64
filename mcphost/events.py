"""What happens in a turn, for whoever watches. Events tell and change nothing; hooks decide.

`to_json` gives the line that `--output stream-json` prints.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, assert_never

from mcphost.messages import Attachment, Message, ToolCall, ToolResult, Usage

Stop = Literal["answer", "limit", "calls", "error", "interrupted"]
"""Why a turn ended: the model answered; a limit was reached; it calls what the caller of the turn runs
itself; it failed; it was cancelled."""


@dataclass(frozen=True, slots=True)
class Round:
    """Request number `n` (from 1) goes to the model."""

    n: int


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The next piece of the model's reasoning, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the model's text, as it comes. `logprobs` has what the endpoint says of its tokens,
    where that was asked for, as it came."""

    text: str
    logprobs: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call is about to run. `server` and `tool` are None when no tool has that name."""

    id: str
    name: str
    server: str | None
    tool: str | None
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Progress:
    """A server reports on the running call `id`: `progress` of `total`, in a unit of its own, `total` None
    where it does not know; `message` is in its words."""

    id: str
    progress: float
    total: float | None = None
    message: str | None = None


class ProgressFn(Protocol):
    """Takes a server's progress report on a call: how far, of how much if it is known, and in words."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Result:
    """A call has ended, well or not. Each `Call` has one."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class RoundUsage:
    """The tokens of request number `n`, where the endpoint told them."""

    n: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """A server is in another state (`starting`, `ready`, …), or has another number of usable `tools`. `error`
    says why where it failed."""

    name: str
    state: str
    tools: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ServerLog:
    """A line of a server's own log. `level` is one of MCP's, from `debug` to `emergency`."""

    server: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ListChanged:
    """A server's `what` are not the same any more. For its tools, `ServerChanged` tells."""

    server: str
    what: Literal["prompts", "resources"]


@dataclass(frozen=True, slots=True)
class ResourceUpdated:
    """A resource that was subscribed to has other contents, or one below it."""

    server: str
    uri: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know that stops nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The turn ended with something to show. `messages` are the whole conversation, its new part included.

    `calls` are those that the caller of the turn has to run, where `stop` is `calls`. `finish_reason` is the
    endpoint's own word about the last reply.
    """

    stop: Stop
    text: str
    usage: Usage
    rounds: int
    messages: list[Message] = field(default_factory=list[Message])
    results: tuple[ToolResult, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended in an error. `messages` hold what had come by then, and can be sent again."""

    error: str
    exit_code: int
    hint: str | None = None
    messages: list[Message] = field(default_factory=list[Message])


Event = (
    Round
    | Reasoning
    | Text
    | Call
    | Progress
    | Result
    | RoundUsage
    | ServerChanged
    | ServerLog
    | ListChanged
    | ResourceUpdated
    | Warned
    | Done
    | Failed
)


def usage_json(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def attachment_json(attachment: Attachment) -> dict[str, Any]:
    return {
        "kind": attachment.kind,
        "mime_type": attachment.mime_type,
        "bytes": len(attachment.data),
        "path": None if attachment.path is None else str(attachment.path),
    }


def to_json(event: Event) -> dict[str, Any]:  # noqa: C901 (one case an event)
    """One event as the object of its `stream-json` line."""
    match event:
        case Round(n):
            return {"type": "round", "n": n}
        case Reasoning(text):
            return {"type": "reasoning", "text": text}
        case Text(text):
            return {"type": "text", "text": text}
        case Call(id, name, server, tool, arguments):
            return {
                "type": "call",
                "id": id,
                "name": name,
                "server": server,
                "tool": tool,
                "arguments": arguments,
            }
        case Progress(id, progress, total, message):
            return {"type": "progress", "id": id, "progress": progress, "total": total, "message": message}
        case Result(result):
            return {
                "type": "result",
                "id": result.call_id,
                "ok": result.ok,
                "content": result.content,
                "seconds": round(result.seconds, 3),
                "attachments": [attachment_json(a) for a in result.attachments],
            }
        case RoundUsage(n, usage):
            return {"type": "usage", "n": n, **usage_json(usage)}
        case ServerChanged(name, state, tools, error):
            return {"type": "server", "name": name, "state": state, "tools": tools} | (
                {"error": error} if error else {}
            )
        case ServerLog(server, level, text):
            return {"type": "log", "server": server, "level": level, "text": text}
        case ListChanged(server, what):
            return {"type": "list_changed", "server": server, "what": what}
        case ResourceUpdated(server, uri):
            return {"type": "resource", "server": server, "uri": uri}
        case Warned(text):
            return {"type": "warning", "text": text}
        case Done(stop, text, usage, rounds):
            return {"type": "done", "stop": stop, "text": text, "usage": usage_json(usage), "rounds": rounds}
        case Failed(error, exit_code, hint):
            return {"type": "error", "error": error, "exit_code": exit_code} | (
                {"hint": hint} if hint else {}
            )
        case _:
            assert_never(event)
