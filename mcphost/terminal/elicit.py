"""Asking the person at the terminal what a server wants to know, and whether it may use the model."""

import re
from collections.abc import Mapping
from typing import Any

from mcphost import elicitation
from mcphost.elicitation import Field
from mcphost.hooks import Accept, Allow, Answer, Decision, Decline, ElicitationAsked, Refuse, SamplingAsked
from mcphost.messages import Message
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.browser import open_page
from mcphost.terminal.output import note
from mcphost.text import json_line, one_line, printable, shortened

_SECRET = re.compile(
    r"passw|pass(?:phrase|code)|secret(?!ar)|credential|token(?!s|i[sz])|one[ _-]?time[ _-]?(?:code|pass)"
    r"|(?:api|private|access)[ _-]?key|card[ _-]?number"
    r"|(?<![a-z])(?:pwd|pin|otp|cvv|cvc)(?![a-z])|密码|口令|密钥|验证码",
    re.IGNORECASE,
)
_SHOWN = 600
"""Characters of a message that are shown before the rest is asked for."""
_MEDIA = {"image_url": "[a picture]", "input_audio": "[a sound]"}
_NAME = 200
"""Characters of what a server calls something."""


class Given(Exception):
    """The person answered the whole question while a field was asked about: no, or not at all."""

    def __init__(self, answer: Decline) -> None:
        super().__init__()
        self.answer = answer


async def form(asked: ElicitationAsked, lines: Lines) -> Answer:
    """Ask for each field, and then whether what was typed may be sent."""
    fields = elicitation.fields(asked.schema)
    note(f"{printable(asked.server)} asks: {_quoted(asked.message)}", style="cyan")
    note("Enter leaves a field as it is; ! answers nothing; Ctrl-D declines.")
    if any(map(looks_secret, fields)):
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
    for number, (value, called) in enumerate(field.choices, 1):
        note(f"  {number}. {_line_of(called)}" + (f" ({_line_of(value)})" if called != str(value) else ""))
    name = _line_of(field.name)
    shown = "" if now is None else f" [{_line_of(_text(now))}]"
    while True:
        typed = await _line(lines, f"{name}{shown}: ")
        if not typed.strip():
            if now is None and field.required:
                note(f"{name} is needed.", style="yellow")
                continue
            return {**content, field.name: now} if now is not None else dict(content)
        try:
            return {**content, field.name: elicitation.typed(field, typed)}
        except ValueError as exc:
            note(f"{name} {_line_of(exc)}.", style="yellow")


def _about(field: Field) -> str:
    kind = {"text": field.format or "text", "choices": "some of these"}.get(field.kind, field.kind)
    needed = "" if field.required else ", may be left out"
    like = f", such as {field.pattern} describes" if field.pattern else ""
    description = f": {_quoted(field.description)}" if field.description else ""
    return f"{_line_of(field.title)} ({_line_of(f'{kind}{like}{needed}')}){description}"


def _line_of(text: object) -> str:
    """What a server calls something, so that it cannot pass for a line of ours."""
    return one_line(str(text), _NAME)


def _quoted(text: str) -> str:
    """A server's own words, whose lines are further in than ours."""
    return printable(text).replace("\n", "\n    ")


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return str(value)


def looks_secret(field: Field) -> bool:
    """Whether a field seems to want what no server may ask for in a form (MCP specification,
    client/elicitation)."""
    return _SECRET.search(f"{field.name} {field.title} {field.description}") is not None


async def page(asked: ElicitationAsked, lines: Lines) -> Answer:
    """Show the whole address, and open it only when the person says so. It is not fetched before."""
    url = asked.url or ""
    host = elicitation.shown_host(url)
    note(f"{printable(asked.server)} asks you to visit a page: {_quoted(asked.message)}", style="cyan")
    note(f"  {printable(url)}")
    note(f"It is at {printable(host)}. Go there only if you know it.", style="yellow")
    if "xn--" in host:
        note("Letters of that name are not ASCII, and can look like those of another.", style="yellow")
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
    whole = "\n".join(f"  {message['role']}: {_quoted(_content(message))}" for message in asked.messages)
    note(shortened(whole, _SHOWN))
    if asked.tools:
        note(f"It may ask for these tools of that server: {', '.join(map(_line_of, asked.tools))}")
    more = ", [v]iew all" if len(whole) > _SHOWN else ""
    question = f"Let it? [y]es, [a]lways this server{more}, [N]o: "
    try:
        while (answer := await _one_of(lines, question, yes="y", always="a", view="v")) == "view":
            note(whole)
    except Given:
        answer = "no"
    if answer == "always":
        allowed.add(asked.server)
    return Allow() if answer in ("yes", "always") else Refuse("the user refused to have the model answer")


def _content(message: Message) -> str:
    """A message as text: pictures and sounds by what they are, calls of tools with their arguments."""
    content: Any = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    parts = [part.get("text", _MEDIA.get(part["type"], "")) for part in content]
    functions = [call["function"] for call in message.get("tool_calls", ())]
    parts += [f"[calls {function['name']} with {function['arguments']}]" for function in functions]
    return "\n".join(part for part in parts if part)


async def _one_of(lines: Lines, question: str, **letters: str) -> str:
    """The answer of that letter or word, "no" for nothing; what is neither is asked again. Raises `Given`."""
    while True:
        typed = (await _line(lines, question)).strip().lower()
        if typed in ("", "n", "no", "否"):
            return "no"
        for word, letter in letters.items():
            if typed in (word, letter) or (word == "yes" and typed == "是"):
                return word
        note(f"Please answer {', '.join(letters.values())} or n.")


async def _line(lines: Lines, question: str) -> str:
    """What is typed. Raises `Given`."""
    try:
        typed = await lines.line(question)
    except Ended:
        raise Given(Decline()) from None
    if typed.strip() == "!":
        raise Given(Decline(cancelled=True))
    return typed
