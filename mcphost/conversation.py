"""The loop: a model, tools, and messages that stay valid whatever happens. Prints nothing.

A round is one request to the model and the calls it makes. `limits.rounds` rounds may call; then one
closing request lets the model answer from what it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from mcphost import content, history
from mcphost.catalog import Catalog
from mcphost.config import Limits
from mcphost.dialect import Dialect
from mcphost.errors import ModelError
from mcphost.events import Done, Event, Result, Round, RoundUsage, Warned
from mcphost.messages import Message, ToolCall, ToolResult, Usage
from mcphost.model import Model, Reply, ToolChoice
from mcphost.router import Emit


class Tools(Protocol):
    """Where a turn's tools come from. The catalog may change between rounds, never within one."""

    async def catalog(self, dialect: Dialect) -> Catalog: ...

    async def call_all(
        self, calls: Sequence[ToolCall], catalog: Catalog, emit: Emit, *, limits: Limits
    ) -> list[ToolResult]: ...

    def refuse(self, call: ToolCall, error: str, hint: str) -> ToolResult: ...


@dataclass(slots=True)
class _Tally:
    """What a turn has come to so far."""

    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    calls: int = 0
    results: tuple[ToolResult, ...] = ()


async def run_turn(
    messages: list[Message],
    *,
    model: Model,
    tools: Tools,
    emit: Emit,
    limits: Limits,
    tool_choice: ToolChoice = None,
) -> Done:
    """Run rounds until the model answers or a limit is reached.

    `messages` is extended in place, so that the caller has what there was when the turn is cancelled or
    fails: every call in it has its result. Returns the `Done` that is also the last event. Raises
    `ModelError`.
    """
    messages[:] = history.mend(messages)
    tally = _Tally()
    while True:
        closing = tally.rounds >= limits.rounds or tally.calls >= limits.calls
        tally.rounds += 1
        await emit(Round(tally.rounds))
        catalog = await tools.catalog(model.dialect)
        choice = "none" if closing else tool_choice
        reply = await _ask(messages, model, catalog, choice, emit, tally, may_be_empty=closing)
        if closing:
            reply = replace(reply, calls=())
        messages.append(history.assistant_message(reply, model.dialect))
        if not reply.calls:
            break
        await _run_calls(messages, reply, catalog, tools, emit, tally, limits, model.dialect)
        if tool_choice != "none":
            tool_choice = None  # a forced call is forced once
    stop = "limit" if closing else "answer"
    done = Done(stop, reply.text, tally.usage, tally.rounds, messages, tally.results)
    await emit(done)
    return done


async def _ask(
    messages: list[Message],
    model: Model,
    catalog: Catalog,
    tool_choice: ToolChoice,
    emit: Emit,
    tally: _Tally,
    *,
    may_be_empty: bool,
) -> Reply:
    """One reply with something in it; an empty one is asked for once more."""
    functions = catalog.functions
    choice = tool_choice if functions else None
    reason: str | None = None
    for _ in range(2):
        reply = await model.reply(messages, tools=functions, tool_choice=choice, emit=emit)
        tally.usage += reply.usage
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

    allowed = reply.calls[: limits.calls - tally.calls]
    tally.calls += len(reply.calls)
    try:
        results = await tools.call_all(allowed, catalog, note, limits=limits)
        finished |= {result.call_id: result for result in results}
        for call in reply.calls[len(allowed) :]:
            error = f"the limit of {limits.calls} calls a turn is reached; this call was not run"
            finished[call.id] = tools.refuse(call, error, "Answer from what is there.")
            await emit(Result(finished[call.id]))
    finally:  # also when cancelled: nothing below waits
        done = [finished[call.id] for call in reply.calls if call.id in finished]
        messages.extend(result.message() for result in done)
        messages[:] = history.mend(messages)
        tally.results += tuple(done)
    follow_up = content.follow_up(results, images=dialect.images, audio=dialect.audio)
    if follow_up is not None:
        messages.append(follow_up)
