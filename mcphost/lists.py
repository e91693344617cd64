"""What one server lists, kept as the server has it: fetched once, and again when it says that it changed."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
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
    each list that did change, its new items being there by then, and of each that nobody has asked for yet.
    """

    def __init__(self, name: str, changed: Callable[[What], None]) -> None:
        self._name = name
        self._changed = changed
        self._stale: set[What] = set()
        self._told = Counter[What]()
        self.begin(())

    def begin(self, tools: tuple[Any, ...]) -> None:
        """A new connection, on which only the tools are known. They may have changed since they were listed:
        what it has said of them before this is not forgotten."""
        self._items: dict[What, tuple[Any, ...]] = {"tools": tools}
        self._stale &= self._items.keys()
        self._noticed, self._settled = anyio.Event(), anyio.Event()
        (self._noticed if self._stale else self._settled).set()
        self._pause = _SETTLE_SECONDS

    @property
    def tools(self) -> tuple[Any, ...]:
        return self._items["tools"]

    @property
    def is_settled(self) -> bool:
        """Whether no list is being fetched again."""
        return self._settled.is_set()

    def notice(self, *changed: What) -> None:
        """The server says that these lists are others now, or may be."""
        self._told.update(changed)
        self._stale.update(changed)
        if self._settled.is_set() and not self._items.keys().isdisjoint(changed):
            self._settled = anyio.Event()
        self._noticed.set()

    def missed(self) -> None:
        """Notices may not have come: whatever has been fetched may be another list now."""
        self.notice(*self._items)

    async def get(self, what: What, fetch: Fetch) -> tuple[Any, ...]:
        """A list, fetched if it is not there yet. Raises what `fetch` raises."""
        if what not in self._items:
            told = self._told[what]
            items = await fetch(what)
            self._items.setdefault(what, items)
            if self._told[what] != told:  # during the fetch: these may be the items of before
                self.notice(what)
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
            if self._stale.isdisjoint(self._items):
                self._settled.set()

    async def _renew(self, what: What, fetch: Fetch) -> bool:
        """Whether a list that was fetched anew is another one. It stays as it was when that fails. One that
        nobody has asked for is not fetched."""
        if what not in self._items:
            if what != "templates":  # MCP has one notification for them and for the resources
                self._changed(what)
            return True
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
