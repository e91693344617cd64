"""What a person sees: a pseudo-terminal interpreted by pyte, with what has scrolled off the top."""

import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Callable

import pyte

from .program import SECONDS, Program, Terminal, command

ROWS = 30


class Seen(Terminal):
    """A run on a terminal of so many columns, seen as its user sees it."""

    def __init__(self, program: Program, *arguments: str, columns: int = 80) -> None:
        self.screen = pyte.HistoryScreen(columns, ROWS, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        super().__init__(command(arguments), program.folder, program.env, columns=columns)
        self.resize(columns)

    def __enter__(self) -> "Seen":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def resize(self, columns: int, rows: int = ROWS) -> None:
        """The window gets another size; the program is told, as a terminal does it."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lines(self) -> list[str]:
        """All lines from the first that was ever written, what has scrolled off the top included."""
        above = [_text(line, self.screen.columns) for line in self.screen.history.top]
        return [line.rstrip() for line in above + self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, seen: Callable[[str], bool] | str) -> str:
        """Read until the screen shows a text, or is as `seen` wants it. What it shows then."""
        wanted = seen if callable(seen) else lambda text: seen in text
        deadline = time.monotonic() + SECONDS / 2
        while not wanted(self.text):
            assert time.monotonic() < deadline and self._read(), f"{seen!r} is not seen in:\n{self.text}"
        return self.text

    def gone(self, text: str) -> str:
        """Read until the screen does not show a text any more."""
        return self.until(lambda shown: text not in shown)

    def _read(self) -> bool:
        before = len(self._raw)
        readable, _, _ = select.select([self._master], [], [], SECONDS / 2)
        try:
            data = os.read(self._master, 65536) if readable else b""
        except OSError:
            data = b""
        self._raw += data
        self.output = self._raw.decode(errors="replace").replace("\r\n", "\n")
        self._stream.feed(self._raw[before:].replace("\u200d".encode(), b"").replace("\ufe0f".encode(), b""))
        return bool(data)


def _text(line: dict[int, pyte.screens.Char], columns: int) -> str:
    """A line of pyte's history; the second column of a wide character is empty there."""
    return "".join(line[column].data for column in range(columns))
