"""A running host for a command: its servers started, waited for, and their troubles told."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Literal

import anyio

from mcphost.config import Approve, Config
from mcphost.errors import AuthRequired, McphostError, ServerError
from mcphost.hooks import Hooks
from mcphost.host import Host
from mcphost.server import Server
from mcphost.terminal.output import note, status
from mcphost.terminal.settings import Settings
from mcphost.terminal.width import cut
from mcphost.text import printable


@asynccontextmanager
async def opened(
    config: Config,
    settings: Settings,
    *,
    hooks: Hooks | None = None,
    approve: Literal["never", "writes", "always"] = "never",
) -> AsyncGenerator[Host]:
    """A host with its servers starting."""
    host = Host(config, hooks=hooks, approve=Approve(mode=approve), trace=settings.trace)
    async with host:
        yield host


async def settled(host: Host, settings: Settings, *, quiet: bool = False) -> None:
    """Wait for the servers, and show on a terminal which are pending; say which failed, unless `quiet`.

    Raises `ServerError` when there are servers and none can be used.
    """
    await pending(host, lambda: host.ready(settings.wait))
    servers = [server for server in host.servers.values() if server.state != "disabled"]
    errors = [server.error for server in servers if server.error is not None]
    if servers and len(errors) == len(servers):
        if len(errors) > 1 and not quiet:
            warn_of(servers)
        raise none_usable(errors)
    if not quiet:
        warn_of(servers)
        if not servers:
            what = "no server is enabled" if host.servers else "no servers are configured"
            files = ", ".join(map(str, host.config.files))
            where = f" in {printable(files)}" if files else ""
            note(f"warning: {what}{where}, so there are no tools", style="yellow")
            if files and not host.servers:
                note("hint: `mcphost add` puts one in, `mcphost import` those of another program.")


def warn_of(servers: Iterable[Server]) -> None:
    """Tell of the servers that failed, and of those that are not there yet."""
    for server in servers:
        if server.error is not None:
            note(f"warning: {printable(str(server.error))}", style="yellow")
            if server.error.hint:
                note(f"hint: {printable(server.error.hint)}")
        elif server.state == "starting":
            note(f"warning: {server.name} is still starting; its tools join when it is ready", style="yellow")


def none_usable(errors: Iterable[ServerError]) -> McphostError:
    """The error for a command whose servers all failed: they want authorization, or cannot be reached."""
    errors = list(errors)
    locked = all(isinstance(error, AuthRequired) for error in errors)
    kind = AuthRequired if locked else ServerError
    if len(errors) == 1:
        return kind(errors[0].server, errors[0].reason, hint=errors[0].hint)
    names = ", ".join(error.server for error in errors)
    what = "all of the servers want authorization" if locked else "none of the servers can be used"
    return kind(names, what, hint="`mcphost servers -v` says more.")


async def pending(host: Host, waiting: Callable[[], Awaitable[None]]) -> None:
    """Await `waiting`. Meanwhile a line on the terminal names the servers that are still starting."""
    if not sys.stderr.isatty():
        await waiting()
        return
    try:
        async with anyio.create_task_group() as tg:
            tg.start_soon(_show_pending, host)
            await waiting()
            tg.cancel_scope.cancel()
    finally:
        status("")


async def _show_pending(host: Host) -> None:
    while True:
        await anyio.sleep(0.25)
        names = [server.name for server in host.servers.values() if server.state == "starting"]
        width = max(20, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        status(cut(f"starting {', '.join(names)} …", width))
