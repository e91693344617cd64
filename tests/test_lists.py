"""Lists that follow their server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from mcphost.errors import ToolError
from mcphost.lists import Lists
from mcphost.offers import What

pytestmark = pytest.mark.anyio


class Shop:
    """A server's side: what it has, how often it was asked, and a gate that it answers behind."""

    def __init__(self, **items: tuple[Any, ...]) -> None:
        self.items = dict(items)
        self.asked: list[What] = []
        self.open = anyio.Event()
        self.open.set()

    async def fetch(self, what: What) -> tuple[Any, ...]:
        self.asked.append(what)
        await self.open.wait()
        if self.items[what] == ("broken",):
            raise ToolError("the index is being rebuilt")
        return self.items[what]


@asynccontextmanager
async def kept(shop: Shop, changes: list[What]) -> AsyncGenerator[Lists]:
    lists = Lists("shop", changes.append)
    lists.begin(shop.items["tools"])
    async with anyio.create_task_group() as tg:
        tg.start_soon(lists.keep, shop.fetch)
        yield lists
        tg.cancel_scope.cancel()


async def test_a_list_is_fetched_once():
    shop = Shop(tools=(), prompts=("a",))
    async with kept(shop, []) as lists:
        assert await lists.get("prompts", shop.fetch) == await lists.get("prompts", shop.fetch) == ("a",)
    assert shop.asked == ["prompts"]


async def test_a_notice_has_the_list_fetched_anew():
    shop, changes = Shop(tools=("a",)), list[What]()
    async with kept(shop, changes) as lists:
        shop.items["tools"] = ("a", "b")
        lists.notice("tools")
        await lists.settled(30)
        assert lists.tools == ("a", "b")
    assert changes == ["tools"]


async def test_many_notices_at_once_are_one_fetch():
    shop = Shop(tools=("a",), prompts=())
    async with kept(shop, []) as lists:
        for _ in range(100):
            lists.notice("tools", "prompts")
        await lists.settled(30)
    assert shop.asked == ["tools"]  # nobody has asked for the prompts yet


async def test_a_notice_during_the_fetch_is_another_fetch():
    shop, changes = Shop(tools=("a",)), list[What]()
    async with kept(shop, changes) as lists:
        shop.items["tools"], shop.open = ("a", "b"), anyio.Event()
        lists.notice("tools")
        while not shop.asked:
            await anyio.lowlevel.checkpoint()
        lists.notice("tools")
        shop.open.set()
        await lists.settled(30)
    assert shop.asked == ["tools", "tools"]
    assert changes == ["tools"]


async def test_a_notice_during_the_first_fetch_is_another_fetch():
    shop, changes = Shop(tools=(), prompts=("a",)), list[What]()
    async with kept(shop, changes) as lists, anyio.create_task_group() as tg:
        shop.open = anyio.Event()
        tg.start_soon(lists.get, "prompts", shop.fetch)
        while not shop.asked:
            await anyio.lowlevel.checkpoint()
        lists.notice("prompts")
        while not changes:  # nobody has the prompts yet
            await anyio.lowlevel.checkpoint()
        shop.open.set()
        await lists.get("prompts", shop.fetch)
        shop.items["prompts"] = ("a", "b")
        await lists.settled(30)
        assert await lists.get("prompts", shop.fetch) == ("a", "b")
    assert changes == ["prompts", "prompts"]


async def test_a_notice_before_the_connection_is_there_is_kept():
    shop = Shop(tools=("a", "b"))
    lists = Lists("shop", lambda _: None)
    lists.notice("tools")
    lists.begin(("a",))
    async with anyio.create_task_group() as tg:
        tg.start_soon(lists.keep, shop.fetch)
        await lists.settled(30)
        assert lists.tools == ("a", "b")
        tg.cancel_scope.cancel()


async def test_many_notices_of_a_list_that_nobody_has_are_told_once():
    shop, changes = Shop(tools=()), list[What]()
    async with kept(shop, changes) as lists:
        for _ in range(1000):
            lists.notice("resources", "templates")
        assert lists.is_settled  # there is nothing to wait for
        while not changes:
            await anyio.lowlevel.checkpoint()
    assert (shop.asked, changes) == ([], ["resources"])


async def test_what_is_the_same_is_not_told():
    shop, changes = Shop(tools=("a",)), list[What]()
    async with kept(shop, changes) as lists:
        lists.notice("tools")
        await lists.settled(30)
    assert changes == []


async def test_a_list_that_cannot_be_fetched_stays_as_it_was(caplog: pytest.LogCaptureFixture):
    shop = Shop(tools=("a",))
    async with kept(shop, []) as lists:
        shop.items["tools"] = ("broken",)
        lists.notice("tools")
        await lists.settled(30)
        assert lists.tools == ("a",)
        shop.items["tools"] = ("b",)
        lists.notice("tools")
        await lists.settled(30)
        assert lists.tools == ("b",)
    assert "shop: its tools may be out of date: the index is being rebuilt" in caplog.text
