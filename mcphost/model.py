"""The model: what a turn needs of one. `openai_model` has those behind an OpenAI-compatible endpoint."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from mcphost.assemble import Reply
from mcphost.dialect import Dialect
from mcphost.events import Reasoning, Text
from mcphost.messages import Message
from mcphost.model_request import ToolChoice

__all__ = ["Emit", "Model", "Reply", "ToolChoice"]

Emit = Callable[[Text | Reasoning], Awaitable[None]]


class Model(Protocol):
    """What can answer a conversation."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        emit: Emit,
        options: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Ask once. `emit` gets the text as it comes. `options` are fields of this request, which go before
        the model's own (`{"max_tokens": 200}`); left out where there are none. Raises `ModelError`; what
        `emit` raises passes."""
        ...

    async def aclose(self) -> None: ...
