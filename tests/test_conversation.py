"""The loop: rounds, limits, and messages that stay valid whatever happens."""

import json
from typing import Any, ClassVar

import anyio
import pytest
from mcp.server.mcpserver import MCPServer

from mcphost import Host, ModelError
from mcphost.config import Limits
from mcphost.dialect import DIALECTS
from mcphost.events import Call, Done, Failed, Result, Round, RoundUsage, Text, Warned
from mcphost.hooks import NoHooks

from .conftest import rogue
from .scripted import ScriptedModel, Step, calls, says

pytestmark = pytest.mark.anyio

ECHO = ("rogue-echo", '{"text": "hello"}')


def host(
    *steps: Step, limits: dict[str, Any] | None = None, dialect: str = "openai", **server: Any
) -> tuple[Host, ScriptedModel]:
    model = ScriptedModel(*steps, dialect=DIALECTS[dialect])
    config = {"mcpServers": {"rogue": {**rogue(), **server}}, "limits": limits or {}}
    return Host.from_config(config, model=model), model


def is_valid(messages: list[dict[str, Any]]) -> bool:
    """Whether every call has its one result, directly after it."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return False
        waiting += [call["id"] for call in message.get("tool_calls") or []]
    return not waiting


async def test_an_answer_without_calls_is_one_round():
    running, model = host(says("Good morning."))
    async with running:
        await running.ready()
        reply = await running.chat("Hello")
    assert (reply.text, reply.rounds, reply.stop) == ("Good morning.", 1, "answer")
    assert reply.messages == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Good morning."},
    ]
    assert len(model.asked[0]["tools"]) == 5
    assert model.asked[0]["tool_choice"] is None


async def test_calls_run_and_their_results_go_back():
    running, model = host(calls(ECHO), says("It said hello."))
    async with running:
        await running.ready()
        reply = await running.chat("Try it")
    assert [message["role"] for message in reply.messages] == ["user", "assistant", "tool", "assistant"]
    assert reply.messages[2] == {"role": "tool", "tool_call_id": "call_1", "content": "hello"}
    assert model.asked[1]["messages"] == reply.messages[:3]
    assert reply.rounds == 2
    assert reply.usage.prompt_tokens == 20
    assert [result.ok for result in reply.tool_calls] == [True]


async def test_events_come_in_order():
    running, _ = host(calls(ECHO, text="Let me see."), says("Done."))
    async with running:
        await running.ready()
        async with running.turn("Try it") as turn:
            seen = [event async for event in turn]
    kinds = [type(event).__name__ for event in seen]
    assert kinds == ["Round", "Text", "RoundUsage", "Call", "Result", "Round", "Text", "RoundUsage", "Done"]


async def test_calls_of_one_round_run_side_by_side_and_results_keep_call_order(tmp_path: Any):
    # the first call waits for a file that is made once the second has its result: one by one, they would hang
    mark = tmp_path / "mark"
    wait = ("rogue-wait", json.dumps({"until": str(mark)}))
    model = ScriptedModel(calls(wait, ("other-echo", '{"text": "second"}')), says("Done."))
    running = Host.from_config({"mcpServers": {"rogue": rogue(), "other": rogue()}}, model=model)
    async with running:
        await running.ready()
        async with running.turn("Go") as turn:
            async for event in turn:
                if isinstance(event, Result) and event.result.call_id == "call_2":
                    mark.touch()
            contents = [message["content"] for message in turn.messages if message["role"] == "tool"]
    assert contents == ["it is there", "second"]


async def test_parallel_calls_are_bounded(tmp_path: Any):
    mark = tmp_path / "mark"
    wait = ("rogue-wait", json.dumps({"until": str(mark)}))
    model = ScriptedModel(calls(wait, ("other-echo", '{"text": "second"}')), says("Done."))
    config = {"mcpServers": {"rogue": rogue(), "other": rogue()}, "limits": {"parallel": 1}}
    order: list[str] = []
    async with Host.from_config(config, model=model) as running:
        await running.ready()
        async with running.turn("Go") as turn:
            async for event in turn:
                if isinstance(event, Call):
                    mark.touch()
                if isinstance(event, Call | Result):
                    order.append(type(event).__name__)
    assert order == ["Call", "Result", "Call", "Result"]


async def test_an_unknown_tool_is_told_to_the_model():
    running, model = host(calls(("rogue-ecco", "{}")), says("Sorry."))
    async with running:
        await running.ready()
        await running.chat("Go")
    failed = json.loads(model.asked[1]["messages"][-1]["content"])
    assert failed["status"] == "failed"
    assert "rogue-ecco" in failed["error"]
    assert "rogue-echo" in failed["hint"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("{}", "text"), ('{"text": ', "cut"), ("[1]", "object"), ('{"text": {"a": 1}}', "text")],
)
async def test_arguments_that_cannot_be_sent_are_told_to_the_model(arguments: str, said: str):
    running, model = host(calls(("rogue-echo", arguments)), says("Sorry."))
    async with running:
        await running.ready()
        await running.chat("Go")
    assistant, tool = model.asked[1]["messages"][-2:]
    failed = json.loads(tool["content"])
    assert failed["status"] == "failed"
    assert said in failed["error"]
    assert isinstance(json.loads(assistant["tool_calls"][0]["function"]["arguments"]), dict)


async def test_validate_false_leaves_arguments_to_the_server():
    running, model = host(calls(("rogue-echo", '{"text": {"a": 1}}')), says("Fine."), validate=False)
    async with running:
        await running.ready()
        await running.chat("Go")
    assert "failed" not in model.asked[1]["messages"][-1]["content"]


async def test_a_tools_error_is_a_failed_result():
    running, model = host(calls(("rogue-fail", "{}")), says("The disk is full."))
    async with running:
        await running.ready()
        await running.chat("Go")
    failed = json.loads(model.asked[1]["messages"][-1]["content"])
    assert failed["status"] == "failed"
    assert "the disk is full" in failed["error"]


async def test_the_round_limit_ends_with_a_closing_request():
    running, model = host(calls(ECHO), calls(ECHO), calls(ECHO, text="So far: hello."), limits={"rounds": 2})
    async with running:
        await running.ready()
        reply = await running.chat("Go")
    assert [asked["tool_choice"] for asked in model.asked] == [None, None, "none"]
    assert model.asked[2]["tools"] == model.asked[0]["tools"]
    assert (reply.stop, reply.text, reply.rounds, len(reply.tool_calls)) == ("limit", "So far: hello.", 3, 2)
    assert is_valid(reply.messages)


async def test_the_limit_of_calls_a_turn():
    running, model = host(calls(ECHO, ECHO, ECHO), says("Enough."), limits={"calls": 2})
    async with running:
        await running.ready()
        reply = await running.chat("Go")
    assert [result.ok for result in reply.tool_calls] == [True, True, False]
    assert model.asked[1]["tool_choice"] == "none"
    assert (reply.stop, reply.text) == ("limit", "Enough.")
    assert is_valid(reply.messages)


async def test_a_forced_tool_is_forced_once_and_none_stays():
    forced = {"type": "function", "function": {"name": "rogue-echo"}}
    running, model = host(calls(ECHO), says("Done."))
    async with running:
        await running.ready()
        await running.chat("Go", tool_choice=forced)
        assert [asked["tool_choice"] for asked in model.asked] == [forced, None]
        await running.chat("Go", tool_choice="none")
        assert model.asked[2]["tool_choice"] == "none"


async def test_tool_choice_is_left_out_where_there_are_no_tools():
    model = ScriptedModel(says("Hello."))
    async with Host.from_config({"mcpServers": {}}, model=model) as running:
        await running.chat("Go", tool_choice="required")
    assert model.asked[0]["tool_choice"] is None


async def test_an_empty_reply_is_asked_for_once_more():
    running, model = host(says(" "), says("Here."))
    async with running:
        reply = await running.chat("Go")
    assert reply.text == "Here."
    assert len(model.asked) == 2
    assert reply.rounds == 1


async def test_two_empty_replies_are_a_model_error_with_the_reason():
    running, _ = host(says("", finish_reason="content_filter"))
    async with running:
        with pytest.raises(ModelError, match="content_filter"):
            await running.chat("Go")


async def test_a_model_error_is_the_last_event_and_messages_can_be_sent_again():
    running, _ = host(calls(ECHO), ModelError("the endpoint is down", hint="Start it."))
    async with running:
        await running.ready()
        async with running.turn("Go") as turn:
            events = [event async for event in turn]
            assert is_valid(turn.messages)
    assert events[-1] == Failed("the endpoint is down", 1, "Start it.", turn.messages)


async def test_a_dangling_call_in_the_history_is_mended_before_it_is_sent():
    running, model = host(says("Fine."))
    call = {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "user", "content": "Well?"},
    ]
    async with running:
        await running.chat(history)
    assert is_valid(model.asked[0]["messages"])
    assert len(history) == 3


async def test_leaving_a_turn_cancels_its_calls_and_every_call_has_its_result(tmp_path: Any):
    wait = ("rogue-wait", json.dumps({"until": str(tmp_path / "never")}))
    running, _ = host(
        calls(("rogue-fail", "{}"), wait, ("no-such", "{}")), says("Done."), limits={"parallel": 3}
    )
    async with running:
        await running.ready()
        with anyio.fail_after(20):
            async with running.turn("Go") as turn:
                results = 0
                async for event in turn:
                    results += isinstance(event, Result)
                    if results == 2:
                        break
        assert is_valid(turn.messages)
        contents = [message["content"] for message in turn.messages if message["role"] == "tool"]
        assert ["disk is full" in contents[0], "cancel" in contents[1], "no-such" in contents[2]] == [
            True
        ] * 3


async def test_what_a_late_server_lists_joins_the_next_round(tmp_path: Any):
    mark = tmp_path / "mark"
    code = "import pathlib, time, runpy, sys\n"
    code += f"while not pathlib.Path({str(mark)!r}).exists(): time.sleep(0.01)\n"
    code += f"sys.argv = ['rogue.py']; runpy.run_path({rogue()['args'][0]!r}, run_name='__main__')"  # type: ignore[index]
    late = {"command": rogue()["command"], "args": ["-c", code]}

    async def start_late() -> Any:
        mark.touch()
        await running.servers["late"].settled()
        return calls(ECHO)

    model = ScriptedModel(start_late, says("Done."))
    async with Host.from_config({"mcpServers": {"rogue": rogue(), "late": late}}, model=model) as running:
        await running.servers["rogue"].settled()
        await running.chat("Go")
    assert [len(asked["tools"]) for asked in model.asked] == [5, 10]


async def test_limits_can_be_given_for_one_turn():
    running, model = host(calls(ECHO), says("Enough."))
    async with running:
        await running.ready()
        reply = await running.chat("Go", limits=Limits(rounds=1))
    assert (reply.stop, len(model.asked)) == ("limit", 2)


async def test_usage_is_told_by_round():
    running, _ = host(calls(ECHO), says("Done."))
    async with running:
        await running.ready()
        async with running.turn("Go") as turn:
            events = [event async for event in turn]
    assert [event.n for event in events if isinstance(event, RoundUsage)] == [1, 2]
    assert [event.n for event in events if isinstance(event, Round)] == [1, 2]
    assert [event.text for event in events if isinstance(event, Text)] == ["Done."]
    assert isinstance(events[-1], Done)


async def test_limits_of_one_turn_hold_for_its_calls_too(tmp_path: Any):
    wait = ("rogue-wait", json.dumps({"until": str(tmp_path / "never")}))
    running, _ = host(calls(wait), says("Too slow."))
    async with running:
        await running.ready()
        reply = await running.chat("Go", limits=Limits(call_seconds=0.2))
    assert reply.tool_calls[0].cause == "timeout"


async def test_the_third_call_in_a_row_with_the_same_result_is_not_run():
    again = calls(("rogue-echo", '{ "text":"hello" }'))
    running, model = host(
        calls(ECHO), again, calls(ECHO), calls(("rogue-pid", "{}")), calls(ECHO), says("Fine.")
    )
    async with running:
        await running.ready()
        reply = await running.chat("Go")
    assert [result.ok for result in reply.tool_calls] == [True, True, False, True, True]
    assert reply.tool_calls[2].cause == "refused"
    assert "twice in a row" in json.loads(model.asked[3]["messages"][-1]["content"])["error"]


async def test_a_call_that_gives_something_new_each_time_may_be_repeated():
    steps = [calls(("rogue-count", "{}"))] * 4
    given = iter("1234")

    server = MCPServer("counter")

    @server.tool()
    def count() -> str:
        return next(given)

    model = ScriptedModel(*steps, says("Fine."))
    async with Host.from_config({"mcpServers": {}}, model=model, local={"rogue": server}) as running:
        await running.ready()
        reply = await running.chat("Go")
    assert [result.ok for result in reply.tool_calls] == [True] * 4


async def test_at_the_limit_of_rounds_the_hook_decides_how_many_more_there_are():
    class Generous(NoHooks):
        asked: ClassVar[list[int]] = []

        async def more_rounds(self, rounds: int) -> int:
            self.asked.append(rounds)
            return 2 if rounds == 1 else 0

    steps = [calls(("rogue-echo", f'{{"text": "{n}"}}')) for n in range(5)]
    model = ScriptedModel(*steps)
    config = {"mcpServers": {"rogue": rogue()}, "limits": {"rounds": 1}}
    async with Host.from_config(config, model=model, hooks=Generous()) as running:
        await running.ready()
        reply = await running.chat("Go")
    assert Generous.asked == [1, 3]
    assert (reply.stop, reply.rounds, len(reply.tool_calls)) == ("limit", 4, 3)


async def test_what_is_sent_fits_the_window_and_what_is_kept_is_whole():
    long = ("rogue-echo", json.dumps({"text": "x" * 9000}))
    model = ScriptedModel(calls(long), calls(("rogue-pid", "{}")), says("Done."))
    config = {"mcpServers": {"rogue": rogue()}, "model": {"context_tokens": 2000}}
    async with Host.from_config(config, model=model) as running:
        await running.ready()
        async with running.turn("Go") as turn:
            seen = [event async for event in turn]
            kept = [len(message["content"]) for message in turn.messages if message["role"] == "tool"]
    sent = [len(message["content"]) for message in model.asked[2]["messages"] if message["role"] == "tool"]
    assert kept[0] == 9000 and sent[0] < 3000 and sent[1] == kept[1]
    assert [event.text for event in seen if isinstance(event, Warned)] == [
        "to fit the model's window, old results are shortened: 1"
    ]
