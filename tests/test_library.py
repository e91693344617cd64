"""The library's front door: public names, calls in every form, and the example programs."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessageToolCall
from openai.types.chat.chat_completion_message_tool_call import Function

import mcphost
from mcphost import Allow, Asked, ConfigError, Failed, Host, Refuse, ServerError
from mcphost.demo.config import config as demo_config
from mcphost.demo.model import ScriptedModel as DemoModel

from .conftest import rogue
from .scripted import ScriptedModel, calls, says

EXAMPLES = Path(__file__).parents[1] / "examples"

PUBLIC = (
    "Accept Allow AllowAll Answer Approve Asked Attachment AuthRequired AuthSpec Call Catalog ChatReply "
    "Completion Config ConfigError ConnectFailed Contents Decision Decline Dialect Done ElicitationAsked "
    "Event Failed Hooks Host LimitReached Limits ListChanged Loopback McphostError Message Model "
    "ModelError NoHooks NotVisited OpenAIModel Progress Prompt PromptArgument PromptReply Reasoning "
    "Refuse Reply Resource ResourceTemplate ResourceUpdated Result Round RoundUsage Route SamplingAsked "
    "Server ServerChanged ServerError ServerLog ServerLost ServerSpec Text ToolCall ToolChoice ToolError "
    "ToolResult Turn Usage Visit Visitor Warned __version__ "
).split()


def one_rogue(**options: Any) -> Host:
    return Host.from_config({"mcpServers": {"rogue": rogue()}}, **options)


def as_dict(name: str, arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_public_names_are_these():
    assert sorted(mcphost.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(mcphost, name) is not None


@pytest.mark.anyio
async def test_a_call_gives_the_tool_message():
    async with one_rogue() as host:
        await host.ready()
        message = await host.call(as_dict("rogue-echo", '{"text": "hello"}'))
    assert message == {"role": "tool", "tool_call_id": "call_1", "content": "hello"}


@pytest.mark.anyio
async def test_calls_may_be_the_sdks_objects():
    function = Function(name="rogue-echo", arguments='{"text": "hello"}')
    call = ChatCompletionMessageToolCall(id="call_9", type="function", function=function)
    async with one_rogue() as host:
        await host.ready()
        messages = await host.call_all([call, as_dict("rogue-echo", '{"text": "again"}', "call_10")])
    assert [(message["tool_call_id"], message["content"]) for message in messages] == [
        ("call_9", "hello"),
        ("call_10", "again"),
    ]


@pytest.mark.anyio
async def test_call_all_never_raises_for_a_tools_trouble():
    wanted = [
        as_dict("no-such", "{}", "a"),
        as_dict("rogue-fail", "{}", "b"),
        as_dict("rogue-echo", "{", "c"),
    ]
    async with one_rogue() as host:
        await host.ready()
        messages = await host.call_all(wanted)
    assert [message["tool_call_id"] for message in messages] == ["a", "b", "c"]
    assert [json.loads(message["content"])["status"] for message in messages] == ["failed"] * 3


@pytest.mark.anyio
async def test_a_custom_tools_call_fails_beside_the_others():
    custom = {"id": "c", "type": "custom", "custom": {"name": "rogue-echo", "input": "just text"}}
    async with one_rogue() as host:
        await host.ready()
        messages = await host.call_all([custom, as_dict("rogue-echo", '{"text": "hello"}', "d")])
    assert json.loads(messages[0]["content"])["status"] == "failed"
    assert messages[1]["content"] == "hello"


@pytest.mark.anyio
async def test_a_hook_that_cancels_itself_costs_its_own_call_only():
    hooks = Hooks(asyncio.CancelledError(), Allow())
    async with approving(hooks) as host:
        await host.ready()
        wanted = [as_dict("rogue-echo", '{"text": "x"}', call_id) for call_id in ("a", "b")]
        messages = await host.call_all(wanted)
    assert [message["tool_call_id"] for message in messages] == ["a", "b"]
    assert sorted("cancelled" in message["content"] for message in messages) == [False, True]


@pytest.mark.anyio
async def test_waiting_for_a_host_that_is_not_running_is_an_error():
    with pytest.raises(RuntimeError, match="async with"):
        await one_rogue().ready()


@pytest.mark.anyio
async def test_what_is_no_call_is_refused():
    async with one_rogue() as host:
        with pytest.raises(TypeError, match="tool call"):
            await host.call({"id": "x"})


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["rogue-echo", "echo", "rogue/echo"])
async def test_call_tool_takes_every_name(name: str):
    async with one_rogue() as host:
        await host.ready()
        result = await host.call_tool(name, {"text": "hello"})
    assert (result.ok, result.content, result.server, result.tool) == (True, "hello", "rogue", "echo")


@pytest.mark.anyio
async def test_tools_are_there_when_servers_are_and_the_list_is_the_callers():
    async with one_rogue() as host:
        assert host.tools == []
        await host.ready()
        host.tools.append({"type": "function", "function": {"name": "mine"}})
        names = [tool["function"]["name"] for tool in host.tools]
        assert names == ["rogue-echo", "rogue-env", "rogue-fail", "rogue-wait", "rogue-pid"]


@pytest.mark.anyio
async def test_only_keeps_these_servers():
    config = {"mcpServers": {"one": rogue(), "two": rogue()}}
    async with Host.from_config(config, only=["two"]) as host:
        assert list(host.servers) == ["two"]
    with pytest.raises(ConfigError, match="three"):
        Host.from_config(config, only=["three"])


@pytest.mark.anyio
async def test_a_disabled_server_is_listed_and_cannot_be_reconnected():
    async with Host.from_config({"mcpServers": {"off": {**rogue(), "enabled": False}}}) as host:
        await host.ready()
        assert host.servers["off"].state == "disabled"
        with pytest.raises(ServerError, match="disabled"):
            await host.servers["off"].reconnect()


def test_a_config_found_in_the_working_folder_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"no servers\.json"):
        Host.from_config()
    (tmp_path / "servers.json").write_text('{"mcpServers": {}}')
    with pytest.raises(ConfigError, match="working folder"):
        Host.from_config()
    assert Host.from_config("servers.json").servers == {}


class Hooks:
    """Notes what is asked, and answers from a list."""

    def __init__(self, *decisions: Any) -> None:
        self.asked: list[Asked] = []
        self._decisions = list(decisions)

    async def approve(self, asked: Asked) -> Any:
        self.asked.append(asked)
        decision = self._decisions.pop(0)
        if isinstance(decision, BaseException):
            raise decision
        return decision


def approving(hooks: Any, approve: Any = "always", **server: Any) -> Host:
    entry = {**rogue(), "approve": approve, **server}
    return Host.from_config({"mcpServers": {"rogue": entry}}, hooks=hooks)


@pytest.mark.anyio
async def test_a_hook_allows_refuses_and_rewrites():
    decisions = (Allow(), Refuse("not today"), Allow({"text": "changed"}), ZeroDivisionError("bug"), None)
    hooks = Hooks(*decisions, Allow({"text": None}))
    async with approving(hooks) as host:
        await host.ready()
        results = [await host.call_tool("echo", {"text": "hello"}) for _ in range(6)]
    assert [result.ok for result in results] == [True, False, True, False, False, False]
    assert results[2].arguments == {"text": "changed"}
    assert results[5].cause == "invalid"
    assert results[5].arguments == {"text": None}
    assert results[1].error == "not today"
    assert results[1].cause == "refused"
    assert results[2].content == "changed"
    assert hooks.asked[0].arguments == {"text": "hello"}
    assert (hooks.asked[0].server, hooks.asked[0].tool) == ("rogue", "echo")


@pytest.mark.anyio
async def test_without_hooks_what_must_be_asked_is_refused():
    async with approving(None) as host:
        await host.ready()
        result = await host.call_tool("echo", {"text": "hello"})
    assert result.cause == "refused"
    assert "approval" in (result.error or "")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("approve", "asks"),
    [
        ("never", False),
        ("writes", True),
        (["echo"], True),
        (["env"], False),
        (["ec*"], True),
        (["en*"], False),
    ],
)
async def test_approve_says_which_calls_are_asked_about(approve: Any, asks: bool):
    hooks = Hooks(Allow())
    async with approving(hooks, approve) as host:
        await host.ready()
        assert (await host.call_tool("echo", {"text": "hello"})).ok
    assert bool(hooks.asked) is asks


@pytest.mark.anyio
async def test_a_models_name_is_resolved_when_it_is_asked():
    async with one_rogue() as host:
        with pytest.raises(ConfigError):
            await host.chat("Hello")


@pytest.mark.anyio
async def test_two_hosts_do_not_write_over_each_others_results():
    async with Host.from_config({"mcpServers": {"big": rogue("big")}}) as one:
        async with Host.from_config({"mcpServers": {"big": rogue("big")}}) as two:
            paths = []
            for host in (one, two):
                await host.ready()
                paths.append((await host.call_tool("big/echo", {"text": "x"})).attachments[0].path)
    assert paths[0] != paths[1]
    assert paths[0].parent.stat().st_mode & 0o077 == 0


@pytest.mark.anyio
async def test_a_result_that_cannot_be_saved_promises_no_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null")
    async with Host.from_config({"mcpServers": {"big": rogue("big")}}) as host:
        await host.ready()
        result = await host.call_tool("big/echo", {"text": "x"})
    assert "could not be saved" in result.warnings[0]
    assert "/dev/null" not in result.content
    assert result.attachments[0].path is None


@pytest.mark.anyio
async def test_a_model_that_raises_anything_ends_the_events_with_failed():
    async with one_rogue(model=ScriptedModel(ValueError("a bug"))) as host:
        async with host.turn("Go") as turn:
            events = [event async for event in turn]
    assert isinstance(events[-1], Failed)
    assert "a bug" in events[-1].error


@pytest.mark.anyio
async def test_messages_may_be_objects_of_the_sdk_and_are_not_changed():
    model = ScriptedModel(calls(("rogue-echo", '{"text": "x"}')), says("Done."))
    given = [{"role": "user", "content": "Go"}]
    async with one_rogue(model=model) as host:
        await host.ready()
        reply = await host.chat(given)
    assert len(given) == 1
    assert len(reply.messages) == 4


@pytest.mark.parametrize("example", ["own_loop.py", "watch_a_turn.py"])
def test_the_examples_run_on_the_demo_servers(example: str, tmp_path: Path):
    with DemoModel() as model:
        path = tmp_path / "servers.json"
        path.write_text(json.dumps(demo_config(model.base_url)), encoding="utf-8")
        environ = {
            **os.environ,
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
            "MODEL": "scripted-demo",
        }
        command = [sys.executable, str(EXAMPLES / example), str(path), "北京明天天气怎么样"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)
    assert run.returncode == 0, run.stderr
    assert "北京市" in run.stdout
