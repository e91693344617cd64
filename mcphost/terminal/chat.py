"""`mcphost chat`: a conversation, on a screen of its own, or a line at a time."""

import os
import sys
from contextlib import suppress

import anyio

from mcphost.config import Config
from mcphost.host import Host
from mcphost.terminal.approvals import Approvals, Remembered
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.commands import take
from mcphost.terminal.front import LineFront
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.output import is_interactive, note, styled
from mcphost.terminal.room import WRITES, Opening, Room, begin, ready_text
from mcphost.terminal.screen_chat import ScreenChat
from mcphost.terminal.settings import Settings
from mcphost.text import printable


async def chat(config: Config, settings: Settings, opening: Opening, interrupts: Interrupts) -> int:
    """Talk until `/quit` or Ctrl-D. Servers join as they become ready."""
    if is_interactive() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        return await ScreenChat(config, settings, opening, interrupts).run()
    lines = Lines()
    hooks = Approvals(lines, Remembered(config), lambda: talk.stop(), yes=opening.yes)
    host = Host(config, hooks=hooks, approve=WRITES, trace=settings.trace, trace_later=True)
    async with host:
        front = LineFront(lines)
        talk = begin(host, front, interrupts, opening)
        room = Room(host, talk, front, settings, hooks)
        for text in opening.greeting:
            note(text)
        async with anyio.create_task_group() as tg:
            if opening.wait:
                await _tell_servers(host, settings, lines)
            else:
                tg.start_soon(_tell_servers, host, settings, lines)
            with suppress(Ended):
                while not room.left:
                    typed = (await lines.line("> ")).strip()
                    with interrupts.scope() as scope:
                        await take(room, typed)
                    if scope.cancelled_caught:
                        note("Stopped.", style="yellow")
            tg.cancel_scope.cancel()
    return 0


async def _tell_servers(host: Host, settings: Settings, lines: Lines) -> None:
    """Say once how many servers came up, and what is wrong with those that did not."""
    await host.ready(settings.wait)
    told = [styled(ready_text(host), "dim", sys.stderr)]
    for server in host.servers.values():
        if server.error is not None:
            told.append(styled(f"warning: {printable(str(server.error))}", "yellow", sys.stderr))
            if server.error.hint:
                told.append(f"hint: {printable(server.error.hint)}")
    lines.interject("\n".join(told))
