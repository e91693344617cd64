"""`mcphost add`: a server is tried, and then written."""

import os
import shlex
import sys
from dataclasses import dataclass, field
from typing import Final

from mcphost import config as configuration
from mcphost.config import Config
from mcphost.errors import ConfigError, ConnectFailed, McphostError
from mcphost.host import Host
from mcphost.literals import literal_secrets
from mcphost.server import Server
from mcphost.server_edit import Sheet
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.configure import ask
from mcphost.terminal.output import complain, is_interactive, note, styled, write
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, pending
from mcphost.terminal.target import Target, tell_what_is_read
from mcphost.terminal.typed import Request, entry_of, name_of
from mcphost.text import one_line, printable

_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Addition:
    """A server to be added: its name, its entry in our spelling, and a configuration of it alone."""

    name: str
    entry: dict[str, object] = field(repr=False)
    config: Config
    target: Target
    replaces: bool

    def edit(self, sheet: Sheet) -> str:
        """The file's text with the server. Raises `ConfigError` where another has its name."""
        if self.name in sheet.servers and not self.replaces:
            hint = f"--force replaces it, and `mcphost remove {shlex.quote(self.name)}` takes it out."
            raise ConfigError(f"{self.target.shown} has a server called {self.name!r}", hint=hint)
        return sheet.with_server(self.name, self.entry)


def prepared(request: Request) -> Addition:
    """The server that was asked for. Raises `ConfigError` where that is none, or its name is taken."""
    name = name_of(request)
    target = request.target
    entry = entry_of(name, request)
    sheet = target.sheet()
    data = {"mcpServers": {name: entry}, "inputs": sheet.layout.sections.get("inputs")}
    config = configuration.parse(
        data, source=target.path, environ=os.environ, ask=ask if is_interactive() and request.test else None
    )
    addition = Addition(name, entry, config, target, request.force)
    addition.edit(sheet)
    for warning in config.warnings:
        note(f"warning: {printable(warning)}", style="yellow")
    for where in literal_secrets(entry):
        note(f"warning: {where} is written as it is; {_advice(where)}", style="yellow")
    return addition


async def add(addition: Addition, settings: Settings, *, test: bool) -> int:
    """Try the server, say what it is, and write it. Raises `McphostError`, and then nothing is written."""
    target = addition.target
    if test:
        try:
            await _try(addition, settings)
        except McphostError as exc:
            if not await _written_anyway(exc):
                raise McphostError(exc.message, hint=_kept_out(exc), exit_code=exc.exit_code) from exc
    is_new = not target.path.exists()
    target.change(addition.edit)
    write(f"{addition.name} is in {target.shown}{', which is new' if is_new else ''}.")
    tell_what_is_read(target)
    return 0


async def _try(addition: Addition, settings: Settings) -> None:
    """Start or reach the server, and say what it is. Raises `ServerError`."""
    async with opened(addition.config, settings) as host:
        server = host.servers[addition.name]
        if server.state == "disabled":
            write(f"{server.name} is disabled, so it is not tried.")
            return
        await pending(host, lambda: host.ready(settings.wait))
        if server.error is not None:
            raise server.error
        if server.state == "starting":
            raise ConnectFailed(server.name, f"was not ready within {settings.wait:g} s")
        _tell(host, server)


def _tell(host: Host, server: Server) -> None:
    who = f"{one_line(server.info, 100)}, " if server.info else ""
    seconds = 0.0 if server.seconds is None else server.seconds
    about = f"{who}MCP {server.protocol}, ready in {seconds:.1f} s"
    write(f"{styled('✓', 'green', sys.stdout)} {server.name}: {about}")
    names = [route.tool for route in host.catalog().routes.values()]
    count = "no tools" if not names else "1 tool" if len(names) == 1 else f"{len(names)} tools"
    write(f"  {count}{': ' if names else ''}{_listed(names)}")
    catalog = host.catalog()
    for text in (*catalog.dropped.get(server.name, ()), *catalog.warnings):
        note(f"warning: {printable(text)}", style="yellow")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN + 1 else ""
    shown = names[:_SHOWN] if more else names
    return ", ".join(one_line(name, 60) for name in shown) + more


async def _written_anyway(error: McphostError) -> bool:
    """Whether the person at the terminal wants a server that cannot be used."""
    if not is_interactive():
        return False
    complain(error)
    try:
        answer = await Lines().line("Write it anyway? [y/N] ")
    except Ended:
        return False
    return answer.strip().lower() in ("y", "yes", "是")


def _kept_out(error: McphostError) -> str:
    told = "Nothing was written; --no-test writes it as it is."
    return f"{error.hint}\n{told}" if error.hint else told


def _advice(where: str) -> str:
    name = where.partition(" ")[2]
    if where.startswith("env "):
        return f"-e {name} takes it from your environment when the server is started"
    return "a variable, '${NAME}', keeps it out of the file"
