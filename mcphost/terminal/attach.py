"""Files and resources that go along with a message: `@path`, `@server:uri`, and `-a FILE`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from mcphost.dialect import Dialect
from mcphost.errors import ConfigError
from mcphost.host import Host
from mcphost.media import UNKNOWN_BYTES, mime_type, part_of
from mcphost.messages import Attachment
from mcphost.text import one_line, printable, size_text

_MENTION = re.compile(r"(?<!\S)@(?:\"([^\"]+)\"|'([^']+)'|(\S+))")
_AFTER: Final = ",.;:!?)]}，。；：！？）】"
"""What ends a sentence and is no part of a name."""

_MOST_TEXT: Final = 1_000_000
"""Bytes of text that are attached; what is longer would fill any model's window."""

_MOST_BYTES: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Attached:
    """Something to send: its parts of a user message, and `about` it for a person."""

    parts: tuple[dict[str, Any], ...]
    about: str


def mentions(text: str) -> list[str]:
    """What is mentioned after an `@`, in order and once each."""
    found = (match[1] or match[2] or match[3] for match in _MENTION.finditer(text))
    return list(dict.fromkeys(found))


async def mentioned(text: str, host: Host, dialect: Dialect) -> list[Attached]:
    """The files and resources that a message mentions. A word that is neither is left to be a word.

    Raises `ConfigError` for what cannot be attached, `McphostError` for a resource that cannot be read.
    """
    found: list[Attached] = []
    for mention in mentions(text):
        for name in dict.fromkeys((mention, mention.rstrip(_AFTER))):
            server, colon, uri = name.partition(":")
            if colon and server in host.servers:
                found += await _resource(server, uri, host, dialect)
                break
            if await anyio.to_thread.run_sync(_is_file, name):
                found.append(await anyio.to_thread.run_sync(from_file, Path(name), dialect))
                break
        else:
            if mention.startswith(("/", "./", "../", "~/")):
                raise ConfigError(
                    f"@{mention}: there is no such file", hint="@ attaches a file; Tab completes its path."
                )
    return found


def from_file(path: Path, dialect: Dialect) -> Attached:
    """A file to send. Raises `ConfigError` for one that cannot be read, or that models do not take."""
    try:
        path = path.expanduser()
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise ConfigError(
                f"{path} has {size_text(size)}, and at most {size_text(_MOST_BYTES)} can be attached"
            )
        data = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"{path} cannot be attached: {exc.strerror}") from exc
    return _attached(str(path), None, data, dialect)


def content(text: str, attached: Iterable[Attached]) -> str | list[dict[str, Any]]:
    """The content of a user message: a text, or parts where there is more than text."""
    parts = [{"type": "text", "text": text}, *(part for one in attached for part in one.parts)]
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _is_file(name: str) -> bool:
    try:
        return Path(name).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False


async def _resource(server: str, uri: str, host: Host, dialect: Dialect) -> list[Attached]:
    contents = await host.read_resource(uri, server=server)
    return [
        _attached(
            f"{server}:{part.uri}",
            part.mime_type,
            part.data if part.text is None else part.text.encode("utf-8", "replace"),
            dialect,
        )
        for part in contents
    ]


def _attached(name: str, declared: str | None, data: bytes | None, dialect: Dialect) -> Attached:
    data = data or b""
    about = f"{printable(name)} ({size_text(len(data))})"
    mime = mime_type(declared, data) or UNKNOWN_BYTES
    kind = mime.partition("/")[0]
    label = {"type": "text", "text": f"[{one_line(name, 200)}]"}
    part = part_of(Attachment(kind, mime, data, name), images=dialect.images, audio=dialect.audio)
    if part is not None:
        return Attached((label, part), about)
    if (text := _text(data)) is not None:
        if len(data) > _MOST_TEXT:
            most = size_text(_MOST_TEXT)
            raise ConfigError(f"{about} is too long to be attached", hint=f"At most {most} of text can be.")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        return Attached(({"type": "text", "text": f"{name}:\n{fence}\n{text}\n{fence}"},), about)
    if kind in ("image", "audio"):
        raise ConfigError(f"{about} is {mime}, which this model's endpoint does not take")
    raise ConfigError(
        f"{about} is not text", hint="Text, and pictures where the model takes them, can be attached."
    )


def _text(data: bytes) -> str | None:
    """Bytes that are text, None for others."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
