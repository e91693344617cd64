"""The loop: a model, tools, and messages that stay valid whatever happens. Prints nothing.

A round is one request to the model and the calls it makes. `limits.rounds` rounds may call; then one
closing request lets the model answer from what it has.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from mcphost import arguments, content, context, history
from mcphost.catalog import Catalog
from mcphost.config import Limits
from mcphost.context import Gauge
from mcphost.dialect import Dialect
from mcphost.errors import ModelError
from mcphost.events import Done, Event, Result, Round, RoundUsage, Warned
from mcphost.messages import Message, ToolCall, ToolResult, Usage
from mcphost.model import Model, Reply, ToolChoice
from mcphost.router import Emit
from mcphost.text import json_text


class Tools(Protocol):
    """Where a turn's tools come from. The catalog may change between rounds, never within one."""

    async def catalog(self, dialect: Dialect) -> Catalog: ...

    async def call_all(
        self, calls: Sequence[ToolCall], catalog: Catalog, emit: Emit, *, limits: Limits
    ) -> list[ToolResult]: ...

    def refuse(self, call: ToolCall, error: str, hint: str) -> ToolResult: ...


More = Callable[[int], Awaitable[int]]
"""Asked at the limit of rounds, with how many there were: how many more may call, 0 for none."""

_MOST_ALIKE: Final = 2
"""Equal calls in a row that run; so many with one and the same result say that more bring nothing."""


@dataclass(slots=True)
class _Tally:
    """What a turn has come to so far. `alike` is the last call, made `count` times in a row, and `found` what
    it gave."""

    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    calls: int = 0
    results: tuple[ToolResult, ...] = ()
    gauge: Gauge = field(default_factory=Gauge)
    told: bool = False
    alike: tuple[str, str] | None = None
    count: int = 0
    found: set[str] = field(default_factory=set[str])

    def repeats(self, call: ToolCall) -> bool:
        """Whether a call is one too many of the same, in a row and with the same result each time."""
        key = (call.name, _canonical(call))
        if key != self.alike:
            self.alike, self.count = key, 0
            self.found.clear()
        self.count += 1
        return self.count > _MOST_ALIKE and len(self.found) <= 1

    def note(self, call: ToolCall, result: ToolResult) -> None:
        if (call.name, _canonical(call)) == self.alike:
            self.found.add(result.content)


async def run_turn(
    messages: list[Message],
    *,
    model: Model,
    tools: Tools,
    emit: Emit,
    limits: Limits,
    tool_choice: ToolChoice = None,
    options: Mapping[str, Any] | None = None,
    more: More | None = None,
    window: int | None = None,
) -> Done:
    """Run rounds until the model answers, a limit is reached, or it calls functions of the caller's own.

    `options` are fields of every request to the model. Calls of the caller's own functions (`Catalog.own`)
    end the turn and are handed back; those of servers in the same reply are then not run, and not kept: the
    model makes them again when it has seen what the caller's gave.

    `more` is asked at the limit of rounds. `window` is how many tokens the model can read, where that is
    known: what is sent then fits, and old results are the first to be shortened.

    `messages` is extended in place, so that the caller has what there was when the turn is cancelled or
    fails: every call in it has its result. Returns the `Done` that is also the last event. Raises
    `ModelError`.
    """
    messages[:] = history.mend(messages)
    tally, rounds = _Tally(), limits.rounds
    while True:
        if more is not None and tally.rounds == rounds and tally.calls < limits.calls:
            rounds += await more(rounds)
        closing = tally.rounds >= rounds or tally.calls >= limits.calls
        tally.rounds += 1
        await emit(Round(tally.rounds))
        catalog = await tools.catalog(model.dialect)
        choice = "none" if closing else tool_choice
        sent = await _fitted(messages, catalog, window, emit, tally)
        reply = await _ask(sent, model, catalog, choice, emit, tally, options, may_be_empty=closing)
        handed_back = tuple(call for call in reply.calls if call.name in catalog.own)
        if closing or handed_back:
            reply = replace(reply, calls=() if closing else handed_back)
        messages.append(history.assistant_message(reply, model.dialect))
        if handed_back or not reply.calls:
            break
        await _run_calls(messages, reply, catalog, tools, emit, tally, limits, model.dialect)
        tool_choice = _after_calls(tool_choice)
    stop = "limit" if closing else "calls" if reply.calls else "answer"
    done = Done(
        stop,
        reply.text,
        tally.usage,
        tally.rounds,
        messages,
        tally.results,
        calls=reply.calls,
        finish_reason=reply.finish_reason,
    )
    await emit(done)
    return done


