"""What a shell is offered while a command is typed. No server is started, and nothing large imported."""

import os
from contextlib import suppress
from pathlib import Path

import click


def server_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The servers of the files that are named, or of the one that is found. Of what cannot be read, none."""
    del param
    given = ctx.params.get("configs") or ctx.params.get("config")
    named = (given,) if isinstance(given, Path) else tuple(given or ())
    return [name for name in _names(named) if name.startswith(incomplete)]


def _names(paths: tuple[Path, ...]) -> list[str]:
    from mcphost import files, sources
    from mcphost.errors import McphostError
    from mcphost.paths import user_config

    if not paths:
        found = files.find(environ=os.environ, cwd=Path.cwd(), home_config=user_config())
        paths = (found.path,) if found else ()
    names: list[str] = []
    for path in paths:
        with suppress(McphostError):
            document = sources.document(path, files.content(path))
            names += sources.servers(path, document, project=Path.cwd()).servers
    return names
