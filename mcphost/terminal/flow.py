"""Markdown that is still being written: what is finished is handed out once, the rest can be looked at.

What is finished depends on the text alone, not on the pieces in which it came: a block is when another has
begun after it, a list's items one by one, a line of code at its end.
"""

import re
from collections.abc import Callable
from typing import Protocol

from mcphost.terminal.cells import Line, chopped, wrapped
from mcphost.terminal.highlight import Highlighter
from mcphost.terminal.markdown import Block, blocks, items, needs_gap, render
from mcphost.text import printable

Segment = Callable[[int], list[Line]]
"""A finished part: its lines in so many columns."""

_UNDECIDED = re.compile(r"[\s\-=*_#`~>+|:.\d\[\]()!]*")
"""A line that is still being written and may become anything."""

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})")


class Flow(Protocol):
    """A text on its way to the screen."""

    def feed(self, text: str) -> list[Segment]:
        """Take the next piece. What is finished with it."""
        ...

    def open(self) -> Segment:
        """What is not finished yet, as it looks so far."""
        ...

    def end(self) -> list[Segment]:
        """Nothing more comes: the rest. Ready for another text."""
        ...


class PlainFlow:
    """Text as it was written, for those who want no colour, or for reasoning with its `style`."""

    def __init__(self, style: str = "") -> None:
        self._style = style
        self._partial = ""

    def feed(self, text: str) -> list[Segment]:
        *lines, self._partial = (self._partial + text).split("\n")
        return [self._segment(line) for line in lines]

    def open(self) -> Segment:
        line = printable(self._partial)
        return lambda columns: chopped([(self._style, line)], columns) if line else []

    def end(self) -> list[Segment]:
        rest, self._partial = self._partial, ""
        return [self._segment(rest)] if rest else []

    def _segment(self, text: str) -> Segment:
        line: Line = [(self._style, printable(text))]
        return lambda columns: wrapped(line, columns) if self._style else [line]


class MarkdownFlow:
    """Markdown in colours."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._partial = ""
        self._lines: list[str] = []
        self._before: Block | None = None
        self._blank = False
        self._number: int | None = None
        self._code: _Code | None = None

    def feed(self, text: str) -> list[Segment]:
        *lines, self._partial = (self._partial + text).split("\n")
        return [segment for line in lines for segment in self._take(printable(line))]

    def open(self) -> Segment:
        partial = printable(self._partial)
        if self._code is not None:
            line = [] if self._code.may_close(partial) else self._code.peek(partial)
            return lambda columns: chopped(line, columns) if partial else []
        lines = self._lines if _UNDECIDED.fullmatch(partial) else [*self._lines, partial]
        segments = self._segments(blocks("\n".join(lines)), lines)
        return lambda columns: [line for segment in segments for line in _drawn(segment, columns)]

    def end(self) -> list[Segment]:
        partial = printable(self._partial)
        segments = self._take(partial) if partial else []
        if self._code is None:
            segments += self._segments(blocks("\n".join(self._lines)))
        self._begin()
        return segments

    def _take(self, line: str) -> list[Segment]:
        """A line that is complete."""
        if self._code is not None:
            shown = self._code.take(line)
            if self._code.closed:
                self._code = None
            return [lambda _: [shown]]
        if not self._lines and not line.strip():
            self._blank = True
            return []
        self._lines.append(line)
        found = blocks("\n".join(self._lines))
        if not found:  # a definition of a link, which shows nothing
            return []
        *finished, last = found
        segments = self._commit(finished, last.start) if finished else []
        if last.kind == "fence":
            segments += self._open_fence()
        elif last.kind in ("bullet_list", "ordered_list"):
            segments += self._commit_items()
        return segments

    def _commit(self, finished: list[Block], upto: int) -> list[Segment]:
        """Hand out blocks, or items of a list, that end before the line `upto`."""
        segments = self._segments(finished)
        self._blank = self._is_blank(upto)
        self._before, self._number = finished[-1], None
        self._lines = self._lines[upto:]
        return segments

    def _commit_items(self) -> list[Segment]:
        """The items of the list that is open, but for the last."""
        *finished, last = items(blocks("\n".join(self._lines))[-1], self._number)
        if not finished:
            return []
        segments = self._commit(finished, last.start)
        self._number = last.number
        return segments

    def _open_fence(self) -> list[Segment]:
        """The first line of a block of code, which from here on comes line by line."""
        found = blocks("\n".join(self._lines))[-1]
        gap = needs_gap(self._before, found, blank=self._blank)
        info = found.tokens[0].info.split()
        fence = _FENCE.match(self._lines[found.start])
        assert fence is not None
        self._code = _Code(len(fence[1]), fence[2], info[0] if info else "")
        self._before, self._blank, self._lines = found, False, []
        head: list[Line] = [[], self._code.head] if gap else [self._code.head]
        return [lambda _: head]

    def _segments(self, found: list[Block], lines: list[str] | None = None) -> list[Segment]:
        """Blocks in a row, lists as their items. `lines`: what they were found in, where it is not ours."""
        before, number = self._before, self._number
        segments: list[Segment] = []
        for block in found:
            is_list = block.kind in ("bullet_list", "ordered_list")
            for leaf in items(block, number) if is_list else [block]:
                blank = self._is_blank(leaf.start, lines) if leaf.start else self._blank
                segments.append(_segment(leaf, gap=needs_gap(before, leaf, blank=blank)))
                before = leaf
            number = None
        return segments

    def _is_blank(self, place: int, lines: list[str] | None = None) -> bool:
        """Whether the line before `place` is empty."""
        return place > 0 and not (lines or self._lines)[place - 1].strip()


class _Code:
    """A fenced block of code that is being written (CommonMark, "Fenced code blocks")."""

    def __init__(self, indent: int, fence: str, language: str) -> None:
        self._indent = indent
        self._fence = fence
        self._highlighter = Highlighter(language)
        self.closed = False
        self.head: Line = [("dim", f"```{language}")]

    def take(self, line: str) -> Line:
        if self._closes(line):
            self.closed = True
            return [("dim", "```")]
        return self._highlighter.line(self._inner(line))

    def peek(self, line: str) -> Line:
        return self._highlighter.peek(self._inner(line))

    def may_close(self, line: str) -> bool:
        return not line.strip(" " + self._fence[0])

    def _closes(self, line: str) -> bool:
        text = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        return indent < 4 and len(text) >= len(self._fence) and not text.strip(self._fence[0])

    def _inner(self, line: str) -> str:
        lead = len(line) - len(line.lstrip(" "))
        return line[min(lead, self._indent) :].expandtabs(4)


def _segment(block: Block, *, gap: bool) -> Segment:
    head: list[Line] = [[]] if gap else []
    return lambda columns: [*head, *render(block, columns)]


def _drawn(segment: Segment, columns: int) -> list[Line]:
    """A segment for a place where no line may be longer than the columns."""
    return [part for line in segment(columns) for part in (chopped(line, columns) if line else [[]])]
