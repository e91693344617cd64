"""What a chat needs of a terminal, and the plainest one that has it: lines in, lines out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mcphost.events import Done, Event, Failed
from mcphost.terminal.answer import Answer
from mcphost.terminal.ask import Lines
from mcphost.terminal.cells import Line, plain
from mcphost.terminal.output import note
from mcphost.terminal.steps import line_of
from mcphost.text import printable


@dataclass(slots=True)
class Shown:
    """What is shown of a turn. `reasoning`: whether the model's reasoning is, or only how long it is."""

    reasoning: bool = False


class TurnView(Protocol):
    """Shows one turn."""

    def show(self, event: Event) -> None: ...

    def close(self) -> None:
        """The turn is over."""
        ...

    def stopped(self) -> None:
        """The turn was stopped."""
        ...


class Front(Protocol):
    """Where a chat takes place."""

    def view(self) -> TurnView: ...

    def print(self, lines: Iterable[Line]) -> None:
        """Lines for the person."""
        ...

    def raw(self, escapes: str) -> bool:
        """Send a control sequence to the terminal; whether there is one."""
        ...

    async def line(self, prompt: str) -> str:
        """The answer to a question. Raises `Ended`."""
        ...

    async def paged(self, text: str) -> None:
        """Show a long text."""
        ...

    async def edited(self, text: str) -> str | None:
        """`text` as it comes out of the user's editor, None where that is not possible."""
        ...


class LineFront:
    """A chat through pipes, or on a terminal that can do little."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def view(self) -> "LineView":
        return LineView(self.lines)

    def print(self, lines: Iterable[Line]) -> None:
        for line in lines:
            note(plain(line))

    def raw(self, escapes: str) -> bool:
        del escapes
        return False

    async def line(self, prompt: str) -> str:
        return await self.lines.line(prompt)

    async def paged(self, text: str) -> None:
        note(text)

    async def edited(self, text: str) -> str | None:
        del text
        return None


class LineView:
    """A turn as text and lines, in the order in which things happen."""

    def __init__(self, lines: Lines) -> None:
        self._answer = Answer()
        self._lines = lines

    def show(self, event: Event) -> None:
        self._answer.show(event)
        match event:
            case Failed(error, _, hint):
                note(f"error: {printable(error)}", style="red")
                if hint:
                    note(f"hint: {printable(hint)}")
            case Done("limit"):
                note("A limit was reached; the answer is from what was there by then.", style="yellow")
            case _:
                if (line := line_of(event)) is not None:
                    self._lines.interject(line)  # a question about another call may be open

    def close(self) -> None:
        self._answer.close()

    def stopped(self) -> None:
        self._answer.close()
