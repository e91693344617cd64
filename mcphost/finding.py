"""Which server has a prompt or a resource, among those of a host."""

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

import anyio

from mcphost.errors import ConfigError, McphostError
from mcphost.offers import Prompt, Resource, ResourceTemplate
from mcphost.server import Server

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def gathered(
    servers: Mapping[str, Server], name: str | None, ask: Callable[[Server], Awaitable[Sequence[T]]]
) -> list[T]:
    """What all servers that are connected answer, in their order; or the one of that name. One that is lost
    is waited for, as by a call.

    One that fails is left out, with a warning in the log. Raises `ConfigError` for an unknown name, and what
    the one server that was named raises, or the only one that was asked.
    """
    if name is not None:
        return list(await ask(named(servers, name)))
    asked = [server for server in servers.values() if server.state in ("ready", "lost")]
    if len(asked) == 1:
        return list(await ask(asked[0]))
    found: dict[str, Sequence[T]] = {}

    async def collect(server: Server) -> None:
        try:
            found[server.name] = await ask(server)
        except (McphostError, TimeoutError) as exc:
            logger.warning("%s: left out: %s", server.name, exc)

    async with anyio.create_task_group() as tg:
        for server in asked:
            tg.start_soon(collect, server)
    return [item for server in servers for item in found.get(server, ())]


def named(servers: Mapping[str, Server], name: str) -> Server:
    """A server by its name. Raises `ConfigError` where there is none."""
    if name not in servers:
        raise ConfigError(f"no server is called {name!r}", hint=nearest(name, servers))
    return servers[name]


def prompt(prompts: Sequence[Prompt], name: str) -> Prompt:
    """The prompt of a name, or of `server/name`. Raises `ConfigError` for none, or for several."""
    found = [item for item in prompts if name in (item.name, f"{item.server}/{item.name}")]
    if not found:
        raise ConfigError(
            f"no server offers a prompt {name!r}", hint=nearest(name, [item.name for item in prompts])
        )
    if len(found) > 1:
        names = ", ".join(f"{item.server}/{item.name}" for item in found)
        raise ConfigError(f"several servers offer a prompt {name!r}", hint=f"Name one of {names}.")
    return found[0]


def arguments(prompt: Prompt, given: Mapping[str, object]) -> dict[str, str]:
    """The arguments for a prompt, as texts. Raises `ConfigError` for one that is unknown or missing."""
    known = [argument.name for argument in prompt.arguments]
    for name in given:
        if name not in known:
            raise ConfigError(f"the prompt {prompt.name} has no argument {name!r}", hint=nearest(name, known))
    missing = [each.name for each in prompt.arguments if each.required and given.get(each.name) is None]
    if missing:
        needs = f"the prompt {prompt.name} needs {' and '.join(missing)}"
        raise ConfigError(needs, hint=f"Its arguments are {', '.join(known)}.")
    return {name: value if isinstance(value, str) else _text(value) for name, value in given.items()}


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def template(templates: Sequence[ResourceTemplate], uri_template: str) -> ResourceTemplate:
    """The template of that text. Raises `ConfigError` where there is none."""
    for item in templates:
        if item.uri_template == uri_template:
            return item
    known = [item.uri_template for item in templates]
    raise ConfigError(
        f"no server has a template {uri_template!r} of resources", hint=nearest(uri_template, known)
    )


def resource_server(uri: str, resources: Sequence[Resource], templates: Sequence[ResourceTemplate]) -> str:
    """The server that has a resource: the one that lists it, or else has a template for it, or else is the
    only one with resources. Raises `ConfigError` where that is none, or several."""
    listing = [item.server for item in resources if item.uri == uri]
    fitting = [item.server for item in templates if fits(item.uri_template, uri)]
    offering = [*(item.server for item in resources), *(item.server for item in templates)]
    found = list(dict.fromkeys(listing or fitting or offering))
    if len(found) == 1:
        return found[0]
    if not listing and not fitting:
        near = nearest(uri, [item.uri for item in resources])
        raise ConfigError(f"no server is known to have the resource {uri!r}", hint=near)
    names = ", ".join(found)
    raise ConfigError(f"several servers have the resource {uri!r}", hint=f"Name one: {names}.")


def fits(template: str, uri: str) -> bool:
    """Whether `uri` can be an expansion of a URI template (RFC 6570), as far as its literal parts tell."""
    pattern = "".join(
        _expansion(part) if part.startswith("{") else re.escape(part)
        for part in re.split(r"(\{[^{}]*\})", template)
    )
    return re.fullmatch(pattern, uri) is not None


def _expansion(expression: str) -> str:
    match expression[1:2]:
        case "+" | "#":
            return ".*"
        case "?" | "&":
            return r"(?:[?&][^#]*)?"
        case "/":
            return r"(?:/[^?#]*)?"
        case _:
            return "[^?#]*" if expression.endswith("*}") else "[^/?#]*"


def nearest(name: str, names: Iterable[str]) -> str:
    """The hint that goes with a name that is not known."""
    names = list(dict.fromkeys(names))
    near = get_close_matches(name, names, n=3) or names[:10]
    return f"There is {', '.join(near)}." if near else "There is none."
