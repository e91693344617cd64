"""Connecting to one server: which way, which protocol, and holding on to it until it ends.

Imports the SDK, which takes about a second: `fleet` imports this module once the servers' processes run.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.client import Client, Transport
from mcp_types import Implementation, JSONRPCMessage, SamplingCapability, SamplingToolsCapability

from mcphost import __version__
from mcphost.answering import Answering
from mcphost.config import Limits, ServerSpec
from mcphost.desk import Desk
from mcphost.errors import ConnectFailed, ServerError, ServerLost
from mcphost.oauth.provider import Authorization, authorization
from mcphost.oauth.visitor import Visitor
from mcphost.session import Session
from mcphost.trace import Record, nothing
from mcphost.transport.http import streamable_transport
from mcphost.transport.memory import InProcessServer, memory_transport
from mcphost.transport.process import Child
from mcphost.transport.sse import sse_transport
from mcphost.transport.stdio import stdio_transport
from mcphost.transport.wire import Wire
from mcphost.trouble import explain, http_status, is_closed, last_words, leaves, was_not_sent
from mcphost.verdicts import Verdicts

_PROBE_SECONDS: Final = 10.0
_CLOSE_SECONDS: Final = 6.0
_WATCH_SECONDS: Final = 0.25
_ANSWER_SECONDS: Final = 2.0
Ready = Callable[[Session, TaskGroup], Awaitable[None]]

_CLIENT: Final = Implementation(name="mcphost", version=__version__)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to try. `auto` asks for the newest protocol first, `legacy` begins with `initialize`."""

    transport: Literal["stdio", "http", "sse", "memory"]
    mode: Literal["auto", "legacy"]


def ways_to(spec: ServerSpec, *, known_legacy: bool) -> list[Way]:
    """The ways to try, in order. MCP specification, "Transports", backwards compatibility."""
    modes: list[Literal["auto", "legacy"]] = ["legacy", "auto"] if known_legacy else ["auto", "legacy"]
    match spec.type:
        case "stdio":
            return [Way("stdio", mode) for mode in modes]
        case "http":
            return [Way("http", mode) for mode in modes]
        case "url":
            return [*(Way("http", mode) for mode in modes), Way("sse", "legacy")]
        case "sse":
            return [Way("sse", "legacy")]
        case _:
            return [Way("memory", "auto")]


