"""One request and what came of it, for the log and the metrics."""

import time
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.types import Scope

from mcphost.api.keys import ANYONE, Caller
from mcphost.events import Event, Result, Round, RoundUsage
from mcphost.messages import ToolResult, Usage

_KEY: Final = "mcphost.exchange"


@dataclass(slots=True)
class Exchange:
    """A request under way. `route` is its pattern, "other" for none of ours. `left`: its caller went away
    before the answer was whole. `code`: the word for what went wrong, where there is one. `seconds` and
    `first` are the time to its end and to the first byte."""

    id: str
    method: str
    path: str
    caller: Caller = ANYONE
    route: str = "other"
    began: float = field(default_factory=time.monotonic)
    status: int = 0
    code: str | None = None
    failed: bool = False
    seconds: float = 0.0
    first: float | None = None
    left: bool = False
    model: str | None = None
    stream: bool = False
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    results: list[ToolResult] = field(default_factory=list[ToolResult])

    def note(self, event: Event) -> None:
        """Take part in a turn."""
        match event:
            case Round(n):
                self.rounds = n
            case RoundUsage(_, usage):
                self.usage += usage
            case Result(result):
                self.results.append(result)
            case _:
                pass

    def fail(self, code: str | None) -> None:
        self.failed, self.code = True, code

    def begin(self, status: int) -> None:
        """The answer begins."""
        self.status = status
        self.first = time.monotonic() - self.began

    def end(self) -> None:
        self.seconds = time.monotonic() - self.began

    def enter(self, scope: Scope) -> None:
        scope[_KEY] = self

    def log(self) -> dict[str, Any]:
        """What the log has of it: no word that was said, and no argument."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "id": self.id,
            "caller": self.caller.name,
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "seconds": round(self.seconds, 3),
        }
        if self.failed:
            line["error"] = self.code
        if self.left:
            line["left"] = True
        return line | self._turn_log() if self.model is not None else line

    def _turn_log(self) -> dict[str, Any]:
        usage = self.usage
        return {
            "model": self.model,
            "stream": self.stream,
            "first_byte": self.first and round(self.first, 3),
            "rounds": self.rounds,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cached_tokens": usage.cached_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "calls": [
                {
                    "server": result.server,
                    "tool": result.tool,
                    "outcome": result.cause or "ok",
                    "seconds": round(result.seconds, 3),
                }
                for result in self.results
            ],
        }


def exchange_of(scope: Scope) -> Exchange:
    """The exchange that a request belongs to."""
    return scope[_KEY]
