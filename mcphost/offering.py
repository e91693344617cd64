"""What one server offers besides calls to its tools: prompts, resources, completions, and word of changes."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup

from mcphost.errors import McphostError
from mcphost.events import Event, ListChanged, ResourceUpdated, ServerLog
from mcphost.jsontext import as_list
from mcphost.lists import Lists
from mcphost.offers import (
    Completion,
    Contents,
    Prompt,
    Resource,
    ResourceTemplate,
    What,
    completion,
    contents,
    prompts,
    resource_templates,
    resources,
)
from mcphost.text import json_text

if TYPE_CHECKING:
    from mcphost.session import Session

T = TypeVar("T")

_STALE: Final[Mapping[str, tuple[What, ...]]] = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/prompts/list_changed": ("prompts",),
    "notifications/resources/list_changed": ("resources", "templates"),
}

_ATTEND_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


class Connected(Protocol):
    """A server, as far as its offering needs it; see `Server`."""

    @property
    def name(self) -> str: ...

    async def request(
        self,
        ask: "Callable[[Session, float], Awaitable[T]]",
        *,
        seconds: float | None = None,
        repeatable: bool,
    ) -> T: ...

    def masked(self, text: str) -> str: ...


class Offering:
    """One server's prompts and resources. All requests raise as `Server.call` does.

    `tell` is told of what happens, `relisted` of other tools.
    """

    def __init__(
        self,
        server: Connected,
        *,
        tell: Callable[[Event], None],
        relisted: Callable[[tuple[Any, ...]], None],
    ) -> None:
        self._server = server
        self._tell = tell
        self._relisted = relisted
        self._lists = Lists(server.name, self._list_changed)
        self._subscribed: frozenset[str] = frozenset()
        self._subscribing = anyio.Lock()

    async def prompts(self) -> list[Prompt]:
        """The prompts that it offers."""
        return prompts(self._server.name, await self._lists.get("prompts", self._fetch))

    async def resources(self) -> list[Resource]:
        """The resources that it lists."""
        return resources(self._server.name, await self._lists.get("resources", self._fetch))

    async def resource_templates(self) -> list[ResourceTemplate]:
        """The templates of resources that it lists."""
        return resource_templates(self._server.name, await self._lists.get("templates", self._fetch))

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> Mapping[str, Any]:
        """A prompt filled in: its `GetPromptResult` as the server sent it."""
        return await self._server.request(
            lambda session, left: session.get_prompt(name, arguments, seconds=left), repeatable=True
        )

    async def read_resource(self, uri: str) -> tuple[Contents, ...]:
        """What a resource holds."""
        raw = await self._server.request(
            lambda session, left: session.read(uri, seconds=left), repeatable=True
        )
        parts = contents(raw, uri)
        given = as_list(raw.get("contents"))
        left_out = 1 if given is None else len(given) - len(parts)
        if left_out:
            text = "%s: %d of the contents of %s left out: neither text nor base64"
            logger.warning(text, self._server.name, left_out, uri)
        return parts

    async def complete(
        self, reference: Mapping[str, str], argument: Mapping[str, str], context: Mapping[str, str]
    ) -> Completion:
        """What the value of an argument may go on with; nothing where the server does not complete. See
        `Session.complete` for the shapes."""

        async def ask(session: "Session", left: float) -> Mapping[str, Any]:
            if "completions" not in session.capabilities:
                return {}
            return await session.complete(reference, argument, context, seconds=left)

        return completion(await self._server.request(ask, repeatable=True))

    async def subscribe(self, uri: str) -> None:
        """Be told, by `ResourceUpdated` events, when a resource changes, on later connections too. Raises
        `ToolError` where the server does not tell."""
        async with self._subscribing:
            await self._listen_to(self._subscribed | {uri})

    async def unsubscribe(self, uri: str) -> None:
        """Take `subscribe` back."""
        async with self._subscribing:
            await self._listen_to(self._subscribed - {uri})

    async def _listen_to(self, uris: frozenset[str]) -> None:
        await self._server.request(
            lambda session, left: session.listen(uris, before=self._subscribed, seconds=left), repeatable=True
        )
        self._subscribed = uris

    @property
    def is_fresh(self) -> bool:
        """Whether they are, as far as it has told."""
        return self._lists.is_settled

    async def fresh(self, seconds: float) -> None:
        """Wait until the lists that are known are what the server last told, at most `seconds`."""
        await self._lists.settled(seconds)

    async def begin(self, session: "Session", tasks: TaskGroup) -> None:
        """A new connection. `tasks` end with it. Returns when the server tells of changes, or is slow to."""
        self._lists.begin(session.tools)
        session.begin(tasks, missed=self._missed)
        tasks.start_soon(self._lists.keep, self._fetch)
        attending = anyio.Event()
        tasks.start_soon(self._attend, session, attending)
        with anyio.move_on_after(_ATTEND_SECONDS):
            await attending.wait()

    async def _attend(self, session: "Session", attending: anyio.Event) -> None:
        """Ask a new connection for all that it should tell."""
        try:
            async with self._subscribing:
                await session.attend(self._subscribed)
        except (McphostError, TimeoutError) as exc:
            logger.info("%s: it will not tell of all changes: %s", self._server.name, exc)
        if session.is_modern:
            self._lists.missed()  # they may have changed after they were listed, before this was heard
        attending.set()
        self._tell_updated()  # what changed before this connection is not known

    def _missed(self) -> None:
        """Some notices may not have come."""
        self._lists.missed()
        self._tell_updated()

    def _tell_updated(self) -> None:
        for uri in sorted(self._subscribed):
            self._tell(ResourceUpdated(self._server.name, uri))

    def hear(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification of the server's."""
        name = self._server.name
        match method:
            case "notifications/message":
                data, level = params.get("data"), params.get("level")
                text = data if isinstance(data, str) else json_text(data)
                level = level if isinstance(level, str) else "info"
                self._tell(ServerLog(name, level, self._server.masked(text)))
            case "notifications/resources/updated":
                if isinstance(uri := params.get("uri"), str):
                    self._tell(ResourceUpdated(name, uri))
            case _:
                self._lists.notice(*_STALE[method])

    def _list_changed(self, what: What) -> None:
        if what == "tools":
            self._relisted(self._lists.tools)
        else:
            self._tell(ListChanged(self._server.name, "prompts" if what == "prompts" else "resources"))

    async def _fetch(self, what: What) -> tuple[Any, ...]:
        return await self._server.request(
            lambda session, left: session.fetch(what, seconds=left), repeatable=True
        )
