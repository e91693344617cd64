"""What servers offer besides tools: prompts, resources, templates of resources, and completions. Pure.

Taken from JSON as it came (MCP specification, server/prompts, server/resources, server/utilities/completion):
an entry without what makes it usable is left out, anything else that is odd in it is read as absent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from mcphost.blocks import as_object, read_block
from mcphost.dialect import Dialect
from mcphost.media import Shelf, decode, part_of
from mcphost.messages import Message

What = Literal["tools", "prompts", "resources", "templates"]
"""What a server may have a list of."""


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """What a prompt may be given; its value is a text."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that `server` offers. `definition` is the entry as the server listed it."""

    server: str
    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PromptReply:
    """A prompt filled in: `messages` are chat messages for a model, `raw` is the server's own result."""

    description: str
    messages: list[Message]
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that `server` offers. `size` is in bytes, where the server tells it."""

    server: str
    uri: str
    name: str
    title: str
    description: str
    mime_type: str | None
    size: int | None
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A kind of resource that `server` offers, by a URI template (RFC 6570)."""

    server: str
    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str | None
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a resource holds: `text`, or else `data`. A read may give several, of resources below the one."""

    uri: str
    mime_type: str | None
    text: str | None = None
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What an argument may be completed to; of `total`, where the server tells. `has_more`: these are not
    all."""

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False


def prompts(server: str, listed: Sequence[Any]) -> list[Prompt]:
    """The usable prompts of a list."""
    return [
        Prompt(server, name, _text(entry, "title"), _text(entry, "description"), _arguments(entry), entry)
        for entry, name in _named(listed, "name")
    ]


def resources(server: str, listed: Sequence[Any]) -> list[Resource]:
    """The usable resources of a list."""
    return [
        Resource(
            server,
            uri,
            _text(entry, "name") or uri,
            _text(entry, "title"),
            _text(entry, "description"),
            _text(entry, "mimeType") or None,
            _number(entry.get("size")),
            entry,
        )
        for entry, uri in _named(listed, "uri")
    ]


def resource_templates(server: str, listed: Sequence[Any]) -> list[ResourceTemplate]:
    """The usable templates of a list."""
    return [
        ResourceTemplate(
            server,
            template,
            _text(entry, "name") or template,
            _text(entry, "title"),
            _text(entry, "description"),
            _text(entry, "mimeType") or None,
            entry,
        )
        for entry, template in _named(listed, "uriTemplate")
    ]


def contents(raw: Mapping[str, Any], uri: str) -> tuple[Contents, ...]:
    """What a `ReadResourceResult` holds. A part with neither text nor readable bytes is left out."""
    parts: list[Contents] = []
    for item in _list(raw.get("contents")):
        entry = as_object(item) or {}
        of, mime = _text(entry, "uri") or uri, _text(entry, "mimeType") or None
        if isinstance(text := entry.get("text"), str):
            parts.append(Contents(of, mime, text=text))
        elif entry.get("blob") == "":
            parts.append(Contents(of, mime, data=b""))
        elif (data := decode(entry.get("blob"))) is not None:
            parts.append(Contents(of, mime, data=data))
    return tuple(parts)


def completion(raw: Mapping[str, Any]) -> Completion:
    """What a `CompleteResult` holds."""
    entry = as_object(raw.get("completion")) or {}
    values = tuple(value for value in _list(entry.get("values")) if isinstance(value, str))
    return Completion(values, _number(entry.get("total")), entry.get("hasMore") is True)


def prompt_reply(raw: Mapping[str, Any], dialect: Dialect) -> PromptReply:
    """A `GetPromptResult` as messages of the chat API: each of one text, or of parts where there are pictures
    or sounds that the dialect takes."""
    messages: list[Message] = []
    for item in _list(raw.get("messages")):
        entry = as_object(item) or {}
        given = entry.get("content")
        role = "assistant" if entry.get("role") == "assistant" else "user"
        blocks = cast("list[Any]", given) if isinstance(given, list) else [given]
        content = chat_content(blocks, role, dialect)
        if content:
            messages.append({"role": role, "content": content})
    return PromptReply(_text(raw, "description"), messages, raw)


def chat_content(blocks: Sequence[Any], role: str, dialect: Dialect) -> str | list[dict[str, Any]]:
    """Content blocks as the content of a chat message. Only a user's message holds more than text."""
    shelf = Shelf("message", None)
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if block is None:
            continue
        piece = read_block(block, shelf)
        shown = [
            part
            for attachment in shelf.attachments
            if (part := part_of(attachment, images=dialect.images, audio=dialect.audio))
        ]
        shelf.attachments.clear()
        parts += shown if shown and role == "user" else [{"type": "text", "text": piece.text}]
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts if part["text"])
    return parts


def _named(listed: Sequence[Any], key: str) -> list[tuple[dict[str, Any], str]]:
    """The entries that are objects with a text under `key`, the first of each, and that text."""
    found: dict[str, dict[str, Any]] = {}
    for item in listed:
        entry = as_object(item) or {}
        if isinstance(value := entry.get(key), str) and value:
            found.setdefault(value, entry)
    return [(entry, value) for value, entry in found.items()]


def _arguments(entry: Mapping[str, Any]) -> tuple[PromptArgument, ...]:
    return tuple(
        PromptArgument(name, _text(argument, "description"), argument.get("required") is True)
        for argument, name in _named(_list(entry.get("arguments")), "name")
    )


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
