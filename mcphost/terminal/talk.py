"""A conversation with a model: what has been said, what comes next, and what it took."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from mcphost import context, history
from mcphost.config import Approve, Limits
from mcphost.context import Gauge
from mcphost.errors import ConfigError, McphostError
from mcphost.events import Event, Reasoning, Result, RoundUsage, Text
from mcphost.host import Host
from mcphost.messages import Message, ToolResult
from mcphost.model import Model
from mcphost.selection import Selection
from mcphost.stored import Session, text_of
from mcphost.terminal import attach
from mcphost.terminal.front import Front
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.output import complain, note
from mcphost.terminal.recorder import Recorder
from mcphost.terminal.spending import Spending
from mcphost.text import one_line, trimmed
from mcphost.transcript import Transcript

_FULL: Final = 0.8
"""The part of the model's window from which on old turns are summed up."""

_KEPT: Final = 0.25
"""The part of the window that the latest turns may take after that."""


@dataclass(slots=True)
class Tuning:
    """What the user has set for the turns to come."""

    model: str | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    limits: Limits = field(default_factory=Limits)
    approve: Approve | None = None


class Talk:
    """One conversation of one host, shown at `front` and kept by `recorder`.

    `messages` is all that has been said, and valid at any moment; of it the first are sent as a summary where
    there is one. `results` are those of the latest calls.
    """

    def __init__(
        self,
        host: Host,
        front: Front,
        interrupts: Interrupts,
        recorder: Recorder,
        *,
        system: str | None = None,
        resumed: Session | None = None,
    ) -> None:
        self.host = host
        self.front = front
        self.recorder = recorder
        self.tuning = Tuning(limits=host.config.limits)
        self.spending = Spending(host.config.prices)
        self.results: list[ToolResult] = []
        self.busy = False
        self._interrupts = interrupts
        self._gauge = Gauge()
        self.messages: list[Message] = [] if resumed is None else list(resumed.messages)
        self._summary = None if resumed is None else resumed.summary
        for spent in () if resumed is None else resumed.requests:
            self.spending.add(spent.usage, spent.model)
        if system is not None:
            self.set_system(system)

    # what is said

    async def say(self, text: str) -> None:
        """A message of the user's, with what it mentions, and the model's answer."""
        try:
            attached = await attach.mentioned(text, self.host, self.model().dialect)
        except McphostError as exc:
            complain(exc)
            return
        for each in attached:
            note(f"attached: {each.about}", style="dim")
        self.change([*self.messages, {"role": "user", "content": attach.content(text, attached)}])
        await self.answer()

    async def answer(self) -> None:
        """One turn on what has been said so far."""
        view = self.front.view()
        self.spending.begin_turn()
        self.busy = True
        try:
            with self._interrupts.scope() as scope:
                try:
                    await self._make_room()
                    await self._turn(view.show)
                except McphostError as exc:  # there is no model to ask
                    complain(exc)
            if scope.cancelled_caught:
                view.stopped()
                note("Stopped.", style="yellow")
            else:
                view.close()
        finally:
            self.busy = False

    async def _turn(self, show: Callable[[Event], None]) -> None:
        tools = self.host.toolbox(Selection(approve=self.tuning.approve))
        before, summary, turn = self.messages, self._summary, None
        try:
            async with self.host.turn(
                self.context(),
                model=self.tuning.model,
                limits=self.tuning.limits,
                options=self.tuning.options or None,
                tools=tools,
            ) as turn:
                async for event in turn:
                    if not isinstance(event, Text | Reasoning):
                        self._keep(context.grown(before, summary, turn.messages))
                    self.recorder.note(event)
                    self._note(event, turn.messages)
                    show(event)
        finally:
            if turn is not None:
                self._keep(context.grown(before, summary, turn.messages))

    def _note(self, event: Event, sent: list[Message]) -> None:
        match event:
            case Result(result):
                self.results = [*self.results[-99:], result]
            case RoundUsage(_, usage):
                self.spending.add(usage, self.model_name)
                functions = self.host.catalog(self.model().dialect).functions
                self._gauge.learn(usage.prompt_tokens, sent, functions)
            case _:
                pass

    def stop(self) -> None:
        """Stop the turn, as Ctrl-C does."""
        if self.busy:
            self._interrupts.receive(signal.SIGINT)

    # what is sent

    def context(self) -> list[Message]:
        """What of the conversation is sent."""
        return context.sent(self.messages, self._summary)

    async def _make_room(self) -> None:
        """Sum old turns up where the conversation nearly fills the model's window."""
        window = self.host.window(self.model())
        if window is None:
            return
        functions = self.host.catalog(self.model().dialect).functions
        part = self._gauge.tokens(self.context(), functions) / window
        if part >= _FULL and (upto := self._old_part(int(window * _KEPT))):
            note(
                f"The conversation fills {part:.0%} of the model's window: old turns are summed up.",
                style="dim",
            )
            await self._sum_up(upto)

    async def compact(self) -> None:
        """Have the model sum up all turns but the latest. Raises `McphostError`."""
        upto = self._old_part(0)
        if not upto:
            raise ConfigError("there is nothing to sum up", hint="The latest question stays as it is.")
        self.busy = True
        try:
            with self._interrupts.scope() as scope:
                await self._sum_up(upto)
            if scope.cancelled_caught:
                note("Stopped.", style="yellow")
        finally:
            self.busy = False

    def _old_part(self, keep: int) -> int:
        upto = context.old_part(self.messages, keep, self._gauge)
        return upto if upto > (0 if self._summary is None else self._summary[0]) else 0

    async def _sum_up(self, upto: int) -> None:
        begin, earlier = (0, None) if self._summary is None else self._summary
        asked = context.summary_request(self.messages[begin:upto], earlier)
        if (window := self.host.window(self.model())) is not None:
            asked[1]["content"] = trimmed(asked[1]["content"], int(window * context.ROOM))
        reply = await self.model().reply(asked, tools=[], tool_choice=None, emit=_unheard)
        self.spending.add(reply.usage, self.model_name)
        if not reply.text.strip():
            raise McphostError("the model gave no summary, so nothing has changed")
        self._summary = (upto, reply.text.strip())
        self.recorder.compact(reply.text.strip(), upto)
        self.spending.context = self._gauge.tokens(self.context())
        note(
            f"{upto - begin} messages are summed up; the conversation that is kept has them all.", style="dim"
        )

    # what is known of it

    def model(self) -> Model:
        """The model that is asked. Raises `ConfigError`."""
        return self.host.model(self.tuning.model)

    @property
    def model_name(self) -> str:
        return self.tuning.model or self.host.config.model.name or "no model"

    @property
    def system(self) -> str | None:
        first = self.messages[0] if self.messages else {}
        return first["content"] if first.get("role") == "system" else None

    def set_system(self, text: str) -> None:
        rest = self.messages[1:] if self.system is not None else self.messages
        if self._summary is not None and self.system is None:
            self._summary = (self._summary[0] + 1, self._summary[1])
        self.change([{"role": "system", "content": text}, *rest])

    def change(self, messages: list[Message]) -> None:
        """The conversation is another one now."""
        if self._summary is not None and len(messages) < self._summary[0]:
            self._summary = None
        self._keep(list(history.mend(messages)))

    def _keep(self, messages: list[Message]) -> None:
        self.messages = messages
        self.recorder.sync(messages, self.model_name)

    def clear(self) -> None:
        """Forget all but the system prompt, and begin another conversation."""
        self.recorder.restart()
        self._summary = None
        self.change(self.messages[:1] if self.system is not None else [])
        self.spending.context = 0

    def last_question(self) -> int | None:
        """Where the user's last message is."""
        places = range(len(self.messages) - 1, -1, -1)
        return next((place for place in places if _is_question(self.messages[place])), None)

    def undo(self) -> str | None:
        """Forget the user's last message and all after it. Its text, None where there is none."""
        place = self.last_question()
        if place is None:
            return None
        said = self.messages[place]["content"]
        self.change(self.messages[:place])
        return said if isinstance(said, str) else said[0].get("text", "")

    def transcript(self) -> Transcript:
        """All of it, to be exported."""
        title = next((text_of(message) for message in self.messages if message["role"] == "user"), "")
        kept = self.recorder.session
        return Transcript(
            "" if kept is None else kept.id,
            one_line(title, 80) if kept is None else kept.title,
            self.model_name,
            time.time() if kept is None else kept.created,
            self.messages,
            [] if kept is None else kept.calls,
            self.spending.session if kept is None else kept.usage,
        )

    def last_answer(self) -> str:
        """The model's last text, "" where it has said nothing yet."""
        answers = (
            m["content"] for m in reversed(self.messages) if m["role"] == "assistant" and m.get("content")
        )
        return next(answers, "")


def _is_question(message: Message) -> bool:
    """Whether the user said it: the pictures of results are in messages of the user's role, too."""
    said: Any = message["content"]
    return message["role"] == "user" and not (
        isinstance(said, list) and str(said[0].get("text", "")).startswith("From the result of ")  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    )


async def _unheard(event: Text | Reasoning) -> None:
    del event
