"""The chat on a screen: an input line that is always there, turns one after the other, and a status line."""

import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO, cast

import anyio
from anyio.abc import TaskGroup
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from mcphost import paths
from mcphost.config import Config
from mcphost.events import Event, ServerChanged, ServerLog, Text, Warned
from mcphost.host import Host
from mcphost.stored import text_of
from mcphost.terminal import programs
from mcphost.terminal.approvals import Approvals, Remembered
from mcphost.terminal.ask import Ended
from mcphost.terminal.cells import Line, cut, wrapped
from mcphost.terminal.commands import at_once, is_command, obey, take
from mcphost.terminal.completing import ChatCompleter
from mcphost.terminal.front import Shown
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.output import note
from mcphost.terminal.room import WRITES, Opening, Room, begin, ready_text
from mcphost.terminal.screen import Screen
from mcphost.terminal.screen_io import ScreenLines, ScreenStream
from mcphost.terminal.settings import Settings
from mcphost.terminal.steps import line_of, short
from mcphost.terminal.telling import context_text
from mcphost.terminal.view import View
from mcphost.text import printable

_TICK_SECONDS = 0.1


class ScreenChat:
    """One chat on a terminal that can do more than write lines."""

    def __init__(self, config: Config, settings: Settings, opening: Opening, interrupts: Interrupts) -> None:
        self._opening, self._interrupts = opening, interrupts
        self._screen = Screen(
            live=self._live,
            status=self._status,
            submit=self._submit,
            interrupt=self._interrupt,
            leave=self._leave,
            touched=self._stay,
            alone=interrupts.deaf,
            shortcuts={"c-o": lambda: self._submit("/last")},
            history=_history(paths.data_folder() / "history"),
        )
        hooks = Approvals(ScreenLines(self._screen), Remembered(config), self._stop, yes=opening.yes)
        self._host = Host(config, hooks=hooks, approve=WRITES, trace=settings.trace, trace_later=True)
        self._screen.completer = ChatCompleter(self._host)
        shown = Shown()
        front = ScreenFront(self._screen, shown)
        self._front = front
        self._talk = begin(self._host, front, interrupts, opening)
        self._room = Room(self._host, self._talk, front, settings, hooks, shown)
        self._waiting: deque[str] = deque()
        self._working = False
        self._tasks: TaskGroup | None = None
        self._news = anyio.Event()
        self._wants_to_leave = False
        self._told: set[str] = set()

    async def run(self) -> int:
        """Talk until the user leaves."""
        for text in self._opening.greeting:
            self._screen.print(wrapped([("dim", text)], self._screen.size.columns))
        self._show_resumed()
        out, err = (cast("TextIO", ScreenStream(self._screen, stream)) for stream in (sys.stdout, sys.stderr))
        with redirect_stdout(out), redirect_stderr(err):
            async with self._host, self._host.watch() as events, anyio.create_task_group() as tg:
                self._tasks = tg
                tg.start_soon(self._watch, events)
                tg.start_soon(self._tick)
                tg.start_soon(self._tell_ready)
                tg.start_soon(self._keep_screen)
                await self._take_turns()
                self._screen.close()
                tg.cancel_scope.cancel()
        if (session := self._talk.recorder.session) is not None:
            note(f"mcphost chat --resume {session.id} goes on with this.", style="dim")
        return 0

    def _show_resumed(self) -> None:
        """The end of a conversation that goes on, so that one knows where one is."""
        session = self._opening.resumed
        if session is None:
            return
        about = f"{session.id} · {len(session.messages)} messages · {session.title}"
        self._screen.print([[("dim", printable(about))]])
        if (place := self._talk.last_question()) is not None:
            self._echo(text_of(self._talk.messages[place]))
            view = self._front.view()
            view.show(Text(self._talk.last_answer() if place < len(self._talk.messages) - 1 else ""))
            view.close()

    async def _keep_screen(self) -> None:
        with suppress(Ended):
            await self._screen.run()
        self._leave()

    async def _take_turns(self) -> None:
        """What was typed, one after the other."""
        if self._opening.wait:
            await self._host.ready()
        while not self._room.left:
            if not self._waiting:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            typed = self._waiting.popleft()
            self._echo(typed)
            self._working = True
            with self._interrupts.scope() as scope:
                await take(self._room, typed)
            self._working = False
            if scope.cancelled_caught:
                note("Stopped.", style="yellow")

    async def _answer_at_once(self, typed: str) -> None:
        """A command that does not wait for the turn to end."""
        self._echo(typed)
        await obey(self._room, typed)
        if self._room.left:
            self._leave()

    def _echo(self, typed: str) -> None:
        first, *rest = typed.split("\n")
        lines: list[Line] = [[], [("ansicyan bold", "> "), ("bold", printable(first))]]
        lines += [[("bold", f"  {printable(line)}")] for line in rest]
        self._screen.print(lines)

    # what keys do

    def _submit(self, typed: str) -> None:
        self._stay()
        if self._working and is_command(typed) and at_once(typed) and self._tasks is not None:
            self._tasks.start_soon(self._answer_at_once, typed)
        else:
            self._waiting.append(typed)
            self._news.set()
        self._screen.refresh()

    def _stop(self) -> None:
        self._talk.stop()

    def _interrupt(self) -> None:
        """Ctrl-C: stop the turn, and what waits goes back to be typed; twice, leave."""
        if not self._working and self._screen.dismiss():
            return
        if self._wants_to_leave:
            self._interrupts.end()
        elif self._working:
            if self._waiting and not self._screen.text:
                self._screen.text = "\n".join(self._waiting)
            self._waiting.clear()
            self._interrupts.receive(signal.SIGINT)
        self._wants_to_leave = True
        self._screen.refresh()

    def _stay(self) -> None:
        self._wants_to_leave = False

    def _leave(self) -> None:
        self._room.left = True
        self._waiting.clear()
        self._talk.stop()
        self._news.set()

    # what is shown

    def _live(self, columns: int, rows: int) -> list[Line]:
        queued = [cut([("dim", f"queued: {short(text, 1000)}")], columns) for text in self._waiting]
        view = self._front.shown_view
        shown = (
            view.lines(columns, max(rows - len(queued), 1)) if view is not None and self._talk.busy else []
        )
        return [*shown, *queued[: max(rows - len(shown), 1)]]

    def _status(self) -> str:
        if self._wants_to_leave and not self._working:
            return "Ctrl-C once more leaves, as Ctrl-D does"
        starting = [server.name for server in self._host.servers.values() if server.state == "starting"]
        tools = f"{len(self._host.catalog().functions)} tools"
        parts = [printable(self._talk.model_name), ready_text(self._host) if starting else tools]
        if self._talk.spending.context:
            parts.append(f"context {context_text(self._room)}")
        if money := self._talk.spending.money():
            parts.append(money)
        if starting:
            parts.append(f"starting {', '.join(map(printable, starting))}")
        return " · ".join(parts)

    async def _tick(self) -> None:
        """Let what moves be drawn."""
        while True:
            await anyio.sleep(_TICK_SECONDS)
            if self._talk.busy:
                self._screen.refresh()

    async def _tell_ready(self) -> None:
        """Say once how many servers came up."""
        await self._host.ready()
        for server in self._host.servers.values():
            self._tell_trouble(server.name)
        self._screen.print([[("dim", ready_text(self._host))]])

    async def _watch(self, events: AsyncIterator[Event]) -> None:
        async for event in events:
            match event:
                case ServerChanged():
                    self._tell_trouble(event.name)
                case ServerLog() | Warned() if (line := line_of(event)) is not None:
                    self._screen.write(f"{line}\n")
                case _:
                    pass
            self._screen.refresh()

    def _tell_trouble(self, name: str) -> None:
        """One line on a server that is not there, and what to do about it; once until it is there again."""
        server = self._host.servers[name]
        if server.state == "ready" and name in self._told:
            self._told.discard(name)
            self._screen.print([[("ansigreen", "✓ "), ("", f"{printable(name)} is ready again")]])
        elif server.error is not None and name not in self._told:
            self._told.add(name)
            hint = f" · {printable(server.error.hint)}" if server.error.hint else ""
            line = [("ansiyellow", "✗ "), ("", printable(str(server.error))), ("dim", hint)]
            self._screen.print(wrapped(line, self._screen.size.columns))


class ScreenFront:
    """The screen, for the conversation and its commands."""

    def __init__(self, screen: Screen, shown: Shown) -> None:
        self._screen = screen
        self._shown = shown
        self.shown_view: View | None = None

    def view(self) -> View:
        self.shown_view = View(self._screen, self._shown)
        return self.shown_view

    def print(self, lines: Iterable[Line]) -> None:
        self._screen.print(lines)

    def raw(self, escapes: str) -> bool:
        self._screen.send(escapes)
        return True

    async def line(self, prompt: str) -> str:
        return await self._screen.line(prompt)

    async def paged(self, text: str) -> None:
        await programs.paged(text, self._screen.alone)

    async def edited(self, text: str) -> str | None:
        return await programs.edited(text, self._screen.alone)


class _History(FileHistory):
    """What was typed, in a file of the user's own."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):  # a full disk is no reason to stop talking
            super().store_string(string)


def _history(path: Path) -> History:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return _History(path)
