"""A model that is told something with every request: here, what the tool for thinking is there for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcphost.dialect import Dialect
from mcphost.documents import as_list
from mcphost.messages import Message
from mcphost.model import Emit, Model, Reply, ToolChoice

THINK: Final = """\
The tool `think` is a place to write down your thoughts. It looks nothing up and changes nothing, so it never
stands in for another call.
Use it before the first call of a request that takes several: which tools, in what order, and which of their
arguments you know. What you do not know and cannot look up, ask the user for; do not make it up.
Use it again when results have come in: do they answer what was asked, do they fit each other, can the values
be right? A call that failed has given you nothing: say so, or try another way.
Where one call or none is enough, do without it. The user does not need to read the thoughts: answer as if
they were not there."""
"""How a model is to use the built-in server `think`."""


@dataclass(frozen=True, slots=True)
class Instructed:
    """`model`, with `text` at the end of each request's system prompt. Conversations stay as they are."""

    model: Model
    text: str

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def dialect(self) -> Dialect:
        return self.model.dialect

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        emit: Emit,
        options: Mapping[str, Any] | None = None,
    ) -> Reply:
        told = instructed(messages, self.text)
        more: dict[str, Any] = {} if options is None else {"options": options}  # which not every model takes
        return await self.model.reply(told, tools=tools, tool_choice=tool_choice, emit=emit, **more)

    async def aclose(self) -> None:
        await self.model.aclose()


def instructed(messages: Sequence[Message], text: str) -> list[Message]:
    """`messages` with `text` at the end of the system prompt that they begin with, or as one."""
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": text}, *messages]
    parts = as_list(first.get("content"))
    if parts is None:
        content: object = f"{first.get('content') or ''}\n\n{text}".strip()
    else:
        content = [*parts, {"type": "text", "text": text}]
    return [{**first, "content": content}, *messages[1:]]
