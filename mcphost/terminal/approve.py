"""Asking the person at the terminal whether a call may run."""

from typing import Literal

import anyio

from mcphost.elicitation import shown_host
from mcphost.hooks import (
    Allow,
    Answer,
    Asked,
    Decision,
    Decline,
    ElicitationAsked,
    Hooks,
    NoHooks,
    Refuse,
    SamplingAsked,
)
from mcphost.terminal import elicit
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.output import is_interactive, note
from mcphost.text import json_line, one_line, printable


def hooks_of(lines: Lines | None = None, *, yes: bool = False) -> Hooks:
    """Hooks that ask, where there is somebody to ask. With `yes` all calls are approved, and samplings; what
    only the user can answer is asked all the same."""
    return TerminalHooks(lines or Lines(), yes=yes) if is_interactive() else Unattended(yes=yes)


class Unattended(NoHooks):
    """Refuses what would have to be asked, and says so once, with how to allow it."""

    def __init__(self, *, yes: bool = False) -> None:
        self._yes = yes
        self._told: set[str] = set()

    async def sample(self, asked: SamplingAsked) -> Decision:
        if self._yes:
            return Allow()
        self._tell(
            f"{asked.server} was refused an answer by your model",
            hint="On a terminal it is asked for; --yes allows it.",
        )
        return await super().sample(asked)

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        about = one_line(asked.message, 200)
        what = "answer" if asked.url is None else f"visit a page at {shown_host(asked.url)} for"
        self._tell(f"nobody is here to {what} {asked.server}: {about}")
        return Decline()

    async def approve(self, asked: Asked) -> Decision:
        if self._yes:
            return Allow()
        self._tell(
            f"{_tool(asked)} needs your approval: {asked.why}",
            hint="On a terminal it is asked for; --yes gives it to all calls.",
            once="approval",
        )
        return await super().approve(asked)

    def _tell(self, text: str, *, hint: str | None = None, once: str | None = None) -> None:
        """Say it, unless it was said before, or anything of what is said `once`."""
        if (once or text) in self._told:
            return
        self._told.add(once or text)
        note(f"warning: {printable(text)}", style="yellow")
        if hint:
            note(f"hint: {hint}")


class TerminalHooks(Hooks):
    """Shows each call whole and asks, one question at a time."""

    def __init__(self, lines: Lines, *, yes: bool = False) -> None:
        self._lines = lines
        self._yes = yes
        self._one_at_a_time = anyio.Lock()
        self._may_sample: set[str] = set()
        self._allowed: set[tuple[str, str]] = set()

    async def sample(self, asked: SamplingAsked) -> Decision:
        if self._yes:
            return Allow()
        async with self._one_at_a_time:
            self._lines.forget()
            return await elicit.sampling(asked, self._lines, self._may_sample)

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        async with self._one_at_a_time:
            self._lines.forget()
            ask = elicit.form if asked.url is None else elicit.page
            return await ask(asked, self._lines)

    async def approve(self, asked: Asked) -> Decision:
        if self._yes:
            return Allow()
        async with self._one_at_a_time:
            tool = (asked.server, asked.tool)
            if tool in self._allowed:
                return Allow()
            note(f"{_tool(asked)} wants to run with\n{json_line(asked.arguments, indent=2)}")
            self._lines.forget()  # what was typed before the question is no answer to it
            match await self._answer(f"Run {_tool(asked)}? [y]es, [a]lways this tool, [N]o: "):
                case "yes":
                    return Allow()
                case "always":
                    self._allowed.add(tool)
                    return Allow()
                case _:
                    return Refuse()

    async def _answer(self, question: str) -> Literal["yes", "always", "no"]:
        """One of the three; anything else is asked again, and the end of input is a no."""
        while True:
            try:
                typed = (await self._lines.line(question)).strip().lower()
            except Ended:
                return "no"
            match typed:
                case "y" | "yes" | "是":
                    return "yes"
                case "a" | "always":
                    return "always"
                case "" | "n" | "no" | "否":
                    return "no"
                case _:
                    note("Please answer y, a or n.")


def _tool(asked: Asked) -> str:
    """The tool's own name, which its server chose, safe to print."""
    return printable(f"{asked.server}/{asked.tool}")
