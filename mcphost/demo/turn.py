"""A request's messages, as the scripted model sees them: what was asked, what was called, what came back."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcphost.jsontext import as_list, as_object

MAX_QUESTION = 2000
"""Characters of a user message that are read."""

_CHINESE = re.compile(r"[一-鿿]")


@dataclass(frozen=True, slots=True)
class Step:
    """One call and its result. `failure` is what went wrong, None for a call that went well."""

    name: str
    arguments: Mapping[str, Any]
    text: str
    failure: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """`earlier` are the user's messages before `question`, the newest first; `past` the calls before it."""

    question: str
    earlier: tuple[str, ...]
    steps: tuple[Step, ...]
    past: tuple[Step, ...]

    @property
    def english(self) -> bool:
        return not _CHINESE.search(self.question)


def read_json(text: str) -> object:
    """What `text` holds as JSON, None when it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _joined(parts: Sequence[Any]) -> str | None:
    """The text of a list of blocks, None when it is not such a list."""
    blocks = [as_object(part) for part in parts]
    if not blocks or not all(block and isinstance(block.get("type"), str) for block in blocks):
        return None
    return "\n\n".join(str(block["text"]) for block in blocks if block and isinstance(block.get("text"), str))


def text_of(content: object) -> str:
    """The text of a message's content: a string or a list of parts."""
    parts = as_list(content)
    if parts is not None:
        return _joined(parts) or ""
    return content if isinstance(content, str) else ""


def _result(content: object) -> tuple[str, str | None]:
    """A tool message's text and, if the call failed, why. Blocks may come as the JSON text of their list."""
    text = text_of(content)
    blocks = as_list(read_json(text)) if text.startswith("[") else None
    if blocks is not None:
        joined = _joined(blocks)
        text = text if joined is None else joined
    about = as_object(read_json(text)) if text.startswith("{") else None
    if about is None or about.get("status") != "failed":
        return text, None
    return text, " ".join(str(about[key]) for key in ("error", "hint") if about.get(key)) or text


def _is_question(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """A user message that was typed: not one that carries the pictures of the tool messages before it."""
    message = messages[index]
    pictures = index > 0 and messages[index - 1].get("role") == "tool" and as_list(message.get("content"))
    return message.get("role") == "user" and not pictures


def _steps(messages: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    results = {m.get("tool_call_id"): _result(m.get("content")) for m in messages if m.get("role") == "tool"}
    steps: list[Step] = []
    for message in messages:
        for call in as_list(message.get("tool_calls")) or []:
            if call["id"] in results:
                text, failure = results[call["id"]]
                arguments = as_object(read_json(call["function"]["arguments"])) or {}
                steps.append(Step(call["function"]["name"], arguments, text, failure))
    return tuple(steps)


def read(messages: Sequence[Mapping[str, Any]]) -> Turn:
    """The turn that is to be answered: it begins at the last message that the user typed."""
    asked = [index for index in range(len(messages)) if _is_question(messages, index)]
    start = asked[-1] if asked else len(messages)
    question, *earlier = [text_of(messages[i].get("content"))[:MAX_QUESTION] for i in reversed(asked)] or [""]
    return Turn(question.strip(), tuple(earlier), _steps(messages[start:]), _steps(messages[:start]))
