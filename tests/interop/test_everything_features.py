"""server-everything through the library: every tool, prompt, resource and template that it lists."""

import base64
import gzip
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mcphost import Host, ListChanged, Progress, ResourceUpdated, ServerLog
from mcphost.hooks import Accept, Decline

from ..full_servers import Answers, upcoming
from ..scripted import ScriptedModel, calls, says
from . import real_servers

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

T = TypeVar("T")

DRIVEN: dict[str, set[str]] = {"tools": set(), "prompts": set(), "templates": set()}
"""What the tests here drive, and that is all there is: see the first of them. Of resources, all are read."""


def drives(kind: str, *names: str) -> Callable[[T], T]:
    """Notes what a test drives."""

    def noted(test: T) -> T:
        DRIVEN[kind].update(names)
        return test

    return noted


class Everything:
    """The server over one transport."""

    def __init__(self, entry: real_servers.Entry) -> None:
        self._entry = entry

    @asynccontextmanager
    async def host(self, *, entry: real_servers.Entry | None = None, **options: Any) -> AsyncGenerator[Host]:
        config = {"mcpServers": {"everything": {**self._entry, **(entry or {})}}}
        async with Host.from_config(config, **options) as host:
            await host.ready()
            assert host.servers["everything"].state == "ready", host.servers["everything"].error
            yield host


@pytest.fixture(params=["stdio", "http", "sse"])
def everything(request: pytest.FixtureRequest) -> Everything:
    way = request.param
    if way == "stdio":
        return Everything(real_servers.everything())
    return Everything({"type": way, "url": request.getfixturevalue(f"everything_{way}")})


