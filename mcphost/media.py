"""Pictures, sounds and files of a tool's result: read from base64, named, numbered, sent on to the model."""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcphost.jsontext import well_formed
from mcphost.messages import Attachment, Message, ToolResult
from mcphost.text import one_line, size_text

_EXTENSIONS: Mapping[str, str] = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "image/bmp": ".bmp",
    "image/tiff": ".tiff",
    "image/avif": ".avif",
    "image/heic": ".heic",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "audio/aac": ".aac",
    "audio/mp4": ".m4a",
    "audio/webm": ".webm",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/zip": ".zip",
    "application/gzip": ".gz",
    "text/csv": ".csv",
    "text/markdown": ".md",
}
"""Kinds that are safe to open. Any other text is `.txt`, and anything else `.bin`."""

_ALIASES: Mapping[str, str] = {
    "image/jpg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-flac": "audio/flac",
    "application/x-pdf": "application/pdf",
}
_MIME_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,80}/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}")
_MAGIC = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"RIFF....WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"ID3|\xff[\xfb\xf3\xf2]"), "audio/mpeg"),
    (re.compile(rb"OggS"), "audio/ogg"),
    (re.compile(rb"fLaC"), "audio/flac"),
    (re.compile(rb"%PDF-"), "application/pdf"),
)
UNKNOWN_BYTES = "application/octet-stream"
_SENT_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SENT_AUDIO: Mapping[str, str] = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_SENT_BYTES = 20_000_000
"""Endpoints refuse a request whose picture is larger, and with it the conversation."""


def decode(data: object) -> bytes | None:
    """The bytes of a base64 string, None where it is none or empty.

    Takes what servers send for it as well: a `data:` URL, line breaks, the URL-safe alphabet, no padding.
    """
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True) or None
    except (binascii.Error, ValueError):
        pass
    if data.startswith("data:"):
        data = data.partition(",")[2]
    data = "".join(data.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(data + "=" * (-len(data) % 4), validate=True) or None
    except (binascii.Error, ValueError):
        return None


def mime_type(declared: object, data: bytes) -> str | None:
    """The media type of `data`, None where it is not declared and the first bytes do not tell.

    Within a family (pictures, sounds) the bytes are believed before the declaration, since endpoints refuse
    a picture that is not what it is said to be.
    """
    name = declared.partition(";")[0].strip().lower() if isinstance(declared, str) else ""
    name = _ALIASES.get(name, name) if _MIME_TYPE.fullmatch(name) else None
    seen = next((seen for magic, seen in _MAGIC if magic.match(data)), None)
    if seen and (name in (None, UNKNOWN_BYTES) or _family(seen) == _family(name)):
        return seen
    return name


def _family(mime: str | None) -> str:
    return (mime or "").partition("/")[0]


class Shelf:
    """The attachments of one call, numbered as they come. `folder` is where they go, None for nowhere."""

    def __init__(self, call_id: str, folder: Path | None) -> None:
        self.call_id = call_id
        self.folder = folder
        self.attachments: list[Attachment] = []

    def add(self, kind: str, mime: str, data: bytes, *, of: str = "") -> Attachment:
        """Keep `data`. `kind` is "image", "audio", "file" or "text"; a file's label says what it is `of`."""
        name = _file_name(self.call_id, len(self.attachments) + 1, mime)
        path = None if self.folder is None else self.folder / name
        place = 1 + sum(attachment.kind == kind for attachment in self.attachments)
        what = f"file: {of}, " if of else f"{kind} {place} of {one_line(self.call_id, 80) or 'a call'}: "
        saved = "" if path is None else f" saved as {path}"
        label = well_formed(f"[{what}{mime}, {size_text(len(data))}]{saved}")
        self.attachments.append(Attachment(kind, mime, data, label, name, path))
        return self.attachments[-1]


def _file_name(call_id: str, number: int, mime: str) -> str:
    """A name that is safe on every file system, its own for every call whatever its id."""
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:64].lstrip("-_")
    if not stem or stem != call_id:
        stem = f"{stem or 'call'}-{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
    extension = _EXTENSIONS.get(mime, ".txt" if mime.startswith("text/") else ".bin")
    return f"{stem}-{number}{extension}"


def follow_up(results: Sequence[ToolResult], *, images: bool, audio: bool) -> Message | None:
    """The user message that shows the model the pictures and sounds of a round's `results`, None where none.

    For most endpoints a tool message is text only, so this one goes after the round's tool messages:
    `{"role": "user", "content": [{"type": "text", …}, {"type": "image_url", …}, …]}`, each picture or sound
    after a text that names its tool and call. Kinds that endpoints do not take, and anything over 20 MB,
    stay out; so do all `images` or all `audio` where these are false.
    """
    parts: list[dict[str, Any]] = []
    for result in results:
        for attachment in result.attachments:
            part = part_of(attachment, images=images, audio=audio)
            if part is not None:
                label = f"From the result of {one_line(result.name, 80)}: {attachment.label}"
                parts += [{"type": "text", "text": label}, part]
    return {"role": "user", "content": parts} if parts else None


def part_of(attachment: Attachment, *, images: bool, audio: bool) -> dict[str, Any] | None:
    """An attachment as a part of a user message, None where an endpoint would not take it."""
    mime = attachment.mime_type
    if len(attachment.data) > _SENT_BYTES:
        return None
    if images and attachment.kind == "image" and mime in _SENT_IMAGES:
        url = f"data:{mime};base64,{base64.b64encode(attachment.data).decode()}"
        return {"type": "image_url", "image_url": {"url": url}}
    if audio and attachment.kind == "audio" and mime in _SENT_AUDIO:
        sound = {"data": base64.b64encode(attachment.data).decode(), "format": _SENT_AUDIO[mime]}
        return {"type": "input_audio", "input_audio": sound}
    return None
