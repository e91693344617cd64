"""The tools of the full test server, which make it act, ask and tell.

Nothing in them waits for time to pass: what takes long waits for a file, and says that it does by making one
beside it with `.awaited` added.
"""

import inspect
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from full_features import FORM, LEVELS, Asker, NeedsInput, exists, form, is_there, make
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestURLParams,
    ListRootsRequest,
    PingRequest,
    TextContent,
    Tool,
)

TOOLS: dict[str, tuple[Tool, Callable[..., Awaitable[Any]]]] = {}
_TYPES = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array"}


def tool(function):
    """Offer a function as a tool: what it is given after the `Asker` are its arguments."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    schema = {
        "type": "object",
        "properties": {each.name: {"type": _TYPES[each.annotation]} for each in parameters},
        "required": [each.name for each in parameters if each.default is each.empty],
    }
    listed = Tool(name=function.__name__, description=function.__doc__, input_schema=schema)
    TOOLS[function.__name__] = (listed, function)
    return function


@tool
async def add(asker: Asker, kind: str, name: str, quiet: bool = False):
    """Adds a tool, a prompt or a resource, and tells unless it is to be quiet."""
    asker.features.added[kind][name] = True
    if not quiet:
        await asker.announce(kind)
    return f"{name} is there"


@tool
async def remove(asker: Asker, kind: str, name: str):
    """Removes what was added."""
    del asker.features.added[kind][name]
    await asker.announce(kind)
    return f"{name} is gone"


@tool
async def announce(asker: Asker, kind: str, times: int):
    """Tells many times that a list changed."""
    for _ in range(times):
        await asker.announce(kind)
    return "told"


@tool
async def update(asker: Asker, uri: str, text: str):
    """Gives a resource another text."""
    asker.features.texts[uri] = text
    await asker.updated(uri)
    return "updated"


@tool
async def work(asker: Asker, gate: str, steps: int):
    """Does step after step, each when the file `gate` with `.1`, `.2` … added exists, and reports it."""
    for step in range(1, steps + 1):
        await exists(f"{gate}.{step}")
        await asker.context.session.report_progress(step, steps, f"step {step}")
    return "worked"


@tool
async def toil(asker: Asker, gate: str):
    """Reports progress again and again until a file exists."""
    steps = 0
    while not is_there(gate):
        steps += 1
        await asker.context.session.report_progress(steps)
        await anyio.sleep(0.02)
    return "toiled"


@tool
async def wait(_: Asker, until: str):
    """Keeps silent until a file exists. Makes one with `.cancelled` added when it is told to stop."""
    try:
        await exists(until)
    except anyio.get_cancelled_exc_class():
        make(until + ".cancelled")
        raise
    return "it is there"


@tool
async def big(_: Asker, size: int):
    """Gives so many bytes."""
    return "0123456789abcdef" * (size // 16)


@tool
async def log(asker: Asker, text: str, levels: list = LEVELS):
    """Logs a text at each level."""
    for level in levels:
        wanted = asker.modern or LEVELS.index(level) >= LEVELS.index(asker.features.level)
        if wanted:  # for 2026-07-28 the session looks at what the request says
            await asker.context.session.send_log_message(
                level, text, "full", related_request_id=asker.context.request_id
            )
    return "logged"


@tool
async def heard(asker: Asker, method: str, times: int = 1):
    """The params of the messages of a method, once so many have come."""
    features = asker.features
    while len(found := [params for name, params in features.heard if name == method]) < times:
        await features.news.wait()
    return found


@tool
async def ping(asker: Asker):
    """Asks the client whether it is there."""
    return (await asker.ask(ping=PingRequest()))["ping"]


@tool
async def roots(asker: Asker):
    """Asks for the folders to work in."""
    return (await asker.ask(roots=ListRootsRequest()))["roots"]


def _sampling(text, more):
    given = {
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "maxTokens": 100,
        **more,
    }
    return CreateMessageRequest(params=CreateMessageRequestParams.model_validate(given))


@tool
async def sample(asker: Asker, text: str, more: dict = {}):  # noqa: B006
    """Asks for the model's answer to a text; `more` are params of the request."""
    return (await asker.ask(answer=_sampling(text, more)))["answer"]


@tool
async def ask(asker: Asker, message: str, schema: dict = FORM):
    """Asks the user to fill in a form: one with every kind of field, or that of `schema`."""
    return (await asker.ask(form=form(message, schema)))["form"]


def _page(url, elicitation_id):
    return ElicitRequestURLParams(message="log in first", url=url, elicitation_id=elicitation_id)


@tool
async def visit(asker: Asker, url: str):
    """Asks the user to visit a page."""
    return (await asker.ask(page=ElicitRequest(params=_page(url, "page-1"))))["page"]


@tool
async def locked(asker: Asker, url: str, visited: str, silent: bool = False):
    """Refuses to run until the user has visited a page, which is when the file `visited` exists; tells of
    that, unless it is `silent`."""
    features = asker.features
    if url in features.unlocked:
        return "unlocked"

    async def watch():
        await exists(visited)
        features.unlocked.add(url)
        await features.beside.wait()
        if not silent:
            await asker.context.session.send_elicit_complete("page-2")

    features.tasks.start_soon(watch)
    raise UrlElicitationRequiredError([_page(url, "page-2")], "this needs a login")


@tool
async def survey(asker: Asker, text: str):
    """Asks for three things: the folders, a form, and the model's answer."""
    return await asker.ask(roots=ListRootsRequest(), form=form("how was it?"), answer=_sampling(text, {}))


@tool
async def insist(asker: Asker):
    """Asks for the same thing for ever, where the revision lets it."""
    if asker.modern:
        raise NeedsInput({"form": form("again?")})
    return "once"


@tool
async def end(_: Asker):
    """Ends the server's process, in the middle of the call."""
    os._exit(7)


async def call_tool(asker: Asker, name: str, arguments: Mapping[str, Any]):
    """The result of a tool: its text, or what it gives as JSON."""
    if name in asker.features.added["tools"]:
        value = f"{name} was added"
    elif name in TOOLS:
        value = await TOOLS[name][1](asker, **arguments)
    else:
        raise MCPError(INVALID_PARAMS, f"there is no tool {name}")
    text = value if isinstance(value, str) else json.dumps(value)
    return CallToolResult(content=[TextContent(type="text", text=text)])
