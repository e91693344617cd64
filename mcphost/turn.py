"""A turn as its caller sees it: what goes in, the events on the way, what comes out."""

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from mcphost.errors import McphostError
from mcphost.events import Event, Failed, Stop
from mcphost.messages import Message, ToolResult, Usage, as_dict
from mcphost.router import Emit

logger = logging.getLogger(__name__)

Messages = str | Sequence[Any]
"""A conversation: OpenAI chat messages as dicts or as the SDK's objects, or one text by the user."""


def as_messages(messages: Messages) -> list[Message]:
    """A new list of message dicts. Raises `TypeError` for what is neither a message nor a text."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return [as_dict(message) for message in messages]


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a turn came to. `messages` is the whole conversation, ready to be sent again."""

    text: str
    messages: list[Message]
    usage: Usage
    tool_calls: tuple[ToolResult, ...]
    rounds: int
    stop: Stop


class Turn(AsyncIterator[Event]):
    """The events of a turn, as they happen. `messages` grows with them, and is valid at any moment."""

    def __init__(self, messages: list[Message], events: AsyncIterator[Event]) -> None:
        self.messages = messages
        self._events = events

    async def __anext__(self) -> Event:
        return await anext(self._events)


@asynccontextmanager
async def watched(
    messages: list[Message],
    run: Callable[[Emit], Awaitable[None]],
    listeners: set[Callable[[Event], None]],
) -> AsyncGenerator[Turn]:
    """Run a turn beside its watcher, who may leave at any moment: that cancels what still runs.

    Until it ends, the turn is among `listeners`, so that it also tells of what happens around it.
    """
    send, receive = anyio.create_memory_object_stream[Event](math.inf)

    async def emit(event: Event) -> None:
        send.send_nowait(event)

    async def finish() -> None:
        try:
            await run(emit)
        except McphostError as exc:
            send.send_nowait(Failed(str(exc), exc.exit_code, exc.hint, messages))
        except Exception as exc:  # boundary: a model or an emitter of the user's own may raise anything
            logger.exception("the turn ended in an unexpected error")
            send.send_nowait(Failed(f"{type(exc).__name__}: {exc}", McphostError.exit_code, None, messages))
        finally:
            listeners.discard(send.send_nowait)
            send.close()

    failure: Exception | None = None
    listeners.add(send.send_nowait)
    with send, receive:
        async with anyio.create_task_group() as tg:
            tg.start_soon(finish)
            try:
                yield Turn(messages, receive)
            except Exception as exc:  # noqa: BLE001 (boundary: the task group would wrap it in a group)
                failure = exc
            finally:
                tg.cancel_scope.cancel()
    if failure is not None:
        raise failure
