"""What servers offer besides tools: `prompts`, `resources`, `read`."""

from pathlib import Path
from typing import Literal

import click

from mcphost.cli.shared import shared
from mcphost.terminal.settings import Settings

_OUTPUT = click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", help="Something to read, or JSON."
)


@click.command(short_help="Every prompt; or one, filled in.")
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@_OUTPUT
@shared
def prompts(
    settings: Settings, name: str | None, arguments: tuple[str, ...], output: Literal["table", "json"]
) -> int:
    """Every prompt of the servers; with NAME, or server/name, that prompt filled in with KEY=VALUE.

    \b
    mcphost prompts
    mcphost prompts code-review language=Python
    """
    given: dict[str, str] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise click.UsageError(f"{argument!r} is not KEY=VALUE")
        given[key] = value

    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import offers as world
    from mcphost.terminal.interrupt import run as supervise

    if name is None:
        return supervise(lambda interrupts: world.prompts(config, settings, output))
    return supervise(lambda interrupts: world.prompt(config, settings, name, given, output))


@click.command(short_help="Every resource and template.")
@_OUTPUT
@shared
def resources(settings: Settings, output: Literal["table", "json"]) -> int:
    """Every resource of the servers, and the templates for more. `mcphost read URI` reads one."""
    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import offers as world
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: world.resources(config, settings, output))


@click.command(short_help="What a resource holds.")
@click.argument("uri")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="The contents, or JSON with them."
)
@click.option(
    "-o",
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save the contents in FILE.",
)
@shared
def read(settings: Settings, uri: str, output: Literal["text", "json"], file: Path | None) -> int:
    """Print what the resource URI holds. --server NAME says whose it is, where that is not clear."""
    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import offers as world
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: world.read(config, settings, uri, output, file))
