"""The model's text on stdout."""

import sys

from mcphost.events import Done, Event, Failed, Round, RoundUsage, Text
from mcphost.terminal.output import write
from mcphost.text import printable


class Answer:
    """Text as it comes, on a terminal; where a program reads, the last round's alone, at the end."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._text = ""
        self._line_open = False

    def show(self, event: Event) -> None:
        match event:
            case Round():
                self._text = ""
            case Text(text) if self._live:
                write(printable(text), end="")
                self._line_open = not text.endswith("\n")
            case Text(text):
                self._text += text
            case RoundUsage() if self._live:
                self.close()
            case Done() | Failed():
                self.close()
            case _:
                pass

    def close(self) -> None:
        """Write what is left, such as the text of a turn that was interrupted."""
        if self._line_open or self._text:
            text, self._text, self._line_open = self._text, "", False
            write(text)
