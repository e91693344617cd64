"""What the full test server knows, and how it asks its client and tells it of changes."""

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
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmptyResult,
    InputRequiredResult,
    ListRootsResult,
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


def form(message, schema=FORM):
    """A request to fill in a form."""
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def is_there(path):
    return Path(path).exists()


def make(path):
    Path(path).touch()


async def exists(path):
    """Wait for a file."""
    make(path + ".awaited")
    while not is_there(path):  # noqa: ASYNC110 (files have no events)
        await anyio.sleep(0.01)
