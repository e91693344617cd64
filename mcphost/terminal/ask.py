"""Questions to the person at the terminal. Answers are awaited without a thread, so Ctrl-C always works."""

import os
import sys

import anyio

from mcphost.text import printable


class Ended(Exception):
    """The terminal's input ended: Ctrl-D."""


class Lines:
    """Lines typed at standard input. One object a program: it may hold what came after a line's end."""

    def __init__(self) -> None:
        self._buffer = b""

    async def line(self, prompt: str) -> str:
        """Show `prompt` on stderr and wait for a line. Raises `Ended` at the end of input."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        while b"\n" not in self._buffer:
            await anyio.wait_readable(sys.stdin.fileno())
            data = os.read(sys.stdin.fileno(), 65536)
            if not data:
                if self._buffer:
                    break
                raise Ended
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r")

    async def confirm(self, question: str, *, default: bool = False) -> bool:
        """A yes or no. End of input is a no."""
        choice = "[Y/n]" if default else "[y/N]"
        try:
            answer = (await self.line(f"{printable(question)} {choice} ")).strip().lower()
        except Ended:
            return False
        return default if not answer else answer in ("y", "yes", "是", "好")
