"""Connections that are not shared: a server of its own for each caller, or for each turn.

For servers that hold a user's state. They are started when they are first called, and ended when they were
not called for a while.
"""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from mcphost.config import ServerSpec
from mcphost.errors import ServerError
from mcphost.events import ProgressFn
from mcphost.server import Server

MOST: Final = 200
"""Servers that are kept at a time."""


@dataclass(slots=True)
class _Lent:
    """A server, how many calls run on it, and when the last one ended. `over`: it is to end now."""

    server: Server
    users: int = 0
    used: float = field(default_factory=time.monotonic)
    over: anyio.Event = field(default_factory=anyio.Event)


class Pool:
    """The servers that are not shared. `begin` starts one together with the task that ends it; it tells
    whether that could be done."""

    def __init__(
        self, make: Callable[[ServerSpec], Server], begin: Callable[[Server, Callable[[], Any]], bool]
    ) -> None:
        self._make = make
        self._begin = begin
        self._held: dict[tuple[Server, str], _Lent] = {}

    @contextmanager
    def borrowed(self, base: Server, owner: str) -> Generator[Server]:
        """The server that `owner` has in place of `base`. Raises `ServerError` where there are too many."""
        key = (base, owner)
        lent = self._held.get(key)
        if lent is None or lent.over.is_set():
            self._make_room(base.name)
            lent = self._lend(key)
        lent.users += 1
        try:
            yield lent.server
        finally:
            lent.users -= 1
            lent.used = time.monotonic()

    def release(self, owner: str) -> None:
        """End what `owner` has."""
        self._end(lambda base, who: who == owner)

    def end_all(self, bases: Mapping[Server, object] | None = None) -> None:
        """End everything, or what stands for one of `bases`."""
        self._end(lambda base, who: bases is None or base in bases)

    @property
    def servers(self) -> list[Server]:
        return [lent.server for lent in self._held.values()]

    def _end(self, wanted: Callable[[Server, str], bool]) -> None:
        for (base, owner), lent in self._held.items():
            if wanted(base, owner):
                lent.over.set()

    def _lend(self, key: tuple[Server, str]) -> _Lent:
        lent = _Lent(self._make(key[0].spec))
        if not self._begin(lent.server, lambda: self._look_after(key, lent)):
            raise ServerError(key[0].name, "the host is not running")
        self._held[key] = lent
        return lent

    def _make_room(self, name: str) -> None:
        if len(self._held) < MOST:
            return
        idle = [lent for lent in self._held.values() if not lent.users and not lent.over.is_set()]
        if not idle:
            raise ServerError(name, f"{MOST} sessions are in use", hint="Try again a little later.")
        min(idle, key=lambda lent: lent.used).over.set()

    async def _look_after(self, key: tuple[Server, str], lent: _Lent) -> None:
        """End the server when it is over, or was not used for as long as its entry says."""
        longest = key[0].spec.session_idle
        while not lent.over.is_set():
            left = longest if lent.users else lent.used + longest - time.monotonic()
            if left <= 0:
                break
            with anyio.move_on_after(left):
                await lent.over.wait()
        if self._held.get(key) is lent:
            del self._held[key]
        await lent.server.stop()


class Private:
    """A server, as one owner calls it."""

    def __init__(self, base: Server, owner: str, pool: Pool) -> None:
        self._base = base
        self._owner = owner
        self._pool = pool

    @property
    def spec(self) -> ServerSpec:
        return self._base.spec

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
        """As `Server.call`. A call that finds the server starting waits for it, as long as that may take."""
        with self._pool.borrowed(self._base, self._owner) as server:
            await server.settled()
            return await server.call(
                tool, arguments, seconds=seconds, longest=longest, repeatable=repeatable, progress=progress
            )
