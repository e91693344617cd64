"""How long calls of a real server are waited for, and what is told meanwhile."""

from pathlib import Path

import anyio
import pytest

from mcphost import Call, Progress
from mcphost.hooks import Accept, Answer, ElicitationAsked

from .full_servers import (
    BY_REQUESTS,
    IN_BOTH_REVISIONS,
    IN_ONE_WAY,
    SECONDS,
    Answers,
    Full,
    made,
    said,
    told,
)
from .scripted import ScriptedModel, calls, says

pytestmark = pytest.mark.anyio

BRIEF = {"call_seconds": 0.5}


async def test_progress_is_told_while_the_call_runs(full: Full, tmp_path: Path):
    gate = str(tmp_path / "gate")
    model = ScriptedModel(calls(("full-work", f'{{"gate": "{gate}", "steps": 3}}')), says("done"))
    seen: list[Progress] = []
    async with full.host() as host, host.turn("Go.", model=model) as turn:
        with anyio.fail_after(SECONDS):
            async for event in turn:
                if isinstance(event, Call | Progress):
                    if isinstance(event, Progress):
                        seen.append(event)
                    # a step may be done when the one before has been reported
                    await anyio.Path(f"{gate}.{len(seen) + 1}").touch()
    assert seen == [Progress("call_1", step, 3, f"step {step}") for step in (1, 2, 3)]


async def test_progress_keeps_a_call_alive_beyond_its_deadline(full: Full, tmp_path: Path):
    gate = tmp_path / "gate"
    async with full.host(limits=BRIEF) as host:
        began = anyio.current_time()
        model = ScriptedModel(calls(("full-toil", f'{{"gate": "{gate}"}}')), says("done"))
        async with host.turn("Go.", model=model) as turn:
            async for event in turn:
                if isinstance(event, Progress) and anyio.current_time() > began + 2 * BRIEF["call_seconds"]:
                    await anyio.Path(gate).touch()
        assert '"toiled"' in str(turn.messages).replace("'", '"')


async def test_progress_keeps_no_call_alive_for_ever(full: Full, tmp_path: Path):
    async with full.host(limits={**BRIEF, "call_seconds_max": 0.6}) as host:
        with anyio.fail_after(SECONDS):
            result = await host.call_tool("full/toil", {"gate": str(tmp_path / "gate")})
    assert (result.ok, result.cause) == (False, "timeout")


@IN_ONE_WAY
async def test_an_entry_has_deadlines_of_its_own(full: Full, tmp_path: Path):
    async with full.host(entry={"timeout": 0.3, "timeout_max": 0.4}) as host:
        with anyio.fail_after(SECONDS):
            result = await host.call_tool("full/toil", {"gate": str(tmp_path / "gate")})
    assert (result.ok, result.cause) == (False, "timeout")


async def test_a_silent_call_is_given_up_and_the_server_told(full: Full, tmp_path: Path):
    until = tmp_path / "until"
    async with full.host(limits=BRIEF) as host:
        result = await host.call_tool("full/wait", {"until": str(until)})
        assert result.cause == "timeout"
        assert "no answer within 0.5 s" in str(result.error)
        await made(f"{until}.cancelled")
        assert await said(host, "log", text="still there", levels=[]) == "logged"


async def test_a_turn_that_is_left_takes_its_calls_along(full: Full, tmp_path: Path):
    until = tmp_path / "until"
    model = ScriptedModel(calls(("full-wait", f'{{"until": "{until}"}}')))
    async with full.host() as host:
        async with host.turn("Go.", model=model) as turn:
            async for event in turn:
                if isinstance(event, Call):
                    await made(f"{until}.awaited")
                    break
        await made(f"{until}.cancelled")
        assert await said(host, "log", text="still there", levels=[]) == "logged"


class Slow(Answers):
    """A user who takes longer to answer than a call may take."""

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        await anyio.sleep(2 * BRIEF["call_seconds"])
        return Accept({"name": "Li Bai"})


@IN_BOTH_REVISIONS
async def test_the_time_that_the_user_takes_to_answer_is_not_the_servers(full: Full):
    async with full.host(limits=BRIEF, hooks=Slow()) as host:
        assert (await told(host, "ask", message="who?"))["action"] == "accept"


async def test_a_result_over_the_limit_costs_only_itself(full: Full):
    big, small = ("full-big", '{"size": 1000000}'), ("full-big", '{"size": 16}')
    model = ScriptedModel(calls(big, small), says("done"))
    async with full.host(limits={"message_bytes": 200_000}) as host:
        reply = await host.chat("Go.", model=model)
        assert host.servers["full"].state == "ready"
    refused, given = reply.tool_calls
    assert "larger than 200,000 bytes" in str(refused.error)
    assert given.content == "0123456789abcdef"
    assert reply.text == "done"


@BY_REQUESTS
async def test_a_server_may_ask_whether_we_are_there(full: Full):
    async with full.host() as host:
        assert await told(host, "ping") == {}


async def test_calls_run_side_by_side_while_the_server_asks(full: Full, tmp_path: Path):
    """A question that is open keeps neither other calls nor other questions waiting."""
    both = tmp_path / "both"

    class Together(Answers):
        async def elicit(self, asked: ElicitationAsked) -> Answer:
            await super().elicit(asked)
            if len(self.asked) == 2:
                await anyio.Path(both).touch()
            await made(str(both))
            return Accept({"name": asked.message})

    model = ScriptedModel(
        calls(("full-ask", '{"message": "one"}'), ("full-ask", '{"message": "two"}'), ("full-roots", "{}")),
        says("done"),
    )
    async with full.host(hooks=Together()) as host:
        with anyio.fail_after(SECONDS):
            reply = await host.chat("Go.", model=model)
    assert [result.ok for result in reply.tool_calls] == [True, True, True]
    assert ["one" in reply.tool_calls[0].content, "two" in reply.tool_calls[1].content] == [True, True]
