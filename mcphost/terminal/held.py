"""The terminal, where what belongs together is written at once."""

import os
from contextlib import suppress
from typing import TextIO

from prompt_toolkit.data_structures import Size

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around what a terminal should show at once (synchronized output)."""


class Held:
    """A stream to a terminal. What is written while it is held is shown together when it is released."""

    encoding = "utf-8"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._held = False
        self._parts: list[str] = []

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        held, self._held = self._held, False
        text, self._parts = "".join(self._parts), []
        if text:
            self._write(f"{_BEGIN}{text}{_END}" if held else text)

    def write(self, text: str) -> int:
        self._parts.append(text)
        return len(text)

    def flush(self) -> None:
        if not self._held:
            self.release()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return True

    def size(self) -> Size:
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except OSError:
            columns, rows = 80, 24
        return Size(rows=rows or 24, columns=columns or 80)

    def _write(self, text: str) -> None:
        with suppress(OSError):  # the terminal is gone, which reading from it tells
            self._stream.write(text)
            self._stream.flush()
