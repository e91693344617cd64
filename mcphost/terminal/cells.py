"""Styled lines and the columns they take: Chinese characters and emoji take two, marks take none.

A style is words: `bold`, `dim`, `italic`, `underline`, `strike`, `reverse` and prompt_toolkit's names of the
terminal's own colours (`ansigreen`), so that a line can be drawn by it or written with `ansi`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from wcwidth import wcwidth

Piece = tuple[str, str]
"""A style and a text that is on one line."""

Line = list[Piece]

_SGR: Final = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "reverse": "7",
    "strike": "9",
    "ansired": "31",
    "ansigreen": "32",
    "ansiyellow": "33",
    "ansiblue": "34",
    "ansimagenta": "35",
    "ansicyan": "36",
}
_VARIATION, _JOINER = "\ufe0f", "\u200d"
_CLUSTER = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"  # a flag
    f"|.(?:[\u0300-\u036f\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\u20d0-\u20ff]|{_JOINER}.?)*",
    re.DOTALL,
)
_CLOSING: Final = frozenset("，。、；：？！）》」』】〕〉”’…％～·,.;:?!)]}%")
"""No line begins with one of these, where it can be helped."""

_OPENING: Final = frozenset("（《「『【〔〈“‘([{")
"""No line ends with one of these."""


@lru_cache(4096)
def width(text: str) -> int:
    """The most columns that any terminal takes for `text`: some draw a joined emoji as its parts."""
    columns = sum(max(wcwidth(char), 0) for char in text)
    narrow = (before for before, char in pairwise(text) if char == _VARIATION)
    return columns + sum(wcwidth(before) == 1 for before in narrow)


def clusters(text: str) -> Iterator[str]:
    """The characters as people see them: with their marks, and joined emoji whole."""
    cluster = ""
    for match in _CLUSTER.finditer(text):
        if cluster and width(match[0]) == 0:
            cluster += match[0]  # marks of other scripts
            continue
        if cluster:
            yield cluster
        cluster = match[0]
    if cluster:
        yield cluster


def line_width(line: Iterable[Piece]) -> int:
    return sum(width(text) for _, text in line)


def plain(line: Iterable[Piece]) -> str:
    return "".join(text for _, text in line)


def ansi(line: Iterable[Piece]) -> str:
    """A line with the escapes that style it."""
    parts: list[str] = []
    for style, text in line:
        codes = ";".join(_SGR[word] for word in style.split())
        parts.append(f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text)
    return "".join(parts)


def cut(line: Sequence[Piece], columns: int) -> Line:
    """A line in at most `columns` columns, with an ellipsis where something was cut."""
    if line_width(line) <= columns:
        return list(line)
    room, kept = columns - 1, list[Piece]()
    for style, text in line:
        for cluster in clusters(text):
            room -= width(cluster)
            if room < 0:
                return merged([*kept, ("", "…" if columns > 0 else "")])
            kept.append((style, cluster))
    return merged(kept)


def chopped(line: Sequence[Piece], columns: int) -> list[Line]:
    """A line as several of at most `columns` columns, as a terminal would break it: anywhere."""
    lines: list[Line] = [[]]
    taken = 0
    for style, text in line:
        for cluster in clusters(text):
            size = width(cluster)
            if taken and taken + size > columns:
                lines.append([])
                taken = 0
            lines[-1].append((style, cluster))
            taken += size
    return [merged(each) for each in lines]


def wrapped(
    line: Sequence[Piece], columns: int, first: Line | None = None, rest: Line | None = None
) -> list[Line]:
    """A line as several of at most `columns` columns, broken at spaces and between wide characters.

    `first` goes before the first one and `rest` before the others, within the columns.
    """
    first, rest = first or [], rest or []
    lines: list[Line] = [list(first)]
    room = max(columns - line_width(first), 2)
    left = room
    for word in _words(line):
        size, gap = line_width(word), _is_space(word)
        if gap and left == room and len(lines) > 1:
            continue  # the space at which the line was broken
        if size > left and left < room and not gap:
            _trim(lines[-1], len(first if len(lines) == 1 else rest))
            lines.append(list(rest))
            left = room = max(columns - line_width(rest), 2)
        if size <= left:
            lines[-1] += word
            left -= size
            continue
        if gap:
            left = 0
            continue
        for number, part in enumerate(chopped(word, room)):  # a word longer than a line
            if number:
                lines.append(list(rest))
            lines[-1] += part
            left = room - line_width(part)
    _trim(lines[-1], len(first if len(lines) == 1 else rest))
    return [merged(each) for each in lines]


def merged(line: Iterable[Piece]) -> Line:
    """A line with neighbours of one style put together."""
    out: Line = []
    for style, text in line:
        if out and out[-1][0] == style:
            out[-1] = (style, out[-1][1] + text)
        elif text:
            out.append((style, text))
    return out


def _words(line: Iterable[Piece]) -> Iterator[Line]:
    """What must stay together: words, runs of spaces, single wide characters with their punctuation."""
    word: Line = []
    before = ""
    for style, text in line:
        for cluster in clusters(text):
            if word and _breaks(before, cluster):
                yield word
                word = []
            word.append((style, cluster))
            before = cluster
    if word:
        yield word


def _breaks(before: str, after: str) -> bool:
    if before == " " or after == " ":
        return before != after
    if after in _CLOSING or before in _OPENING:
        return False
    return width(before) > 1 or width(after) > 1


def _is_space(word: Line) -> bool:
    return word[0][1] == " "


def _trim(line: Line, kept: int) -> None:
    """Take the spaces off the end, but not out of the first `kept` pieces."""
    while len(line) > kept and line[-1][1].strip(" ") == "":
        line.pop()
