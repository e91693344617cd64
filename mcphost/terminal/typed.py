"""A server as it is typed: a URL, a command, or a piece of another host's JSON."""

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from mcphost import jsonc
from mcphost.carrying import Move, carried
from mcphost.documents import Place
from mcphost.endpoints import check_url
from mcphost.errors import ConfigError
from mcphost.layout import clean_name, take_apart
from mcphost.spellings import looks_like_server
from mcphost.terminal.output import note
from mcphost.terminal.target import Target
from mcphost.text import printable

_USAGE: Final = "Write mcphost add NAME URL, or mcphost add NAME -- COMMAND ARG…"


@dataclass(frozen=True, slots=True)
class Request:
    """What `add` was asked for. `words` are a URL, a command with its arguments, or an entry as JSON."""

    name: str
    words: tuple[str, ...]
    target: Target
    type: Literal["http", "sse", "stdio"] | None = None
    env: tuple[str, ...] = field(default=(), repr=False)
    headers: tuple[str, ...] = field(default=(), repr=False)
    cwd: Path | None = None
    env_file: Path | None = None
    timeout: float | None = None
    force: bool = False
    test: bool = True


def name_of(request: Request) -> str:
    """The name for the server. Raises `ConfigError` where it can be none."""
    name = clean_name(request.name)
    if request.name.lower().startswith(("http://", "https://")):
        raise ConfigError("the name of the server comes before its URL", hint=_USAGE)
    if not name or name.startswith(("//", "#")):
        raise ConfigError(f"{request.name!r} cannot be the name of a server", hint=_USAGE)
    _encodable(name, request.words, request.env, request.headers)
    return name


def _encodable(name: str, *texts: Iterable[str]) -> None:
    for text in (name, *(text for group in texts for text in group)):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{text!r} is not UTF-8, which a servers.json is written in") from None


def entry_of(name: str, request: Request) -> dict[str, object]:
    """What was typed as an entry in our spelling. Raises `ConfigError`."""
    words = request.words
    if not words:
        raise ConfigError(f"nothing says what {name!r} is", hint=_USAGE)
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        entry = _pasted(name, words[0], request)
    elif len(words) == 1 and "://" in words[0] and " " not in words[0]:
        entry = _reached(words[0], request)
    else:
        entry = _started(words, request)
    if request.timeout is not None:
        entry["timeout"] = int(request.timeout) if request.timeout.is_integer() else request.timeout
    return entry


def _reached(url: str, request: Request) -> dict[str, object]:
    try:
        check_url(url)
    except ValueError as exc:
        raise ConfigError(f"the URL {exc}", hint=_USAGE) from None
    if request.type == "stdio":
        raise ConfigError("a URL is reached by http or sse, and not by stdio", hint=_USAGE)
    _goes_with("a command", {"-e": request.env, "--cwd": request.cwd, "--env-file": request.env_file})
    headers = _pairs("-H", "Name: value", ":", request.headers)
    kind = {"type": request.type} if request.type else {}
    return {**kind, "url": url, **({"headers": headers} if headers else {})}


def _started(words: tuple[str, ...], request: Request) -> dict[str, object]:
    if request.type in ("http", "sse"):
        raise ConfigError(f"a server that is reached by {request.type} has a URL, not a command", hint=_USAGE)
    _goes_with("a URL", {"-H": request.headers})
    if len(words) == 1 and " " in words[0] and not Path(words[0]).exists():
        try:
            words = tuple(shlex.split(words[0])) or words
        except ValueError as exc:
            raise ConfigError(f"the command is not one of a shell: {exc}", hint=_USAGE) from None
    entry: dict[str, object] = {"command": words[0]}
    if words[1:]:
        entry["args"] = list(words[1:])
    if env := _pairs("-e", "NAME=value", "=", request.env):
        entry["env"] = env
    if request.env_file is not None:
        entry["env_file"] = _relative(request.env_file, request.target)
    if request.cwd is not None:
        entry["cwd"] = _relative(request.cwd, request.target)
    elif local := next(filter(_is_local, words[0 if os.sep in words[0] else 1 :]), None):
        entry["cwd"] = _relative(Path.cwd(), request.target)
        note(f"{local} is in this folder, so the server is started here: cwd is {entry['cwd']}")
    return entry


def _pasted(name: str, text: str, request: Request) -> dict[str, object]:
    """An entry as other hosts write it, by itself or as the one server of a file."""
    flags = {"-e": request.env, "-H": request.headers, "--type": request.type, "--cwd": request.cwd}
    _goes_with("a URL or a command, and JSON says it itself", {**flags, "--env-file": request.env_file})
    try:
        value = jsonc.parse(text).value
    except jsonc.JsoncError as exc:
        where = f"line {exc.line}, column {exc.column}"
        raise ConfigError(f"the entry is not JSON: {where}: {exc.reason}", hint=_USAGE) from None
    here = Path.cwd()
    if not looks_like_server(value):
        entries = take_apart(value, Place("the JSON", here)).entries
        if len(entries) != 1:
            hint = "Put them into a file: mcphost import FILE."
            raise ConfigError(f"the JSON holds {len(entries)} servers, and one is added at a time", hint=hint)
        value = entries[0].value
    move = Move(here, request.target.path.absolute().parent, Path.home())
    found = carried(name, value, move)
    if found.problem:
        raise ConfigError(f"{name}: {found.problem}")
    for text in found.lost:
        note(f"warning: {printable(text)}", style="yellow")
    return dict(found.entry)


def _pairs(flag: str, form: str, sign: str, given: Iterable[str]) -> dict[str, str]:
    """`NAME=value`, or `NAME` for the variable of that name; `Name: value`."""
    pairs: dict[str, str] = {}
    for text in given:
        name, found, value = text.partition(sign)
        name = name.strip()
        if not found and sign == "=":
            value = f"${{{name}}}"
        elif not found:
            raise ConfigError(
                f"{flag} takes {form}, and this has no {sign!r}", hint=f'Write {flag} "{form}".'
            )
        if not name:
            raise ConfigError(f"{flag} takes {form}, and this has no name", hint=f'Write {flag} "{form}".')
        pairs[name] = value.strip() if sign == ":" else value
    return pairs


def _goes_with(what: str, flags: Mapping[str, object]) -> None:
    for flag, value in flags.items():
        if value:
            raise ConfigError(f"{flag} goes with {what}", hint=_USAGE)


def _is_local(word: str) -> bool:
    """Whether a word of a command is a file of this folder, by a relative path."""
    return not Path(word).is_absolute() and not word.startswith(("-", "~", "$")) and Path(word).is_file()


def _relative(path: Path, target: Target) -> str:
    """A path as the file has it: from the file's folder, if it is the project's and the path lies in it."""
    folder, absolute = Path(os.path.realpath(target.path)).parent, Path(os.path.realpath(path))
    if not target.private and absolute.is_relative_to(folder):
        return str(absolute.relative_to(folder))
    return str(absolute)
