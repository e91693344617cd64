"""Writing to the two streams: data to stdout, the rest to stderr; colour only on a terminal."""

import io
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from mcphost.errors import McphostError
from mcphost.text import json_line, printable


class Closed(Exception):
    """Whoever read our stdout has left, as `head -1` does."""


def write(text: str, *, end: str = "\n") -> None:
    """Data, to stdout at once. Raises `Closed` when nobody reads it any more, `McphostError` if it fails."""
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        raise Closed from None
    except OSError as exc:
        abandon_stdout()
        raise McphostError(f"standard output cannot be written: {exc.strerror}") from exc


def write_bytes(data: bytes) -> None:
    """Bytes, to stdout as they are. Raises as `write` does."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError:
        abandon_stdout()
        raise Closed from None
    write("", end="")


def write_json(data: Any, *, indent: int | None = None) -> None:
    write(json_line(data, indent=indent))


def abandon_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter's own flush at exit does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str, *, style: str | None = None) -> None:
    """A line for the person, to stderr. `text` is safe to print. A closed stderr is no reason to stop."""
    try:
        over = "\x1b[K" if sys.stderr.isatty() else ""  # what `status` may have left on the line
        sys.stderr.write(f"{over}{styled(text, style, sys.stderr)}\n")
        sys.stderr.flush()
    except OSError:
        pass


def status(text: str) -> None:
    """A passing line on a terminal's stderr, which the next one replaces."""
    try:
        sys.stderr.write(f"\r\x1b[K{text}\r")
        sys.stderr.flush()
    except OSError:
        pass


def complain(error: McphostError) -> None:
    """An error with its hint, to stderr."""
    note(f"error: {printable(error.message)}", style="red")
    if error.hint:
        note(f"hint: {printable(error.hint)}")


def nearest(names: Sequence[str]) -> str:
    """The hint that goes with a name which no tool has."""
    if not names:
        return "`mcphost tools` lists the tools there are."
    return f"Did you mean {' or '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}?"


_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def styled(text: str, style: str | None, stream: TextIO) -> str:
    """`text` in a style, where `stream` is a terminal that shows one (https://no-color.org)."""
    if style is None or not colourful(stream):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def colourful(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_interactive() -> bool:
    """Whether there is a person to ask: both to read the question and to type the answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def prepare_streams() -> None:
    """Make the three streams usable whatever we were started with.

    One that is closed (`>&-`) is replaced by one that holds nothing; what a terminal's encoding cannot show
    is shown as `?`.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
