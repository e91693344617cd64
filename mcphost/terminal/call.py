"""`mcphost call`: one tool call without a model."""

import json
from collections.abc import Mapping
from typing import Any, Literal, cast

import anyio

from mcphost import config as configuration
from mcphost.config import Config
from mcphost.errors import ConfigError, McphostError, ToolError
from mcphost.events import attachment_json
from mcphost.hooks import AllowAll
from mcphost.host import Host
from mcphost.messages import ToolResult
from mcphost.terminal.output import note, write, write_json
from mcphost.terminal.setup import Settings, none_usable, opened, pending
from mcphost.text import printable


def arguments_of(text: str) -> dict[str, Any]:
    """The JSON object typed as arguments; nothing is none. Raises `ConfigError`."""
    if not text.strip():
        return {}
    try:
        value: Any = json.loads(text)
    except ValueError as exc:
        raise ConfigError(f"the arguments are not JSON: {exc}", hint=_EXAMPLE) from exc
    if not isinstance(value, dict):
        raise ConfigError(f"the arguments are to be a JSON object, not {text.strip()[:40]!r}", hint=_EXAMPLE)
    return cast("dict[str, Any]", value)


_EXAMPLE = """A shell wants quotes around it: '{"city": "Suzhou"}', or `-` to read it from standard input."""


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
    only = next((server for server in config.servers if name.startswith(f"{server}/")), None)
    if only is not None:
        config = configuration.narrowed(config, [only])
    async with opened(config, settings, hooks=AllowAll()) as host:  # who types the call has approved it
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


async def _tool_listed(host: Host, settings: Settings, name: str, only: str | None) -> None:
    """Wait until the tool is there, or until every server that could have it is settled.

    Raises `ServerError` when the server that it belongs to cannot be used, `ConfigError` when there is no
    such tool.
    """
    async with pending(host):
        with anyio.move_on_after(settings.wait):
            for server in host.servers.values():
                await server.settled()
                if host.find(name) is not None:
                    return
    if only is not None and (error := host.servers[only].error) is not None:
        raise error
    failed = [server.error for server in host.servers.values() if server.error is not None]
    if failed and len(failed) == len(host.servers):
        raise none_usable(failed)
    for error in failed:
        note(f"warning: {printable(str(error))}", style="yellow")
    near = host.catalog().nearest(name)
    hint = f"The nearest are {', '.join(near)}." if near else "`mcphost tools` lists them."
    raise ConfigError(f"there is no tool named {name!r}", hint=hint)


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
        case _:
            return ToolError(f"{name}: {reason}")


_UNCHECKED = "--no-validate sends the arguments as they are."
