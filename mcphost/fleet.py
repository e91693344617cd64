"""All servers of a host, started at once.

Processes are spawned before the SDK is imported, so that their start and our import overlap.
"""

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType, TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from mcphost import paths
from mcphost.config import Config
from mcphost.desk import Desk
from mcphost.events import Event
from mcphost.server import Server
from mcphost.trace import Record, nothing
from mcphost.transport.watchdog import Watchdog
from mcphost.verdicts import Verdicts


class Fleet:
    """The servers of a `Config`. An async context manager: entering starts them all, leaving ends them all.

    `changed` is told of every change of a server's state, `tell` of all else that happens on their side;
    `desk` answers what they ask. `local` holds servers that live in this process, by name: `MCPServer` or
    `Server` objects of the MCP SDK.
    """

    def __init__(
        self,
        config: Config,
        *,
        environ: Mapping[str, str],
        changed: Callable[[Server], None],
        tell: Callable[[Event], None],
        desk: Desk,
        local: Mapping[str, Any] | None = None,
        record: Record = nothing,
    ) -> None:
        self._limits = config.limits
        self._record = record
        self._desk = desk
        self._local = dict(local or {})
        self._verdicts = Verdicts(paths.cache_folder() / "handshake.json")
        self._sdk: ModuleType | None = None
        self._importing = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._closing = False
        self._watchdog = Watchdog()
        self.servers: dict[str, Server] = {
            spec.name: Server(
                spec,
                limits=config.limits,
                environ=environ,
                connector=self._connector,
                changed=changed,
                tell=tell,
                start=self._start,
                watchdog=self._watchdog,
            )
            for spec in config.servers.values()
        }

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        for server in self.servers.values():
            if server.state != "disabled":
                self._start(server)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        self._closing = True
        with anyio.CancelScope(shield=True):  # every wait below is bounded, and no child may be left
            async with anyio.create_task_group() as tg:
                for server in self.servers.values():
                    tg.start_soon(server.stop)
        await self._tasks.__aexit__(None, None, None)
        self._watchdog.close()

    def _start(self, server: Server) -> bool:
        """Begin to own a server's connection; not before entering, nor once leaving has begun."""
        if self._tasks is None or self._closing:
            return False
        self._tasks.start_soon(server.own)
        return True

    async def settled(self, seconds: float | None = None) -> None:
        """Wait until no server is starting any more, or until `seconds` have passed.

        Raises `RuntimeError` before entering: nothing is starting then, and nothing would.
        """
        if self._tasks is None:
            raise RuntimeError("the host is not running: use it in `async with`")
        with anyio.move_on_after(seconds):
            for server in self.servers.values():
                await server.settled()

    async def _connector(self, server: Server) -> Any:
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
            desk=self._desk,
            hear=server.offering.hear,
            verdicts=self._verdicts,
            launch=server.launch,
            local=local,
            record=self._record,
            complain=server.complain,
        )
