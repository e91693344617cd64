"""What fits into a model's window: old results give way first, then old turns. Pure.

Calls and their results are never taken apart, and what is left out is left out of what is sent only.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcphost.jsontext import as_list, as_object
from mcphost.messages import Message
from mcphost.text import trimmed

ROOM: Final = 0.9
"""The part of a window that a request may take: the rest is for the answer."""

_PICTURE: Final = 1500
"""Tokens that a picture or a sound takes, roughly; their base64 says nothing about it."""

_PER_MESSAGE: Final = 4
_STEPS: Final = (2000, 400, 0)
"""Characters to which old results are cut, one after the other."""

_GONE: Final = "[This result was left out to save room. Call again if it is still needed.]"


@dataclass(slots=True)
class Gauge:
    """Estimates tokens, and learns from what an endpoint counts.

    Text is about a token for four ASCII characters, or for one and a half of any other script.
    """

    factor: float = 1.0

    def tokens(self, messages: Sequence[Message], functions: Sequence[Any] = ()) -> int:
        raw = sum(map(_raw, messages)) + (_text(json.dumps(list(functions))) if functions else 0)
        return math.ceil(raw * self.factor)

    def learn(self, counted: int, messages: Sequence[Message], functions: Sequence[Any] = ()) -> None:
        """`counted` is what the endpoint says that a request of these took, 0 where it does not say."""
        estimated = self.tokens(messages, functions)
        if counted > 0 and estimated > 0:
            self.factor = min(max(self.factor * counted / estimated, 0.5), 3.0)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Messages to send: how many results were `shortened`, and how many messages were left out."""

    messages: list[Message]
    shortened: int = 0
    dropped: int = 0


def fitted(messages: Sequence[Message], budget: int, gauge: Gauge, functions: Sequence[Any] = ()) -> Fitted:
    """`messages` in `budget` tokens, as far as that can be done.

    Results before the latest round give way, the oldest first; then whole turns, the oldest first; then the
    latest results. The system prompt and what the user said last stay as they are.
    """
    kept = list(messages)
    if gauge.tokens(kept, functions) <= budget:
        return Fitted(kept)
    latest = max((n for n, message in enumerate(kept) if message.get("role") == "assistant"), default=0)
    short = _shortened(kept, range(latest), budget, gauge, functions)
    turns = _turns(kept)
    dropped = 0
    while len(turns) > 1 and gauge.tokens(kept, functions) > budget:
        begin, end = turns.pop(0), turns[0]
        dropped += end - begin
        del kept[begin:end]
        turns = _turns(kept)
    short |= _shortened(kept, range(len(kept)), budget, gauge, functions)
    return Fitted(kept, len(short), dropped)


def _shortened(
    kept: list[Message], places: range, budget: int, gauge: Gauge, functions: Sequence[Any]
) -> set[object]:
    """Shorten results at `places` in `kept` until all fits; the ids of those that are."""
    short: set[object] = set()
    over = gauge.tokens(kept, functions) - budget
    for limit in _STEPS:
        for place in places:
            if over <= 0:
                return short
            message = kept[place]
            content = message.get("content")
            if message.get("role") != "tool" or not isinstance(content, str):
                continue
            if len(content) <= max(limit, 100):
                continue
            kept[place] = message | {"content": trimmed(content, limit) if limit else _GONE}
            over -= gauge.tokens([message]) - gauge.tokens([kept[place]]) - 1  # each is rounded up
            short.add(message.get("tool_call_id"))
    return short


def _turns(messages: Sequence[Message]) -> list[int]:
    """Where turns begin: with what the user says, or with the first of several such messages."""
    return [
        place
        for place, message in enumerate(messages)
        if message.get("role") == "user"
        and (place == 0 or messages[place - 1].get("role") not in ("user", "tool"))
    ]


def old_part(messages: Sequence[Message], keep: int, gauge: Gauge) -> int:
    """How many of the first messages can be summed up, so that the turns after them take at most `keep`
    tokens (the last turn stays in any case). 0 where there is nothing to sum up."""
    turns = _turns(messages)
    fitting = [place for place in turns if gauge.tokens(messages[place:]) <= keep]
    place = min(fitting or turns[-1:], default=0)
    return place if place > _systems(messages) else 0


def said_before(summary: str) -> Message:
    """A summary, in the place of what it sums up."""
    return {"role": "user", "content": f"What was said before, in short:\n{summary}"}


Summary = tuple[int, str]
"""How many of the first messages are summed up, and what they come to."""


def sent(messages: Sequence[Message], summary: Summary | None) -> list[Message]:
    """What of a conversation is sent: a summary in the place of what it sums up."""
    if summary is None:
        return list(messages)
    upto, text = summary
    return [*messages[: _systems(messages)], said_before(text), *messages[upto:]]


def grown(messages: Sequence[Message], summary: Summary | None, now: Sequence[Message]) -> list[Message]:
    """The whole conversation when what was `sent` of it has grown to `now`."""
    if summary is None:
        return list(now)
    upto, _ = summary
    return [*messages[:upto], *now[_systems(messages) + 1 :]]


def _systems(messages: Sequence[Message]) -> int:
    return int(bool(messages) and messages[0].get("role") in ("system", "developer"))


def summary_request(messages: Sequence[Message], earlier: str | None = None) -> list[Message]:
    """Messages that ask a model to sum up others. `earlier` is a summary of what was before them."""
    lines = [] if earlier is None else [f"Earlier, in short: {earlier}"]
    for message in messages:
        if message.get("role") in ("system", "developer"):
            continue
        name = {"tool": "result"}.get(str(message.get("role")), str(message.get("role")))
        if said := _words(message.get("content")):
            lines.append(f"{name}: {trimmed(said, 4000)}")
        for call in as_list(message.get("tool_calls")) or ():
            function = as_object((as_object(call) or {}).get("function")) or {}
            lines.append(f"call: {function.get('name')} {trimmed(str(function.get('arguments')), 1000)}")
    task = (
        "Sum up the conversation below for somebody who has to go on with it: what the user wants, what was "
        "found out (with the exact names, numbers, dates and identifiers), what was decided, what is still "
        "open. Leave out what no longer matters. Write in the language of the user, in plain text."
    )
    return [{"role": "system", "content": task}, {"role": "user", "content": "\n\n".join(lines)}]


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [as_object(part) or {} for part in as_list(content) or ()]
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)


def _raw(message: Mapping[str, Any]) -> float:
    weight = float(_PER_MESSAGE)
    for key, value in message.items():
        if key == "content" and (parts := as_list(value)) is not None:
            weight += sum(map(_part, parts))
        elif isinstance(value, str):
            weight += _text(value)
        elif value is not None:
            weight += _text(json.dumps(value, ensure_ascii=False, default=str))
    return weight


def _part(part: object) -> float:
    text = (as_object(part) or {}).get("text")
    return _text(text) if isinstance(text, str) else _PICTURE


def _text(text: str) -> float:
    ascii_count = len(text) if text.isascii() else sum(char < "\x80" for char in text)
    return ascii_count / 4 + (len(text) - ascii_count) / 1.5
