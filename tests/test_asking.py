"""Hooks of every kind, also those that break: there always is a decision."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from mcphost import Host, asking
from mcphost.hooks import Accept, Allow, Asked, Decision, Decline, ElicitationAsked, Refuse, SamplingAsked

from .conftest import rogue
from .scripted import ScriptedModel, calls, says

pytestmark = pytest.mark.anyio

CALL = Asked("c1", "s-t", "s", "t", {}, read_only=False, why="it writes")
MODEL = SamplingAsked("s", [{"role": "user", "content": "?"}], 10)
FORM = ElicitationAsked("s", "Who?", {"properties": {}})
NOT_SAID = "whether the model may answer could not be asked"


class Made:
    """Hooks of which each is one function."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.approve = self.sample = self.elicit = self.more_rounds = hook


def giving(value: Any) -> Any:
    async def hook(asked: object) -> Any:
        return value

    return Made(hook)


def raising(error: BaseException, *, at_once: bool = False) -> Any:
    async def late(asked: object) -> Any:
        raise error

    def early(asked: object) -> Any:
        raise error

    return Made(early if at_once else late)


@pytest.mark.parametrize("hooks", [object(), None])
async def test_hooks_without_a_word_on_something_refuse_it(hooks: Any):
    refused = await asking.approve(hooks, CALL)
    assert isinstance(refused, Refuse)
    assert "needs the user's approval" in refused.reason
    assert isinstance(await asking.sample(hooks, MODEL), Refuse)
    assert await asking.elicit(hooks, FORM) == Decline()
    assert await asking.more_rounds(hooks, 20) == 0


async def test_what_hooks_decide_is_decided():
    assert await asking.approve(giving(Allow({"a": 1})), CALL) == Allow({"a": 1})
    assert await asking.sample(giving(Refuse("no")), MODEL) == Refuse("no")
    assert await asking.elicit(giving(Accept({"a": 1})), FORM) == Accept({"a": 1})
    assert await asking.elicit(giving(Decline(cancelled=True)), FORM) == Decline(cancelled=True)
    assert await asking.more_rounds(giving(3), 20) == 3


@pytest.mark.parametrize("error", [ValueError("my own words"), asyncio.CancelledError()])
@pytest.mark.parametrize("at_once", [False, True])
async def test_a_hook_that_raises_has_refused(error: BaseException, at_once: bool):
    hooks = raising(error, at_once=at_once)
    assert isinstance(await asking.approve(hooks, CALL), Refuse)
    assert await asking.sample(hooks, MODEL) == Refuse(NOT_SAID)  # a server is told nothing of ours
    assert await asking.elicit(hooks, FORM) == Decline(cancelled=True)
    assert await asking.more_rounds(hooks, 20) == 0


@pytest.mark.parametrize("nonsense", [None, True, "yes", Allow(["a"]), Refuse(3), Accept("text")])  # pyright: ignore[reportArgumentType]
async def test_a_hook_that_answers_with_nonsense_has_refused(nonsense: Any):
    assert isinstance(await asking.approve(giving(nonsense), CALL), Refuse)
    assert await asking.sample(giving(nonsense), MODEL) == Refuse(NOT_SAID)
    assert await asking.elicit(giving(nonsense), FORM) == Decline(cancelled=True)


async def test_a_hook_that_is_no_coroutine_has_refused():
    def approve(asked: object) -> Allow:
        return Allow()

    hooks: Any = Made(approve)
    assert isinstance(await asking.approve(hooks, CALL), Refuse)


async def test_a_host_takes_hooks_that_only_approve():
    class Approving:
        async def approve(self, asked: Asked) -> Decision:
            return Allow()

    model = ScriptedModel(calls(("rogue-echo", '{"text": "x"}')), says("Done."))
    config = {"mcpServers": {"rogue": {**rogue(), "approve": "always"}}, "limits": {"rounds": 1}}
    hooks: Any = Approving()
    async with Host.from_config(config, model=model, hooks=hooks) as host:
        await host.ready()
        reply = await host.chat("Go")
    assert ([call.ok for call in reply.tool_calls], reply.text, reply.stop) == ([True], "Done.", "limit")


@pytest.mark.parametrize(
    ("ask", "asked"), [(asking.approve, CALL), (asking.sample, MODEL), (asking.elicit, FORM)]
)
async def test_whoever_asks_can_be_cancelled(ask: Callable[[Any, Any], Awaitable[Any]], asked: Any):
    with anyio.CancelScope() as scope:

        async def leave(asked: object) -> Any:
            scope.cancel()
            await anyio.sleep_forever()

        await ask(Made(leave), asked)
        raise AssertionError("it went on")
    assert scope.cancelled_caught
