"""`mcphost call`: one tool call without a model."""

from collections.abc import Mapping
from typing import Any, Literal

import anyio

from mcphost import config as configuration
from mcphost.config import Config
from mcphost.errors import AuthRequired, ConfigError, ConnectFailed, McphostError, ToolError
from mcphost.events import attachment_json
from mcphost.hooks import Allow, Answer, Asked, Decision, ElicitationAsked, Hooks, SamplingAsked
from mcphost.host import Host
from mcphost.messages import ToolResult
from mcphost.server import Server
from mcphost.terminal.approve import hooks_of
from mcphost.terminal.output import nearest, note, write, write_json
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import none_usable, opened, pending, warn_of
from mcphost.text import printable


async def call(
    config: Config,
    settings: Settings,
    name: str,
    arguments: Mapping[str, Any],
    *,
    output: Literal["text", "json"],
    validate: bool,
) -> int:
    """Call the tool and print what it gave. Raises `McphostError` with the exit code that fits."""
    only = _server_of(name, config)
    if only is not None:
        config = configuration.narrowed(config, [only])
    async with opened(config, settings, hooks=_Typed()) as host:
        await _tool_listed(host, settings, name, only)
        result = await host.call_tool(name, arguments, validate=validate)
        if output == "json":
            write_json(_as_json(result), indent=1)
            if result.ok:
                return 0
        elif result.ok:
            write(printable(result.content))
        for warning in result.warnings:
            note(f"warning: {printable(warning)}", style="yellow")
        if not result.ok:
            raise _error(host, name, result)
    return 0


class _Typed(Hooks):
    """Who types a call has approved it, but not what its server asks for meanwhile."""

    def __init__(self) -> None:
        self._asking = hooks_of()

    async def approve(self, asked: Asked) -> Decision:
        del asked
        return Allow()

    async def sample(self, asked: SamplingAsked) -> Decision:
        return await self._asking.sample(asked)

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        return await self._asking.elicit(asked)


def _server_of(name: str, config: Config) -> str | None:
    """The server that `server/tool` names. Raises `ConfigError` for one that is disabled."""
    named = [server for server in config.servers if name.startswith(f"{server}/")]
    only = max(named, key=len, default=None)
    if only is not None and not config.servers[only].enabled:
        raise ConfigError(f"{only} is disabled", hint='Set "enabled": true for it in servers.json.')
    return only


async def _tool_listed(host: Host, settings: Settings, name: str, only: str | None) -> None:
    """Wait until the tool is there, or until every server that could have it is settled.

    Raises `ServerError` when the server that it belongs to cannot be used, `ConfigError` when there is no
    such tool.
    """
    await pending(host, lambda: _first_listing(host, settings, name))
    if host.find(name) is not None:
        return
    servers = [server for server in host.servers.values() if server.state != "disabled"]
    failed = [server.error for server in servers if server.error is not None]
    if failed and len(failed) == len(servers):
        raise none_usable(failed)
    if only is not None and host.servers[only].state == "starting":
        raise ConnectFailed(
            only, f"was not ready within {settings.wait:g} s", hint="--wait allows it longer."
        )
    for server, left_out in host.catalog().dropped.items():
        for line in left_out:
            if line.startswith((f"{name.rpartition('/')[2]}:", f"{name}:")):
                raise ConfigError(f"{server} has that tool, and it cannot be called: {line}")
    warn_of(servers)
    near = host.catalog().nearest(name.rpartition("/")[2])
    raise ConfigError(f"there is no tool named {name!r}", hint=nearest(near))


async def _first_listing(host: Host, settings: Settings, name: str) -> None:
    """Wait until a server lists the tool under this very name, or until all are settled.

    A tool's own name is not enough to go by: a server that is still starting may have one of that name too.
    """

    async def watch(server: Server) -> None:
        await server.settled()
        if name in host.catalog().routes:
            tg.cancel_scope.cancel()

    with anyio.move_on_after(settings.wait):
        async with anyio.create_task_group() as tg:
            for server in host.servers.values():
                tg.start_soon(watch, server)


def _as_json(result: ToolResult) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "server": result.server,
        "tool": result.tool,
        "arguments": result.arguments,
        "content": result.content,
        "error": result.error,
        "seconds": round(result.seconds, 3),
        "attachments": [attachment_json(attachment) for attachment in result.attachments],
        "result": result.raw,
    }


def _error(host: Host, name: str, result: ToolResult) -> McphostError:
    """A failed call as the error that the command ends with."""
    reason = result.error or "the call failed"
    match result.cause:
        case "invalid":
            hint = f"`mcphost tools --output mcp --server {result.server}` shows what it takes; " + _UNCHECKED
            return ConfigError(f"{name}: {reason}", hint=hint)
        case "unknown":
            return ConfigError(f"{name}: {reason}")
        case "auth":
            hint = "Give the server its token, under `headers` in servers.json; what is there was not enough."
            return McphostError(reason, hint=hint, exit_code=AuthRequired.exit_code)
        case _:
            return ToolError(f"{name}: {reason}")


_UNCHECKED = "--no-validate sends the arguments as they are."
