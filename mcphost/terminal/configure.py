"""From flags, environment and files to a `Config`; a stranger's file and a missing model are asked about."""

import getpass
import os
import sys
from pathlib import Path

from mcphost import config as configuration
from mcphost import trust
from mcphost.config import Config
from mcphost.errors import ConfigError
from mcphost.paths import user_config
from mcphost.terminal import local_models
from mcphost.terminal.output import is_interactive, note
from mcphost.terminal.settings import Settings
from mcphost.text import printable


def load_config(settings: Settings) -> Config:
    """The config that the flags name or that is found, with the flags' changes. Raises `ConfigError`.

    Shows its warnings, and asks about a file that was only found in the working folder.
    """
    config = read_config(settings)
    for warning in config.warnings:
        note(f"warning: {printable(warning)}", style="yellow")
    return config


def read_config(settings: Settings) -> Config:
    """The same, and the warnings are left to the caller."""
    paths, confirmed = _files(settings)
    config = configuration.load(paths, environ=os.environ, ask=ask if is_interactive() else None)
    if confirmed is not None and confirmed not in config.digests.values():
        raise ConfigError(f"{paths[0]} has changed since it was confirmed", hint="Look at it, and run again.")
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
            "there is no servers.json: none was named, and none is in this folder or in yours",
            hint=f"Name one with -c FILE; `mcphost add` and `mcphost import` make yours, {user_config()}.\n"
            "`mcphost demo` shows everything without one.",
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
            f"{name} was found in the working folder; it would start programs, and nobody has confirmed it",
            hint=f"If it is yours, name it: -c {name}",
        )
    note(f"{name} was found in this folder. It would start or reach:")
    for spec in config.servers.values():
        if spec.enabled:
            note(f"  {spec.name}:")
            for line in config.written[spec.name]:
                note(f"    {line}")
    for line in config.model_written:
        note(f"  its model: {line}")
    if not yes("Use it, now and whenever it is unchanged?"):
        raise ConfigError(f"{name} was not confirmed", hint="Name another file with -c FILE.")
    try:
        trust.remember(digest, path)
    except OSError as exc:
        note(f"warning: this cannot be remembered: {exc.strerror}", style="yellow")
    return digest


def yes(question: str) -> bool:
    """Whether the person at the terminal says so; no is what nothing means."""
    return _typed(f"{question} [y/N] ").strip().lower() in ("y", "yes", "是")


def ask(description: str, password: bool) -> str:
    prompt = f"{printable(description)}: "
    if not password:
        return _typed(prompt)
    try:
        return getpass.getpass(prompt, stream=sys.stderr)
    except EOFError:
        note("")
        return ""


def _typed(prompt: str) -> str:
    """A line of the user's; "" at the end of input."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        note("")
    return line.rstrip("\r\n")


def with_model(config: Config, settings: Settings) -> Config:
    """`config` with its model settled by flags and environment; where none is named and one runs on this
    machine, by the user's choice. Raises `ConfigError` when there is none."""
    try:
        return _resolved(config, settings, settings.model)
    except configuration.NoModel as exc:
        names = local_models.running(_places(exc))
        chosen = local_models.choose(names) if names and is_interactive() else None
        if chosen is None:
            raise local_models.mentioned(exc, names) from None
        return _resolved(config, settings, chosen)


def _places(missing: configuration.NoModel) -> list[local_models.Place]:
    """Where to look for a model: at the endpoint that is named, if it is on this machine, else at all ports
    where model servers usually are."""
    if missing.base_url is not None:
        return [local_models.Place(missing.base_url)] if configuration.is_loopback(missing.base_url) else []
    candidates = configuration.local_candidates(os.environ)
    return [local_models.Place(each.base_url, f"{each.name}/") for each in candidates]


def _resolved(config: Config, settings: Settings, name: str | None) -> Config:
    model = configuration.resolve_model(
        config,
        flag_model=name,
        flag_base_url=settings.base_url,
        flag_api_key=settings.api_key,
        environ=os.environ,
    )
    return config.model_copy(update={"model": model})


def with_dialect(config: Config, settings: Settings) -> Config:
    """`config` with its model where there is one, for commands that only want its dialect."""
    try:
        return _resolved(config, settings, settings.model)
    except ConfigError:
        if settings.model or settings.base_url:
            raise
        return config
