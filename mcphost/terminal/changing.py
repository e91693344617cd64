"""Commands of the chat that change what comes next, or what has been said."""

import json
from pathlib import Path
from typing import Any, cast

from mcphost.errors import ConfigError
from mcphost.messages import Message
from mcphost.terminal.inputs import text_or_file
from mcphost.terminal.output import note
from mcphost.terminal.room import Room
from mcphost.text import json_line, one_line, printable
from mcphost.transcript import Format


async def model(room: Room, rest: str) -> None:
    if rest:
        before, room.talk.tuning.model = room.talk.tuning.model, rest
        try:
            room.talk.model()
        except ConfigError:
            room.talk.tuning.model = before
            raise
    note(f"The model is {printable(room.talk.model_name)}.")


async def system(room: Room, rest: str) -> None:
    if rest:
        room.talk.set_system(text_or_file("/system", rest) or "")
    text = room.talk.system
    note("There is no system prompt." if text is None else f"The system prompt is: {printable(text)}")


async def settings(room: Room, rest: str) -> None:
    options = room.talk.tuning.options
    key, _, value = rest.partition(" ")
    if key and not value:
        if options.pop(key, None) is None:
            raise ConfigError(
                f"{key} is not set", hint=f"/set {key} VALUE sets it, such as /set temperature 0.2"
            )
    elif key:
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    shown = ", ".join(f"{name} = {json_line(each)}" for name, each in options.items())
    note(f"Sent with each request: {shown}." if shown else "Nothing of yours is sent with requests.")


async def undo(room: Room, rest: str) -> None:
    del rest
    said = room.talk.undo()
    if said is None:
        raise ConfigError("there is nothing to undo")
    note(f"Forgotten, with all that followed: {one_line(said, 60)}")


async def retry(room: Room, rest: str) -> None:
    place = room.talk.last_question()
    if place is None:
        raise ConfigError("there is nothing to ask again")
    if rest:
        await model(room, rest)
    room.talk.change(room.talk.messages[: place + 1])
    await room.talk.answer()


async def edit(room: Room, rest: str) -> None:
    del rest
    place = room.talk.last_question()
    said = "" if place is None else room.talk.messages[place]["content"]
    text = await room.front.edited(said if isinstance(said, str) else str(said[0].get("text", "")))
    if text is None:
        raise ConfigError("there is no editor here", hint="$VISUAL or $EDITOR names it; it needs a terminal.")
    if not text.strip():
        note("It is empty, so nothing is asked.")
        return
    if place is not None and text == said:
        note("It is as it was, so nothing is asked.")
        return
    room.talk.undo()
    note(f"> {one_line(text, 200)}")
    await room.talk.say(text)


async def clear(room: Room, rest: str) -> None:
    del rest
    room.talk.clear()
    note("The conversation is forgotten.")


async def compact(room: Room, rest: str) -> None:
    del rest
    await room.talk.compact()


async def save(room: Room, rest: str) -> None:
    if not rest:
        raise ConfigError("/save needs a file", hint="/save talk.json; /load talk.json takes it up again.")
    _write(rest, json.dumps({"messages": room.talk.messages}, ensure_ascii=False, indent=1))
    note(f"{len(room.talk.messages)} messages are in {printable(rest)}.")


async def load(room: Room, rest: str) -> None:
    if not rest:
        raise ConfigError("/load needs a file", hint="/load talk.json, which /save talk.json wrote.")
    try:
        data: Any = json.loads(_read(rest))
    except ValueError as exc:
        raise ConfigError(f"{rest} is not JSON: {exc}") from exc
    room.talk.clear()
    room.talk.change(_messages(rest, data))
    note(f"{len(room.talk.messages)} messages come from {printable(rest)}.")


def _messages(name: str, data: Any) -> list[Message]:
    items = cast("dict[str, Any]", data).get("messages") if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise ConfigError(
            f"{name} holds no messages", hint='It must be {"messages": […]} or a list of messages.'
        )
    messages = cast("list[Any]", items)
    roles = ("system", "developer", "user", "assistant", "tool")
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or cast("Message", message).get("role") not in roles:
            raise ConfigError(f"{name}: message {number} is none: it has no role that is known")
    return messages


async def export(room: Room, rest: str) -> None:
    if not rest:
        raise ConfigError("/export needs a file", hint="/export talk.md, or talk.html, or talk.json")
    form: Format = "json" if rest.endswith(".json") else "html" if rest.endswith(".html") else "md"
    _write(rest, room.talk.transcript().as_text(form))
    note(f"The conversation is in {printable(rest)}.")


def _path(name: str) -> Path:
    return Path(name).expanduser()


def _read(name: str) -> str:
    try:
        return _path(name).read_text(encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"{name} cannot be read: {exc.strerror}") from exc


def _write(name: str, text: str) -> None:
    try:
        path = _path(name)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
    except OSError as exc:
        raise ConfigError(f"{name} cannot be written: {exc.strerror}") from exc


async def trace(room: Room, rest: str) -> None:
    if rest:
        room.host.trace_to(None if rest == "off" else _path(rest))
    place = room.host.traced_to
    note(
        "Nothing is traced; /trace FILE begins." if place is None else f"All requests go to {place} as well."
    )


async def leave(room: Room, rest: str) -> None:
    del rest
    room.left = True
    room.talk.stop()
