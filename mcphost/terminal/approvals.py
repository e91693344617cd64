"""Which calls may run: what the person says, for the chat or for good, and what was said for good before."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import anyio
import anyio.lowlevel

from mcphost import paths
from mcphost.config import Config
from mcphost.documents import as_list, as_object
from mcphost.hooks import Allow, Asked, Decision, Hooks, Refuse
from mcphost.terminal.approve import TerminalHooks, Unattended
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.output import is_interactive, note
from mcphost.text import json_line, printable

_STOPPED: Final = Refuse("the user stopped the turn")


class Remembered:
    """Tools that always may run, in a file of the user's own, by what the configuration says of their server:
    a server of that name which runs something else is another one."""

    def __init__(self, config: Config, path: Path | None = None) -> None:
        self._path = path or paths.user_config().with_name("approvals.json")
        self._written = config.written
        self._files = [str(file) for file in config.files]

    def __contains__(self, tool: tuple[str, str]) -> bool:
        return self._entry(*tool) in self._read()

    def tools(self) -> list[tuple[str, str]]:
        """The tools of this configuration that always may run."""
        known = ((str(entry["server"]), str(entry["tool"])) for entry in self._read())
        return sorted(tool for tool in known if tool in self)

    def add(self, server: str, tool: str) -> None:
        """Raises `OSError`."""
        entry = self._entry(server, tool)
        self._write([*(known for known in self._read() if known != entry), entry])

    def remove(self, server: str, tool: str) -> None:
        """Raises `OSError`."""
        entry = self._entry(server, tool)
        self._write([known for known in self._read() if known != entry])

    def _entry(self, server: str, tool: str) -> dict[str, Any]:
        lines = "\n".join(self._written.get(server, ()))
        digest = sha256(lines.encode("utf-8", "replace")).hexdigest()
        return {"config": self._files, "server": server, "entry": digest, "tool": tool}

    def _read(self) -> list[dict[str, Any]]:
        try:
            data: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        entries = as_list((as_object(data) or {}).get("allowed")) or []
        found = [entry for entry in map(as_object, entries) if entry is not None]
        return [entry for entry in found if {"config", "server", "entry", "tool"} <= entry.keys()]

    def _write(self, entries: list[dict[str, Any]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=self._path.parent, delete=False, encoding="utf-8") as scratch:
            json.dump({"allowed": entries}, scratch, ensure_ascii=False, indent=2)
        os.replace(scratch.name, self._path)


class Approvals(TerminalHooks):
    """Asks about the calls of a round together: once, this tool for the chat, always, no, no with a word to
    the model, or stop. `stop` is called for the last."""

    def __init__(self, lines: Lines, remembered: Remembered, stop: Callable[[], None], *, yes: bool) -> None:
        super().__init__(lines, yes=yes)
        self.yes = yes
        self.allowed: set[tuple[str, str]] = set()
        self.remembered = remembered
        self._person = lines
        self._stop = stop
        self._pending: list[_Pending] = []

    async def approve(self, asked: Asked) -> Decision:
        if self._known(asked):
            return Allow()
        pending = _Pending(asked)
        self._pending.append(pending)
        try:
            for _ in range(3):  # the other calls of the round come to be asked about
                await anyio.lowlevel.checkpoint()
            async with self._one_at_a_time:
                if pending.decision is None:
                    await self._ask(self._pending[:])
        finally:
            self._pending.remove(pending)
        return pending.decision or Refuse()

    async def more_rounds(self, rounds: int) -> int:
        async with self._one_at_a_time:
            note(f"{rounds} rounds of calls are the limit, and the model goes on calling.", style="yellow")
            self._person.forget()
            while True:
                word, _ = await self._typed(f"[g]o on for {rounds} more, a number, [w]rap up, [s]top: ")
                match word:
                    case "g" | "go" | "y" | "yes" | "是":
                        return rounds
                    case "w" | "wrap" | "n" | "no" | "":
                        return 0
                    case "s" | "stop":
                        self._stop()
                        return 0
                    case _ if word.isdecimal() and int(word) > 0:
                        return int(word)
                    case _:
                        note("Please answer g, w, s or a number of rounds.")

    def _known(self, asked: Asked) -> bool:
        tool = (asked.server, asked.tool)
        return self.yes or tool in self.allowed or tool in self.remembered

    async def _ask(self, pending: "list[_Pending]") -> None:
        """Decide about all that are pending."""
        waiting = [each for each in pending if each.decision is None]
        for each in waiting:
            if self._known(each.asked):
                each.decision = Allow()
        waiting = [each for each in waiting if each.decision is None]
        for each in waiting:
            note(f"{name_of(each.asked)} wants to run with\n{json_line(each.asked.arguments, indent=2)}")
        self._person.forget()  # what was typed before the question is no answer to it
        if len(waiting) > 1 and not await self._together(waiting):
            return
        for each in waiting:
            if each.decision is None and self._known(each.asked):
                each.decision = Allow()
            if each.decision is None:
                each.decision = await self._one(each.asked)
            if each.decision is _STOPPED:
                self._end(waiting)

    async def _together(self, waiting: "list[_Pending]") -> bool:
        """Ask about several calls at once; whether they are to be asked about one by one."""
        choices = "[y]es to all, [o]ne by one, [n]o to all, [s]top"
        while True:
            word, reason = await self._typed(f"Run these {len(waiting)} calls? {choices}: ")
            match word:
                case "y" | "yes" | "是":
                    decision: Decision = Allow()
                case "n" | "no" | "否" | "":
                    decision = _refusal(reason)
                case "o" | "one":
                    return True
                case "s" | "stop":
                    self._end(waiting)
                    return False
                case _:
                    note("Please answer y, o, n or s.")
                    continue
            for each in waiting:
                each.decision = decision
            return False

    async def _one(self, asked: Asked) -> Decision:
        tool = (asked.server, asked.tool)
        choices = "[y]es, [t]his tool from now on, [a]lways, [N]o or n WHY, [s]top"
        while True:
            word, reason = await self._typed(f"Run {name_of(asked)}? {choices}: ")
            match word:
                case "y" | "yes" | "是":
                    return Allow()
                case "t" | "this":
                    self.allowed.add(tool)
                    return Allow()
                case "a" | "always":
                    self._remember(tool)
                    return Allow()
                case "n" | "no" | "否" | "":
                    return _refusal(reason)
                case "s" | "stop":
                    return _STOPPED
                case _:
                    note("Please answer y, t, a, n or s; n with some words tells them to the model.")

    async def _typed(self, question: str) -> tuple[str, str]:
        """The first word of an answer in lower case, and the rest; the end of input is a no."""
        try:
            typed = (await self._person.line(question)).strip()
        except Ended:
            return "n", ""
        word, _, rest = typed.partition(" ")
        return word.lower(), rest.strip()

    def _remember(self, tool: tuple[str, str]) -> None:
        self.allowed.add(tool)
        try:
            self.remembered.add(*tool)
        except OSError as exc:
            note(f"warning: this cannot be remembered: {exc.strerror}", style="yellow")

    def _end(self, waiting: "list[_Pending]") -> None:
        for each in waiting:
            each.decision = each.decision or _STOPPED
        self._stop()


class UnattendedApprovals(Unattended):
    """Refuses what would have to be asked, but for what was allowed for good before."""

    def __init__(self, remembered: Remembered, *, yes: bool) -> None:
        super().__init__(yes=yes)
        self._remembered = remembered

    async def approve(self, asked: Asked) -> Decision:
        if (asked.server, asked.tool) in self._remembered:
            return Allow()
        return await super().approve(asked)


def approvals(lines: Lines, config: Config, stop: Callable[[], None], *, yes: bool) -> Hooks:
    """Hooks that ask where there is somebody to ask."""
    remembered = Remembered(config)
    if is_interactive():
        return Approvals(lines, remembered, stop, yes=yes)
    return UnattendedApprovals(remembered, yes=yes)


class _Pending:
    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.decision: Decision | None = None


def name_of(asked: Asked) -> str:
    """The tool's own name, which its server chose, safe to print."""
    return printable(f"{asked.server}/{asked.tool}")


def _refusal(reason: str) -> Refuse:
    return Refuse(f"the user refused this call and says: {reason}") if reason else Refuse()
