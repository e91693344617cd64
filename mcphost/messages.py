"""What the loop passes about: calls, results, usage. Frozen; dicts only at the wire.

Messages themselves stay OpenAI chat message dicts (`Message`), because callers hand them in and get
them back, and keys that we do not know must survive.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

Message = dict[str, Any]
"""One OpenAI chat message: `{"role": …, "content": …, …}`."""


def as_dict(value: Any) -> dict[str, Any]:
    """A copy of a mapping, or a pydantic object (such as the `openai` SDK's) as a dict without its Nones."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    raise TypeError(f"expected a dict or an object of the openai SDK, got {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it. `arguments` is its JSON text, not yet trusted to be JSON.

    `extra` holds a provider's own fields of the call, which some want back with it, such as Gemini's
    `extra_content`; those of its function are under `function`.
    """

    id: str
    name: str
    arguments: str = "{}"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, call: Any) -> "ToolCall":
        """A call given as a dict of the wire (`{"id", "type", "function": {"name", "arguments"}}`) or as the
        `openai` SDK's object. Arguments may also be a dict already. Raises `TypeError` for anything else."""
        data = as_dict(call)
        function = as_dict(data.get("function") or data.get("custom") or {})
        if "input" in function:  # a call of OpenAI's custom tools, whose argument is a text
            function["arguments"] = function.pop("input")
        name, arguments = function.pop("name", None), function.pop("arguments", None)
        if not isinstance(name, str):
            raise TypeError(f"a tool call needs a function with a name, got {call!r}")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        extra = {key: value for key, value in data.items() if key not in ("id", "index", "type", "function")}
        if others := {key: value for key, value in function.items() if value is not None}:
            extra["function"] = others
        return cls(id=str(data.get("id") or ""), name=name, arguments=text, extra=extra)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something in a result that is no text for a model: an image, a sound, a file, or a text too long.

    `path` is where the host saves it, None where nobody could open it. `label` is what stands in its
    place in the result's text.
    """

    kind: str
    mime_type: str
    data: bytes
    label: str
    name: str | None = None
    path: Path | None = None


Cause = Literal["unknown", "invalid", "refused", "tool", "timeout", "server", "auth"]
"""Why a call failed: no such tool; arguments that cannot be sent; not allowed; the tool said so; no answer in
time; its server is lost or cannot be reached, or wants authorization."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one call. Every call has exactly one, whatever happened.

    `content` is the text of the `role: "tool"` message. `arguments` are those that were sent, after
    coercion; None when they could not be read. `error` is the reason when `ok` is false, and `cause` its
    kind. `raw` is the server's own result (`CallToolResult` as JSON), None when no server answered.
    """

    call_id: str
    name: str
    ok: bool
    content: str
    server: str | None = None
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    attachments: tuple[Attachment, ...] = ()
    error: str | None = None
    cause: Cause | None = None
    seconds: float = 0.0
    raw: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()

    def message(self) -> Message:
        """The `role: "tool"` message that answers the call."""
        return {"role": "tool", "tool_call_id": self.call_id, "content": self.content}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one round, or of several added up."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens
