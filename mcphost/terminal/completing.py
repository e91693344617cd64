"""What the chat's input line can be completed to."""

import re
from collections.abc import AsyncGenerator, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from mcphost.config import Limits
from mcphost.errors import McphostError
from mcphost.finding import prompt as find_prompt
from mcphost.host import Host
from mcphost.terminal.commands import COMMANDS
from mcphost.text import one_line

_SECONDS: Final = 2.0
"""How long a server is waited for."""

_MOST: Final = 200
_WORDS: Final = {
    "/servers": ("reconnect", "enable", "disable"),
    "/approve": ("writes", "always", "never", "forget"),
    "/trace": ("off",),
    "/limits": tuple(Limits.model_fields),
    "/set": ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort"),
}
_FILES: Final = ("/save", "/load", "/export", "/trace")

_Found = tuple[str, str]
"""A completion, and what is about it."""


class ChatCompleter(Completer):
    """Commands, and what they take; prompts with their arguments; `@` files and resources; tools' names."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del document, complete_event
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        word = re.split(r"\s", text)[-1]
        found: list[_Found] = []
        try:
            with anyio.move_on_after(_SECONDS):
                found = await self._found(text, word, asked=complete_event.completion_requested)
        except (McphostError, TimeoutError, OSError):
            pass  # what cannot be found out cannot be offered
        for value, about in found[:_MOST]:
            yield Completion(value, start_position=-len(word), display_meta=one_line(about, 60))

    async def _found(self, text: str, word: str, *, asked: bool) -> list[_Found]:
        name, space, rest = text.lstrip().partition(" ")
        if name.startswith("/") and not space:
            commands = [(each.name, each.about) for each in COMMANDS]
            return _starting(name, commands + await self._prompts())
        if name.startswith("/") and ":" in name:
            return await self._prompt_arguments(name, rest, word)
        if word.startswith("@"):
            return await self._mentions(word[1:])
        if name in _FILES:
            return await anyio.to_thread.run_sync(_files, word, "")
        if name.startswith("/"):
            return _starting(word, self._arguments(name, rest))
        tools = [
            (route.name, f"{route.server}/{route.tool}") for route in self._host.catalog().routes.values()
        ]
        return _starting(word, tools) if asked and len(word) > 1 else []

    def _arguments(self, name: str, rest: str) -> list[_Found]:
        words = _WORDS.get(name, ())
        match name:
            case "/help":
                return [(each.name.removeprefix("/"), each.about) for each in COMMANDS]
            case "/tools":
                return [(each.name, each.server) for each in self._host.catalog().routes.values()]
            case "/servers" if " " in rest:
                return [(server.name, server.state) for server in self._host.servers.values()]
            case _:
                return [(each, "") for each in words] if " " not in rest else []

    async def _prompts(self) -> list[_Found]:
        prompts = await self._host.prompts()
        return [(f"/{each.server}:{each.name}", each.description or each.title) for each in prompts]

    async def _prompt_arguments(self, name: str, rest: str, word: str) -> list[_Found]:
        server, _, wanted = name[1:].partition(":")
        prompt = find_prompt(await self._host.prompts(server), wanted)
        key, equals, value = word.partition("=")
        if not equals:
            keys = [
                (f"{each.name}=", each.description)
                for each in prompt.arguments
                if f"{each.name}=" not in rest
            ]
            return _starting(word, keys)
        context = dict(part.split("=", 1) for part in rest.split() if "=" in part and part != word)
        completion = await self._host.complete(
            value, prompt=prompt.name, argument=key, context=context, server=server
        )
        return [(f"{key}={each}", "") for each in completion.values]

    async def _mentions(self, word: str) -> list[_Found]:
        found = await anyio.to_thread.run_sync(_files, word.lstrip('"'), "@")
        server, colon, uri = word.partition(":")
        if not colon:
            found += _starting(f"@{word}", [(f"@{name}:", "resources") for name in self._host.servers])
        elif server in self._host.servers:
            resources = await self._host.resources(server)
            shown = [(f"@{server}:{each.uri}", each.description or each.name) for each in resources]
            near = [each for each in shown if uri in each[0]]
            found += near or shown
        return found


def _starting(word: str, found: Iterable[_Found]) -> list[_Found]:
    """Those that go on with `word`, or else those that hold it, or are nearly it."""
    known = list(found)
    names = [name for name, _ in known]
    wanted = [name for name in names if name.startswith(word)] or [name for name in names if word in name]
    wanted = wanted or get_close_matches(word, names, n=3, cutoff=0.7)
    return [each for each in known if each[0] in wanted]


def _files(word: str, sign: str) -> list[_Found]:
    """The files and folders whose paths go on with `word`."""
    folder, slash, start = word.rpartition("/")
    place = Path(folder or "/" if slash else ".").expanduser()
    found: list[_Found] = []
    try:
        entries = sorted(place.iterdir())
    except (OSError, RuntimeError):
        return []
    for entry in entries:
        name = entry.name
        if not name.startswith(start) or (name.startswith(".") and not start):
            continue
        path = f"{folder}{slash}{name}{'/' if entry.is_dir() else ''}"
        found.append((f'{sign}"{path}"' if sign and " " in path else f"{sign}{path}", ""))
    return found
