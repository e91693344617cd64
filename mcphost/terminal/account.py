"""What a turn has come to, kept from its events, so that it can be told also after Ctrl-C or an error."""

from collections.abc import Sequence
from typing import Any

from mcphost.events import Done, Event, Failed, Result, Round, RoundUsage, Stop, Text, usage_json
from mcphost.messages import Message, ToolResult, Usage


class Account:
    """`text` is the latest round's. A turn that neither ended nor failed was interrupted."""

    def __init__(self) -> None:
        self.text = ""
        self.results: list[ToolResult] = []
        self.usage = Usage()
        self.rounds = 0
        self.end: Done | Failed | None = None

    def note(self, event: Event) -> None:
        match event:
            case Round(n):
                self.rounds, self.text = n, ""
            case Text(text):
                self.text += text
            case Result(result):
                self.results.append(result)
            case RoundUsage(_, usage):
                self.usage += usage
            case Done(results=results):
                self.end, self.results = event, list(results)  # in call order
            case Failed():
                self.end = event
            case _:
                pass

    @property
    def stop(self) -> Stop:
        match self.end:
            case Done(stop):
                return stop
            case Failed():
                return "error"
            case None:
                return "interrupted"

    def done(self, messages: Sequence[Message]) -> Done:
        """The end of a turn that was interrupted, as the event that the turn could not send."""
        results = tuple(self.results)
        return Done(self.stop, self.text, self.usage, self.rounds, list(messages), results)

    def as_json(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The object of `--output json`."""
        failed = self.end if isinstance(self.end, Failed) else None
        return {
            "text": self.text,
            "messages": messages,
            "tool_calls": [_call_json(result) for result in self.results],
            "usage": usage_json(self.usage),
            "rounds": self.rounds,
            "stop": self.stop,
            **({} if failed is None else {"error": failed.error, "hint": failed.hint}),
        }


def _call_json(result: ToolResult) -> dict[str, Any]:
    return {
        "id": result.call_id,
        "name": result.name,
        "server": result.server,
        "tool": result.tool,
        "arguments": result.arguments,
        "ok": result.ok,
        "seconds": round(result.seconds, 3),
    }
