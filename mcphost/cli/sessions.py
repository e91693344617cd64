"""`mcphost sessions`: what conversations are kept, and what to do with them."""

import re
from pathlib import Path
from typing import Literal

import click

_OUTPUT = click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", help="Something to read, or JSON."
)


def _seconds(context: click.Context, option: click.Parameter, age: str | None) -> float | None:
    """An age in minutes, hours, days or weeks (`90m`, `12h`, `30d`, `8w`; days if nothing is said)."""
    if age is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw]?)", age.strip().lower())
    if found is None:
        raise click.BadParameter(f"{age!r} is no age; write 30d, 12h or 8w", context, option)
    return float(found[1]) * {"m": 60, "h": 3600, "d": 86400, "w": 604800}[found[2] or "d"]


@click.group(short_help="The conversations that are kept.")
def sessions() -> None:
    """The conversations that are kept on disk. `mcphost chat --resume ID` goes on with one.

    Any beginning of an ID that only one session has will do.
    """


@sessions.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@_OUTPUT
def list_(limit: int, output: Literal["table", "json"]) -> int:
    """The sessions that were last used, the last first."""
    from mcphost.terminal import sessions as world

    return world.listed(limit, output)


@sessions.command()
@click.argument("session_id", metavar="ID")
def show(session_id: str) -> int:
    """A conversation, to read. Long results are cut; `mcphost sessions export ID` has all of them."""
    from mcphost.terminal import sessions as world

    return world.show(session_id)


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.option("--format", "form", type=click.Choice(["md", "json", "html"]), default="md", show_default=True)
@click.option(
    "-o",
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save it there instead of printing it.",
)
def export(session_id: str, form: Literal["md", "json", "html"], file: Path | None) -> int:
    """A whole conversation as Markdown, JSON or one HTML page."""
    from mcphost.terminal import sessions as world

    return world.export(session_id, form, file)


@sessions.command()
@click.argument("words", nargs=-1, required=True)
@_OUTPUT
def search(words: tuple[str, ...], output: Literal["table", "json"]) -> int:
    """The sessions that hold all the WORDS, in any script."""
    from mcphost.terminal import sessions as world

    return world.search(" ".join(words), output)


@sessions.command()
@click.argument("session_ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--older-than",
    callback=_seconds,
    metavar="AGE",
    help="All that were not used for so long, such as 30d, 12h or 8w.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(session_ids: tuple[str, ...], older_than: float | None, yes: bool) -> int:
    """Remove sessions for good."""
    if not session_ids and older_than is None:
        raise click.UsageError("name the sessions to delete, or --older-than AGE, such as 30d")

    from mcphost.terminal import sessions as world

    return world.delete(session_ids, older_than, yes=yes)
