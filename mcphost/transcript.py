"""A conversation for people and programs to keep: as Markdown, JSON or one HTML page. Pure."""

import html
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcphost.events import usage_json
from mcphost.jsontext import as_list, as_object, exact
from mcphost.messages import Message, Usage
from mcphost.text import json_text, printable, trimmed

Format = Literal["md", "json", "html"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """What is exported. `created` is in seconds since 1970; `calls` are a session's, see `stored.Session`."""

    id: str
    title: str
    model: str
    created: float
    messages: Sequence[Message]
    calls: Sequence[Mapping[str, Any]]
    usage: Usage

    def as_text(self, form: Format, *, limit: int | None = None) -> str:
        """The whole of it in one of the forms; of calls and results at most `limit` characters each, but in
        JSON. What is to be read has no control characters; JSON has everything as it was."""
        match form:
            case "md":
                return printable(_markdown(self, limit))
            case "json":
                return exact(self._as_json(), indent=1) + "\n"
            case "html":
                return printable(_page(self, limit))

    def _as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "model": self.model,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.created)),
            "messages": list(self.messages),
            "calls": list(self.calls),
            "usage": usage_json(self.usage),
        }

    def about(self) -> str:
        """The line below the title."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.created))
        return " · ".join(part for part in (self.id, when, self.model) if part)


@dataclass(frozen=True, slots=True)
class _Part:
    """One thing that was said or done. `folded`: long, and of interest to few."""

    who: str
    text: str
    folded: bool = False
    data: bool = False

    def shown(self, limit: int | None) -> str:
        """The text, data with line breaks, as much as there is to be of it."""
        shown = _indented(self.text) if self.data else self.text
        return trimmed(shown, limit) if self.data and limit is not None else shown


def _parts(messages: Sequence[Message]) -> Iterator[_Part]:
    """A conversation as it is read: texts as they are, calls and results as data."""
    names: dict[object, str] = {}
    for message in messages:
        role = str(message.get("role"))
        if role == "tool":
            name = names.get(message.get("tool_call_id"), "a call")
            yield _Part(f"result of {name}", content_text(message.get("content")), folded=True, data=True)
            continue
        if isinstance(reasoning := message.get("reasoning_content"), str) and reasoning:
            yield _Part("reasoning", reasoning, folded=True)
        if text := content_text(message.get("content")):
            yield _Part(role, text)
        for call in as_list(message.get("tool_calls")) or []:
            entry = as_object(call) or {}
            function = as_object(entry.get("function")) or {}
            name = str(function.get("name"))
            names[entry.get("id")] = name
            yield _Part(f"call of {name}", str(function.get("arguments") or "{}"), folded=True, data=True)


def content_text(content: object) -> str:
    """The content of a message as text; pictures and sounds are named."""
    if isinstance(content, str):
        return content
    shown: list[str] = []
    for part in as_list(content) or []:
        entry = as_object(part) or {}
        text = entry.get("text")
        shown.append(text if isinstance(text, str) else f"[{entry.get('type', 'something')}]")
    return "\n".join(shown)


def _markdown(transcript: Transcript, limit: int | None) -> str:
    lines = [f"# {transcript.title or 'A conversation'}", "", transcript.about()]
    for part in _parts(transcript.messages):
        lines += ["", f"## {part.who}", ""]
        if part.data:
            fence = "```"
            while fence in part.text:
                fence += "`"
            lines += [fence + ("json" if _is_json(part.text) else ""), part.shown(limit), fence]
        else:
            lines.append(part.text)
    return "\n".join(lines) + "\n"


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and _indented(text) != text


def _indented(text: str) -> str:
    """JSON with line breaks, anything else as it is."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


_STYLE = """
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; }
h1 { margin-bottom: 0; } .about, summary { color: #777; }
.part { margin: 1.2rem 0; } .who { font-weight: 600; text-transform: capitalize; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { background: #8881; padding: .6rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } }
"""


def _page(transcript: Transcript, limit: int | None) -> str:
    """A page that needs nothing else, with calls and results folded."""
    title = html.escape(transcript.title or "A conversation")
    body = "\n".join(_html(part, limit) for part in _parts(transcript.messages))
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f'<body><h1>{title}</h1><p class="about">{html.escape(transcript.about())}</p>\n{body}\n'
        f'<p class="about">{html.escape(json_text(usage_json(transcript.usage)))}</p></body></html>\n'
    )


def _html(part: _Part, limit: int | None) -> str:
    who, text = html.escape(part.who), html.escape(part.shown(limit))
    shown = f"<pre>{text}</pre>" if part.data else f'<div class="text">{text}</div>'
    if part.folded:
        return f'<details class="part"><summary>{who}</summary>{shown}</details>'
    return f'<div class="part"><div class="who">{who}</div>{shown}</div>'
