"""Reasoning that comes inside the text of an answer, as `<think>…</think>` at its beginning."""

from typing import Literal

from mcphost.jsontext import well_formed

Part = tuple[Literal["text", "reasoning"], str]

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkSplitter:
    """Takes text in pieces, cut anywhere, and tells reasoning from answer.

    Only a tag that the answer begins with counts, white space aside; the white space after the closing one
    belongs to neither. Without a closing tag all is reasoning.
    """

    def __init__(self) -> None:
        self._state: Literal["start", "inside", "gap", "answer"] = "start"
        self._held = ""

    def feed(self, text: str) -> list[Part]:
        text, self._held = self._held + text, ""
        parts: list[Part] = []
        if self._state == "start":
            text = self._opened(text)
        if self._state == "inside":
            before, closed, after = text.partition(_CLOSE)
            if not closed:
                before, self._held = _without_begun(before, _CLOSE)
            parts.append(("reasoning", before))
            text = after
            self._state = "gap" if closed else "inside"
        if self._state == "gap":
            text = text.lstrip()
            self._state = "answer" if text else "gap"
        if self._state == "answer":
            parts.append(("text", text))
        return [part for part in parts if part[1]]

    def close(self) -> list[Part]:
        """What was held back in case it was the beginning of a tag."""
        held, self._held = self._held, ""
        if not held:
            return []
        return [("reasoning", held) if self._state == "inside" else ("text", held)]

    def _opened(self, text: str) -> str:
        """What follows the opening tag, or all of `text` when there is none; "" while that is open."""
        begun = text.lstrip()
        if begun.startswith(_OPEN):
            self._state = "inside"
            return begun.removeprefix(_OPEN)
        if _OPEN.startswith(begun):
            self._held = text
            return ""
        self._state = "answer"
        return text


def _without_begun(text: str, tag: str) -> tuple[str, str]:
    """`text` in two: what is certain, and an end that may be the beginning of `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return text[:-size], text[-size:]
    return text, ""


class SurrogateJoiner:
    """Takes text in pieces between which a character may be cut: some endpoints send half of an emoji."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return well_formed(text)

    def close(self) -> str:
        """What is left of a character that never became whole."""
        half, self._half = self._half, ""
        return well_formed(half)