def _after_calls(choice: ToolChoice) -> ToolChoice:
    """A forced call is forced once; what restricts the choice holds in every round."""
    if isinstance(choice, dict) and isinstance(choice.get("allowed_tools"), dict):
        return choice | {"allowed_tools": choice["allowed_tools"] | {"mode": "auto"}}
    return choice if choice == "none" else None


async def _fitted(
    messages: list[Message], catalog: Catalog, window: int | None, emit: Emit, tally: _Tally
) -> list[Message]:
    """What of the conversation is sent, so that it fits into the model's window."""
    if window is None:
        return messages
    sent = context.fitted(messages, int(window * context.ROOM), tally.gauge, catalog.functions)
    if (sent.shortened or sent.dropped) and not tally.told:
        tally.told = True
        left = f", and old messages left out: {sent.dropped}" if sent.dropped else ""
        await emit(Warned(f"to fit the model's window, old results are shortened: {sent.shortened}{left}"))
    return sent.messages


async def _ask(
    messages: list[Message],
    model: Model,
    catalog: Catalog,
    tool_choice: ToolChoice,
    emit: Emit,
    tally: _Tally,
    options: Mapping[str, Any] | None,
    *,
    may_be_empty: bool,
) -> Reply:
    """One reply with something in it; an empty one is asked for once more."""
    functions = catalog.functions
    choice = tool_choice if functions else None
    reason: str | None = None
    for _ in range(2):
        asked: dict[str, Any] = {"options": options} if options else {}
        reply = await model.reply(messages, tools=functions, tool_choice=choice, emit=emit, **asked)
        tally.usage += reply.usage
        tally.gauge.learn(reply.usage.prompt_tokens, messages, functions)
        for warning in reply.warnings:
            await emit(Warned(warning))
        await emit(RoundUsage(tally.rounds, reply.usage))
        if reply.text.strip() or reply.calls or may_be_empty:
            return reply
        reason = reply.finish_reason
    hint = "Ask again, or in other words; if it persists, try another model."
    raise ModelError(
        f"{model.name} answered twice with neither text nor calls ({reason or 'no reason given'})", hint=hint
    )


async def _run_calls(
    messages: list[Message],
    reply: Reply,
    catalog: Catalog,
    tools: Tools,
    emit: Emit,
    tally: _Tally,
    limits: Limits,
    dialect: Dialect,
) -> None:
    """Run a reply's calls and append their results in call order, whatever happens meanwhile."""
    finished: dict[str, ToolResult] = {}

    async def note(event: Event) -> None:
        if isinstance(event, Result):
            finished[event.result.call_id] = event.result
        await emit(event)

    within = reply.calls[: limits.calls - tally.calls]
    tally.calls += len(reply.calls)
    allowed = [call for call in within if not tally.repeats(call)]
    try:
        for call in within:
            if call not in allowed:
                finished[call.id] = tools.refuse(
                    call, _AGAIN, "Do something else, or answer from what is there."
                )
                await emit(Result(finished[call.id]))
        results = await tools.call_all(allowed, catalog, note, limits=limits)
        finished |= {result.call_id: result for result in results}
        for call in reply.calls[len(within) :]:
            error = f"the limit of {limits.calls} calls a turn is reached; this call was not run"
            finished[call.id] = tools.refuse(call, error, "Answer from what is there.")
            await emit(Result(finished[call.id]))
        for call in reply.calls:
            tally.note(call, finished[call.id])
    finally:  # also when cancelled: nothing below waits
        done = [finished[call.id] for call in reply.calls if call.id in finished]
        messages.extend(result.message() for result in done)
        messages[:] = history.mend(messages)
        tally.results += tuple(done)
    follow_up = content.follow_up(results, images=dialect.images, audio=dialect.audio)
    if follow_up is not None:
        messages.append(follow_up)


_AGAIN: Final = "this very call was made twice in a row, with the same result each time; it was not run again"


def _canonical(call: ToolCall) -> str:
    """A call's arguments, the same for all ways to write them."""
    parsed = arguments.parse(call.arguments)
    return call.arguments if parsed.value is None else json_text(dict(sorted(parsed.value.items())))
