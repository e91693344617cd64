"""Asking the person at the terminal what a server wants to know, and whether it may use the model."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcphost import elicitation
from mcphost.elicitation import Field
from mcphost.hooks import Accept, Allow, Answer, Decision, Decline, ElicitationAsked, Refuse, SamplingAsked
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.browser import open_page
from mcphost.terminal.output import note
from mcphost.text import json_line, printable, shortened

_SECRET = re.compile(r"\b(?:password|passphrase|secret|api[ _-]?key|token|pin)\b|密码|口令", re.IGNORECASE)
_SHOWN = 600
"""Characters of a message that are shown before the rest is asked for."""


class Given(Exception):
    """The person answered the whole question while a field was asked about: no, or not at all."""

    def __init__(self, answer: Decline) -> None:
        super().__init__()
        self.answer = answer


async def form(asked: ElicitationAsked, lines: Lines) -> Answer:
    """Ask for each field, and then whether what was typed may be sent."""
    fields = elicitation.fields(asked.schema)
    note(f"{printable(asked.server)} asks: {printable(asked.message)}", style="cyan")
    note("Enter leaves a field as it is; ! answers nothing; Ctrl-D declines.")
    if any(_looks_secret(field) for field in fields):
        note("Never type a password or a key here: servers must not ask for them.", style="yellow")
    content: dict[str, Any] = {}
    try:
        while True:
            for field in fields:
                content = await _filled(field, content, lines)
            note(f"This would be sent to {printable(asked.server)}:\n{json_line(content, indent=2)}")
            match await _one_of(lines, "Send it? [y]es, [e]dit, [N]o: ", yes="y", edit="e"):
                case "yes":
                    return Accept(content)
                case "edit":
                    continue
                case _:
                    return Decline()
    except Given as exc:
        return exc.answer


async def _filled(field: Field, content: Mapping[str, Any], lines: Lines) -> dict[str, Any]:
    """`content` with what is typed for a field. Raises `Given`."""
    now = content.get(field.name, field.default)
    note(_about(field))
    for number, (value, name) in enumerate(field.choices, 1):
        note(f"  {number}. {printable(name)}" + (f" ({printable(value)})" if name != value else ""))
    while True:
        shown = "" if now is None else f" [{printable(_text(now))}]"
        typed = await _line(lines, f"{printable(field.name)}{shown}: ")
        if typed.strip() == "!":
            raise Given(Decline(cancelled=True))
        if not typed.strip():
            if now is None and field.required:
                note(f"{printable(field.name)} is needed.", style="yellow")
                continue
            return {**content, field.name: now} if now is not None else dict(content)
        try:
            return {**content, field.name: elicitation.typed(field, typed)}
        except ValueError as exc:
            note(f"{printable(field.name)} {exc}.", style="yellow")


def _about(field: Field) -> str:
    kind = {"text": field.format or "text", "choices": "some of these"}.get(field.kind, field.kind)
    needed = "" if field.required else ", may be left out"
    description = f": {printable(field.description)}" if field.description else ""
    return f"{printable(field.title)} ({kind}{needed}){description}"


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return str(value)


def _looks_secret(field: Field) -> bool:
    return _SECRET.search(f"{field.name} {field.title} {field.description}") is not None


async def page(asked: ElicitationAsked, lines: Lines) -> Answer:
    """Show the whole address, and open it only when the person says so. It is not fetched before."""
    url = asked.url or ""
    note(f"{printable(asked.server)} asks you to visit a page: {printable(asked.message)}", style="cyan")
    note(f"  {printable(url)}")
    note(f"It is at {printable(urlsplit(url).hostname or '')}. Go there only if you know it.", style="yellow")
    try:
        answer = await _one_of(lines, "Open it in the browser? [y]es, [N]o: ", yes="y")
    except Given as exc:
        return exc.answer
    if answer != "yes":
        return Decline()
    if not await open_page(url):
        note("No browser could be opened here: please open the address above yourself.", style="yellow")
    return Accept()


async def sampling(asked: SamplingAsked, lines: Lines, allowed: set[str]) -> Decision:
    """Ask whether a server may have the model answer. `allowed` are the servers that always may."""
    if asked.server in allowed:
        return Allow()
    note(f"{printable(asked.server)} wants your model to answer, in at most {asked.max_tokens} tokens:")
    whole = "\n".join(f"{message['role']}: {_content(message['content'])}" for message in asked.messages)
    note(printable(shortened(whole, _SHOWN)))
    if asked.tools:
        note(f"It may ask for these tools of that server: {printable(', '.join(asked.tools))}")
    more = ", [v]iew all" if len(whole) > _SHOWN else ""
    question = f"Let it? [y]es, [a]lways this server{more}, [N]o: "
    try:
        while (answer := await _one_of(lines, question, yes="y", always="a", view="v")) == "view":
            note(printable(whole))
    except Given:
        answer = "no"
    if answer == "always":
        allowed.add(asked.server)
    return Allow() if answer in ("yes", "always") else Refuse("the user refused to have the model answer")


def _content(content: object) -> str:
    return content if isinstance(content, str) else json_line(content)


async def _one_of(lines: Lines, question: str, **letters: str) -> str:
    """The answer of that letter or word, "no" for nothing; what is neither is asked again."""
    while True:
        typed = (await _line(lines, question)).strip().lower()
        if typed in ("", "n", "no", "否"):
            return "no"
        for word, letter in letters.items():
            if typed in (word, letter) or (word == "yes" and typed == "是"):
                return word
        note(f"Please answer {', '.join(letters.values())} or n.")


async def _line(lines: Lines, question: str) -> str:
    try:
        return await lines.line(question)
    except Ended:
        raise Given(Decline()) from None
