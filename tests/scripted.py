"""A model that answers from a list, for tests of what is around a model."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from mcphost.dialect import OPENAI, Dialect
from mcphost.events import Text
from mcphost.messages import Message, ToolCall, Usage
from mcphost.model import Emit, Reply, ToolChoice

Step = Reply | Exception | Callable[[], Any]


class ScriptedModel:
    """Gives the steps one after the other, the last one for ever. `asked` are the requests it got."""

    def __init__(self, *steps: Step, dialect: Dialect = OPENAI) -> None:
        self.name = "scripted"
        self.dialect = dialect
        self.asked: list[dict[str, Any]] = []
        self._steps = steps

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        emit: Emit,
        options: Mapping[str, Any] | None = None,
    ) -> Reply:
        step = self._steps[min(len(self.asked), len(self._steps) - 1)]
        self.asked.append({"messages": deepcopy(list(messages)), "tools": tools, "tool_choice": tool_choice})
        if options:
            self.asked[-1]["options"] = dict(options)
        if callable(step):
            step = await step()
        if isinstance(step, Exception):
            raise step
        if step.text:
            await emit(Text(step.text))
        return step

    async def aclose(self) -> None:
        pass


def says(text: str, **more: Any) -> Reply:
    return Reply(text, "", (), Usage(10, 2), **{"finish_reason": "stop", **more})


def calls(*wanted: tuple[str, str], text: str = "") -> Reply:
    """A reply that calls: pairs of a name and JSON arguments. Ids are `call_1`, `call_2` and so on."""
    made = tuple(ToolCall(f"call_{n}", name, arguments) for n, (name, arguments) in enumerate(wanted, 1))
    return Reply(text, "", made, Usage(10, 2), finish_reason="tool_calls")