class Connector:
    """Connects to one server, by whichever way works, and holds the connection.

    `desk` answers what the server asks, and `hear` is told what it says on its own: a notification's method
    and params. `visitor` is asked for access where a server wants authorization. `launch` starts the
    server's process anew; `local` is the server itself when it lives in this process.
    """

    def __init__(
        self,
        spec: ServerSpec,
        *,
        limits: Limits,
        desk: Desk,
        hear: Callable[[str, Mapping[str, Any]], None],
        visitor: Visitor | None,
        verdicts: Verdicts,
        launch: Callable[[], Awaitable[Child]],
        local: InProcessServer | None,
        record: Record,
        complain: Callable[[str], None],
    ) -> None:
        self._spec = spec
        self._limits = limits
        self._desk = desk
        self._hear = hear
        self._visitor = visitor
        self._verdicts = verdicts
        self._launch = launch
        self._local = local
        self._record = record
        self._complain = complain

    def _trace(self, kind: str, message: JSONRPCMessage) -> None:
        if self._record is not nothing:
            data = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            self._record(kind, server=self._spec.name, message=data)

    async def hold(self, child: Child | None, *, stop: anyio.Event, ready: Ready) -> None:
        """Connect, hand the session to `ready`, and return when `stop` is set.

        `ready` is also given tasks that end with the connection, and must not raise. `child` is the process
        when one has been started. Raises `ServerError` when no way led to a session within `start_timeout`,
        and `ServerLost` when there was one and it ended.
        """
        spec = self._spec
        answering = Answering(spec.name, self._desk, self._hear)
        signing = authorization(spec, visitor=self._visitor, held=answering.patience.held)
        if signing is not None:
            await signing.prepare()
        known_legacy = self._verdicts.is_legacy(spec)
        ways = ways_to(spec, known_legacy=known_legacy)
        deadline = anyio.current_time() + spec.start_timeout
        dies_of_the_probe = False
        for way, following in zip(ways, [*ways[1:], None], strict=True):
            try:
                if way.transport == "stdio" and child is None:
                    child = await self._launch()
                # what comes after needs its share of the time
                limit = deadline - (min(10.0, spec.start_timeout / 3) if following else 0.0)
                is_verdict = way.mode == "legacy" and dies_of_the_probe and way.transport != "sse"
                transport = self._transport(way, child, signing)
                await self._through(
                    way, transport, child, limit, answering, stop=stop, ready=ready, is_verdict=is_verdict
                )
                return
            except ServerLost:
                raise
            except Exception as exc:  # boundary: the SDK and its transports raise what they like
                if following is None or not _worth_another(exc, following):
                    raise await self._failure(exc, child) from exc
                # slowness is no verdict: a package that has to be downloaded first is slow once
                dies_of_the_probe = way.mode == "auto" and not isinstance(exc, TimeoutError)
                if way.mode == "legacy" and known_legacy:
                    self._verdicts.forget(spec)
            child = None

    async def _through(
        self,
        way: Way,
        transport: Transport,
        child: Child | None,
        limit: float,
        answering: Answering,
        *,
        stop: anyio.Event,
        ready: Ready,
        is_verdict: bool,
    ) -> None:
        """Connect in one way and hold the session. Raises `TimeoutError` past `limit` (loop's clock)."""
        probe = min(_PROBE_SECONDS, self._spec.start_timeout / 3)
        wire = Wire(transport, probe_seconds=probe, trace=self._trace, hear=answering.hear)
        connected = False
        with anyio.CancelScope(deadline=limit) as scope:
            try:
                async with self._client(wire, way, answering) as client:
                    session = Session(self._spec, client, wire, child, answering)
                    session.tools = await session.listed("tools")
                    scope.deadline = math.inf
                    connected = True
                    if is_verdict:
                        self._verdicts.remember_legacy(self._spec)
                    async with anyio.create_task_group() as tg:
                        await ready(session, tg)
                        if child is not None:
                            tg.start_soon(_watch, child, session, wire)
                        await _first(stop, wire.closed)
                        tg.cancel_scope.cancel()
                    scope.deadline = anyio.current_time() + _CLOSE_SECONDS
            except Exception as exc:  # boundary: as above; a transport may also end by raising
                if not connected:
                    raise
                if stop.is_set():
                    return
                raise ServerLost(self._spec.name, explain(self._spec, exc).reason) from exc
        if not connected:
            raise TimeoutError
        if not stop.is_set():
            raise ServerLost(self._spec.name, "the server went away" + await last_words(child))

    def _client(self, wire: Wire, way: Way, answering: Answering) -> Client:
        return Client(
            wire,
            mode=way.mode,
            client_info=_CLIENT,
            cache=None,
            sampling_callback=answering.sample,
            sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
            elicitation_callback=answering.elicit,
            list_roots_callback=answering.roots,
            log_level=self._spec.log_level or "info",
        )

    def _transport(self, way: Way, child: Child | None, signing: Authorization | None) -> Transport:
        spec, limit = self._spec, self._limits.message_bytes
        match way.transport:
            case "stdio":
                assert child is not None
                return stdio_transport(child, message_bytes=limit, complain=self._complain)
            case "http":
                return streamable_transport(spec.url or "", spec.headers, message_bytes=limit, auth=signing)
            case "sse":
                url, headers = spec.url or "", spec.headers
                return sse_transport(url, headers, message_bytes=limit, complain=self._complain, auth=signing)
            case "memory":
                assert self._local is not None
                return memory_transport(self._local)

    async def _failure(self, exc: Exception, child: Child | None) -> ServerError:
        """Why no way led to a session."""
        name, seconds = self._spec.name, self._spec.start_timeout
        if isinstance(exc, TimeoutError):
            said = " | ".join(child.log.tail()) if child is not None else ""
            reason = f"no answer within {seconds:g} s of its start" + (f"; it wrote: {said}" if said else "")
            hint = "Run its command by hand to see what it waits for, or give it longer: `start_timeout`."
            return ConnectFailed(name, reason, hint=hint)
        if child is not None and is_closed(exc):
            reason = "the server ended before it was ready" + await last_words(child)
            hint = f"Run it by hand to see more: {self._spec.summary()}"
            return ConnectFailed(name, reason, hint=hint)
        return explain(self._spec, exc)


def _worth_another(exc: BaseException, following: Way) -> bool:
    """Whether `following` may succeed where this failed: not where nobody was there, or let us in."""
    if was_not_sent(exc) or any(isinstance(leaf, ServerError | httpx2.InvalidURL) for leaf in leaves(exc)):
        return False
    status = http_status(exc)
    return status in (400, 404, 405) if following.transport == "sse" else status not in (401, 403)


async def _watch(child: Child, session: Session, wire: Wire) -> None:
    """Notice a server that has exited while a process that it started holds its pipes open.

    A command may also exit and leave the real server to such a process: then somebody answers.
    """
    await child.exited(math.inf, every=_WATCH_SECONDS)
    if not await session.answers(_ANSWER_SECONDS):
        wire.closed.set()


async def _first(*events: anyio.Event) -> None:
    """Wait until one of `events` is set."""
    async with anyio.create_task_group() as tg:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            tg.cancel_scope.cancel()

        for event in events:
            tg.start_soon(wait, event)
