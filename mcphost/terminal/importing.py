"""`mcphost import`: servers of another program's file, in one of ours."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mcphost import files, sources
from mcphost.carrying import Move
from mcphost.documents import as_list
from mcphost.errors import ConfigError
from mcphost.importing import Outcome, Planned, declared_inputs, plan
from mcphost.literals import literal_secrets
from mcphost.redact import redact_args, redact_url
from mcphost.server_edit import Sheet
from mcphost.sources import Source
from mcphost.terminal.inputs import read_stdin
from mcphost.terminal.output import note, styled, write
from mcphost.terminal.target import Target, shown, tell_what_is_read
from mcphost.text import one_line, printable

_MARKS: Final[dict[Outcome, tuple[str, str]]] = {
    "added": ("+", "green"),
    "replaced": ("~", "yellow"),
    "same": ("=", "dim"),
    "taken": ("!", "yellow"),
    "impossible": ("✗", "red"),
}
_WRITTEN: Final = ("added", "replaced")
_NAME: Final = 40
_WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class Request:
    """What `import` was asked for. `file` may be `-`, for standard input."""

    file: Path
    target: Target
    only: tuple[str, ...] = ()
    collisions: Literal["keep", "replace", "rename"] = "keep"
    dry_run: bool = False


def import_servers(request: Request) -> int:
    """Write what can be, and list what becomes of each. Raises `ConfigError`, and then nothing is written."""
    source, target = _source(request.file), request.target
    if os.path.realpath(source.path) == os.path.realpath(target.path):
        raise ConfigError(f"{target.shown} is the file to write to", hint="Name another one to import from.")
    if not source.servers:
        raise ConfigError(f"{shown(source.path)} holds no servers")
    folder = Path(os.path.realpath(target.path)).parent
    move = Move(source.path.absolute().parent, folder, Path.home())
    planned: list[Planned] = []

    def edit(sheet: Sheet) -> str:
        planned[:] = plan(source, sheet, move, only=request.only, collisions=request.collisions)
        return _written(sheet, target, planned, declared_inputs(source))

    edit(target.sheet())
    if not request.dry_run and any(each.outcome in _WRITTEN for each in planned):
        target.change(edit)
    _tell(planned, source, request)
    return 2 if all(each.outcome == "impossible" for each in planned) else 0


def _source(file: Path) -> Source:
    if str(file) == "-":
        return _read(Path("-"), read_stdin().encode())
    if not os.path.lexists(file):
        hint = "`mcphost import` lists those of other programs on this machine."
        raise ConfigError(f"{file}: there is no such file", hint=hint)
    return _read(file, files.content(file))


def _read(path: Path, data: bytes) -> Source:
    return sources.servers(path, sources.document(path, data), project=Path.cwd())


def _written(
    sheet: Sheet, target: Target, planned: Sequence[Planned], inputs: dict[str, dict[str, object]]
) -> str:
    """The text of `sheet` with what is to be written in it."""
    changes = [each for each in planned if each.outcome in _WRITTEN]
    for each in changes:
        sheet = Sheet.of(target.path, sheet.with_server(each.name, each.carried.entry).encode())
    used = {name: inputs[name] for each in changes for name in each.carried.inputs if name in inputs}
    return sheet.with_inputs(used)


def _tell(planned: Sequence[Planned], source: Source, request: Request) -> None:
    width = min(max(len(one_line(each.called, _NAME)) for each in planned), _NAME)
    for each in planned:
        mark, style = _MARKS[each.outcome]
        name = one_line(each.called, _NAME)
        write(f"{styled(mark, style, sys.stdout)} {name:<{width}}  {_about(each)}")
        for text in each.carried.lost:
            write(f"  {'':<{width}}  not carried over: {printable(text)}")
        if each.outcome in _WRITTEN:
            for where in literal_secrets(each.carried.entry):
                write(f"  {'':<{width}}  {where} is written as it is; a variable keeps it out of the file")
    count = sum(each.outcome in _WRITTEN for each in planned)
    did = "would be written" if request.dry_run else "written"
    write(f"{_count(count)} {did} to {request.target.shown}")
    if left := [key for key in ("model", "tools", "limits") if source.layout.sections.get(key)]:
        note(f"note: what the file says about {' and '.join(left)} was left there", style="yellow")
    if count and not request.dry_run:
        tell_what_is_read(request.target)
        note("`mcphost doctor` looks at how they are.")


def _about(each: Planned) -> str:
    match each.outcome:
        case "impossible":
            return f"not carried over: {each.carried.problem}"
        case "same":
            return "is there already"
        case "taken":
            return "another server is called that; --force replaces it, --rename keeps both"
        case "added" | "replaced":
            renamed = f"as {each.name}: " if each.name != each.called else ""
            disabled = " (disabled, as it was)" if each.carried.entry.get("enabled") is False else ""
            return renamed + one_line(_summary(each.carried.entry), _WIDTH) + disabled


def _summary(entry: Mapping[str, object]) -> str:
    """What an entry runs or reaches, without secrets."""
    if isinstance(url := entry.get("url"), str):
        return redact_url(url)
    words = [str(word) for word in (entry.get("command", "builtin"), *(as_list(entry.get("args")) or ()))]
    return " ".join(redact_args(words))


def list_sources() -> int:
    """The files of other programs on this machine that have servers."""
    found: list[tuple[str, str, str]] = []
    seen: set[str] = set()
    for program, path in sources.known_places(
        environ=os.environ, platform=sys.platform, home=Path.home(), cwd=Path.cwd()
    ):
        if not path.is_file() or os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        if about := _contents(path):
            found.append((program, shown(path), about))
    if not found:
        note("No other program's servers were found in the usual places; name the file: mcphost import FILE")
        return 0
    widths = [max(len(row[column]) for row in found) for column in (0, 1)]
    for program, path, about in found:
        write(f"{program:<{widths[0]}}  {path:<{widths[1]}}  {about}")
    note("`mcphost import FILE` takes the servers of one; with --dry-run it only says what it would do.")
    return 0


def _contents(path: Path) -> str:
    """What servers a file has, "" for none: settings of a program need not hold any."""
    try:
        document = sources.document(path, files.content(path))
    except ConfigError as exc:
        return printable(exc.message)
    try:
        servers = sources.servers(path, document, project=Path.cwd()).servers
    except ConfigError:
        return ""
    names = one_line(", ".join(one_line(name, _NAME) for name in servers), _WIDTH)
    return f"{_count(len(servers))}: {names}" if servers else ""


def _count(servers: int) -> str:
    return "1 server" if servers == 1 else f"{servers or 'no'} servers"
