"""`mcphost prompts`, `mcphost resources` and `mcphost read`."""

import base64
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcphost.config import Config
from mcphost.errors import ConfigError, McphostError, ToolError
from mcphost.host import Host
from mcphost.offers import Contents, Prompt, Resource, ResourceTemplate
from mcphost.terminal.approve import hooks_of
from mcphost.terminal.output import note, styled, write, write_bytes, write_json
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, settled
from mcphost.text import printable, size_text

Output = Literal["table", "json"]


async def prompts(config: Config, settings: Settings, output: Output) -> int:
    """Every prompt, grouped by server, with its arguments."""
    async with _asking(config, settings) as host:
        listed = await host.prompts()
        if output == "json":
            write_json([{"server": item.server, **item.definition} for item in listed], indent=1)
        else:
            _grouped(listed, _prompt_line)
    return 0


async def prompt(
    config: Config, settings: Settings, name: str, arguments: Mapping[str, str], output: Output
) -> int:
    """One prompt, filled in: its messages."""
    async with _asking(config, settings) as host:
        reply = await host.get_prompt(name, arguments)
        if not reply.messages:
            note(f"warning: {printable(name)} holds no messages", style="yellow")
        if output == "json":
            write_json(reply.messages, indent=1)
        else:
            for message in reply.messages:
                write(f"{styled(message['role'], 'bold', sys.stdout)}\n{printable(_shown(message))}\n")
    return 0


async def resources(config: Config, settings: Settings, output: Output) -> int:
    """Every resource and every template of resources, grouped by server."""
    async with _asking(config, settings) as host:
        listed: list[Resource | ResourceTemplate] = [
            *await host.resources(),
            *await host.resource_templates(),
        ]
        if output == "json":
            write_json([{"server": item.server, **item.definition} for item in listed], indent=1)
        else:
            names = list(host.servers)
            _grouped(sorted(listed, key=lambda item: names.index(item.server)), _resource_line)
    return 0


async def read(
    config: Config, settings: Settings, uri: str, output: Literal["text", "json"], file: Path | None
) -> int:
    """What a resource holds, to stdout or into `file`. Bytes do not go to a terminal."""
    async with _asking(config, settings) as host:
        parts = await host.read_resource(uri)
    if not parts:
        note(f"warning: {printable(uri)} holds nothing", style="yellow")
    if output == "json":
        write_json([_as_json(part) for part in parts], indent=1)
    elif file is not None:
        for place, part in zip(_files(file, len(parts)), parts, strict=True):
            _save(place, part)
    else:
        _show(parts)
    return 0


@asynccontextmanager
async def _asking(config: Config, settings: Settings) -> AsyncGenerator[Host]:
    """A host whose servers are there. What they fail to answer in time is an error of theirs."""
    async with opened(config, settings, hooks=hooks_of()) as host:
        await settled(host, settings)
        try:
            yield host
        except TimeoutError as exc:
            raise ToolError(str(exc) or "the server did not answer in time") from exc


def _grouped(listed: Sequence[Any], line: Any) -> None:
    server: str | None = None
    for item in listed:
        if item.server != server:
            server = item.server
            count = sum(other.server == server for other in listed)
            write(styled(f"{server} ({count})", "bold", sys.stdout))
        write(f"  {line(item)}")
    if not listed:
        note("There are none.")


def _prompt_line(prompt: Prompt) -> str:
    shown = [each.name if each.required else f"[{each.name}]" for each in prompt.arguments]
    about = prompt.description or prompt.title
    return _one_line(" ".join([prompt.name, *shown]), about)


def _resource_line(item: Resource | ResourceTemplate) -> str:
    if isinstance(item, ResourceTemplate):
        return _one_line(item.uri_template, item.title or item.name or item.description)
    size = size_text(item.size) if item.size is not None else None
    facts = ", ".join(fact for fact in (item.mime_type, size) if fact)
    return _one_line(item.uri, (item.title or item.name) + (f" ({facts})" if facts else ""))


def _one_line(first: str, about: str) -> str:
    return " ".join(printable(f"{first}  {about}".rstrip()).split(" ")).replace("\n", " ")


def _shown(message: Mapping[str, Any]) -> str:
    """The text of a chat message; pictures and sounds are named."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in content)


def _as_json(part: Contents) -> dict[str, Any]:
    held = {"text": part.text} if part.data is None else {"blob": base64.b64encode(part.data).decode()}
    return {"uri": part.uri, "mimeType": part.mime_type, **held}


def _show(parts: Sequence[Contents]) -> None:
    for part in parts:
        if part.data is None:
            text = part.text or ""
            write(printable(text) if sys.stdout.isatty() else text, end="" if text.endswith("\n") else "\n")
        elif sys.stdout.isatty():
            what = f"{part.uri} is {part.mime_type or 'bytes'}, {size_text(len(part.data))}"
            raise ConfigError(f"{printable(what)}, which is nothing for a terminal", hint="-o FILE saves it.")
        else:
            write_bytes(part.data)


def _files(file: Path, count: int) -> list[Path]:
    """`file`, and for the parts after the first the same with a number."""
    return [file if n == 1 else file.with_name(f"{file.stem}-{n}{file.suffix}") for n in range(1, count + 1)]


def _save(file: Path, part: Contents) -> None:
    data = (part.text or "").encode() if part.data is None else part.data
    try:
        file.write_bytes(data)
    except OSError as exc:
        raise McphostError(f"{file} cannot be written: {exc.strerror}") from exc
    note(f"{file}: {size_text(len(data))}")
