"""A connected server: what it is and offers, and requests to it until it ends."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import anyio
from anyio.abc import TaskGroup
from mcp.client import Client
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ClientRequest,
    EmptyResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptReference,
    ResourceTemplateReference,
    RootsListChangedNotification,
    SetLevelRequest,
    SetLevelRequestParams,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from mcphost.answering import REFUSED, Answering
from mcphost.config import ServerSpec
from mcphost.errors import ServerLost, ToolError
from mcphost.events import ProgressFn
from mcphost.listening import Listening
from mcphost.offers import What
from mcphost.patience import Deadline
from mcphost.text import json_text
from mcphost.transport.process import Child
from mcphost.transport.wire import Wire
from mcphost.trouble import explain, http_status, is_closed, last_words, retry_after, rpc_data

PAGES: Final = 1000
"""More pages of a list than this is a server that pages forever."""

_VISIT_SECONDS: Final = 5.0
"""How long a visit to a page is waited for before the call is tried again."""
_TOO_LARGE: Final = re.compile(r"event exceeded the (\d+) byte limit")
"""How the SDK says that it has given up reading an answer, and only that."""

logger = logging.getLogger(__name__)
Page = ListToolsResult | ListPromptsResult | ListResourcesResult | ListResourceTemplatesResult

_LISTS: Final[Mapping[What, tuple[str, Callable[..., Awaitable[Page]]]]] = {
    "tools": ("tools", ClientSession.list_tools),
    "prompts": ("prompts", ClientSession.list_prompts),
    "resources": ("resources", ClientSession.list_resources),
    "templates": ("resourceTemplates", ClientSession.list_resource_templates),
}


class Session:
    """A connected server. Requests may come from any task; its `Connector` alone opens and closes it."""

    def __init__(
        self,
        spec: ServerSpec,
        client: Client,
        wire: Wire,
        child: Child | None,
        answering: Answering,
    ) -> None:
        self._spec = spec
        self._client = client
        self._wire = wire
        self._child = child
        self._answering = answering
        info = client.server_info
        self.protocol = client.protocol_version
        self.server = f"{info.name} {info.version}".strip() if info is not None else ""
        self.instructions = client.instructions
        self.capabilities = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
        self.tools: tuple[Any, ...] = ()
        self._listening: Listening | None = None

    @property
    def is_modern(self) -> bool:
        """Whether it speaks a revision without a handshake (2026-07-28 and later)."""
        return self.protocol in MODERN_PROTOCOL_VERSIONS

    @property
    def over(self) -> bool:
        """Whether the connection has ended, or leads nowhere any more."""
        return self._wire.closed.is_set()

    async def listed(self, what: What) -> tuple[Any, ...]:
        """A list of the server's as it came, of all pages: JSON objects, or whatever stood in their place.
        Empty where the server has no such list. Raises the SDK's errors."""
        key, request = _LISTS[what]
        items: list[Any] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(PAGES):
            try:
                page = await request(self._client.session, params=PaginatedRequestParams(cursor=cursor))
            except MCPError as exc:
                if exc.code == METHOD_NOT_FOUND and not items:
                    return ()
                raise
            listed = self._wire.take(page.meta).get(key)
            kept = cast("list[Any]", listed) if isinstance(listed, list) else []
            if not isinstance(listed, list):
                given = f"{json_text(listed):.80}"
                logger.warning(
                    "%s: its %s are left out: they are no list, but %s", self._spec.name, key, given
                )
            items += self._callable(kept, page) if isinstance(page, ListToolsResult) else kept
            cursor = page.next_cursor
            if not cursor or cursor in seen:
                break
            seen.add(cursor)
        return tuple(items)

    def _callable(self, tools: list[Any], page: ListToolsResult) -> list[Any]:
        """The tools but for those whose arguments cannot go into headers as they should (2026-07-28: such
        tools must not be used), which the SDK leaves out."""
        if not self.is_modern:
            return tools
        names = {tool.name for tool in page.tools}
        left_out = [name for tool in tools if (name := _name(tool)) is not None and name not in names]
        for name in left_out:
            logger.warning("%s: the tool %s is left out: its x-mcp-header is invalid", self._spec.name, name)
        return [tool for tool in tools if _name(tool) not in left_out]

    async def fetch(self, what: What, *, seconds: float) -> tuple[Any, ...]:
        """A list of the server's, empty where it does not offer such things. Raises as `call` does."""
        if what != "tools" and ("resources" if what == "templates" else what) not in self.capabilities:
            return ()
        try:
            with anyio.fail_after(seconds):
                return await self.listed(what)
        except TimeoutError as exc:
            raise TimeoutError(f"the server did not list its {what} within {seconds:.1f} s") from exc
        except MCPError as exc:
            raise await self._failed(exc, seconds) from exc
        except ValidationError as exc:
            raise ToolError(f"the server failed: {explain(self._spec, exc).reason}") from exc

    async def answers(self, seconds: float) -> bool:
        """Whether the server still answers anything at all."""
        with anyio.move_on_after(seconds):
            try:
                if self.is_modern:
                    await self._client.session.send_discover(self.protocol)
                else:
                    await self._client.session.send_ping()
            except MCPError as exc:
                return not is_closed(exc)
            return True
        return False

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        seconds: float,
        longest: float | None = None,
        progress: ProgressFn | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool; its `CallToolResult` as the server sent it.

        Raises `ToolError` when the server refuses the call, `TimeoutError` when it does not answer within
        `seconds` of the call or of its last progress, at most within `longest`, `AuthRequired`, and
        `ServerLost` when it went away, with whether the call was sent.
        """
        visits = _Visits(self._answering, seconds)
        try:
            while True:
                try:
                    return await self._asked(
                        lambda report: self._client.call_tool(
                            tool, dict(arguments), progress_callback=report
                        ),
                        seconds=seconds,
                        longest=longest,
                        progress=progress,
                    )
                except MCPError as exc:
                    if not await visits.made(exc):
                        raise await self._failed(exc, seconds) from exc
        finally:
            visits.over()

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], *, seconds: float
    ) -> Mapping[str, Any]:
        """A prompt filled in: the server's `GetPromptResult`. Raises as `call` does."""
        return await self._request(lambda: self._client.get_prompt(name, dict(arguments)), seconds)

    async def read(self, uri: str, *, seconds: float) -> Mapping[str, Any]:
        """A resource: the server's `ReadResourceResult`. Raises as `call` does."""
        return await self._request(lambda: self._client.read_resource(uri), seconds)

    async def complete(
        self,
        reference: Mapping[str, str],
        argument: Mapping[str, str],
        context: Mapping[str, str],
        *,
        seconds: float,
    ) -> Mapping[str, Any]:
        """What the value of an argument may go on with: the server's `CompleteResult`.

        `reference` names a prompt (`{"name": …}`) or a template (`{"uri": …}`). Raises as `call` does.
        """
        of = (
            PromptReference(type="ref/prompt", name=reference["name"])
            if "name" in reference
            else ResourceTemplateReference(type="ref/resource", uri=reference["uri"])
        )
        return await self._request(
            lambda: self._client.complete(of, dict(argument), dict(context) or None), seconds
        )

    def begin(self, tasks: TaskGroup, *, missed: Callable[[], None]) -> None:
        """Once, first of all: `tasks` hold what listens to the server, and end with the connection; `missed`
        is told when notices may have been lost."""
        if self.is_modern:
            self._listening = Listening(self._client, tasks, missed=missed, left=self._answering.leave)

    async def attend(self, uris: frozenset[str]) -> None:
        """Have the server tell of changes to its lists and to these resources, and log as it should. Raises
        as `call` does."""
        seconds = self._spec.start_timeout
        if not self.is_modern and self._spec.log_level and "logging" in self.capabilities:
            level = SetLevelRequestParams(level=self._spec.log_level)
            await self._send(SetLevelRequest(params=level), seconds)
        await self.listen(uris, before=frozenset(), seconds=seconds)

    async def listen(self, uris: frozenset[str], *, before: frozenset[str], seconds: float) -> None:
        """Be told of changes to the resources `uris`, instead of those of `before`. Raises as `call` does,
        and `ToolError` where the server does not tell."""
        if self._listening is not None:
            try:
                with anyio.fail_after(seconds):
                    honored = await self._listening.to(uris)
            except TimeoutError as exc:
                raise TimeoutError(f"the server did not agree within {seconds:.1f} s to tell") from exc
            except MCPError as exc:
                raise await self._failed(exc, seconds) from exc
            except SubscriptionLost as exc:
                raise ToolError(f"the server ended what tells of changes: {exc}") from exc
            if silent := (uris - before) - honored:
                raise ToolError(f"the server does not tell of changes to {', '.join(sorted(silent))}")
            return
        if uris - before and not self.capabilities.get("resources", {}).get("subscribe"):
            raise ToolError("the server does not tell of changes to resources")
        for uri in sorted(uris - before):
            await self._send(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), seconds)
        for uri in sorted(before - uris):
            await self._send(UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri)), seconds)

    async def roots_changed(self) -> None:
        """Tell that the roots are others. Where there is no handshake, they are asked for each time."""
        if not self.is_modern and not self.over:
            await self._client.session.send_notification(RootsListChangedNotification())

    async def _send(self, request: ClientRequest, seconds: float) -> None:
        """A request that is answered with nothing."""
        await self._request(lambda: self._client.session.send_request(request, EmptyResult), seconds)

    async def _request(self, send: Callable[[], Awaitable[BaseModel]], seconds: float) -> Mapping[str, Any]:
        """The raw result of a request without progress."""
        try:
            return await self._asked(lambda _: send(), seconds=seconds)
        except MCPError as exc:
            raise await self._failed(exc, seconds) from exc

    async def _asked(
        self,
        send: Callable[[Any], Awaitable[BaseModel]],
        *,
        seconds: float,
        longest: float | None = None,
        progress: ProgressFn | None = None,
    ) -> Mapping[str, Any]:
        """The raw result of a request. `send` is given what takes the server's progress reports."""
        if self.over:
            raise ServerLost(self._spec.name, "the server went away", sent=False)
        deadline: Deadline | None = None
        try:
            with self._answering.patience.waiting(seconds, longest) as waiting:
                deadline = waiting

                async def report(done: float, total: float | None, message: str | None) -> None:
                    waiting.progress()
                    if progress is not None:
                        await progress(done, total, message)

                result = await send(report)
        except TimeoutError as exc:
            raise TimeoutError(_no_answer(seconds if deadline is None else deadline.waited)) from exc
        except ValidationError as exc:
            raise ToolError(f"the server failed: {explain(self._spec, exc).reason}") from exc
        except RuntimeError as exc:  # it asked for more than ten rounds of input
            raise ToolError("the server asked for input again and again, and was given up") from exc
        meta: Any = getattr(result, "meta", None)
        return self._wire.take(meta)

    async def _failed(self, exc: MCPError, seconds: float) -> Exception:
        name, data, status = self._spec.name, rpc_data(exc), http_status(exc)
        if data.get(REFUSED):
            return ToolError(f"the call needs something from us that was refused: {exc.message}")
        if status in (401, 403):
            return explain(self._spec, exc)
        if data.get("session") and (status == 404 or (status == 400 and "session" in exc.message.lower())):
            self._wire.closed.set()  # specification, "Transports", session management: begin a new session
            return ServerLost(name, "the server does not know the session any more", sent=False)
        if "broken" in data:
            return ServerLost(name, exc.message, sent=data.get("sent") is not False)
        if (limit := _TOO_LARGE.search(exc.message)) is not None:
            return ToolError(f"the answer is larger than {int(limit[1]):,} bytes")
        if is_closed(exc):
            details = await last_words(self._child) if self._child is not None else f": {exc.message}"
            return ServerLost(name, "the server went away during the call" + details)
        wait = retry_after(data) if status == 429 else None
        return ToolError(f"the server answered with an error: {exc.message}", retry_after=wait)


