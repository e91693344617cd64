"""From the bytes of a model's answer to one `Reply`, with its text as it comes. Nothing here waits."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from mcphost.calls import CallAssembler
from mcphost.errors import ModelError
from mcphost.events import Reasoning, Text
from mcphost.jsontext import as_list, as_object
from mcphost.messages import ToolCall, Usage
from mcphost.model_errors import server_said
from mcphost.sse import Done, Item, Reader, Unreadable
from mcphost.text import one_line
from mcphost.thinking import SurrogateJoiner, ThinkSplitter

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered to one request.

    `finish_reason` is the endpoint's own word. `warnings` tell what was asked for and could not be had.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    warnings: tuple[str, ...] = ()


class Assembler:
    """Takes the body of an answer in pieces, cut anywhere; gives text as it comes and a `Reply` at the end.

    `who` is how messages name the model. Call `feed` for each piece, `close` when the body has ended, then
    `reply`. Of several choices only the first is read.
    """

    def __init__(self, who: str = "the model") -> None:
        self._who = who
        self._reader = Reader()
        self._calls = CallAssembler()
        self._think = ThinkSplitter()
        self._text_joiner, self._reasoning_joiner = SurrogateJoiner(), SurrogateJoiner()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._logprobs: list[Any] = []
        self._usage = Usage()
        self._choice: object = None
        self._chunks = 0
        self._finish_reason: str | None = None
        self._done = False
        self._error: object = None
        self._unreadable: str | None = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def ended(self) -> bool:
        """Whether nothing that may still come will be read: after `[DONE]` or an error."""
        return self._done or self._error is not None or self._unreadable is not None

    @property
    def finished(self) -> bool:
        """Whether the reply is whole as it is, though the connection broke: the model said why it stopped."""
        return self._done or self._finish_reason is not None

    @property
    def usage(self) -> Usage:
        """What has been told of the tokens so far."""
        return self._usage

    def feed(self, data: bytes) -> list[Text | Reasoning]:
        return self._take(self._reader.feed(data))

    def close(self) -> list[Text | Reasoning]:
        events = self._take(self._reader.close())
        if half := self._reasoning_joiner.close():
            events.append(self._note("reasoning", half))
        parts = [*self._think.feed(self._text_joiner.close()), *self._think.close()]
        return events + [self._note(kind, text) for kind, text in parts]

    def reply(self) -> Reply:
        """The whole answer. Raises `ModelError`, with the text so far, where it is none."""
        if (trouble := self._trouble()) is not None:
            raise trouble
        calls = self._calls.calls()
        if calls and self._finish_reason in ("length", "content_filter") and not calls[-1].arguments.strip():
            # Cut before its arguments began. An open brace tells that from a call without arguments.
            calls = (*calls[:-1], replace(calls[-1], arguments="{"))
        return Reply(self.text, "".join(self._reasoning), calls, self._usage, self._finish_reason)

    def _trouble(self) -> ModelError | None:
        who, partial = self._who, self.text
        start = one_line(self._reader.head.decode("utf-8", "replace"), _EXCERPT)
        if self._error is not None:
            said = server_said(self._error) or "no reason given"
            return ModelError(
                f"{who} reported an error: {said}", status=_status(self._error), partial=partial
            )
        if self._unreadable is not None:
            excerpt = one_line(self._unreadable, _EXCERPT)
            return ModelError(f"{who} sent something that cannot be read: {excerpt}", partial=partial)
        if self.finished or (self._reader.whole and self._chunks):
            return None
        if self._chunks:
            hint = "Ask again. Nothing of the unfinished answer was run." if self._calls else "Ask again."
            return ModelError(f"{who} broke off in the middle of its answer", partial=partial, hint=hint)
        hint = "Check the base URL: it usually ends in /v1."
        if not start:
            return ModelError(f"{who} answered with nothing", hint=hint)
        return ModelError(f"{who} answered with something else than a completion: {start}", hint=hint)

    def _take(self, items: list[Item]) -> list[Text | Reasoning]:
        events: list[Text | Reasoning] = []
        for item in items:
            if self.ended:
                break
            match item:
                case Done():
                    self._done = True
                case Unreadable(text):
                    self._unreadable = text
                case dict():
                    events += self._chunk(item)
        return events

    def _chunk(self, chunk: dict[str, Any]) -> Iterator[Text | Reasoning]:
        if error := _error(chunk):
            self._error = error
            return
        for usage in _usages(chunk):
            self._usage = _most(self._usage, usage)
        for choice in _dicts(chunk.get("choices")):
            if self._choice is None:
                self._choice = choice.get("index", 0)
            if choice.get("index", 0) == self._choice:
                self._chunks += 1
                yield from self._one_choice(choice)

    def _one_choice(self, choice: dict[str, Any]) -> Iterator[Text | Reasoning]:
        if reason := choice.get("finish_reason"):
            self._finish_reason = str(reason)
        if self._finish_reason == "error" or choice.get("error"):
            self._error = choice.get("error") or "no reason given"
            return
        self._logprobs += as_list((as_object(choice.get("logprobs")) or {}).get("content")) or ()
        delta, whole = as_object(choice.get("delta")), False
        if delta is None:
            delta, whole = as_object(choice.get("message")), True
        if delta is None or (whole and (self._text or self._calls)):
            return  # the message that some endpoints send after its own deltas says nothing new
        yield from self._delta(delta, whole=whole)

    def _delta(self, delta: dict[str, Any], *, whole: bool) -> Iterator[Text | Reasoning]:
        text, thought = _content(delta.get("content"))
        if reasoning := self._reasoning_joiner.feed(_reasoning(delta) or thought):
            yield self._note("reasoning", reasoning)
        if isinstance(refusal := delta.get("refusal"), str):
            text += refusal
        if text := self._text_joiner.feed(text):
            for kind, part in self._think.feed(text):
                yield self._note(kind, part)
        self._calls.add(delta.get("tool_calls"), whole=whole)
        self._calls.add_legacy(delta.get("function_call"))

    def _note(self, kind: str, text: str) -> Text | Reasoning:
        if kind == "reasoning":
            self._reasoning.append(text)
            return Reasoning(text)
        self._text.append(text)
        logprobs, self._logprobs = tuple(self._logprobs), []
        return Text(text, logprobs)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in map(as_object, as_list(value) or ()) if item is not None]


def _error(chunk: dict[str, Any]) -> object:
    """What a chunk reports as an error, None for none."""
    if error := chunk.get("error"):
        return error
    if chunk.get("object") == "error":
        return chunk
    says = any(isinstance(chunk.get(key), str | list) for key in ("message", "detail", "msg"))
    return chunk if says and "choices" not in chunk else None


def _status(error: object) -> int | None:
    code = (as_object(error) or {}).get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _content(content: object) -> tuple[str, str]:
    """Text and reasoning of a `content`, which may be a string or a list of parts."""
    if isinstance(content, str):
        return content, ""
    text = thought = ""
    for part in as_list(content) or ():
        if isinstance(part, str):
            text += part
        elif (fields := as_object(part)) is not None:
            inner = fields.get("thinking")
            thought += inner if isinstance(inner, str) else _content(inner)[0]
            text += fields["text"] if isinstance(fields.get("text"), str) else ""
    return text, thought


def _reasoning(delta: dict[str, Any]) -> str:
    """A delta's reasoning, said once: some endpoints give it under two names."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(text := delta.get(key), str) and text:
            return text
    details = _dicts(delta.get("reasoning_details"))
    texts = [detail.get("text") or detail.get("summary") for detail in details]
    return "".join(text for text in texts if isinstance(text, str))


def _usages(chunk: dict[str, Any]) -> Iterator[Usage]:
    """Wherever endpoints put it: at the top, in the choice (Moonshot), under `x_groq` (Groq)."""
    groq = chunk.get("x_groq")
    for holder in (chunk, *_dicts(chunk.get("choices")), *_dicts([groq])):
        if (usage := as_object(holder.get("usage"))) is not None:
            yield _usage(usage)


def _usage(usage: dict[str, Any]) -> Usage:
    (prompt,) = _dicts([usage.get("prompt_tokens_details")]) or [{}]
    (completion,) = _dicts([usage.get("completion_tokens_details")]) or [{}]
    cached = (prompt.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        max(_count(value) for value in cached),
        _count(completion.get("reasoning_tokens")),
    )


def _count(value: object) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return max(int(value), 0) if whole and isinstance(value, int | float) else 0


def _most(one: Usage, other: Usage) -> Usage:
    """Usage that is sent more than once counts up within a round, field by field."""
    return Usage(
        max(one.prompt_tokens, other.prompt_tokens),
        max(one.completion_tokens, other.completion_tokens),
        max(one.cached_tokens, other.cached_tokens),
        max(one.reasoning_tokens, other.reasoning_tokens),
    )
