"""`mcphost run`: one turn, as text, as one JSON object, or as a JSON object an event."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcphost.config import Config
from mcphost.conversation import ToolChoice
from mcphost.errors import ConfigError, LimitReached, McphostError
from mcphost.events import Done, Event, Failed, Result, Round, RoundUsage, Text, to_json, usage_json
from mcphost.hooks import AllowAll
from mcphost.host import Host
from mcphost.messages import Message, ToolResult, Usage
from mcphost.terminal.approve import TerminalHooks
from mcphost.terminal.output import note, write, write_json
from mcphost.terminal.setup import Settings, opened, settled
from mcphost.terminal.steps import line_of
from mcphost.text import printable

Output = Literal["text", "json", "stream-json"]


@dataclass(frozen=True, slots=True)
class Request:
    """What `run` was asked for. `attached` is what was piped in beside a prompt."""

    prompt: str
    attached: str = ""
    system: str | None = None
    output: Output = "text"
    quiet: bool = False
    tool_choice: str | None = None
    yes: bool = False

    def messages(self) -> list[Message]:
        content = f"{self.prompt}\n\n{self.attached}" if self.attached else self.prompt
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*system, {"role": "user", "content": content}]


class Account:
    """What a turn has come to, kept from its events, so that it can be told also after Ctrl-C."""

    def __init__(self) -> None:
        self.text = ""
        self.results: list[ToolResult] = []
        self.usage = Usage()
        self.rounds = 0
        self.done: Done | None = None
        self.failed: Failed | None = None

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
            case Done():
                self.done = event
            case Failed():
                self.failed = event
            case _:
                pass

    def as_json(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The object of `--output json`."""
        stop = (
            self.done.stop if self.done is not None else "error" if self.failed is not None else "interrupted"
        )
        error = {} if self.failed is None else {"error": self.failed.error, "hint": self.failed.hint}
        return {
            "text": self.text,
            "messages": messages,
            "tool_calls": [_call_json(result) for result in self.results],
            "usage": usage_json(self.usage),
            "rounds": self.rounds,
            "stop": stop,
            **error,
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


async def run(config: Config, settings: Settings, request: Request) -> int:
    """One turn. Its exit code; raises `McphostError` for what keeps it from beginning."""
    hooks = AllowAll() if request.yes else TerminalHooks.where_possible()
    async with opened(config, settings, hooks=hooks) as host:
        await settled(host, settings)
        for warning in host.catalog().warnings:
            note(f"warning: {warning}", style="yellow")
        return await take_turn(host, request, choice=tool_choice(host, request.tool_choice))


async def take_turn(host: Host, request: Request, *, choice: ToolChoice = None) -> int:
    """Run the turn and show it as `request.output` says."""
    messages, account = request.messages(), Account()
    try:
        async with host.turn(messages, tool_choice=choice) as turn:
            messages = turn.messages
            async for event in turn:
                account.note(event)
                _show(event, request, account)
    finally:  # what there is by now is told also when the turn was interrupted
        if request.output == "json":
            write_json(account.as_json(messages))
    failure = _failure(account, host.config.limits.rounds)
    if failure is not None:
        if request.output == "text":
            raise failure
        return failure.exit_code
    return 0


def _show(event: Event, request: Request, account: Account) -> None:
    if request.output == "stream-json":
        write_json(to_json(event))
        return
    if request.output == "text":
        show_text(event, account)
    if not request.quiet and (line := line_of(event)) is not None:
        note(line)


def show_text(event: Event, account: Account) -> None:
    """Text for stdout: as it comes on a terminal; the answer alone, at the end, where a program reads."""
    match event:
        case Text(text) if sys.stdout.isatty():
            write(printable(text), end="")
        case RoundUsage() if sys.stdout.isatty():
            if account.text and not account.text.endswith("\n"):
                write("")
        case Done() | Failed() if not sys.stdout.isatty():
            if account.text:
                write(account.text)
        case _:
            pass


def _failure(account: Account, rounds: int) -> McphostError | None:
    """Why the turn is not all that was asked for."""
    if account.failed is not None:
        return McphostError(
            account.failed.error, hint=account.failed.hint, exit_code=account.failed.exit_code
        )
    if account.done is not None and account.done.stop == "limit":
        return LimitReached(
            f"a limit was reached ({account.rounds} rounds, {len(account.results)} calls); "
            "the answer is from what was there by then",
            hint=f"--max-rounds allows more than {rounds} rounds; limits.calls in servers.json, more calls.",
        )
    return None


def tool_choice(host: Host, wanted: str | None) -> ToolChoice:
    """`--tool-choice`: `auto`, `none`, `required`, or a tool in any of its names. Raises `ConfigError`."""
    if wanted is None or wanted in ("auto", "none", "required"):
        return wanted
    route = host.find(wanted)
    if route is None:
        near = host.catalog().nearest(wanted)
        raise ConfigError(
            f"--tool-choice: there is no tool named {wanted!r}",
            hint=f"The nearest are {', '.join(near)}." if near else "`mcphost tools` lists them.",
        )
    return {"type": "function", "function": {"name": route.name}}
