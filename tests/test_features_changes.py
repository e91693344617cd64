"""What a real server says on its own: changed lists and resources, its log; and what it is told of ours."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from mcphost import Host, ListChanged, ResourceUpdated, ServerChanged, ServerLog, ToolError

from .full_servers import IN_ONE_WAY, SECONDS, Full, said, told, upcoming
from .scripted import ScriptedModel, calls, says

pytestmark = pytest.mark.anyio

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def tool_names(tools: list[dict[str, Any]]) -> set[str]:
    return {entry["function"]["name"] for entry in tools}


async def test_tools_come_and_go(full: Full):
    async with full.host() as host, host.watch() as events:
        count = len(host.tools)
        await said(host, "add", kind="tools", name="late")
        changed = await upcoming(events, ServerChanged)
        assert (changed.name, changed.state, changed.tools) == ("full", "ready", count + 1)
        assert await said(host, "late") == "late was added"
        await said(host, "remove", kind="tools", name="late")
        assert (await upcoming(events, ServerChanged)).tools == count
        assert "full-late" not in tool_names(host.tools)


@pytest.mark.parametrize(("kind", "name"), [("prompts", "late"), ("resources", "memo://late")])
async def test_prompts_and_resources_come_and_go(full: Full, kind: Any, name: str):
    async def names(host: Host) -> set[str]:
        return {each.name for each in (await (host.prompts() if kind == "prompts" else host.resources()))}

    async with full.host() as host, host.watch() as events:
        before = await names(host)
        await said(host, "add", kind=kind, name=name)
        assert await upcoming(events, ListChanged) == ListChanged("full", kind)
        assert await names(host) == before | {name}
        await said(host, "remove", kind=kind, name=name)
        assert await upcoming(events, ListChanged) == ListChanged("full", kind)
        assert await names(host) == before


async def test_a_changed_list_that_nobody_has_asked_for_is_told_and_not_fetched(full: Full):
    async with full.host() as host, host.watch() as events:
        await said(host, "add", kind="prompts", name="late")
        assert await upcoming(events, ListChanged) == ListChanged("full", "prompts")
        assert await said(host, "heard", method="prompts/list", times=0) == "[]"
        assert (await host.get_prompt("late")).messages[0]["content"] == "late was added."


async def test_a_list_that_is_called_changed_again_and_again_is_fetched_once(full: Full):
    async with full.host() as host, host.watch() as events:
        pages = len(await told(host, "heard", method="tools/list"))
        await said(host, "add", kind="tools", name="late", quiet=True)
        await said(host, "announce", kind="tools", times=200)
        await upcoming(events, ServerChanged)
        fetched = len(await told(host, "heard", method="tools/list"))
    assert pages < fetched < 8 * pages  # one time, or a few where the notices took long to come


async def turn_with_a_change(full: Full, what: str, *, before: tuple[str, ...] = ()) -> Any:
    """A turn that adds or removes a tool and calls it: in the same round, and once the host knows of it.

    Returns the names of the tools of each request, and the reply.
    """
    async with full.host() as host, host.watch() as events:
        for each in before:
            await said(host, each, kind="tools", name="late")
            await upcoming(events, ServerChanged)

        async def once_told():
            await upcoming(events, ServerChanged)
            return calls(("full-log", '{"text": "", "levels": []}'))

        late = ("full-late", "{}")
        change = (f"full-{what}", '{"kind": "tools", "name": "late"}')
        model = ScriptedModel(calls(change, late), once_told, calls(late), says("done"))
        reply = await host.chat("Go.", model=model)
    assert reply.text == "done"
    return [tool_names(request["tools"]) for request in model.asked], reply


async def test_the_tools_change_between_rounds_and_never_within_one(full: Full):
    (first, second, third, _), reply = await turn_with_a_change(full, "add")
    assert third - first == {"full-late"}
    if not full.modern and full.way.transport != "http":  # where the notice comes before the result
        assert second == third
    added, too_early, _, in_time = reply.tool_calls
    assert added.ok
    assert "no tool named 'full-late'" in str(too_early.error)
    assert in_time.content == "late was added"


async def test_a_tool_that_is_gone_in_the_next_round_is_said_to_be(full: Full):
    (first, _, third, _), reply = await turn_with_a_change(full, "remove", before=("add",))
    assert first - third == {"full-late"}
    assert "no tool named 'full-late'" in str(reply.tool_calls[-1].error)


async def test_who_subscribes_is_told_until_the_end_of_it(full: Full):
    async with full.host() as host, host.watch() as events:
        for uri in ("memo://today", "memo://logo"):
            await host.subscribe(uri)
        await said(host, "update", uri="memo://today", text="tea")
        assert await upcoming(events, ResourceUpdated) == ResourceUpdated("full", "memo://today")
        assert (await host.read_resource("memo://today"))[0].text == "tea"
        await host.unsubscribe("memo://today", server="full")
        await said(host, "update", uri="memo://today", text="rice")
        await said(host, "update", uri="memo://logo", text="none")
        assert await upcoming(events, ResourceUpdated) == ResourceUpdated("full", "memo://logo")


async def test_a_subscription_outlives_the_connection(full: Full):
    async with full.host() as host, host.watch() as events:
        await host.subscribe("memo://today")
        await host.servers["full"].reconnect()
        assert await upcoming(events, ResourceUpdated)  # it may have changed meanwhile
        await said(host, "update", uri="memo://today", text="tea")
        assert await upcoming(events, ResourceUpdated) == ResourceUpdated("full", "memo://today")


async def test_a_server_that_does_not_tell_of_changes_cannot_be_subscribed_to(full: Full):
    async with full.host("--only=tools,resources") as host:
        with pytest.raises(ToolError):
            await host.subscribe("memo://today")
        assert (await host.read_resource("memo://today"))[0].text == "milk, bread"


async def test_changes_are_events_of_a_running_turn(full: Full):
    model = ScriptedModel(
        calls(("full-update", '{"uri": "memo://today", "text": "tea"}'), ("full-log", '{"text": "hot"}')),
        says("done"),
    )
    async with full.host(entry={"log_level": "emergency"}) as host:
        await host.subscribe("memo://today")
        async with host.turn("Go.", model=model) as turn:
            events = [event async for event in turn]
            # what comes on a stream of its own may come after the answer to the call
            if not any(isinstance(event, ResourceUpdated) for event in events):
                async with host.watch() as later:
                    await said(host, "update", uri="memo://today", text="rice")
                    events.append(await upcoming(later, ResourceUpdated))
    assert ServerLog("full", "emergency", "hot") in events
    assert ResourceUpdated("full", "memo://today") in events


async def test_the_log_of_a_server_comes_from_the_level_that_was_asked_for(full: Full):
    async with full.host(entry={"log_level": "warning"}) as host, host.watch() as events:
        if not full.modern:
            await said(host, "heard", method="logging/setLevel")
        await said(host, "log", text="低温")
        for level in LEVELS[LEVELS.index("warning") :]:
            assert await upcoming(events, ServerLog) == ServerLog("full", level, "低温")


async def test_the_log_does_not_show_the_secrets_of_the_servers_entry(full: Full):
    secret = "hunter2-and-some-more"
    stdio = full.way.transport == "stdio"
    entry = {"env": {"API_TOKEN": secret}} if stdio else {"headers": {"Authorization": f"Bearer {secret}"}}
    async with full.host(entry=entry) as host, host.watch() as events:
        await said(host, "log", text=f"using {secret} now", levels=["error"])
        logged = await upcoming(events, ServerLog)
    assert secret not in logged.text
    assert logged.text.startswith("using ")


async def test_a_server_learns_the_folders_to_work_in(full: Full, tmp_path: Path):
    folder = tmp_path / "a b"
    async with full.host(roots=[folder, "file:///srv/data"]) as host:
        assert await told(host, "roots") == {
            "roots": [
                {"uri": folder.as_uri(), "name": "a b"},
                {"uri": "file:///srv/data", "name": "data"},
            ]
        }


async def test_the_folders_may_change(full: Full, tmp_path: Path):
    async with full.host(roots=[tmp_path / "one"]) as host:
        assert (await told(host, "roots"))["roots"][0]["name"] == "one"
        await host.set_roots([tmp_path / "two"])
        if not full.modern:
            await said(host, "heard", method="notifications/roots/list_changed")
        assert (await told(host, "roots"))["roots"][0]["name"] == "two"


@IN_ONE_WAY
async def test_an_entrys_own_folders_go_before_the_hosts(full: Full, tmp_path: Path):
    async with full.host(entry={"roots": [str(tmp_path / "own")]}, roots=[tmp_path / "hosts"]) as host:
        await host.set_roots([tmp_path / "others"])
        assert [root["name"] for root in (await told(host, "roots"))["roots"]] == ["own"]
        assert await said(host, "heard", method="notifications/roots/list_changed", times=0) == "[]"


@IN_ONE_WAY
async def test_watching_ends_with_its_block(full: Full):
    async with full.host() as host:
        async with host.watch() as events:
            pass
        await said(host, "log", text="nobody listens")
        with anyio.fail_after(SECONDS), pytest.raises((anyio.ClosedResourceError, StopAsyncIteration)):
            await anext(aiter(events))
