"""A turn as its watcher sees it."""

import pytest

from mcphost import Host
from mcphost.assemble import Reply

from .scripted import ScriptedModel

pytestmark = pytest.mark.anyio


async def test_what_the_watcher_raises_comes_out_as_it_is():
    async with Host.from_config({}, model=ScriptedModel(Reply("Hello."))) as host:
        with pytest.raises(KeyError, match="mine"):
            async with host.turn("Hi") as events:
                async for _ in events:
                    raise KeyError("mine")


async def test_a_watcher_may_leave_early():
    async with Host.from_config({}, model=ScriptedModel(Reply("Hello."))) as host:
        async with host.turn("Hi") as events:
            async for _ in events:
                break
        assert events.messages[0] == {"role": "user", "content": "Hi"}
