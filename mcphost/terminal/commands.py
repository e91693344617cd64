"""The commands of the chat: one table, which help, completion and the chat itself read."""

import shlex
from difflib import get_close_matches
from typing import Final

from mcphost.errors import ConfigError, McphostError
from mcphost.finding import prompt as find_prompt
from mcphost.offers import Prompt
from mcphost.terminal import changing, telling
from mcphost.terminal.ask import Ended
from mcphost.terminal.output import complain, note
from mcphost.terminal.room import Command, Room
from mcphost.text import one_line, printable


async def _help(room: Room, rest: str) -> None:
    name = "/" + rest.removeprefix("/")
    if rest:
        command = BY_NAME.get(name)
        if command is None:
            raise ConfigError(f"there is no command {name}", hint=_near(name))
        note(f"{command.name} {command.arguments}".rstrip())
        note(f"  {command.about}.")
        note(f"  Example: {command.example}")
        return
    rows = [(f"{each.name} {each.arguments}".rstrip(), each.about) for each in COMMANDS]
    room.front.print(telling.table([*rows, ("/SERVER:PROMPT [KEY=VALUE]…", "a prompt that a server offers")]))
    note("@FILE and @SERVER:URI in a message attach a file or a resource. Alt-Enter makes a new line.")
    note("Ctrl-C stops an answer, twice it leaves. Ctrl-O shows the last call whole.")
    note("Ctrl-R searches what was typed before, Ctrl-X Ctrl-E opens your editor.")


COMMANDS: Final = (
    Command("/help", "[COMMAND]", "this list, or one command with an example", "/help tools", _help, True),
    Command(
        "/tools", "[NAME]", "the tools there are, or all about one", "/tools maps_geo", telling.tools, True
    ),
    Command(
        "/servers",
        "[reconnect|enable|disable NAME]",
        "how the servers are; connect one anew, start or stop it",
        "/servers reconnect amap-maps",
        telling.servers,
        True,
    ),
    Command("/prompts", "", "the prompts that servers offer", "/prompts", telling.prompts, True),
    Command("/resources", "", "what can be attached from servers", "/resources", telling.resources, True),
    Command(
        "/model",
        "[NAME]",
        "the model, or another one from now on",
        "/model deepseek/deepseek-chat",
        changing.model,
    ),
    Command(
        "/system",
        "[TEXT|@FILE]",
        "the system prompt, or another one",
        "/system Answer in French.",
        changing.system,
    ),
    Command(
        "/set",
        "[KEY [VALUE]]",
        "what is sent with each request; without VALUE it no longer is",
        "/set temperature 0.2",
        changing.settings,
    ),
    Command("/usage", "", "tokens and money: by request, turn, and in all", "/usage", telling.usage, True),
    Command(
        "/limits",
        "[NAME NUMBER]",
        "the limits, or another one from now on",
        "/limits rounds 50",
        telling.limits,
    ),
    Command("/undo", "", "forget your last message and what followed", "/undo", changing.undo),
    Command(
        "/retry", "[MODEL]", "have your last message answered again", "/retry openai/gpt-4.1", changing.retry
    ),
    Command("/edit", "", "edit your last message, and ask again", "/edit", changing.edit),
    Command("/clear", "", "forget the conversation so far", "/clear", changing.clear),
    Command("/compact", "", "have the model sum up what was said before", "/compact", changing.compact),
    Command("/save", "FILE", "write the conversation into a file", "/save talk.json", changing.save),
    Command("/load", "FILE", "go on with a conversation that was saved", "/load talk.json", changing.load),
    Command(
        "/export",
        "FILE",
        "write the conversation to be read, as Markdown",
        "/export talk.md",
        changing.export,
    ),
    Command("/last", "[N]", "the last call (or the N-th from the end), whole", "/last 2", telling.last, True),
    Command(
        "/reasoning", "", "show the model's reasoning, or fold it", "/reasoning", telling.reasoning, True
    ),
    Command("/copy", "", "copy the last answer", "/copy", telling.copied, True),
    Command(
        "/approve",
        "[writes|always|never|forget [TOOL]]",
        "which calls you are asked about",
        "/approve forget notes/delete",
        telling.approve,
        True,
    ),
    Command(
        "/trace", "[FILE|off]", "record what is sent and received", "/trace trace.jsonl", changing.trace, True
    ),
    Command("/quit", "", "leave; so does Ctrl-D", "/quit", changing.leave, True),
)

BY_NAME: Final = {command.name: command for command in COMMANDS} | {
    "/exit": next(command for command in COMMANDS if command.name == "/quit"),
    "/?": COMMANDS[0],
}


def is_command(text: str) -> bool:
    """Whether a line is a command: not a path, nor something that a slash happens to begin."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word.startswith("/") and (word in BY_NAME or ":" in word or "/" not in word[1:])


def at_once(text: str) -> bool:
    """Whether a command may be carried out while a turn runs."""
    command = BY_NAME.get(text.split(maxsplit=1)[0])
    return command is not None and command.at_once


async def obey(room: Room, text: str) -> None:
    """Carry out a command; its trouble is told."""
    name, _, rest = text.strip().partition(" ")
    try:
        if name in BY_NAME:
            await BY_NAME[name].run(room, rest.strip())
        elif ":" in name:
            await _prompt(room, name[1:], rest)
        else:
            note(f"There is no command {printable(name)}; /help lists them.{_near(name)}")
    except McphostError as exc:
        complain(exc)
    except (OSError, TimeoutError) as exc:
        complain(McphostError(str(exc)))


def _near(name: str) -> str:
    near = get_close_matches(name, BY_NAME, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""


async def _prompt(room: Room, name: str, rest: str) -> None:
    """`/server:prompt key=value …`: put a server's prompt into the conversation, and have it answered."""
    server, _, wanted = name.partition(":")
    if server not in room.host.servers:
        raise ConfigError(f"no server is called {server!r}", hint=f"There is {', '.join(room.host.servers)}.")
    prompt = find_prompt(await room.host.prompts(server), wanted)
    given = _given(prompt, rest)
    for argument in prompt.arguments:
        if argument.required and argument.name not in given:
            about = f" ({printable(argument.description)})" if argument.description else ""
            try:
                given[argument.name] = await room.front.line(f"{printable(argument.name)}{about}: ")
            except Ended:
                return
    reply = await room.host.get_prompt(prompt.name, given, server=server)
    if not reply.messages:
        raise ConfigError(f"the prompt {prompt.name} is empty")
    for message in reply.messages:
        note(f"{message['role']}: {one_line(str(message['content']), 300)}", style="dim")
    room.talk.change([*room.talk.messages, *reply.messages])
    if reply.messages[-1]["role"] == "user":
        await room.talk.answer()


def _given(prompt: Prompt, rest: str) -> dict[str, str]:
    """`key=value` words as arguments; where there is one argument, what is no such word is its value."""
    try:
        words = shlex.split(rest)
    except ValueError as exc:
        raise ConfigError(f"{rest!r} cannot be read: {exc}") from exc
    names = [argument.name for argument in prompt.arguments]
    if len(names) == 1 and rest and not any(word.startswith(f"{names[0]}=") for word in words):
        return {names[0]: rest.strip()}
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in names:
            raise ConfigError(
                f"{word!r} is no argument of {prompt.name}",
                hint=f"Write {' '.join(f'{each}=…' for each in names)}",
            )
        given[key] = value
    return given


async def take(room: Room, typed: str) -> None:
    """Do what a line says: a command, or something for the model."""
    if is_command(typed):
        await obey(room, typed)
    elif typed.strip():
        await room.talk.say(typed)
