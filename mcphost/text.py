"""Text on its way to a model, a file or a terminal: encodable, bounded, harmless."""

import json
import re
import unicodedata
from collections.abc import Callable

from mcphost.jsontext import dumps, well_formed

_ESCAPES = re.compile(
    # OSC, DCS, SOS, PM and APC: control strings, to their terminator
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # the other escapes of ECMA-48 and ISO 2022
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # C0 and C1 but for tab and newline
    r"|[\u202a-\u202e\u2066-\u2069]"  # bidi embeddings, overrides and isolates
)
_JOINER = "\u200d"
_SEARCHED = 64
"""How far from the wanted place a cut may go to keep a character whole."""


_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """`text` for a terminal: no escape sequence, no control character but newline and tab, no bidi override.

    A control string that has no end loses its introducer only, so that it hides nothing.
    """
    return _ESCAPES.sub("", well_formed(text))


def json_text(value: object) -> str:
    """`value` as compact JSON, for showing. NaN and the infinities, not JSON, become null. Never raises."""
    try:
        try:
            return dumps(value)
        except ValueError:
            return dumps(json.loads(json.dumps(value), parse_constant=lambda _: None))
    except (TypeError, ValueError, RecursionError):
        return '"(a value that cannot be written as JSON)"'


def json_line(value: object, *, indent: int | None = None) -> str:
    """`value` as JSON that is safe on a terminal, and for programs that split lines where `splitlines` does.

    Control characters beyond ASCII, line separators and bidi overrides are escaped. What JSON cannot write
    is written as text.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def size_text(size: int) -> str:
    """A number of bytes for people: `812 B`, `12 kB`, `1.2 MB`."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 999_500 else f"{size / 1_000_000:.1f} MB"


def one_line(text: str, limit: int) -> str:
    """`text` as a part of a label: printable, on one line, at most `limit` characters."""
    line = " ".join(printable(text[: limit * 4]).split())
    return shortened(line, limit)


def shortened(text: str, limit: int) -> str:
    """The first characters of `text`, at most `limit` with the "…" that says there are more."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def trimmed(text: str, limit: int, *, where: str = "") -> str:
    """Head and tail of `text` in at most `limit` characters, a line between saying how much was left out.

    `where` goes on with that line, such as "; the whole is in FILE"; where there is no room for it or for
    the line, they are left out. A character stays with its combining marks.
    """
    if len(text) <= limit:
        return text
    for addition in (where, ""):
        room = limit - len(_gap(len(text), addition))
        if room >= limit // 2 and room > 0:
            head = _boundary(text, room * 2 // 3, -1)
            tail = _boundary(text, len(text) - room + room * 2 // 3, 1)
            return text[:head] + _gap(tail - head, addition) + text[tail:]
    return text[: _boundary(text, max(limit, 0), -1)]


def fitted(text: str, limit: int, render: Callable[[str], str], *, where: str = "") -> str:
    """`render` of as much of `text` as makes it at most `limit` characters; of "" where nothing does.

    For renderings such as JSON, which make a text longer by an amount that depends on it.
    """
    size = min(limit, len(text))
    while True:
        content = render(trimmed(text, size, where=where))
        if len(content) <= limit or size <= 0:
            return content
        size = min(size - 1, size * limit // len(content))


def _gap(count: int, where: str) -> str:
    return f"\n[… {count} characters left out{where} …]\n"


def _boundary(text: str, index: int, step: int) -> int:
    """The first place from `index` on, by `step`, where a cut leaves every character with its marks."""
    for place in range(index, index + step * _SEARCHED, step):
        if not 0 < place < len(text) or not _continues(text[place - 1], text[place]):
            return min(max(place, 0), len(text))
    return index


def _continues(before: str, after: str) -> bool:
    """Whether `after` belongs to what is `before` it: a mark, a joined emoji, the LF of a CR LF."""
    return (
        unicodedata.category(after).startswith("M")
        or _JOINER in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or (before == "\r" and after == "\n")
    )
