"""Asking hooks, which are a user's code: whatever they do, there is a decision.

Hooks may be any object; what it has no word on is decided as `NoHooks` does.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, cast

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

logger = logging.getLogger(__name__)


class _Failed(Exception):
    """A hook did not decide; the message says why, in words that may hold the user's own."""


async def approve(hooks: Hooks, asked: Asked) -> Decision:
    """Whether a call may run. The model is told why a hook did not decide."""
    try:
        decision = await _awaited(hooks, "approve", asked)
    except _Failed as exc:
        return Refuse(f"approval could not be asked for: {exc}")
    if _is_decision(decision):
        return decision
    return Refuse(f"the approval hook answered with {decision!r}, which is no decision")


async def sample(hooks: Hooks, asked: SamplingAsked) -> Decision:
    """Whether a server may have the model answer. It is not told why a hook did not decide."""
    try:
        decision = await _awaited(hooks, "sample", asked)
    except _Failed:
        return Refuse("whether the model may answer could not be asked")
    if _is_decision(decision):
        return decision
    logger.error("the sample hook answered with %r, which is no decision", decision)
    return Refuse("whether the model may answer could not be asked")


async def elicit(hooks: Hooks, asked: ElicitationAsked) -> Answer:
    """What the user answers to a server's question; a hook that did not decide has cancelled it."""
    try:
        answer = await _awaited(hooks, "elicit", asked)
    except _Failed:
        return Decline(cancelled=True)
    if isinstance(answer, Decline) or (isinstance(answer, Accept) and _is_mapping(answer.content)):
        return answer
    logger.error("the elicit hook answered with %r, which is no answer", answer)
    return Decline(cancelled=True)


async def more_rounds(hooks: Hooks, rounds: int) -> int:
    """How many more rounds may call tools; none where a hook did not decide."""
    try:
        more = await _awaited(hooks, "more_rounds", rounds)
    except _Failed:
        return 0
    if isinstance(more, int):
        return max(more, 0)
    logger.error("the more_rounds hook answered with %r, which is no number", more)
    return 0


def _is_decision(given: Any) -> bool:
    match given:
        case Allow():
            return _is_mapping(given.arguments)
        case Refuse():
            return isinstance(cast("object", given.reason), str)
        case _:
            return False


def _is_mapping(given: object) -> bool:
    return given is None or isinstance(given, Mapping)


async def _awaited(hooks: Hooks, name: str, asked: object) -> Any:
    """What a hook answers. Raises `_Failed` for whatever it raises, but for our own cancellation."""
    try:
        hook = getattr(hooks, name, None) or getattr(NoHooks(), name)
        return await hook(asked)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # it is we who are cancelled
            raise
        raise _Failed("the question was cancelled") from None
    except Exception as exc:  # boundary: a hook is the user's code, and must not end the turn
        logger.exception("the %s hook failed", name)
        raise _Failed(str(exc)) from exc
