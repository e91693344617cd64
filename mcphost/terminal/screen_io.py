"""A screen for those who only know lines: who asks questions, and who writes to stdout or stderr."""

import re
from typing import TextIO

from mcphost.terminal.ask import Lines
from mcphost.terminal.cells import plain, width, wrapped
from mcphost.terminal.screen import Screen


class ScreenLines(Lines):
    """Questions on a screen, for whoever asks them line by line."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    async def line(self, prompt: str) -> str:
        return await self._screen.line(prompt)

    def interject(self, text: str) -> None:
        self._screen.write(f"{text}\n")

    def forget(self) -> None:
        """What is typed is kept apart from answers as it is."""


class ScreenStream:
    """Stands for stdout or stderr while a screen is there: whole lines go above what is live."""

    encoding = "utf-8"

    def __init__(self, screen: Screen, original: TextIO) -> None:
        self._screen = screen
        self._original = original
        self._open = ""

    def write(self, text: str) -> int:
        *whole, self._open = (self._open + text).replace("\x1b[K", "").split("\n")
        columns = self._screen.size.columns
        lines = [part for line in whole for part in _folded(line, columns)]
        self._screen.write("".join(f"{line}\n" for line in lines))
        return len(text)

    def flush(self) -> None:
        """There is nothing to be flushed: lines go at once, and what is no line yet waits for its end."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._original.fileno()


def _folded(line: str, columns: int) -> list[str]:
    """A line of one style as several that fit, broken where words end."""
    match = re.fullmatch(r"(\x1b\[\d+m)?([^\x1b]*)(\x1b\[0m)?", line)
    if match is None or width(match[2]) <= columns:
        return [line]
    begin, text, end = match.groups(default="")
    return [f"{begin}{plain(part)}{end}" for part in wrapped([("", text)], columns)]