class _Visits:
    """The pages that the user has to visit before one call may go through.

    MCP specification 2025-11-25, "Elicitation", URL mode: the call is refused with the pages, and may be
    sent again once they have been visited, of which the server may tell. Where it does not, the call itself
    is what finds out.
    """

    def __init__(self, answering: Answering, seconds: float) -> None:
        self._answering = answering
        self._left = seconds
        self._pages: set[str] = set()

    async def made(self, exc: MCPError) -> bool:
        """Whether a call that was refused may be sent again."""
        given: Any = rpc_data(exc).get("elicitations")
        if exc.code != URL_ELICITATION_REQUIRED or not isinstance(given, list) or self._left <= 0:
            return False
        pages = [cast("dict[str, Any]", page) for page in cast("list[Any]", given) if isinstance(page, dict)]
        for page in pages:
            name = str(page.get("elicitationId"))
            if name not in self._pages:
                self._pages.add(name)
                if not await self._answering.visit(page):
                    return False
        await self._answering.visited(self._pages, min(_VISIT_SECONDS, self._left))
        self._left -= _VISIT_SECONDS
        return bool(pages)

    def over(self) -> None:
        self._answering.forget(self._pages)


def _name(tool: Any) -> str | None:
    name = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else None


def _no_answer(seconds: float) -> str:
    return f"no answer within {round(seconds, 1):g} s; the call was cancelled, and may have taken effect"
