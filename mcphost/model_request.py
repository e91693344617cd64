"""The body of a request to a model, and what an endpoint's refusals teach about writing the next one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mcphost import history
from mcphost.dialect import Dialect
from mcphost.jsontext import dumps
from mcphost.messages import Message

ToolChoice = str | dict[str, Any] | None

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_NOT_KNOWN = re.compile(
    r"un(?:supported|known|recognized|expected)|not (?:supported|permitted|allowed)|extra"
)


@dataclass(frozen=True, slots=True)
class Lessons:
    """What is known of an endpoint beyond its dialect.

    `reasoning`: as in `history.prepare`. `completion_tokens`: `max_tokens` goes by its newer name.
    `unwanted`: options that are left out. `forced`: how a forced tool is asked for.
    """

    stream_options: bool = True
    reasoning: bool | None = None
    completion_tokens: bool = False
    unwanted: frozenset[str] = frozenset()
    forced: Literal["as asked", "without thinking", "not at all"] = "as asked"


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its JSON as it is sent, and `fields`, the same without the tools, to be looked at."""

    content: bytes
    fields: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


class RequestWriter:
    """Writes the requests to one model. `options` and `extra_body` are fields of each; the latter win."""

    def __init__(
        self, model: str, dialect: Dialect, options: Mapping[str, Any], extra_body: Mapping[str, Any]
    ) -> None:
        self._model = model
        self._dialect = dialect
        self._options = options
        self._extra_body = extra_body
        self._tools: Sequence[dict[str, Any]] = ()
        self._tools_text = "[]"

    def first_lessons(self) -> Lessons:
        """What the dialect and the model's name tell."""
        reasons = self._model.startswith(self._dialect.completion_tokens_for or ("\0",))
        return Lessons(
            completion_tokens=reasons,
            unwanted=frozenset({"temperature"} if reasons else ()),
            forced="without thinking" if self._dialect.thinking_off else "as asked",
        )

    def write(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        lessons: Lessons,
        options: Mapping[str, Any] | None = None,
    ) -> Request:
        """One request, with `options` of its own over those of all. Raises TypeError or ValueError for what
        JSON cannot hold."""
        fields: dict[str, Any] = {
            "model": self._model,
            "messages": history.prepare(messages, self._dialect, reasoning=lessons.reasoning),
            **self._sent_options(lessons, options or {}),
        }
        warnings: list[str] = []
        if tools and tool_choice is not None:
            fields |= self._choice(tool_choice, lessons, warnings)
        fields["stream"] = True
        fields.pop("stream_options", None)
        if lessons.stream_options:
            fields["stream_options"] = {"include_usage": True}
        fields |= self._extra_body
        text = dumps(fields)
        if tools and "tools" not in fields:
            text = f'{text[:-1]},"tools":{self.tools_text(tools)}}}'
        return Request(text.encode(), fields, tuple(warnings))

    def tools_text(self, tools: Sequence[dict[str, Any]]) -> str:
        """The JSON of `tools`, written once for as long as the same list is passed (and not changed)."""
        if self._tools is not tools:
            self._tools, self._tools_text = tools, dumps(tools)
        return self._tools_text

    def _sent_options(self, lessons: Lessons, own: Mapping[str, Any]) -> dict[str, Any]:
        options = {
            name: value
            for name, value in {**self._options, **own}.items()
            if value is not None and name not in lessons.unwanted
        }
        if lessons.completion_tokens and "max_tokens" in options:
            options.setdefault("max_completion_tokens", options.pop("max_tokens"))
            options.pop("max_tokens", None)
        return options

    def _choice(self, choice: str | dict[str, Any], lessons: Lessons, warnings: list[str]) -> dict[str, Any]:
        if not _forces(choice) or lessons.forced == "as asked":
            return {"tool_choice": choice}
        if lessons.forced == "without thinking":
            return {"tool_choice": choice, **(self._dialect.thinking_off or {})}
        warnings.append(f"{self._model} cannot be made to call a tool; it was left to choose")
        return {"tool_choice": "auto"}


def learn(lessons: Lessons, said: str, fields: Mapping[str, Any]) -> Lessons | None:
    """What a refusal (`said`, the endpoint's words) of a request with `fields` teaches; None for nothing."""
    said = said.lower()
    if "stream_options" in fields and ("stream_options" in said or "include_usage" in said):
        return replace(lessons, stream_options=False)
    if "reasoning_content" in said and lessons.reasoning is None:
        had = any("reasoning_content" in message for message in fields["messages"])
        return replace(lessons, reasoning=not had)
    if (completion_tokens := _token_field(said, fields)) is not None:
        return replace(lessons, completion_tokens=completion_tokens)
    if unwanted := {name for name in _SAMPLING if name in said and name in fields}:
        return replace(lessons, unwanted=lessons.unwanted | unwanted)
    if _forces(fields.get("tool_choice")) and ("tool_choice" in said or "thinking" in said):
        return replace(lessons, forced="not at all")
    return None


def _forces(choice: object) -> bool:
    return isinstance(choice, dict) or choice == "required"


def _token_field(said: str, fields: Mapping[str, Any]) -> bool | None:
    """Whether the limit on tokens should go by its newer name, None where the refusal is not about that."""
    if "max_tokens" in fields and "max_tokens" in said:
        return True
    refused = "max_completion_tokens" in said and _NOT_KNOWN.search(said)
    return False if "max_completion_tokens" in fields and refused else None
