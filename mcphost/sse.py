"""A model endpoint's answer, from bytes to JSON objects.

Mostly server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), as they are
really sent: without blank lines between them, or with a plain JSON body in their place.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

_END_OF_LINE = re.compile(rb"\r\n|\r|\n")
_BOM_AND_SPACE = b"\xef\xbb\xbf \t\r\n"
_HEAD = 500
_JOINED = 1000
"""Data lines of one event that are tried together as they come in; more wait for the blank line."""


@dataclass(frozen=True, slots=True)
class Done:
    """The `[DONE]` that ends a stream."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What should have been a JSON object and is none."""

    text: str


Item = dict[str, Any] | Done | Unreadable


class Reader:
    """Takes bytes, cut anywhere, and gives the items that they complete.

    Lines end at CR, LF and CRLF, and at nothing else: U+2028 is content. An object is given as soon as its
    line is complete. An event named `error` gives `{"error": …}`. Data that is no object (a "ping") is
    passed over. A body that begins with `{` or `[` is JSON and given by `close`.

    `head` is the beginning of the body, for messages about bodies that hold nothing else; `whole` says
    that the body is JSON without events.
    """

    def __init__(self) -> None:
        self.head = b""
        self.whole = False
        self._begun = False
        self._buffer = bytearray()
        self._searched = 0
        self._after_cr = False
        self._event = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[Item]:
        self.head += data[: _HEAD - len(self.head)]
        self._buffer += data
        if not self._begun:
            start = bytes(self._buffer).lstrip(_BOM_AND_SPACE)
            if not start:
                return []
            self._begun = True
            self.whole = start[:1] in (b"{", b"[")
            self._buffer = bytearray(start)
        if self.whole:
            return []
        return [item for line in self._lines() for item in self._take(line)]

    def close(self) -> list[Item]:
        """The items left when the body has ended."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        if self.whole:
            return _objects(rest.decode("utf-8", "replace"))
        return [*self._take(rest), *self._take(b"")] if rest else self._take(b"")

    def _lines(self) -> list[bytes]:
        if self._after_cr and self._buffer.startswith(b"\n"):
            del self._buffer[:1]
        if not self._buffer:
            return []
        lines: list[bytes] = []
        start = 0
        for match in _END_OF_LINE.finditer(self._buffer, self._searched):
            lines.append(bytes(self._buffer[start : match.start()]))
            start = match.end()
        self._after_cr = start == len(self._buffer) and self._buffer.endswith(b"\r")
        del self._buffer[:start]
        self._searched = len(self._buffer)
        return lines

    def _take(self, line: bytes) -> list[Item]:
        text = line.decode("utf-8", "replace")
        if not text.strip():
            return self._dispatch()
        name, _, value = text.partition(":")
        if text.startswith("{"):  # a proxy's own error, without the form of an event
            name, value = "data", text
        if name == "event":
            self._event = value.strip()
        if name != "data":
            return []
        self._data.append(value.removeprefix(" "))
        if value.strip() == "[DONE]":
            self._data.clear()
            return [Done()]
        return self._complete() if len(self._data) <= _JOINED else []

    def _complete(self) -> list[Item]:
        value = _json("\n".join(self._data))
        if value is None:
            return []
        failed = self._event == "error"
        self._data.clear()
        self._event = ""
        chunk = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if failed and not chunk.get("error"):
            return [{"error": value}]
        return [chunk] if chunk else []

    def _dispatch(self) -> list[Item]:
        """At a blank line: what has not become JSON by now never will."""
        items = self._complete() if self._data else []
        text = "\n".join(self._data).strip()
        failed = self._event == "error"
        self._data.clear()
        self._event = ""
        if text and failed:
            return [{"error": text}]
        return [*items, Unreadable(text)] if text.startswith(("{", "[")) else items


def _objects(text: str) -> list[Item]:
    """The object of a JSON body, or those of its lines."""
    value = _json(text)
    values = [value] if value is not None else [_json(line) for line in text.splitlines() if line.strip()]
    items: list[Item] = []
    for each in values:
        if isinstance(each, list):  # as Gemini sends an error
            each = next(iter(cast("list[Any]", each)), None)
        if not isinstance(each, dict):
            return [Unreadable(text)]
        items.append(cast("dict[str, Any]", each))
    return items


def _json(text: str) -> Any:
    """Python's own JSON, which also takes the NaN of some endpoints' log probabilities. None for no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
