"""Writing to the two streams: data to stdout, the rest to stderr; colour only on a terminal."""

import json
import os
import sys
from typing import Any, TextIO

from mcphost.errors import McphostError
from mcphost.text import printable


class Closed(Exception):
    """Whoever read our stdout has left, as `head -1` does."""


def write(text: str, *, end: str = "\n") -> None:
    """Data, to stdout at once. Raises `Closed` when nobody reads it any more."""
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        raise Closed from None


def write_json(data: Any, *, indent: int | None = None) -> None:
    write(json.dumps(data, ensure_ascii=False, indent=indent))


def abandon_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter's own flush at exit does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str, *, style: str | None = None) -> None:
    """A line for the person, to stderr. `text` is safe to print. A closed stderr is no reason to stop."""
    try:
        sys.stderr.write(styled(text, style, sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        pass


def complain(error: McphostError) -> None:
    """An error with its hint, to stderr."""
    note(f"error: {printable(error.message)}", style="red")
    if error.hint:
        note(f"hint: {printable(error.hint)}")


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
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
