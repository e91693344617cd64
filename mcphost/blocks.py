"""The content blocks of an MCP result, one by one: as text, as a block without base64, as attachments.

Blocks are taken as JSON, whatever they hold (MCP specification, server/tools, "Tool Result"): what breaks
the protocol in a way that can mean one thing is read so, anything else is shown as its JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcphost.media import UNKNOWN_BYTES, Shelf, decode, mime_type
from mcphost.text import json_text, one_line, shortened, size_text

_SHOWN = 2_000
"""Characters of a block's JSON that are shown where its kind is not known."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]{64,}={0,2}\s*")
_SUSPECT = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{48}")
_DATA_KEYS = ("data", "blob")
_LONG = 1_024
_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """One block. `text` stands for it in flattened text, `block` is it without base64.

    `prose`: it is text, next to which `structuredContent` would say the same again.
    """

    text: str
    block: dict[str, Any]
    prose: bool = False


def as_object(value: object) -> dict[str, Any] | None:
    """`value` where it is a JSON object, else None."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else None


def read_block(value: object, shelf: Shelf) -> Piece:
    """One member of a result's `content`. What it carries besides text goes on the `shelf`."""
    if isinstance(value, str):
        return text_piece(value)
    block = as_object(value)
    if block is None:
        return text_piece(_shown(without_base64(value)))
    match block.get("type") or _likely_type(block):
        case "text" if "text" in block:
            return _text(block)
        case "image" | "audio" as kind:
            return _media(block, kind, shelf) or _unknown(block, media=True)
        case "resource" if (resource := as_object(block.get("resource"))) is not None:
            return _resource(block, resource, shelf) or _unknown(block, media=True)
        case "resource_link" if isinstance(block.get("uri"), str):
            return Piece(_link(block), _kept(block))
        case _:
            return _unknown(block)


def text_piece(text: str) -> Piece:
    return Piece(text, {"type": "text", "text": text}, prose=_says_something(text))


def _likely_type(block: Mapping[str, Any]) -> str | None:
    if isinstance(block.get("text"), str):
        return "text"
    if isinstance(block.get("data"), str):
        family = str(block.get("mimeType")).partition("/")[0]
        return family if family in ("image", "audio") else None
    return "resource" if "resource" in block else None


def _text(block: dict[str, Any]) -> Piece:
    text = _as_text(block["text"])
    return Piece(text, _kept(block, type="text", text=text), prose=_says_something(text))


def _as_text(value: object) -> str:
    """A text that is no string is shown as its JSON, null as nothing."""
    return value if isinstance(value, str) else "" if value is None else json_without_base64(value)


def _says_something(text: str) -> bool:
    return bool(text) and not text.isspace()


def _media(block: dict[str, Any], kind: str, shelf: Shelf) -> Piece | None:
    data = decode(block.get("data"))
    mime = mime_type(block.get("mimeType"), data) if data else None
    if data is None or mime is None:
        return None
    label = shelf.add(kind, mime, data).label
    return Piece(label, _kept(block, type=kind, data=label))


def _resource(block: dict[str, Any], resource: dict[str, Any], shelf: Shelf) -> Piece | None:
    """An embedded resource: its text under its URI, or an attachment; without either, a link."""
    uri = resource.get("uri")
    uri = one_line(uri, 2_000) if isinstance(uri, str) else ""
    if resource.get("text") is not None:
        text = _as_text(resource["text"])
        kept = _kept(block, type="resource", resource=_kept(resource, text=text))
        return Piece(f"{uri}\n{text}" if uri else text, kept, prose=_says_something(text))
    if resource.get("blob") is None:
        return Piece(_link(resource), _kept(block)) if uri else None
    data = decode(resource["blob"])
    if data is None:
        return None
    mime = mime_type(resource.get("mimeType"), data) or UNKNOWN_BYTES
    family = mime.partition("/")[0]
    kind = family if family in ("image", "audio") else "file"
    label = shelf.add(kind, mime, data, of=uri if kind == "file" else "").label
    return Piece(label, _kept(block, type="resource", resource=_kept(resource, blob=label)))


def _kept(block: Mapping[str, Any], **ours: object) -> dict[str, Any]:
    """`block` with `ours` for its own, in its own order, and without base64 in the rest (icons have some)."""
    return {key: ours.get(key) or without_base64(item) for key, item in block.items()} | ours


def _link(resource: Mapping[str, Any]) -> str:
    names = (resource.get("name"), resource.get("title"))
    name = next((one_line(name, 200) for name in names if isinstance(name, str) and name.strip()), "")
    return f"[resource: {name and name + ' '}<{one_line(resource['uri'], 2_000)}>]"


def _unknown(block: dict[str, Any], *, media: bool = False) -> Piece:
    """A block of no known kind, or (`media`) one whose data cannot be used: its JSON, without base64."""
    shown = cast("dict[str, Any]", without_base64(block, media=media))
    text = _shown(shown)
    return Piece(text, shown if len(text) < _SHOWN else text_piece(text).block)


def _shown(value: object) -> str:
    return shortened(json_text(value), _SHOWN)


def json_without_base64(value: object) -> str:
    """The JSON of `without_base64`, quick where there is none."""
    text = json_text(value)
    return json_text(without_base64(value)) if _SUSPECT.search(text) else text


def without_base64(value: object, *, media: bool = False, depth: int = 0) -> object:
    """`value` with base64 replaced by a note of its size.

    That is `data` and `blob` next to a media type, or, for `media`, all of that name; and long strings
    that can be nothing else.
    """
    if depth > _DEPTH:
        return "(nested too deeply to be shown)"
    if isinstance(value, str):
        return _left_out(value) if _is_base64(value) else value
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value)
        typed = not items.keys().isdisjoint(("mimeType", "media_type"))
        return {
            key: _left_out(item)
            if isinstance(item, str) and key in _DATA_KEYS and (media or (typed and _BASE64.fullmatch(item)))
            else without_base64(item, media=media, depth=depth + 1)
            for key, item in items.items()
        }
    if isinstance(value, list):
        return [without_base64(item, media=media, depth=depth + 1) for item in cast("list[object]", value)]
    return value


def _left_out(data: str) -> str:
    return f"({size_text(len(data))} of data left out)"


def _is_base64(text: str) -> bool:
    """Whether `text` is base64 beyond doubt: no long word, no hexadecimal digits, no sequence of genes."""
    if text.startswith("data:") and ";base64," in text[:300]:
        return True
    if len(text) < _LONG:
        return False
    start = text[:_LONG]
    mixed = any(map(str.isupper, start)) and any(map(str.islower, start)) and any(map(str.isdigit, start))
    return mixed and _BASE64.fullmatch(text) is not None
