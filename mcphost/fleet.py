"""All servers of a host, started at once.

Processes are spawned before the SDK is imported, so that their start and our import overlap.
"""

import importlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from types import ModuleType, TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from mcphost import paths
from mcphost.config import Config
from mcphost.desk import Desk
from mcphost.events import Event
from mcphost.oauth.visitor import Visitor
from mcphost.private import Pool
from mcphost.server import Server
from mcphost.trace import Record, nothing
from mcphost.transport.watchdog import Watchdog
from mcphost.verdicts import Verdicts


class Crew:
    """The servers of one configuration, and how many turns use them."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.servers = servers
        self._users = 0
        self._unused = anyio.Event()
        self._unused.set()

    @contextmanager
    def used(self) -> Generator[None]:
        """None of the servers is taken away while the block runs."""
        if self._users == 0:
            self._unused = anyio.Event()
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._users == 0:
                self._unused.set()

    async def unused(self) -> None:
        """Wait until nobody uses them."""
        await self._unused.wait()

    def dismiss(self) -> None:
        """Whoever waits for that need not any more."""
        self._unused.set()


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
        visitor: Visitor | None = None,
        local: Mapping[str, Any] | None = None,
        record: Record = nothing,
    ) -> None:
        self._limits = config.limits
        self._record = record
        self._desk = desk
        self._visitor = visitor
        self._local = dict(local or {})
        self._verdicts = Verdicts(paths.cache_folder() / "handshake.json")
        self._sdk: ModuleType | None = None
        self._importing = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._closing = False
        self._watchdog = Watchdog()
        self._make = partial(
            Server,
            environ=environ,
            connector=self._connector,
            changed=changed,
            tell=tell,
            start=self._start,
            watchdog=self._watchdog,
        )
        servers = {spec.name: self._make(spec, limits=config.limits) for spec in config.servers.values()}
        self.crew = Crew(servers)
        self.pool = Pool(lambda spec: self._make(spec, limits=self._limits), self._begin)
        self._applying = anyio.Lock()
        self._retiring: list[tuple[Crew, list[Server]]] = []

    @property
    def servers(self) -> Mapping[str, Server]:
        """All servers by name, in the config's order."""
        return self.crew.servers

    def _begin(self, server: Server, look_after: Callable[[], Any]) -> bool:
        """Start a server that is not shared, and the task that ends it."""
        if self._tasks is None or not self._start(server):
            return False
        self._tasks.start_soon(look_after)
        return True

    async def apply(self, config: Config) -> list[Server]:
        """Go on with the servers of another configuration. Those whose entry is the same stay as they are;
        the others are there when they are ready or have failed, and what they replace ends when nobody uses
        it any more. Returns the new ones."""
        async with self._applying:
            self._limits = config.limits
            old = self.crew
            servers: dict[str, Server] = {}
            for spec in config.servers.values():
                known = old.servers.get(spec.name)
                if known is None or known.spec != spec:
                    known = self._make(spec, limits=config.limits)
                servers[spec.name] = known
            fresh = [server for name, server in servers.items() if server is not old.servers.get(name)]
            for server in fresh:
                if server.state != "disabled":
                    self._start(server)
            for server in fresh:
                await server.settled()
            self.crew = Crew(servers)
            gone = [server for name, server in old.servers.items() if server is not servers.get(name)]
            if self._tasks is not None:
                self._retiring.append((old, gone))
                self._tasks.start_soon(self._retire)
            return fresh

    async def _retire(self) -> None:
        """End what was replaced, in its order: a server may be used by turns of several configurations."""
        while self._retiring and not self._closing:
            crew, gone = self._retiring[0]
            await crew.unused()
            if self._retiring and self._retiring[0][0] is crew:
                del self._retiring[0]
                self.pool.end_all(dict.fromkeys(gone))
                for server in gone:
                    await server.stop()

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
                self.pool.end_all()
                old = [server for _, gone in self._retiring for server in gone]
                for server in {*self.servers.values(), *old, *self.pool.servers}:
                    tg.start_soon(server.stop)
            for crew, _ in self._retiring:
                crew.dismiss()
        await self._tasks.__aexit__(None, None, None)
        self._watchdog.close()

    @property
    def running(self) -> bool:
        """Whether it has been entered, and leaving has not begun."""
        return self._tasks is not None and not self._closing

    def _start(self, server: Server) -> bool:
        """Begin to own a server's connection, while the fleet is running."""
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
            visitor=self._visitor,
            verdicts=self._verdicts,
            launch=server.launch,
            local=local,
            record=self._record,
            complain=server.complain,
        )