async def blocks(host: Host, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """The content of a tool's result, which must be a good one."""
    result = await host.call_tool(f"everything/{tool}", arguments)
    assert result.ok and result.raw is not None, result.error
    return result.raw["content"]


async def text(host: Host, tool: str, **arguments: Any) -> str:
    """The one text of a tool's result."""
    (block,) = await blocks(host, tool, **arguments)
    return block["text"]


async def test_all_that_is_listed_is_driven_here(everything: Everything):
    async with everything.host() as host:
        assert {tool["name"] for tool in host.servers["everything"].tools} == DRIVEN["tools"]
        assert {prompt.name for prompt in await host.prompts()} == DRIVEN["prompts"]
        templates = await host.resource_templates()
        assert {template.uri_template for template in templates} == DRIVEN["templates"]


# tools


@drives("tools", "echo", "get-sum", "get-env")
async def test_plain_tools(everything: Everything):
    async with everything.host() as host:
        assert await text(host, "echo", message="高铁\u2028🙂") == "Echo: 高铁\u2028🙂"
        assert await text(host, "get-sum", a=2, b=40) == "The sum of 2 and 40 is 42."
        assert "PATH" in json.loads(await text(host, "get-env"))


@drives("tools", "get-structured-content")
async def test_structured_content(everything: Everything):
    async with everything.host() as host:
        for city, temperature in (("New York", 33), ("Chicago", 36), ("Los Angeles", 73)):
            result = await host.call_tool("everything/get-structured-content", {"location": city})
            assert result.raw is not None
            assert result.raw["structuredContent"]["temperature"] == temperature
            assert result.warnings == ()


@drives("tools", "get-annotated-message", "get-tiny-image")
async def test_annotations_and_pictures(everything: Everything):
    async with everything.host() as host:
        for kind in ("error", "success", "debug"):
            message, image = await blocks(host, "get-annotated-message", messageType=kind, includeImage=True)
            assert {"priority", "audience"} == message["annotations"].keys() == image["annotations"].keys()
        result = await host.call_tool("everything/get-tiny-image")
        (picture,) = result.attachments
        assert picture.data.startswith(b"\x89PNG")
        assert picture.path is not None and picture.path.read_bytes() == picture.data


@drives("tools", "get-resource-links", "get-resource-reference")
async def test_what_results_link_to_can_be_read(everything: Everything):
    async with everything.host() as host:
        _, *links = await blocks(host, "get-resource-links", count=10)
        assert len(links) == 10
        for link in links[:2]:
            (contents,) = await host.read_resource(link["uri"])
            assert (contents.text or (contents.data or b"").decode()).startswith("Resource ")
        for kind, key in (("Text", "text"), ("Blob", "blob")):
            _, block, _ = await blocks(host, "get-resource-reference", resourceType=kind, resourceId=3)
            assert block["resource"]["uri"] == f"demo://resource/dynamic/{kind.lower()}/3"
            assert block["resource"][key]


@drives("tools", "gzip-file-as-resource")
async def test_a_resource_that_a_tool_makes_is_listed_and_read(everything: Everything):
    async with everything.host() as host, host.watch() as events:
        before = {resource.uri for resource in await host.resources()}
        made = {"name": "note.gz", "data": "data:text/plain,hello"}
        (inline,) = await blocks(host, "gzip-file-as-resource", **made, outputType="resource")
        assert gzip.decompress(base64.b64decode(inline["resource"]["blob"])) == b"hello"
        await upcoming(events, ListChanged)
        uri = "demo://resource/session/note.gz"
        assert {resource.uri for resource in await host.resources()} == before | {uri}

        (link,) = await blocks(host, "gzip-file-as-resource", **made, outputType="resourceLink")
        assert (link["type"], link["uri"]) == ("resource_link", uri)
        (contents,) = await host.read_resource(uri)
        assert contents.mime_type == "application/gzip"
        assert gzip.decompress(contents.data or b"") == b"hello"


@drives("tools", "trigger-long-running-operation")
async def test_progress_is_told(everything: Everything):
    wanted = ("everyth-trigger_long_running_operation", '{"duration": 0.3, "steps": 3}')
    model = ScriptedModel(calls(wanted), says("done"))
    async with everything.host() as host, host.turn("Go.", model=model) as turn:
        told = [event async for event in turn if isinstance(event, Progress)]
    assert [(event.progress, event.total) for event in told] == [(1, 3), (2, 3), (3, 3)]


@drives("tools", "trigger-long-running-operation")
async def test_progress_keeps_a_call_alive(everything: Everything):
    async with everything.host(entry={"timeout": 0.8}) as host:
        done = await text(host, "trigger-long-running-operation", duration=1.2, steps=6)
    assert done.startswith("Long running operation completed")


@drives("tools", "toggle-simulated-logging")
async def test_its_log_is_heard(everything: Everything):
    async with everything.host(entry={"log_level": "debug"}) as host, host.watch() as events:
        assert (await text(host, "toggle-simulated-logging")).startswith("Started")
        while "message" not in (logged := await upcoming(events, ServerLog)).text:
            pass  # it logs what it does, too
        assert logged.level in logged.text.lower()
        assert (await text(host, "toggle-simulated-logging")).startswith("Stopped")


@drives("tools", "toggle-subscriber-updates")
async def test_its_updates_are_heard(everything: Everything):
    uri = "demo://resource/dynamic/text/1"
    async with everything.host() as host, host.watch() as events:
        await host.subscribe(uri)
        assert (await text(host, "toggle-subscriber-updates")).startswith("Started")
        assert await upcoming(events, ResourceUpdated) == ResourceUpdated("everything", uri)
        assert (await text(host, "toggle-subscriber-updates")).startswith("Stopped")
        await host.unsubscribe(uri)


@drives("tools", "get-roots-list")
async def test_it_learns_our_folders_and_that_they_changed(everything: Everything, tmp_path: Path):
    async with everything.host(roots=[tmp_path / "one"]) as host, host.watch() as events:
        assert (tmp_path / "one").as_uri() in await text(host, "get-roots-list")
        await host.set_roots([tmp_path / "two", tmp_path / "three"])
        while "2 root(s)" not in (await upcoming(events, ServerLog)).text:
            pass
        listed = await text(host, "get-roots-list")
        assert (tmp_path / "two").as_uri() in listed and (tmp_path / "three").as_uri() in listed


@drives("tools", "trigger-sampling-request")
async def test_it_is_answered_by_our_model(everything: Everything):
    model, hooks = ScriptedModel(says("Green tea.")), Answers()
    async with everything.host(model=model, hooks=hooks) as host:
        answer = await text(host, "trigger-sampling-request", prompt="Which tea?", maxTokens=50)
        refused = await host.call_tool(
            "everything/trigger-sampling-request", {"prompt": "Which tea?", "maxTokens": 5000}
        )
    assert '"text": "Green tea."' in answer
    assert model.asked[0]["messages"][0] == {"role": "system", "content": "You are a helpful test server."}
    assert model.asked[0]["options"]["max_tokens"] == 50
    assert not refused.ok and "4096" in str(refused.error)
    assert len(hooks.asked) == len(model.asked) == 1


@drives("tools", "trigger-elicitation-request")
async def test_its_form_is_filled_in(everything: Everything):
    filled = {
        "name": "Li Bai",
        "check": True,
        "email": "li@example.com",
        "homepage": "https://example.com/",
        "birthdate": "0701-05-19",
        "integer": 7,
        "number": 0.5,
        "untitledMultipleSelectEnum": ["Piano", "Bass"],
        "titledSingleSelectEnum": "hero-3",
        "legacyTitledEnum": "pet-4",
    }
    hooks = Answers(Accept(filled), Decline(), Decline(cancelled=True))
    async with everything.host(hooks=hooks) as host:
        *_, raw = await blocks(host, "trigger-elicitation-request")
        sent = json.loads(raw["text"].removeprefix("\nRaw result: "))
        assert sent["action"] == "accept"
        assert sent["content"].items() >= filled.items()
        assert sent["content"]["titledMultipleSelectEnum"] == ["fish-1"]  # what is left out has its default
        assert "declined" in (await blocks(host, "trigger-elicitation-request"))[0]["text"]
        assert "cancelled" in (await blocks(host, "trigger-elicitation-request"))[0]["text"]
    assert [len(asked.schema["properties"]) for asked in hooks.asked] == [13] * 3


@drives("tools", "trigger-url-elicitation")
async def test_its_page_is_visited(everything: Everything):
    url = "https://example.com/login"
    hooks = Answers(Accept(), Decline())
    async with everything.host(hooks=hooks) as host:
        accepted, _ = await blocks(host, "trigger-url-elicitation", url=url)
        declined, _ = await blocks(host, "trigger-url-elicitation", url=url)
        unsafe, _ = await blocks(host, "trigger-url-elicitation", url="http://example.com/login")
    assert "completed" in accepted["text"]
    assert "declined" in declined["text"] and "declined" in unsafe["text"]
    assert [asked.url for asked in hooks.asked] == [url, url]


@drives("tools", "trigger-url-elicitation")
async def test_a_page_that_a_call_needs_is_visited_and_the_call_made_again(everything: Everything):
    url = "https://example.com/page"
    hooks = Answers()
    async with everything.host(entry={"timeout": 1}, hooks=hooks) as host:  # it does not say when it is done
        done, _ = await blocks(host, "trigger-url-elicitation", url=url, errorPath=True)
    assert "completed" in done["text"]
    assert [asked.url for asked in hooks.asked] == ["https://modelcontextprotocol.io", url]


@drives("tools", "simulate-research-query")
async def test_a_tool_that_runs_only_as_a_task_is_left_out(everything: Everything):
    async with everything.host() as host:
        assert [why.split(":")[0] for why in host.catalog().dropped["everything"]] == [
            "simulate-research-query"
        ]
        result = await host.call_tool("everything/simulate-research-query", {"topic": "tea"})
        assert result.cause == "unknown"


# prompts


@drives("prompts", "simple-prompt", "args-prompt")
async def test_prompts(everything: Everything):
    async with everything.host() as host:
        simple = await host.get_prompt("simple-prompt")
        assert simple.messages == [{"role": "user", "content": "This is a simple prompt without arguments."}]
        for given, said in (
            ({"city": "Suzhou"}, "What's weather in Suzhou?"),
            ({"city": "Suzhou", "state": "Jiangsu"}, "What's weather in Suzhou, Jiangsu?"),
        ):
            assert (await host.get_prompt("args-prompt", given)).messages[0]["content"] == said


@drives("prompts", "completable-prompt")
async def test_a_prompt_with_completions(everything: Everything):
    async with everything.host() as host:
        departments = await host.complete("S", prompt="completable-prompt", argument="department")
        assert set(departments.values) == {"Sales", "Support"}
        names = await host.complete(
            "", prompt="completable-prompt", argument="name", context={"department": "Sales"}
        )
        assert names.values == ("David", "Eve", "Frank")
        given = {"department": "Sales", "name": "Eve"}
        reply = await host.get_prompt("completable-prompt", given)
    assert reply.messages[0]["content"] == "Please promote Eve to the head of the Sales team."


@drives("prompts", "resource-prompt")
async def test_a_prompt_with_a_resource(everything: Everything):
    async with everything.host() as host:
        kinds = await host.complete("", prompt="resource-prompt", argument="resourceType")
        assert set(kinds.values) == {"Text", "Blob"}
        assert (await host.complete("7", prompt="resource-prompt", argument="resourceId")).values == ("7",)
        for kind in kinds.values:
            reply = await host.get_prompt("resource-prompt", {"resourceType": kind, "resourceId": 7})
            _, resource = reply.messages
            assert f"demo://resource/dynamic/{kind.lower()}/7" in str(resource["content"])


# resources


async def test_every_resource_is_read(everything: Everything):
    async with everything.host() as host:
        listed = await host.resources()
        assert len(listed) == 7
        for resource in listed:
            (contents,) = await host.read_resource(resource.uri)
            assert contents.text
            assert contents.mime_type == resource.mime_type == "text/markdown"


@drives("templates", "demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}")
async def test_templates(everything: Everything):
    async with everything.host() as host:
        for template in await host.resource_templates():
            completed = await host.complete("12", template=template.uri_template, argument="resourceId")
            assert completed.values == ("12",)
            uri = template.uri_template.replace("{resourceId}", "12")
            (contents,) = await host.read_resource(uri)
            assert (contents.text or (contents.data or b"").decode()).startswith("Resource 12: ")
