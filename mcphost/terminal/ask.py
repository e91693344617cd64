"""Questions to the person at the terminal. Answers are awaited without a thread, so Ctrl-C always works."""

import os
import sys
from contextlib import suppress

import anyio

from mcphost.terminal.output import is_interactive


class Ended(Exception):
    """The terminal's input ended: Ctrl-D."""


class Lines:
    """Lines typed at standard input. One object a program: it may hold what came after a line's end."""

    def __init__(self) -> None:
        self._buffer = b""
        self._prompt = ""

    async def line(self, prompt: str) -> str:
        """Wait for a line; a person is shown `prompt`, on stderr. Raises `Ended` at the end of input."""
        self._prompt = prompt if is_interactive() else ""
        self._write(self._prompt)
        try:
            while b"\n" not in self._buffer:
                data = await _read()
                if not data:
                    if self._buffer:
                        break
                    raise Ended
                self._buffer += data
        except (
            BaseException
        ):  # the input ended, or we are cancelled: nobody typed the end of the prompt's line
            self._write("\n" if self._prompt else "")
            raise
        finally:
            self._prompt = ""
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r")

    def interject(self, text: str) -> None:
        """Show `text` on lines of its own, also while a line is being waited for."""
        clear = "\r\x1b[K" if self._prompt else ""
        self._write(f"{clear}{text}\n{self._prompt}")

    def forget(self) -> None:
        """Drop what was typed and not yet taken."""
        self._buffer = b""
        if sys.platform != "win32" and sys.stdin.isatty():
            import termios  # there is none on Windows

            with suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


async def _read() -> bytes:
    """What is there to read, at the end of input nothing."""
    fd = sys.stdin.fileno()
    with suppress(PermissionError):  # files, which always can be read, are nothing that one could wait for
        await anyio.wait_readable(fd)
    return os.read(fd, 65536)
