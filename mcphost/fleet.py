"""All servers of a host: started at once, each in a task that owns it; their states, and who to call.

Processes are spawned before the SDK is imported, so that their start and our import overlap.
"""

import importlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import anyio
from anyio.abc import TaskGroup

from mcphost import paths
from mcphost.config import Config, ServerSpec, child_environment
from mcphost.errors import ConnectFailed, ServerError
from mcphost.events import ProgressFn
from mcphost.trace import Record, nothing
from mcphost.transport.process import Child, StderrLog, spawn
from mcphost.verdicts import Verdicts

if TYPE_CHECKING:
    from mcphost.connection import Session

State = Literal["disabled", "starting", "ready", "failed", "lost", "stopped"]
"""`failed` never was ready, `lost` was and is not; `stopped` was ended by us."""


class Server:
    """One server of a host, as users see it.

    `state`, and `error` when it is `failed` or `lost`. `tools`: what it listed, as it came. `seconds`: from
    its start to ready. `protocol` and `info`: the MCP revision agreed on, the server's own name and version.
    `log`: the file with what it wrote to stderr.
    """

    def __init__(self, spec: ServerSpec, fleet: "Fleet") -> None:
        self.spec = spec
        self.state: State = "starting" if spec.enabled else "disabled"
        self.error: ServerError | None = None
        self.tools: tuple[Any, ...] = ()
        self.seconds: float | None = None
        self.protocol: str | None = None
        self.info: str | None = None
        self.log: Path | None = None
        self._fleet = fleet
        self._stderr: StderrLog | None = None
        self._session: Session | None = None
        self._begin()
        if not spec.enabled:
            self._settled.set()
            self._ended.set()

    def _begin(self) -> None:
        self._stop, self._scope = anyio.Event(), anyio.CancelScope()
        self._settled, self._ended = anyio.Event(), anyio.Event()

    @property
    def name(self) -> str:
        return self.spec.name

    async def settled(self) -> None:
        """Wait until the server is no longer starting."""
        await self._settled.wait()

    async def ended(self) -> None:
        """Wait until there is no connection (any more) and nothing of it is left."""
        await self._ended.wait()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, seconds: float, progress: ProgressFn | None = None
    ) -> Mapping[str, Any]:
        """Call a tool by its own name, as `Session.call` does. Raises `ServerError` without a session."""
        if self._session is None:
            why = f"{self.state}: {self.error.reason}" if self.error is not None else self.state
            raise ConnectFailed(self.name, f"the call was not sent, the server is {why}")
        return await self._session.call(tool, arguments, seconds=seconds, progress=progress)

    async def reconnect(self) -> None:
        """End the connection if there is one, and make a new one. Raises `ServerError` when that fails."""
        if self.state == "disabled":
            raise ConnectFailed(
                self.name, "the server is disabled", hint='Set "enabled": true in servers.json.'
            )
        await self.stop()
        self._begin()
        self.state, self.error = "starting", None
        self._fleet.start(self)
        await self.settled()
        if self.error is not None:
            raise self.error

    async def stop(self) -> None:
        """End the connection and wait until nothing of it is left."""
        self._stop.set()
        if self.state == "starting":
            self._scope.cancel()
        await self.ended()

    async def own(self) -> None:
        """The life of one connection, from spawning to the last child's end. Nothing gets out of here."""
        child: Child | None = None
        began = time.monotonic()

        async def ready(session: "Session") -> None:
            self._session, self.tools = session, session.tools
            self.protocol, self.info = session.protocol, session.server
            self.seconds = time.monotonic() - began
            self._become("ready")

        try:
            with self._scope:
                if self.spec.problem:
                    raise ConnectFailed(self.name, self.spec.problem, hint=self.spec.hint)
                if self.spec.type == "stdio":
                    child = await self.launch()
                connector = await self._fleet.connector(self)
                await connector.hold(child, stop=self._stop, ready=ready)
            self._become("stopped")
        except ServerError as exc:
            self._become("lost" if self.state == "ready" else "failed", exc)
        except Exception as exc:  # noqa: BLE001 (boundary: one server's trouble is never another's)
            reason = f"{type(exc).__name__}: {exc}"
            self._become("lost" if self.state == "ready" else "failed", ConnectFailed(self.name, reason))
        finally:
            self._session = None
            if child is not None:
                await child.stop()
            self._settled.set()
            self._ended.set()

    async def launch(self) -> Child:
        """Start the server's process."""
        spec = self.spec
        self.log = paths.log_folder() / f"{paths.file_name(spec.name)}.log"
        env = child_environment(spec, self._fleet.environ)
        self._stderr = StderrLog(self.log)
        return await spawn(spec.name, spec.command or "", spec.args, env=env, cwd=spec.cwd, log=self._stderr)

    def last_words(self, count: int) -> list[str]:
        """The last lines that its process wrote to stderr."""
        return self._stderr.tail(count) if self._stderr is not None else []

    def _become(self, state: State, error: ServerError | None = None) -> None:
        self.state, self.error = state, error
        self._settled.set()
        self._fleet.changed(self)


class Fleet:
    """The servers of a `Config`. An async context manager: entering starts them all, leaving ends them all.

    `changed` is told of every change of a server's state. `local` holds servers that live in this process,
    by name: `MCPServer` or `Server` objects of the MCP SDK.
    """

    def __init__(
        self,
        config: Config,
        *,
        environ: Mapping[str, str],
        changed: Callable[[Server], None],
        local: Mapping[str, Any] | None = None,
        record: Record = nothing,
    ) -> None:
        self.environ = environ
        self.changed = changed
        self._limits = config.limits
        self._record = record
        self._local = dict(local or {})
        self._verdicts = Verdicts(paths.cache_folder() / "handshake.json")
        self._sdk: ModuleType | None = None
        self._importing = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self.servers: dict[str, Server] = {spec.name: Server(spec, self) for spec in config.servers.values()}

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        for server in self.servers.values():
            if server.state != "disabled":
                self.start(server)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        with anyio.CancelScope(shield=True):  # every wait below is bounded, and no child may be left
            async with anyio.create_task_group() as tg:
                for server in self.servers.values():
                    tg.start_soon(server.stop)
        await self._tasks.__aexit__(None, None, None)

    def start(self, server: Server) -> None:
        assert self._tasks is not None, "the fleet is not running"
        self._tasks.start_soon(server.own)

    async def settled(self, seconds: float | None = None) -> None:
        """Wait until no server is starting any more, or until `seconds` have passed."""
        with anyio.move_on_after(seconds):
            for server in self.servers.values():
                await server.settled()

    async def connector(self, server: Server) -> Any:
        """What connects to `server`. Imports the SDK, beside the event loop and once."""
        async with self._importing:
            if self._sdk is None:
                self._sdk = await anyio.to_thread.run_sync(importlib.import_module, "mcphost.connection")
        local = self._local.get(server.name)
        if server.spec.builtin is not None:
            builtin = await anyio.to_thread.run_sync(importlib.import_module, "mcphost.builtin")
            local = builtin.make(server.spec.builtin)
        return self._sdk.Connector(
            server.spec,
            limits=self._limits,
            verdicts=self._verdicts,
            launch=server.launch,
            local=local,
            record=self._record,
        )
