"""A turn's events as a `chat.completion`, or as the chunks of one. Pure.

Nothing of the rounds that servers' calls take shows in it: one id, one role, the text as it comes, and one
reason for its end.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from mcphost.api.problems import without_paths
from mcphost.events import (
    Call,
    Done,
    Event,
    Progress,
    Reasoning,
    Result,
    Round,
    RoundUsage,
    Text,
    Warned,
    to_json,
)
from mcphost.jsontext import dumps
from mcphost.messages import ToolCall, ToolResult, Usage

END: Final = b"data: [DONE]\n\n"
KEEPALIVE: Final = b": keepalive\n\n"

_BETWEEN: Final = "\n\n"
"""Between what the model says in one round and in the next."""


@dataclass(slots=True)
class Head:
    """What every chunk of an answer begins with. `created` is in seconds since 1970."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def fields(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


class Chunks:
    """Writes an answer as server-sent events.

    `usage`: the tokens are told in a chunk of their own, and as null in all others. `events`: what happens is
    told as well. `hold`: only the text of the last round is, which is known to be the last when it has ended.
    """

    def __init__(self, head: Head, *, usage: bool = False, events: bool = False, hold: bool = False) -> None:
        start = dumps(head.fields("chat.completion.chunk"))[:-1]
        self._start = start + (',"usage":null' if usage else "")
        self._bare_start = start
        self._usage = usage
        self._events = events
        self._hold = hold
        self._held: list[Text] = []
        self._said: set[str] = set()
        self._apart: set[str] = set()

    def begin(self) -> bytes:
        return self._delta({"role": "assistant", "content": ""})

    def of(self, event: Event) -> bytes:
        """What an event adds to the stream; b"" for nothing."""
        match event:
            case Text():
                if not self._hold:
                    return self._text(event)
                self._held.append(event)
                return b""
            case Reasoning(text):
                return self._delta({"reasoning_content": self._continued("reasoning_content", text)})
            case Round():
                self._held.clear()
                self._apart = set(self._said)
            case _:
                pass
        shown = event_json(event) if self._events else None
        return b"" if shown is None else self._empty({"mcphost": {"event": shown}})

    def end(self, done: Done, about: Mapping[str, Any]) -> bytes:
        """The rest of the stream. `about` is the answer's `mcphost` field."""
        parts = [self._text(event) for event in self._held]
        parts += [
            self._delta({"tool_calls": [_call(call) | {"index": n}]}) for n, call in enumerate(done.calls)
        ]
        reason = dumps(finish_reason(done))
        choice = f'{{"index":0,"delta":{{}},"logprobs":null,"finish_reason":{reason}}}'
        last = f'{self._start},"choices":[{choice}],"mcphost":{dumps(about)}}}'
        parts.append(f"data: {last}\n\n".encode())
        if self._usage:
            usage = dumps(usage_json(done.usage))
            parts.append(f'data: {self._bare_start},"choices":[],"usage":{usage}}}\n\n'.encode())
        return b"".join([*parts, END])

    def _text(self, event: Text) -> bytes:
        logprobs = {"content": list(event.logprobs), "refusal": None} if event.logprobs else None
        return self._delta({"content": self._continued("content", event.text)}, logprobs)

    def _continued(self, kind: str, text: str) -> str:
        """`text`, set apart from what an earlier round said."""
        self._said.add(kind)
        if kind not in self._apart:
            return text
        self._apart.discard(kind)
        return _BETWEEN + text

    def _delta(self, delta: dict[str, Any], logprobs: object = None) -> bytes:
        told = "null" if logprobs is None else dumps(logprobs)
        written = f'{{"index":0,"delta":{dumps(delta)},"logprobs":{told},"finish_reason":null}}'
        return f'data: {self._start},"choices":[{written}]}}\n\n'.encode()

    def _empty(self, more: Mapping[str, Any]) -> bytes:
        return f'data: {self._start},"choices":[],{dumps(more)[1:]}\n\n'.encode()


class Whole:
    """Puts an answer together. What the last round said is what counts."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._logprobs: list[Any] = []

    def take(self, event: Event) -> None:
        match event:
            case Round():
                self._logprobs.clear()
            case Text(_, logprobs):
                self._logprobs += logprobs
            case _:
                pass

    def completion(self, done: Done, about: Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": done.text, "refusal": None}
        if done.calls:
            message["content"] = done.text or None
            message["tool_calls"] = [_call(call) for call in done.calls]
        if reasoning := done.messages[-1].get("reasoning_content"):
            message["reasoning_content"] = reasoning
        logprobs = {"content": self._logprobs, "refusal": None} if self._logprobs else None
        choice = {
            "index": 0,
            "message": message,
            "logprobs": logprobs,
            "finish_reason": finish_reason(done),
        }
        return {
            **self._head.fields("chat.completion"),
            "choices": [choice],
            "usage": usage_json(done.usage),
            "mcphost": about,
        }


def finish_reason(done: Done) -> str:
    """Why the answer ended: the endpoint's own word where it says more than that it did."""
    if done.calls:
        return "tool_calls"
    told = done.finish_reason
    return "stop" if told in (None, "tool_calls", "function_call") else told


def about(done: Done, warnings: Sequence[str]) -> dict[str, Any]:
    """The field of an answer that tells what was done for it."""
    return {
        "stop": done.stop,
        "rounds": done.rounds,
        "calls": [result_json(result) for result in done.results],
        "warnings": list(warnings),
    }


def result_json(result: ToolResult) -> dict[str, Any]:
    """A call that was made, and how it went."""
    return {
        "id": result.call_id,
        "name": result.name,
        "server": result.server,
        "tool": result.tool,
        "arguments": result.arguments,
        "ok": result.ok,
        "error": result.error and without_paths(result.error),
        "cause": result.cause,
        "seconds": round(result.seconds, 3),
    }


def event_json(event: Event) -> dict[str, Any] | None:
    """An event as callers may see it: those of their own turn, without paths. None for all others."""
    match event:
        case Result():
            data = to_json(event)
            content = data["content"] if result_is_servers(event.result) else without_paths(data["content"])
            attachments = [{**each, "path": None} for each in data["attachments"]]
            return data | {"content": content, "attachments": attachments}
        case Round() | Call() | Progress() | RoundUsage() | Warned():
            return to_json(event)
        case _:
            return None


def result_is_servers(result: ToolResult) -> bool:
    """Whether what a result says are a server's words, and not ours about one."""
    return result.ok or result.cause == "tool"


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _call(call: ToolCall) -> dict[str, Any]:
    """A call of the caller's own function, with the provider's own fields, as some want them back."""
    extra = dict(call.extra)
    function = {"name": call.name, "arguments": call.arguments or "{}", **extra.pop("function", {})}
    return {"id": call.id, "type": "function", "function": function, **extra}
