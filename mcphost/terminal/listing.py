"""`mcphost tools` and `mcphost servers`."""

import shutil
import sys
from datetime import UTC, datetime
from typing import Any, Literal

from mcphost.config import Config
from mcphost.errors import McphostError
from mcphost.host import Host
from mcphost.server import Server
from mcphost.terminal.output import note, styled, write, write_json
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, settled
from mcphost.terminal.steps import trouble_of
from mcphost.terminal.width import cut
from mcphost.text import printable


async def tools(config: Config, settings: Settings, output: Literal["table", "openai", "mcp"]) -> int:
    """Every tool, grouped by server; `openai` is the exact JSON array that a model is sent."""
    async with opened(config, settings) as host:
        await settled(host, settings)
        catalog = host.catalog()
        left_out = (f"{name}: left out: {what}" for name, each in catalog.dropped.items() for what in each)
        for warning in (*catalog.warnings, *left_out):
            note(f"warning: {printable(warning)}", style="yellow")
        if output == "openai":
            write_json(catalog.functions, indent=1)
        elif output == "mcp":
            listed = [server for server in host.servers.values() if server.tools]
            write_json({server.name: server.tools for server in listed}, indent=1)
        else:
            _show_tools(host)
    return 0


def _show_tools(host: Host) -> None:
    catalog = host.catalog()
    described = {entry["function"]["name"]: entry["function"]["description"] for entry in catalog.functions}
    width = max((len(name) for name in catalog.routes), default=0)
    for server in host.servers.values():
        names = [route.name for route in catalog.routes.values() if route.server == server.name]
        if not names:
            continue
        write(styled(f"{server.name} ({len(names)})", "bold", sys.stdout))
        for name in names:
            text = " ".join(printable(described.get(name, "(left out: too many tools)")).split())
            write(_fit(f"  {name:<{width}}  {text}".rstrip()))


async def servers(config: Config, settings: Settings, output: Literal["table", "json"]) -> int:
    """Each server's state, protocol, tools and start time, and why it failed."""
    async with opened(config, settings) as host:
        failure: McphostError | None = None
        try:
            await settled(host, settings, quiet=True)
        except McphostError as exc:
            failure = exc
        if output == "json":
            write_json([_as_json(host, server) for server in host.servers.values()], indent=1)
        else:
            _show_servers(host, verbose=settings.verbose)
        return failure.exit_code if failure is not None else 0


def _as_json(host: Host, server: Server) -> dict[str, Any]:
    return {
        "name": server.name,
        "state": server.state,
        "since": datetime.fromtimestamp(server.since, UTC).isoformat(timespec="seconds"),
        "what": server.spec.summary(),
        "protocol": server.protocol,
        "server": server.info,
        "tools": len(server.tools),
        "seconds": None if server.seconds is None else round(server.seconds, 3),
        "error": None if server.error is None else server.error.reason,
        "hint": None if server.error is None else server.error.hint,
        "left_out": list(host.catalog().dropped.get(server.name, ())),
        "log": None if server.log is None else str(server.log),
    }


_COLOURS = {"ready": "green", "failed": "red", "lost": "red", "starting": "yellow", "disabled": "dim"}


def _show_servers(host: Host, *, verbose: bool) -> None:
    name_width = max((len(name) for name in host.servers), default=4)
    for server in host.servers.values():
        state = styled(f"{server.state:<8}", _COLOURS.get(server.state), sys.stdout)
        if server.state == "ready":
            took = f"{server.seconds:.1f} s" if server.seconds is not None else ""
            about = (
                f"{len(server.tools)} tools, MCP {server.protocol}, {took}, {printable(server.info or '')}"
            )
        else:
            about = trouble_of(server) or server.spec.summary()
        write(f"{server.name:<{name_width}}  {state}  {about}")
        if server.error is not None and server.error.hint:
            write(f"{'':<{name_width}}  hint: {server.error.hint}")
        for line in host.catalog().dropped.get(server.name, ()):
            write(f"{'':<{name_width}}  left out: {printable(line)}")
        if verbose:
            _show_more(server, " " * name_width)
    if not host.servers:
        write("no servers are configured")


def _show_more(server: Server, margin: str) -> None:
    write(f"{margin}  {printable(server.spec.summary())}")
    if server.log is not None:
        write(f"{margin}  stderr: {server.log}")
        for line in server.last_words(8):
            write(f"{margin}    {printable(line)}")


def _fit(line: str) -> str:
    """A line that fits the terminal; the whole of it where there is none."""
    return cut(line, shutil.get_terminal_size().columns) if sys.stdout.isatty() else line
