"""What the full test server does: tools that make it act, ask and tell, and prompts and resources to read.

Nothing in it waits for time to pass: what takes long waits for a file, and says that it does by making one
beside it with `.awaited` added.
"""

import inspect
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmptyResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    PingRequest,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
KINDS = ("tools", "prompts", "resources")

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 40},
        "mail": {"type": "string", "format": "email", "description": "where the ticket goes"},
        "page": {"type": "string", "format": "uri"},
        "day": {"type": "string", "format": "date"},
        "departure": {"type": "string", "format": "date-time"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "budget": {"type": "number", "minimum": 0},
        "window": {"type": "boolean", "default": True},
        "class": {"type": "string", "enum": ["first", "second"], "default": "second"},
        "train": {"type": "string", "enum": ["g", "d"], "enumNames": ["Fast", "Slower"]},
        "meal": {
            "type": "string",
            "oneOf": [{"const": "rice", "title": "Rice"}, {"const": "none", "title": "-"}],
        },
        "extras": {"type": "array", "items": {"type": "string", "enum": ["tea", "paper"]}, "maxItems": 2},
        "stops": {"type": "array", "items": {"anyOf": [{"const": "szv", "title": "Suzhou"}]}},
    },
    "required": ["name", "seats"],
}
"""Every kind of field that a form may have."""

_ANSWERS = {
    "ping": EmptyResult,
    "roots/list": ListRootsResult,
    "sampling/createMessage": CreateMessageResultWithTools,
    "elicitation/create": ElicitResult,
}
_CHANGED = {"tools": ToolsListChanged, "prompts": PromptsListChanged, "resources": ResourcesListChanged}


class NeedsInput(Exception):
    """Not before the client has answered `requests` (2026-07-28)."""

    def __init__(self, requests):
        super().__init__()
        self.requests = requests


class Bus(InMemorySubscriptionBus):
    """Tells when somebody listens."""

    def __init__(self, listening: anyio.Event):
        super().__init__()
        self._listening = listening

    def subscribe(self, listener):
        unsubscribe = super().subscribe(listener)
        self._listening.set()
        return unsubscribe


class Features:
    """The state of one server process."""

    def __init__(self):
        self.added = {kind: {} for kind in KINDS}
        self.texts = {"memo://today": "milk, bread"}
        self.subscribed = set()
        self.level = "debug"
        self.unlocked = set()
        self.heard = []
        self.news = anyio.Event()
        self.beside = anyio.Event()
        """There is a way to the client beside its calls (handshake revisions)."""
        self.listening = anyio.Event()
        """Somebody listens to changes (2026-07-28)."""
        self.bus = Bus(self.listening)

    @asynccontextmanager
    async def lifespan(self, _server):
        async with anyio.create_task_group() as tasks:
            self.tasks = tasks  # over SSE there is one for each connection
            yield {}
            tasks.cancel_scope.cancel()

    async def hear(self, context, call_next):
        """Middleware: note what comes."""
        self.heard.append((context.method, dict(context.params or {})))
        self.news.set()
        self.news = anyio.Event()
        return await call_next(context)


@dataclass
class Asker:
    """A request that is being answered, and through which the client can be asked."""

    features: Features
    context: ServerRequestContext
    params: Any

    @property
    def modern(self):
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, **requests):
        """What the client answers to requests, by the same names: its result, or `{"error": …}`."""
        if not self.modern:
            return {name: await self._send(request) for name, request in requests.items()}
        if self.params.input_responses is None:
            raise NeedsInput(requests)
        assert self.params.request_state == _state(requests), "the state did not come back as it was sent"
        return {
            name: answer.model_dump(by_alias=True, mode="json", exclude_none=True)
            for name, answer in self.params.input_responses.items()
        }

    async def _send(self, request):
        on_its_own = request.method in ("ping", "roots/list")  # what belongs to no call goes beside all calls
        if on_its_own:
            await self.features.beside.wait()
        metadata = ServerMessageMetadata(related_request_id=None if on_its_own else self.context.request_id)
        try:
            answer = await self.context.session.send_request(
                request, _ANSWERS[request.method], metadata=metadata
            )
        except MCPError as exc:
            return {"error": exc.error.model_dump(exclude_none=True)}
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def announce(self, kind):
        """Tell that a list has changed."""
        if self.modern:
            await self.features.listening.wait()
            await self.features.bus.publish(_CHANGED[kind]())
        else:
            await self.features.beside.wait()
            await getattr(self.context.session, f"send_{kind.removesuffix('s')}_list_changed")()

    async def updated(self, uri):
        """Tell who subscribed that a resource has changed."""
        if self.modern:
            await self.features.bus.publish(ResourceUpdated(uri))
        elif uri in self.features.subscribed:
            await self.features.beside.wait()
            await self.context.session.send_resource_updated(uri)


def needs_input(requests):
    """The result that stands for `NeedsInput`."""
    return InputRequiredResult(input_requests=requests, request_state=_state(requests))


def _state(requests):
    return f'asked for {", ".join(requests)} / é 中 "state"'


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


def is_there(path):
    return Path(path).exists()


def make(path):
    Path(path).touch()


async def exists(path):
    """Wait for a file."""
    make(path + ".awaited")
    while not is_there(path):  # noqa: ASYNC110 (files have no events)
        await anyio.sleep(0.01)


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


def form(message, schema=FORM):
    """A request to fill in a form."""
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


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
async def locked(asker: Asker, url: str, visited: str):
    """Refuses to run until the user has visited a page, which is when the file `visited` exists."""
    features = asker.features
    if url in features.unlocked:
        return "unlocked"

    async def watch():
        await exists(visited)
        features.unlocked.add(url)
        await features.beside.wait()
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
