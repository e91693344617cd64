"""What one server lists, kept as the server has it: fetched once, and again when it says that it changed."""

import logging
from collections.abc import Awaitable, Callable, Set
from typing import Any, Final

import anyio

from mcphost.errors import McphostError
from mcphost.offers import What

Fetch = Callable[[What], Awaitable[tuple[Any, ...]]]
"""Gets a list anew. Raises `McphostError` or `TimeoutError`."""

_SETTLE_SECONDS: Final = 0.05
_LONGEST_PAUSE: Final = 30.0

logger = logging.getLogger(__name__)


class Lists:
    """The lists of a server, by what they are of.

    A server that changes much at once tells of it many times: notices are gathered for a moment. One whose
    lists are the same each time that it calls them changed is asked ever more rarely. `changed` is told of
    each list that did change, its new items being there by then.
    """

    def __init__(self, name: str, changed: Callable[[What], None]) -> None:
        self._name = name
        self._changed = changed
        self.begin(())

    def begin(self, tools: tuple[Any, ...]) -> None:
        """A new connection, on which only the tools are known."""
        self._items: dict[What, tuple[Any, ...]] = {"tools": tools}
        self._stale: set[What] = set()
        self._noticed, self._settled = anyio.Event(), anyio.Event()
        self._settled.set()
        self._pause = _SETTLE_SECONDS

    @property
    def tools(self) -> tuple[Any, ...]:
        return self._items["tools"]

    @property
    def known(self) -> Set[What]:
        """What has been fetched."""
        return self._items.keys()

    @property
    def is_settled(self) -> bool:
        """Whether no list is being fetched again."""
        return self._settled.is_set()

    def notice(self, *changed: What) -> None:
        """The server says that these lists are others now, or may be."""
        known = self._items.keys() & set(changed)
        if not known:
            return
        if self._settled.is_set():
            self._settled = anyio.Event()
        self._stale |= known
        self._noticed.set()

    async def get(self, what: What, fetch: Fetch) -> tuple[Any, ...]:
        """A list, fetched if it is not there yet. Raises what `fetch` raises."""
        if what not in self._items:
            self._items[what] = await fetch(what)
        return self._items[what]

    async def settled(self, seconds: float) -> None:
        """Wait until no list is known to be out of date, at most `seconds`, and not for a noisy server."""
        if self._pause < seconds:
            with anyio.move_on_after(seconds):
                await self._settled.wait()

    async def keep(self, fetch: Fetch) -> None:
        """Fetch what the server says has changed, for as long as the connection holds."""
        while True:
            await self._noticed.wait()
            await anyio.sleep(self._pause)
            self._noticed = anyio.Event()
            stale = self._stale
            self._stale = set()
            changed = [what for what in sorted(stale) if await self._renew(what, fetch)]
            self._pause = _SETTLE_SECONDS if changed else min(self._pause * 2, _LONGEST_PAUSE)
            if not self._stale:
                self._settled.set()

    async def _renew(self, what: What, fetch: Fetch) -> bool:
        """Whether a list that was fetched anew is another one. It stays as it was when that fails."""
        try:
            items = await fetch(what)
        except (McphostError, TimeoutError) as exc:
            logger.warning("%s: its %s may be out of date: %s", self._name, what, exc)
            return False
        if items == self._items.get(what):
            return False
        self._items[what] = items
        self._changed(what)
        return True
