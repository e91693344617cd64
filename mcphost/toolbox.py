"""A host's tools for one turn: they stay what they are, whatever is configured anew meanwhile."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import uuid4

import anyio

from mcphost.catalog import Catalog
from mcphost.config import Limits
from mcphost.dialect import Dialect
from mcphost.fleet import Fleet
from mcphost.messages import ToolCall, ToolResult
from mcphost.private import Private
from mcphost.router import Callee, Emit, Router
from mcphost.selection import Selection, select
from mcphost.server import Server

_FRESH_SECONDS: Final = 2.0
"""How long a round waits for lists that a server has said are others now."""


class Toolbox:
    """What `run_turn` takes its tools from."""

    def __init__(
        self,
        router: Router,
        fleet: Fleet,
        selection: Selection,
        catalog_of: Callable[[Mapping[str, Server], Dialect], Catalog],
    ) -> None:
        self._fleet = fleet
        self._crew = fleet.crew
        self._turn = uuid4().hex
        self.selection = selection
        self._catalog_of = catalog_of
        servers = {name: self._callee(server) for name, server in self._crew.servers.items()}
        self._router = router.narrowed(servers, approve=selection.approve, save=selection.save)
        self._all: Catalog | None = None
        self._selected: Catalog | None = None

    def _callee(self, server: Server) -> Callee:
        """The server itself, or the one that is only this caller's or this turn's."""
        caller = self.selection.caller
        if caller is None or server.spec.session == "shared":
            return server
        owner = f"key {caller}" if server.spec.session == "per-key" else self._turn
        return Private(server, owner, self._fleet.pool)

    @contextmanager
    def used(self) -> Generator[None]:
        """The servers are kept while the block runs, and what is only this turn's ends with it."""
        with self._crew.used():
            try:
                yield
            finally:
                self._fleet.pool.release(self._turn)

    async def catalog(self, dialect: Dialect) -> Catalog:
        stale = [server for server in self._crew.servers.values() if not server.offering.is_fresh]
        if stale:
            async with anyio.create_task_group() as tg:
                for server in stale:
                    tg.start_soon(server.offering.fresh, _FRESH_SECONDS)
        everything = self._catalog_of(self._crew.servers, dialect)
        if self._selected is None or self._all is not everything:
            self._all, self._selected = everything, select(everything, self.selection, dialect)
        return self._selected

    async def call_all(
        self, calls: Sequence[ToolCall], catalog: Catalog, emit: Emit, *, limits: Limits
    ) -> list[ToolResult]:
        return await self._router.call_all(calls, catalog, emit, limits=limits)

    def refuse(self, call: ToolCall, error: str, hint: str) -> ToolResult:
        return self._router.refuse(call, error, hint)
