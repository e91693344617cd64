"""A turn on the screen: the answer as it is written, and a line a call."""

import os
import time
from dataclasses import dataclass, field
from typing import Literal

from mcphost.events import (
    Call,
    Done,
    Event,
    Failed,
    Progress,
    Reasoning,
    Result,
    Round,
    RoundUsage,
    Text,
    Warned,
)
from mcphost.messages import ToolResult
from mcphost.terminal.cells import Line, cut, line_width, wrapped
from mcphost.terminal.flow import Flow, MarkdownFlow, PlainFlow, Segment
from mcphost.terminal.front import Shown
from mcphost.terminal.images import drawn
from mcphost.terminal.screen import Screen
from mcphost.terminal.steps import short, short_json
from mcphost.text import printable, size_text

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL = 12
"""Lines of what is not finished that are shown."""


@dataclass(slots=True)
class _Running:
    call: Call
    began: float = field(default_factory=time.monotonic)
    progress: Progress | None = None


class View:
    """One turn. What is finished is printed, what is not is in `lines`."""

    def __init__(self, screen: Screen, shown: Shown) -> None:
        self._screen = screen
        self._shown = shown
        self._answer: Flow = MarkdownFlow() if screen.coloured else PlainFlow()
        self._thought = PlainFlow("dim italic")
        self._thinking = 0
        self._running: dict[str, _Running] = {}
        self._waiting_since: float | None = time.monotonic()
        self._last: Literal["", "answer", "step"] = ""

    def show(self, event: Event) -> None:
        """Show an event of the turn."""
        match event:
            case Round():
                self._waiting_since = time.monotonic()
            case Reasoning(text):
                self._reason(text)
            case Text(text):
                self._waiting_since = None
                self._end_reasoning()
                self._print_segments(self._answer.feed(text), answer=True)
            case RoundUsage():
                self.close()
            case Call():
                self._running[event.id] = _Running(event)
            case Progress() if event.id in self._running:
                self._running[event.id].progress = event
            case Result(result):
                self._running.pop(result.call_id, None)
                self._print_result(result)
            case Warned(text):
                self._tell("ansiyellow", f"warning: {short(text, 1000)}")
            case Failed(error, _, hint):
                self.close()
                self._tell("ansired", f"error: {printable(error)}")
                if hint:
                    self._tell("", f"hint: {printable(hint)}")
            case Done("limit"):
                self._tell("ansiyellow", "A limit was reached; the answer is from what was there by then.")
            case _:
                pass
        self._screen.refresh()

    def close(self) -> None:
        """Print what has been said and not been finished."""
        self._waiting_since = None
        self._end_reasoning()
        self._print_segments(self._answer.end(), answer=True)

    def stopped(self) -> None:
        """The turn was stopped."""
        self.close()
        for running in self._running.values():
            self._print([[("ansired", "✗ "), ("", _name(running.call)), ("dim", " cancelled")]])
        self._running.clear()

    def lines(self, columns: int, rows: int) -> list[Line]:
        """What is live, in at most `rows` lines."""
        calls = [self._call_line(running, columns) for running in self._running.values()][-rows:]
        open_lines = [*self._thought.open()(columns), *self._answer.open()(columns)]
        if open_lines and self._last == "step":
            open_lines = [[], *open_lines]
        shown = min(_TAIL, max(rows - len(calls), 0))
        tail = open_lines[-shown:] if shown else []
        if not calls and not tail and self._waiting_since is not None:
            what = f"reasoning, {self._thinking} characters" if self._thinking else "waiting for the model"
            calls = [[("ansicyan", f"{_spin()} "), ("dim", f"{what} {_since(self._waiting_since)}")]]
        return tail + calls

    def _reason(self, text: str) -> None:
        self._thinking += len(text)
        if self._shown.reasoning:
            self._waiting_since = None
            self._print_segments(self._thought.feed(text))

    def _end_reasoning(self) -> None:
        thought, self._thinking = self._thinking, 0
        self._print_segments(self._thought.end())
        if thought and not self._shown.reasoning:
            about = f"reasoning, {thought} characters (/reasoning shows it)"
            self._print([[("dim italic", about)]])

    def _call_line(self, running: _Running, columns: int) -> Line:
        tail = f" {_since(running.began)}"
        if (progress := running.progress) is not None:
            of = "" if progress.total is None else f"/{progress.total:g}"
            tail += f" · {progress.progress:g}{of} {short(progress.message or '', 40)}".rstrip()
        head: Line = [("ansicyan", f"{_spin()} "), ("", _name(running.call))]
        arguments: Line = [("dim", f" {short_json(running.call.arguments)}")]
        return _between(head, arguments, [("dim", tail)], columns)

    def _print_result(self, result: ToolResult) -> None:
        columns = self._screen.size.columns
        mark = ("ansigreen", "✓ ") if result.ok else ("ansired", "✗ ")
        name = f"{result.server}/{result.tool}" if result.server else result.name
        size = size_text(len(result.content.encode("utf-8", "replace")))
        tail = f" {result.seconds:.1f} s" + (f", {size}" if result.ok else "")
        arguments: Line = [("dim", f" {short_json(result.arguments)}")]
        lines = [_between([mark, ("", short(name))], arguments, [("dim", tail)], columns)]
        if not result.ok:
            lines.append(cut([("ansired", f"  {short(result.error or result.content, 300)}")], columns))
        self._print(lines)
        for attachment in result.attachments:
            picture = drawn(attachment, os.environ) if self._screen.coloured else None
            if picture is not None:
                self._screen.write(f"{picture}\n")
            elif attachment.path is not None:
                self._print([[("dim", f"  {attachment.kind}: {printable(str(attachment.path))}")]])

    def _print_segments(self, segments: list[Segment], *, answer: bool = False) -> None:
        columns = self._screen.size.columns
        lines = [line for segment in segments for line in segment(columns)]
        if lines:
            self._print(lines, "answer" if answer else "step")

    def _tell(self, style: str, text: str) -> None:
        columns = self._screen.size.columns
        self._print([part for line in text.split("\n") for part in wrapped([(style, line)], columns)])

    def _print(self, lines: list[Line], kind: Literal["answer", "step"] = "step") -> None:
        """Print lines, with an empty one between the answer and what is not."""
        apart = self._last not in ("", kind)
        self._last = kind
        self._screen.print([[], *lines] if apart else lines)


def _between(head: Line, middle: Line, tail: Line, columns: int) -> Line:
    """Three parts on a line, of which the middle one gives way, then the last."""
    room = columns - line_width(head) - line_width(tail)
    return cut([*head, *cut(middle, max(room, 0)), *tail], columns)


def _name(call: Call) -> str:
    return short(f"{call.server}/{call.tool}" if call.server else call.name)


def _spin() -> str:
    return _SPINNER[int(time.monotonic() * 10) % len(_SPINNER)]


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"
