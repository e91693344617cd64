"""From flags to a running host: find the config, ask about a stranger's, wait for the servers."""

import getpass
import os
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio

from mcphost import config as configuration
from mcphost import trust
from mcphost.config import Approve, Config
from mcphost.errors import AuthRequired, ConfigError, McphostError, ServerError
from mcphost.hooks import Hooks
from mcphost.host import Host
from mcphost.paths import user_config
from mcphost.terminal.output import is_interactive, note


@dataclass(frozen=True, slots=True)
class Settings:
    """The flags that every command takes."""

    configs: tuple[Path, ...] = ()
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    servers: tuple[str, ...] = ()
    naming: Literal["cherry", "mcp", "plain"] | None = None
    results: Literal["text", "blocks"] | None = None
    wait: float | None = None
    verbose: bool = False
    trace: Path | None = None


def load_config(settings: Settings) -> Config:
    """The config that the flags name or that is found, with the flags' changes. Raises `ConfigError`.

    Shows its warnings, and asks about a file that was only found in the working folder.
    """
    ask = _ask if is_interactive() else None
    paths, confirmed = _files(settings)
    config = configuration.load(paths, environ=os.environ, ask=ask)
    if confirmed is not None and confirmed not in config.digests.values():
        raise ConfigError(f"{paths[0]} has changed since it was confirmed", hint="Look at it, and run again.")
    for warning in config.warnings:
        note(f"warning: {warning}", style="yellow")
    changes = {"naming": settings.naming, "results": settings.results}
    tools = config.tools.model_copy(
        update={key: value for key, value in changes.items() if value is not None}
    )
    return configuration.narrowed(config.model_copy(update={"tools": tools}), settings.servers)


def _files(settings: Settings) -> tuple[list[Path], str | None]:
    """The files to read, and the digest of the one that had to be confirmed."""
    if settings.configs:
        return list(settings.configs), None
    found = configuration.find(environ=os.environ, cwd=Path.cwd(), home_config=user_config())
    if found is None:
        raise ConfigError(
            "no servers.json: none was named, and there is none here or in the user's configuration",
            hint=f"Name one with -c FILE, or write {user_config()}. `mcphost demo` runs without any.",
        )
    return [found.path], _confirmed(found.path) if found.stranger else None


def _confirmed(path: Path) -> str:
    """Ask once a content whether a file of the working folder may run its commands. Its digest."""
    config = configuration.load([path], environ=os.environ)
    digest = config.digests[path.absolute()]
    if trust.is_trusted(digest):
        return digest
    name = f"./{path.relative_to(Path.cwd())}" if path.is_relative_to(Path.cwd()) else str(path)
    if not is_interactive():
        raise ConfigError(
            f"{name} lies in the working folder and was not confirmed; it would start programs",
            hint=f"Name it if it is yours: -c {name}",
        )
    note(f"{name} lies in the working folder. It would start or reach:")
    for spec in config.servers.values():
        if spec.enabled:
            note(f"  {spec.name}: {spec.summary()}")
    if config.model.base_url:
        note(f"  its model: {configuration.redact_url(config.model.base_url)}")
    if not _yes("Use it, now and from now on as long as it is unchanged?"):
        raise ConfigError(f"{name} was not confirmed", hint="Name another file with -c FILE.")
    trust.remember(digest, path)
    return digest


def _yes(question: str) -> bool:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "是")


def _ask(description: str, password: bool) -> str:
    if password:
        return getpass.getpass(f"{description}: ", stream=sys.stderr)
    sys.stderr.write(f"{description}: ")
    sys.stderr.flush()
    return sys.stdin.readline().rstrip("\r\n")


def with_model(config: Config, settings: Settings) -> Config:
    """`config` with its model settled by flags and environment. Raises `ConfigError` when there is none."""
    model = configuration.resolve_model(
        config,
        flag_model=settings.model,
        flag_base_url=settings.base_url,
        flag_api_key=settings.api_key,
        environ=os.environ,
    )
    return config.model_copy(update={"model": model})


def with_dialect(config: Config, settings: Settings) -> Config:
    """`config` with its model where there is one, for commands that only want its dialect."""
    try:
        return with_model(config, settings)
    except ConfigError:
        if settings.model or settings.base_url:
            raise
        return config


@asynccontextmanager
async def opened(
    config: Config,
    settings: Settings,
    *,
    hooks: Hooks | None = None,
    approve: Literal["never", "writes"] = "never",
) -> AsyncGenerator[Host]:
    """A host with its servers starting."""
    host = Host(config, hooks=hooks, approve=Approve(mode=approve), trace=settings.trace)
    async with host:
        yield host


async def settled(host: Host, settings: Settings, *, quiet: bool = False) -> None:
    """Wait for the servers, and show on a terminal which are pending; say which failed, unless `quiet`.

    Raises `ServerError` when there are servers and none can be used.
    """
    async with pending(host):
        await host.ready(settings.wait)
    servers = [server for server in host.servers.values() if server.state != "disabled"]
    for server in [] if quiet else servers:
        if server.error is not None:
            note(f"warning: {server.error}", style="yellow")
            if server.error.hint:
                note(f"hint: {server.error.hint}")
        elif server.state == "starting":
            note(f"warning: {server.name} is still starting; its tools join when it is ready", style="yellow")
    if servers and not any(server.state in ("ready", "starting") for server in servers):
        raise none_usable([server.error for server in servers if server.error is not None])


def none_usable(errors: Iterable[ServerError]) -> McphostError:
    """The error for a command whose servers all failed: they want authorization, or cannot be reached."""
    errors = list(errors)
    kind = (
        AuthRequired if errors and all(isinstance(error, AuthRequired) for error in errors) else ServerError
    )
    if len(errors) == 1:
        return kind(errors[0].server, errors[0].reason, hint=errors[0].hint)
    names = ", ".join(error.server for error in errors)
    return kind(names, "none of the servers can be used", hint="`mcphost servers -v` says more.")


@asynccontextmanager
async def pending(host: Host) -> AsyncGenerator[None]:
    """A line on the terminal that names the servers still starting, gone when they have."""
    if not sys.stderr.isatty():
        yield
        return
    async with anyio.create_task_group() as tg:
        tg.start_soon(_show_pending, host)
        try:
            yield
        finally:
            tg.cancel_scope.cancel()
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


async def _show_pending(host: Host) -> None:
    while True:
        await anyio.sleep(0.25)
        names = [server.name for server in host.servers.values() if server.state == "starting"]
        width = max(20, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        sys.stderr.write("\r\x1b[K" + f"starting {', '.join(names)} …"[:width])
        sys.stderr.flush()
