"""Asking hooks, which are a user's code: whatever they do, there is a decision."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, TypeVar

from mcphost.hooks import (
    Accept,
    Allow,
    Answer,
    Asked,
    Decision,
    Decline,
    ElicitationAsked,
    Hooks,
    NoHooks,
    Refuse,
    SamplingAsked,
)

T = TypeVar("T")

logger = logging.getLogger(__name__)


class _Failed(Exception):
    """A hook did not decide; the message says why."""


async def approve(hooks: Hooks, asked: Asked) -> Decision:
    """Whether a call may run."""
    return await _decision(hooks.approve(asked))


async def sample(hooks: Hooks, asked: SamplingAsked) -> Decision:
    """Whether a server may have the model answer. Hooks without a word on that refuse."""
    ask = getattr(hooks, "sample", NoHooks().sample)
    return await _decision(ask(asked))


async def elicit(hooks: Hooks, asked: ElicitationAsked) -> Answer:
    """What the user answers to a server's question. Hooks without a word on that decline."""
    ask = getattr(hooks, "elicit", NoHooks().elicit)
    try:
        answer: Any = await _awaited(ask(asked))
    except _Failed:
        return Decline(cancelled=True)
    if isinstance(answer, Accept | Decline):
        return answer
    logger.error("the elicitation hook answered with %r, which is no answer", answer)
    return Decline(cancelled=True)


async def _decision(asking: Awaitable[Any]) -> Decision:
    try:
        decision = await _awaited(asking)
    except _Failed as exc:
        return Refuse(str(exc))
    if isinstance(decision, Allow | Refuse):
        return decision
    return Refuse(f"the approval hook answered with {decision!r}, which is no decision")


async def _awaited(asking: Awaitable[T]) -> T:
    """What a hook answers. Raises `_Failed` for whatever it raises, but for our own cancellation."""
    try:
        return await asking
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # it is we who are cancelled
            raise
        raise _Failed("the question was cancelled") from None
    except Exception as exc:  # boundary: a hook is the user's code, and must not end the turn
        logger.exception("the approval hook failed")
        raise _Failed(f"approval could not be asked for: {exc}") from exc
