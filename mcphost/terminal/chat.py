"""`mcphost chat`: a conversation, a line at a time."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from mcphost.config import Config
from mcphost.events import Done, Event, Failed
from mcphost.host import Host
from mcphost.messages import Message
from mcphost.server import Server
from mcphost.terminal.answer import Answer
from mcphost.terminal.approve import hooks_of
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.output import note, styled
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened
from mcphost.terminal.steps import line_of, trouble_of
from mcphost.text import printable

COMMANDS: Mapping[str, str] = {
    "/help": "this list",
    "/tools": "the tools there are",
    "/servers": "the servers, and how they are",
    "/clear": "forget the conversation so far",
    "/quit": "leave; so does Ctrl-D",
}


@dataclass(frozen=True, slots=True)
class Opening:
    """How a chat begins. `greeting` are lines to show first; `wait` is for all servers before the prompt."""

    system: str | None = None
    greeting: tuple[str, ...] = ()
    yes: bool = False
    wait: bool = False


async def chat(config: Config, settings: Settings, opening: Opening, interrupts: Interrupts) -> int:
    """Talk until `/quit`, Ctrl-D, or Ctrl-C at the prompt. Servers join as they become ready."""
    lines = Lines()
    hooks = hooks_of(lines, yes=opening.yes)
    async with opened(config, settings, hooks=hooks, approve="writes") as host:
        for text in opening.greeting:
            note(text)
        async with anyio.create_task_group() as tg:
            if opening.wait:
                await _tell_servers(host, settings, lines)
            else:
                tg.start_soon(_tell_servers, host, settings, lines)
            await _talk(host, opening, interrupts, lines)
            tg.cancel_scope.cancel()
    return 0


async def _talk(host: Host, opening: Opening, interrupts: Interrupts, lines: Lines) -> None:
    start: list[Message] = [] if opening.system is None else [{"role": "system", "content": opening.system}]
    messages = list(start)
    while True:
        try:
            typed = (await lines.line("> ")).strip()
        except Ended:
            return
        match typed:
            case "":
                continue
            case "/quit" | "/exit":
                return
            case "/clear":
                messages = list(start)
                note("The conversation is forgotten.")
            case "/help" | "/tools" | "/servers":
                _tell(typed, host)
            case _ if typed.startswith("/"):
                note(f"There is no command {printable(typed.split()[0])}; /help lists them.")
            case _:
                messages = await _answer(
                    host, [*messages, {"role": "user", "content": typed}], interrupts, lines
                )


async def _answer(host: Host, messages: list[Message], interrupts: Interrupts, lines: Lines) -> list[Message]:
    """One turn, shown. The conversation after it, which is valid also when it was stopped."""
    answer = Answer()
    with interrupts.scope() as scope:
        async with host.turn(messages) as turn:
            messages = turn.messages
            async for event in turn:
                answer.show(event)
                _show_step(event, lines)
    if scope.cancelled_caught:
        answer.close()
        note("Stopped.", style="yellow")
    return messages


def _show_step(event: Event, lines: Lines) -> None:
    match event:
        case Failed(error, _, hint):
            note(f"error: {printable(error)}", style="red")
            if hint:
                note(f"hint: {printable(hint)}")
        case Done("limit"):
            note("A limit was reached; the answer is from what was there by then.", style="yellow")
        case _:
            if (line := line_of(event)) is not None:
                lines.interject(line)  # a question about another call may be open


def _tell(command: str, host: Host) -> None:
    if command == "/help":
        for name, about in COMMANDS.items():
            note(f"{name:<10} {about}")
        note("Ctrl-C stops an answer; at the prompt it leaves.")
    elif command == "/tools":
        for route in host.catalog().routes.values():
            note(f"{route.name:<40} {route.server}")
    else:
        for server in host.servers.values():
            note(f"{server.name:<20} {_how(server)}")


def _how(server: Server) -> str:
    if server.error is not None:
        return f"{server.state}: {trouble_of(server)}"
    return f"{server.state}, {len(server.tools)} tools" if server.state == "ready" else server.state


async def _tell_servers(host: Host, settings: Settings, lines: Lines) -> None:
    """Say once how many servers came up, and what is wrong with those that did not."""
    await host.ready(settings.wait)
    servers = [server for server in host.servers.values() if server.state != "disabled"]
    ready = sum(server.state == "ready" for server in servers)
    told = [
        styled(f"{ready} of {len(servers)} servers, {len(host.catalog().functions)} tools", "dim", sys.stderr)
    ]
    for server in servers:
        if server.error is not None:
            told.append(styled(f"warning: {printable(str(server.error))}", "yellow", sys.stderr))
            if server.error.hint:
                told.append(f"hint: {printable(server.error.hint)}")
    lines.interject("\n".join(told))
