"""One server of a host: its state, requests to it, and the task that owns its connection and renews it."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
from anyio.abc import TaskGroup

from mcphost import paths
from mcphost.backoff import FIRST_PAUSE, STEADY_SECONDS, pause
from mcphost.config import Limits, ServerSpec, child_environment
from mcphost.errors import (
    AuthRequired,
    ConnectFailed,
    McphostError,
    ServerError,
    ServerLost,
    ToolError,
)
from mcphost.events import Event, ProgressFn, ServerChanged
from mcphost.masking import mask, secrets_of
from mcphost.offering import Offering
from mcphost.transport.process import Child, StderrLog, spawn
from mcphost.transport.watchdog import Watchdog

if TYPE_CHECKING:
    from mcphost.connection import Connector
    from mcphost.session import Session

T = TypeVar("T")

State = Literal["disabled", "starting", "ready", "failed", "lost", "stopped"]
"""`failed` never was ready, `lost` was and is not; `stopped` was ended by us."""

logger = logging.getLogger(__name__)


class Server:
    """One server of a host, as users see it.

    `state`, since when (`since`, seconds since 1970), and `error` when it is `failed` or `lost`. `tools`:
    what it listed, as it came. `seconds`: from its last start to ready. `protocol` and `info`: the MCP
    revision agreed on, the server's own name and version; `instructions`, what it tells models about itself.
    `log`: the file with what it wrote to stderr. `offering`: what it offers besides tools.
    """

    def __init__(
        self,
        spec: ServerSpec,
        *,
        limits: Limits,
        environ: Mapping[str, str],
        connector: Callable[["Server"], "Awaitable[Connector]"],
        changed: Callable[["Server"], None],
        tell: Callable[[Event], None],
        start: Callable[["Server"], bool],
        watchdog: Watchdog,
    ) -> None:
        self.spec = spec
        self.state: State = "starting" if spec.enabled else "disabled"
        self.since = time.time()
        self.error: ServerError | None = None
        self.tools: tuple[Any, ...] = ()
        self.seconds: float | None = None
        self.protocol: str | None = None
        self.info: str | None = None
        self.instructions: str | None = None
        self.log: Path | None = None
        self._environ = environ
        self._connector = connector
        self._changed = changed
        self._seconds = spec.timeout or limits.call_seconds
        self._start = start
        self._watchdog = watchdog
        self._complained = False
        self._secrets = secrets_of(spec)
        self.offering = Offering(self, tell=tell, relisted=self._relisted)
        self._stderr: StderrLog | None = None
        self._session: Session | None = None
        self._reconnecting = anyio.Lock()
        self._begin()
        if not spec.enabled:
            self._settled.set()
            self._ended.set()

    def _begin(self) -> None:
        self._stop = anyio.Event()
        self._scope: anyio.CancelScope | None = None
        self._settled, self._ended = anyio.Event(), anyio.Event()
        self._wake, self._news = anyio.Event(), anyio.Event()
        self._failures = 0
        self._attempts = 0

    @property
    def name(self) -> str:
        return self.spec.name

    async def until(self, *states: State) -> None:
        """Wait until the server is in one of `states`."""
        while self.state not in states:
            await self._news.wait()

    async def settled(self) -> None:
        """Wait until the server is no longer starting: it is ready, or its first attempt has failed."""
        await self._settled.wait()

    async def ended(self) -> None:
        """Wait until nobody tries to connect (any more), and nothing of the connection is left."""
        await self._ended.wait()

    async def reconnect(self) -> None:
        """End the connection if there is one, and make a new one. Raises `ServerError` when that fails."""
        if self.state == "disabled":
            hint = 'Set "enabled": true in servers.json.'
            raise ConnectFailed(self.name, "the server is disabled", hint=hint)
        async with self._reconnecting:
            await self.stop()
            self._begin()
            if not self._start(self):
                self._settled.set()
                self._ended.set()
                raise ConnectFailed(self.name, "the host is not running")
            self._become("starting")
            await self.settled()
        if self.error is not None:
            raise self.error

    async def enable(self) -> None:
        """Connect a server that is disabled. Raises as `reconnect` does."""
        if self.state == "disabled":
            self._become("stopped")
            await self.reconnect()

    async def disable(self) -> None:
        """End the connection until `enable`; its tools are no longer there."""
        async with self._reconnecting:
            if self.state == "disabled":
                return
            await self.stop()
            self.tools = ()
            self._become("disabled")

    async def stop(self) -> None:
        """End the connection, and wait until nothing of it is left."""
        self._stop.set()
        if self._session is None and self._scope is not None:
            self._scope.cancel()
        await self.ended()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        seconds: float,
        longest: float | None = None,
        repeatable: bool = False,
        progress: ProgressFn | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool by its own name; its `CallToolResult` as the server sent it.

        A server that is lost is waited for, within `seconds`. A call is sent again, once, when it provably
        was not received, or when it is `repeatable` (the tool is read-only or idempotent). Raises as
        `Session.call` does, and `ConnectFailed` when there is no connection to be had.
        """
        return await self.request(
            lambda session, left: session.call(
                tool, arguments, seconds=left, longest=longest, progress=progress
            ),
            seconds=seconds,
            repeatable=repeatable,
        )

    async def request(
        self,
        ask: Callable[["Session", float], Awaitable[T]],
        *,
        seconds: float | None = None,
        repeatable: bool,
    ) -> T:
        """What `ask` gets from the session in the seconds that it is given. As `call` does for a call."""
        seconds = seconds or self._seconds
        deadline = anyio.current_time() + seconds
        for last in (False, True):
            session = await self._available(deadline)
            left = max(0.0, deadline - anyio.current_time())
            try:
                return await ask(session, left)
            except ServerLost as exc:
                self._mask(exc)
                if last or (exc.sent and not repeatable):
                    raise
                wait = FIRST_PAUSE
            except ServerError as exc:
                self._mask(exc)
                raise
            except ToolError as exc:
                self._mask(exc)
                wait = exc.retry_after
                if last or wait is None or anyio.current_time() + wait >= deadline:
                    raise
            if not session.over:
                await anyio.sleep(min(wait, max(0.0, deadline - anyio.current_time())))
        raise AssertionError("unreachable")

    async def _available(self, deadline: float) -> "Session":
        """The session; for a server that is lost, what comes of the next attempt. Raises `ConnectFailed`."""
        attempts = self._attempts
        with anyio.CancelScope(deadline=deadline):
            while True:
                if self._session is not None and not self._session.over:
                    return self._session
                if self._ended.is_set() or self._attempts != attempts:
                    break
                self._wake.set()
                await self._news.wait()
        why = f"{self.state}: {self.error.reason}" if self.error is not None else self.state
        raise ConnectFailed(self.name, f"the call was not sent, the server is {why}")

    async def own(self) -> None:
        """Connect, and again whenever the connection is lost, until stopped. Nothing gets out of here."""
        try:
            with anyio.CancelScope() as self._scope:
                while not self._stop.is_set():
                    began = anyio.current_time()
                    error = await self._attempt()
                    if error is None or self._stop.is_set():
                        break
                    steady = self.state == "ready" and anyio.current_time() - began > STEADY_SECONDS
                    self._note(error, failures=0 if steady else self._failures)
                    if isinstance(error, AuthRequired) or (isinstance(error, ConnectFailed) and error.final):
                        return
                    await self._rest(pause(self._failures + 1))
            self._become("stopped")
        finally:
            self._settled.set()
            self._ended.set()
            self._announce()

    async def _attempt(self) -> ServerError | None:
        """One connection from spawning to its child's end: why it ended, or None when we ended it."""
        child: Child | None = None
        began = time.monotonic()

        async def ready(session: "Session", tasks: TaskGroup) -> None:
            self._session, self.tools = session, session.tools
            self.protocol, self.info = session.protocol, session.server
            self.instructions = session.instructions
            self.seconds = time.monotonic() - began
            await self.offering.begin(session, tasks)
            self._become("ready")

        try:
            if self.spec.problem:
                return ConnectFailed(self.name, self.spec.problem, hint=self.spec.hint, final=True)
            if self.spec.type == "stdio":
                child = await self.launch()
            connector = await self._connector(self)
            await connector.hold(child, stop=self._stop, ready=ready)
            return None
        except ServerError as exc:
            self._mask(exc)
            return exc
        except Exception as exc:  # noqa: BLE001 (boundary: one server's trouble is never another's)
            return ConnectFailed(self.name, f"{type(exc).__name__}: {exc}")
        finally:
            self._session = None
            if child is not None:
                await child.stop()

    def _note(self, error: ServerError, *, failures: int) -> None:
        """A connection is lost (whoever waits for one goes on waiting), or an attempt has failed."""
        if self.state == "ready":
            self._failures = failures
            self._become("lost", error)
        else:
            self._failures = failures + 1
            self._attempts += 1
            self._become("lost" if self.state == "lost" else "failed", error)

    async def _rest(self, seconds: float) -> None:
        """A pause, which a call that needs the server cuts short: to a second, after several failures."""
        self._wake = anyio.Event()
        least = 0.0 if self._failures <= 1 else min(1.0, seconds)
        await anyio.sleep(least)
        with anyio.move_on_after(seconds - least):
            await self._wake.wait()

    async def launch(self) -> Child:
        """Start the server's process."""
        spec = self.spec
        self.log = paths.log_folder() / f"{paths.file_name(spec.name)}.log"
        self._stderr = StderrLog(self.log)
        env = child_environment(spec, self._environ)
        return await spawn(
            spec.name,
            spec.command or "",
            spec.args,
            env=env,
            cwd=spec.cwd,
            log=self._stderr,
            watchdog=self._watchdog,
        )

    def changed(self) -> ServerChanged:
        """How the server is, as an event."""
        error = str(self.error) if self.error is not None else None
        return ServerChanged(self.name, self.state, len(self.tools), error)

    def complain(self, text: str) -> None:
        """Log what the server gets wrong, once: it will do so again and again."""
        if not self._complained:
            self._complained = True
            logger.warning("%s: %s", self.name, text)

    def last_words(self, count: int) -> list[str]:
        """The last lines that its process wrote to stderr."""
        lines = self._stderr.tail(count) if self._stderr is not None else []
        return [mask(line, self._secrets) for line in lines]

    async def roots_changed(self) -> None:
        """Tell the server that its roots are others now, where it is connected."""
        if self._session is not None:
            await self._session.roots_changed()

    def masked(self, text: str) -> str:
        """`text` without the secrets of the server's own entry."""
        return mask(text, self._secrets)

    def _relisted(self, tools: tuple[Any, ...]) -> None:
        """The server has other tools now."""
        self.tools = tools
        self._changed(self)

    def _mask(self, error: McphostError) -> None:
        """Keep the secrets of the server's own entry out of what it, or a web server, said."""
        error.message = mask(error.message, self._secrets)
        if isinstance(error, ServerError):
            error.reason = mask(error.reason, self._secrets)

    def _become(self, state: State, error: ServerError | None = None) -> None:
        same = state == self.state and str(error) == str(self.error)
        if state != self.state:
            self.since = time.time()
        self.state, self.error = state, error
        if state != "starting":
            self._settled.set()
        self._announce()
        if not same:
            self._changed(self)

    def _announce(self) -> None:
        self._news.set()
        self._news = anyio.Event()
