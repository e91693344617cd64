"""`mcphost run`: one turn, as text, as one JSON object, or as a JSON object an event."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mcphost import context
from mcphost.config import Config
from mcphost.conversation import ToolChoice
from mcphost.errors import ConfigError, LimitReached, McphostError
from mcphost.events import Done, Event, Failed, Reasoning, ServerChanged, Text, to_json
from mcphost.host import Host
from mcphost.messages import Message
from mcphost.terminal import attach
from mcphost.terminal.account import Account
from mcphost.terminal.answer import Answer
from mcphost.terminal.approvals import approvals
from mcphost.terminal.ask import Lines
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.keeping import Kept
from mcphost.terminal.output import nearest, note, write_json
from mcphost.terminal.recorder import Recorder
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, settled
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
    approve: Literal["never", "writes", "always"] = "never"
    files: tuple[Path, ...] = ()
    kept: Kept = field(default_factory=Kept)

    def messages(self) -> list[Message]:
        """What has been said so far, the prompt included."""
        content = f"{self.prompt}\n\n{self.attached}" if self.attached else self.prompt
        said = [] if self.kept.session is None else self.kept.session.messages
        if self.system is not None:
            rest = said[1:] if said and said[0]["role"] == "system" else said
            said = [{"role": "system", "content": self.system}, *rest]
        return [*said, {"role": "user", "content": content}]

    def summary(self, said: list[Message]) -> context.Summary | None:
        """The summary of what was said before, in terms of `said`, which may have a system prompt more."""
        session = self.kept.session
        if session is None or session.summary is None:
            return None
        upto, text = session.summary
        return upto + len(said) - 1 - len(session.messages), text


async def run(config: Config, settings: Settings, request: Request, interrupts: Interrupts) -> int:
    """One turn. Raises `McphostError` for all that keeps it from being what was asked for."""
    report = Report(request)
    hooks = approvals(report.lines, config, interrupts.end, yes=request.yes)
    async with opened(config, settings, hooks=hooks, approve=request.approve) as host:
        try:
            report.attach(host)
            await settled(host, settings)
            report.tell_servers(host)
            await _turn(host, request, report)
        except McphostError as exc:
            report.failed(exc)
            raise
        finally:  # what there is by now is told also when the turn was interrupted
            report.close()
    return 0


async def _turn(host: Host, request: Request, report: "Report") -> None:
    choice = tool_choice(host, request.tool_choice)
    said, summary = report.messages, request.summary(report.messages)
    recorder = Recorder(request.kept.store, request.kept.session)
    model = host.config.model.name or ""
    recorder.sync(said, model)
    async with host.turn(context.sent(said, summary), tool_choice=choice) as turn:
        try:
            report.messages = turn.messages
            async for event in turn:
                recorder.note(event)
                if not isinstance(event, Text | Reasoning):
                    recorder.sync(context.grown(said, summary, turn.messages), model)
                report.show(event)
        finally:
            recorder.sync(context.grown(said, summary, turn.messages), model)
    match report.account.end:
        case Failed(error, exit_code, hint):
            raise McphostError(error, hint=hint, exit_code=exit_code)
        case Done("limit"):
            raise _limit_reached(host, report.account)
        case _:
            pass


def _limit_reached(host: Host, account: Account) -> LimitReached:
    limits = host.config.limits
    reason = "a limit was reached, and the answer is from what was there by then"
    if account.rounds > limits.rounds:
        hint = (
            f"{limits.rounds} rounds may call tools; --max-rounds N and limits.rounds in servers.json set it."
        )
    else:
        hint = f"{limits.calls} calls may run in a turn; limits.calls in servers.json sets it."
    return LimitReached(reason, hint=hint)


class Report:
    """A turn on its way to stdout, as `request.output` says, with its steps on stderr."""

    def __init__(self, request: Request) -> None:
        self.account = Account()
        self.messages = request.messages()
        self._output: Output = request.output
        self._files = request.files
        self._steps = not request.quiet and request.output != "stream-json"
        self._answer = Answer()
        self.lines = Lines()

    def attach(self, host: Host) -> None:
        """Add the files to the prompt. Raises `ConfigError` for one that cannot be sent."""
        files = [attach.from_file(file, host.model().dialect) for file in self._files]
        if files:
            last = self.messages[-1]
            self.messages[-1] = last | {"content": attach.content(last["content"], files)}

    def tell_servers(self, host: Host) -> None:
        """How the servers are as the turn begins."""
        for warning in host.catalog().warnings:
            note(f"warning: {printable(warning)}", style="yellow")
        if self._output == "stream-json":
            for server in host.servers.values():
                error = str(server.error) if server.error else None
                write_json(to_json(ServerChanged(server.name, server.state, len(server.tools), error)))

    def show(self, event: Event) -> None:
        self.account.note(event)
        if self._output == "stream-json":
            write_json(to_json(event))
        elif self._output == "text":
            self._answer.show(event)
        if self._steps and (line := line_of(event)) is not None:
            self.lines.interject(line)  # a question about another call may be open

    def failed(self, error: McphostError) -> None:
        """Take note of an error that is no event, as it came before the turn."""
        if self.account.end is None:
            self.show(Failed(error.message, error.exit_code, error.hint))

    def close(self) -> None:
        """Tell what has not been told as it came."""
        match self._output:
            case "json":
                write_json(self.account.as_json(self.messages))
            case "stream-json" if self.account.end is None:
                write_json(to_json(self.account.done(self.messages)))
            case "text":
                self._answer.close()
            case _:
                pass


def tool_choice(host: Host, wanted: str | None) -> ToolChoice:
    """`--tool-choice`: `auto`, `none`, `required`, or a tool in any of its names. Raises `ConfigError`."""
    if wanted is None or wanted in ("auto", "none", "required"):
        return wanted
    route = host.find(wanted)
    if route is None:
        near = host.catalog().nearest(wanted)
        raise ConfigError(f"--tool-choice: there is no tool named {wanted!r}", hint=nearest(near))
    return {"type": "function", "function": {"name": route.name}}
