"""What a real server may ask us: for the model's answer, and for the user's. Servers of 2025-11-25 ask by
requests of their own, those of 2026-07-28 by results that require input."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from mcphost import ModelError, Refuse, Warned
from mcphost.hooks import Accept, Answer, Decline, ElicitationAsked, Hooks, NoHooks

from .full_servers import (
    BY_REQUESTS,
    IN_BOTH_REVISIONS,
    IN_ONE_WAY,
    Answers,
    Full,
    Way,
    over,
    said,
    told,
    upcoming,
)
from .scripted import ScriptedModel, calls, says

pytestmark = pytest.mark.anyio

EARLIER = [
    Way(transport, revision)
    for transport in ("stdio", "http", "sse")
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18")
]
LOOKUP = {"name": "look.up", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}
"""A tool of the server's own, whose name is none for a function."""


async def refused(full: Full, host: Any, tool: str, **arguments: Any) -> str:
    """Why a question of the server's was refused. The one that asks by requests is told itself; the one that
    asks by its results is not: nothing is sent again, and the call has failed."""
    result = await host.call_tool(f"full/{tool}", arguments)
    assert result.ok is not full.modern
    return result.content if result.ok else str(result.error)


async def test_the_model_answers_for_a_server(full: Full):
    model, hooks = ScriptedModel(says("Green tea.")), Answers()
    more = {"systemPrompt": "Be brief.", "temperature": 0.5, "stopSequences": ["\n"], "maxTokens": 50}
    async with full.host(model=model, hooks=hooks) as host:
        answer = await told(host, "sample", text="Which tea?", more=more)
    assert answer == {
        "role": "assistant",
        "content": {"type": "text", "text": "Green tea."},
        "model": "scripted",
        "stopReason": "endTurn",
    }
    (asked,) = model.asked
    assert asked["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which tea?"},
    ]
    assert asked["options"] == {"max_tokens": 50, "temperature": 0.5, "stop": ["\n"]}
    assert list(asked["tools"]) == []  # those of other servers are none of this one's business
    (wanted,) = hooks.asked
    assert (wanted.server, wanted.max_tokens, wanted.tools) == ("full", 50, ())


async def test_the_model_may_use_the_tools_that_the_server_brings(full: Full):
    model, hooks = ScriptedModel(calls(("look_up", '{"word": "cha"}'), text="Let me see.")), Answers()
    more = {"tools": [LOOKUP], "toolChoice": {"mode": "required"}}
    async with full.host(model=model, hooks=hooks) as host:
        answer = await told(host, "sample", text="What is cha?", more=more)
    assert answer["content"] == [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "call_1", "name": "look.up", "input": {"word": "cha"}},
    ]
    assert answer["stopReason"] == "toolUse"
    assert [tool["function"]["name"] for tool in model.asked[0]["tools"]] == ["look_up"]
    assert model.asked[0]["tool_choice"] == "required"
    assert [asked.tools for asked in hooks.asked] == [("look.up",)]


@IN_BOTH_REVISIONS
async def test_the_results_of_those_tools_go_back_to_the_model(full: Full):
    use = {"type": "tool_use", "id": "u1", "name": "look.up", "input": {"word": "cha"}}
    result = {"type": "tool_result", "toolUseId": "u1", "content": [{"type": "text", "text": "tea"}]}
    messages = [
        {"role": "user", "content": {"type": "text", "text": "What is cha?"}},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    model = ScriptedModel(says("Cha is tea."))
    async with full.host(model=model, hooks=Answers()) as host:
        answer = await told(host, "sample", text="", more={"messages": messages, "tools": [LOOKUP]})
    assert answer["stopReason"] == "endTurn"
    _, used, got = model.asked[0]["messages"]
    assert used["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"word": "cha"}'}
    assert got == {"role": "tool", "tool_call_id": "u1", "content": "tea"}


@IN_ONE_WAY
async def test_an_answer_that_was_cut_off_is_said_to_be(full: Full):
    model = ScriptedModel(says("Green", finish_reason="length"))
    async with full.host(model=model, hooks=Answers()) as host:
        assert (await told(host, "sample", text="Which tea?"))["stopReason"] == "maxTokens"


async def test_the_model_of_a_turn_answers_for_servers_too(full: Full):
    sample = calls(("full-sample", '{"text": "Which tea?"}'))
    model = ScriptedModel(sample, says("Green tea."), says("It says green tea."))
    async with full.host(hooks=Answers()) as host:
        reply = await host.chat("Ask it.", model=model)
    assert "Green tea." in reply.tool_calls[0].content
    assert reply.text == "It says green tea."
    assert [len(request["messages"]) for request in model.asked] == [1, 1, 3]


@pytest.mark.parametrize(
    ("hooks", "more", "said_to_it"),
    [
        (NoHooks(), {}, "nobody can be asked"),
        (Answers(sample=Refuse("not today")), {}, "not today"),
        (Answers(), {"messages": []}, "no messages"),
    ],
    ids=["nobody to ask", "refused", "no messages"],
)
async def test_an_answer_that_may_not_be_given_is_an_error_to_the_server(
    full: Full, hooks: Hooks, more: dict[str, Any], said_to_it: str
):
    model = ScriptedModel(says("never"))
    async with full.host(hooks=hooks, model=model) as host:
        assert said_to_it in await refused(full, host, "sample", text="Which tea?", more=more)
        assert await said(host, "log", text="still there", levels=[]) == "logged"
    assert model.asked == []


@IN_BOTH_REVISIONS
async def test_a_model_that_fails_is_an_error_to_the_server_without_its_details(full: Full):
    model = ScriptedModel(ModelError("secret details"))
    async with full.host(hooks=Answers(), model=model) as host, host.watch() as events:
        why = await refused(full, host, "sample", text="Which tea?")
        assert "secret details" in (await upcoming(events, Warned)).text
    assert "the model failed to answer" in why
    assert "secret details" not in why


@IN_BOTH_REVISIONS
async def test_where_there_is_no_model_none_answers(full: Full):
    async with full.host(hooks=Answers()) as host:
        assert "no model" in await refused(full, host, "sample", text="Which tea?")


@IN_BOTH_REVISIONS
async def test_how_long_an_answer_may_be_is_a_limit(full: Full):
    model = ScriptedModel(says("Tea."))
    async with full.host(hooks=Answers(), model=model, limits={"sampling_tokens": 60}) as host:
        assert "60" in await refused(full, host, "sample", text="Which tea?", more={"maxTokens": 61})
        answer = await told(host, "sample", text="Which tea?", more={"maxTokens": 60})
        assert answer["content"]["text"] == "Tea."


FILLED = {
    "name": "Li Bai",
    "mail": "li@example.com",
    "page": "https://example.com/li",
    "day": "2026-11-30",
    "departure": "2026-11-30T08:00:00Z",
    "seats": 3,
    "budget": 99.5,
    "window": False,
    "class": "first",
    "train": "g",
    "meal": "rice",
    "extras": ["tea", "paper"],
    "stops": ["szv"],
}


async def test_the_user_fills_in_a_form_with_every_kind_of_field(full: Full):
    hooks = Answers(Accept(FILLED))
    async with full.host(hooks=hooks) as host:
        assert await told(host, "ask", message="Who travels?") == {"action": "accept", "content": FILLED}
    (asked,) = hooks.asked
    assert (asked.server, asked.message, asked.url) == ("full", "Who travels?", None)
    assert list(asked.schema["properties"]) == list(FILLED)
    assert asked.schema["properties"]["train"]["enumNames"] == ["Fast", "Slower"]
    assert asked.schema["properties"]["meal"]["oneOf"][0] == {"const": "rice", "title": "Rice"}
    assert asked.schema["required"] == ["name", "seats"]


@IN_BOTH_REVISIONS
async def test_what_the_user_leaves_out_is_sent_by_its_default(full: Full):
    async with full.host(hooks=Answers(Accept({"name": "Li Bai"}))) as host:
        answer = await told(host, "ask", message="Who travels?")
    assert answer["content"] == {"name": "Li Bai", "seats": 2, "window": True, "class": "second"}


@IN_BOTH_REVISIONS
async def test_a_form_that_is_not_filled_in_well_is_not_sent(full: Full):
    answers = {
        Decline(): "decline",
        Decline(cancelled=True): "cancel",
        Accept(): "cancel",
    }
    wrong = ({"name": "L"}, {"name": "Li Bai", "seats": 12}, {"name": "Li Bai", "unasked": 1})
    hooks = Answers(*answers, *map(Accept, wrong))
    async with full.host(hooks=hooks) as host:
        for action in (*answers.values(), *["cancel"] * len(wrong)):
            assert await told(host, "ask", message="Who travels?") == {"action": action}


async def test_a_form_that_breaks_the_specification_is_refused(full: Full):
    nested = {"type": "object", "properties": {"home": {"type": "object"}}}
    hooks = Answers()
    async with full.host(hooks=hooks) as host:
        result = await host.call_tool("full/ask", {"message": "Where?", "schema": nested})
    assert hooks.asked == []
    if full.modern:  # the SDK's server does not even send it
        assert not result.ok
    else:
        assert "-32602" in result.content


async def test_a_page_is_visited_where_the_user_agrees(full: Full):
    urls = ["https://login.example.com/start?as=1", "http://127.0.0.1:8123/login", "http://localhost/login"]
    hooks = Answers(Accept(), Accept(), Decline())
    async with full.host(hooks=hooks) as host:
        for url, action in zip(urls, ["accept", "accept", "decline"], strict=True):
            assert await told(host, "visit", url=url) == {"action": action}
    assert [(asked.url, asked.message) for asked in hooks.asked] == [(url, "log in first") for url in urls]


@IN_BOTH_REVISIONS
async def test_a_page_that_is_not_safe_is_declined_unseen(full: Full):
    hooks = Answers()
    async with full.host(hooks=hooks) as host, host.watch() as events:
        for url in (
            "http://login.example.com/",
            "ftp://example.com/",
            "javascript:alert(1)",
            "https://example.org@example.com/",
            "file:///etc/passwd",
        ):
            assert await told(host, "visit", url=url) == {"action": "decline"}
            warned = await upcoming(events, Warned)
            assert "full wants a page to be visited that is not shown" in warned.text
    assert hooks.asked == []


@BY_REQUESTS
class TestALockedTool:
    """MCP 2025-11-25: the error -32042 names pages to be visited before the call is made again."""

    async def test_runs_once_the_page_was_visited(self, full: Full, tmp_path: Path):
        visited = tmp_path / "visited"

        class Visiting(Answers):
            async def elicit(self, asked: ElicitationAsked) -> Answer:
                await anyio.Path(visited).touch()
                return await super().elicit(asked)

        hooks = Visiting()
        async with full.host(hooks=hooks) as host:
            text = await said(host, "locked", url="https://login.example.com/", visited=str(visited))
            assert text == "unlocked"
            calls = await told(host, "heard", method="tools/call")
        assert [asked.url for asked in hooks.asked] == ["https://login.example.com/"]
        assert len(calls) == 3  # refused, made again, and the question about it

    @pytest.mark.parametrize("url", ["https://login.example.com/", "http://login.example.com/"])
    async def test_stays_locked_where_the_user_does_not_visit_it(self, full: Full, tmp_path: Path, url: str):
        hooks = Answers(Decline())
        async with full.host(hooks=hooks) as host:
            result = await host.call_tool("full/locked", {"url": url, "visited": str(tmp_path / "visited")})
        assert not result.ok
        assert "this needs a login" in str(result.error)
        assert len(hooks.asked) == url.startswith("https")


async def test_several_questions_are_answered_together(full: Full, tmp_path: Path):
    model, hooks = ScriptedModel(says("Good.")), Answers(Accept({"name": "Li Bai"}))
    async with full.host(model=model, hooks=hooks, roots=[tmp_path]) as host:
        answers = await told(host, "survey", text="How was it?")
    assert answers["roots"]["roots"][0]["uri"] == tmp_path.as_uri()
    assert answers["form"]["content"]["name"] == "Li Bai"
    assert answers["answer"]["content"]["text"] == "Good."


async def test_a_server_that_asks_for_ever_is_given_up(full: Full):
    async with full.host(hooks=Answers()) as host:
        result = await host.call_tool("full/insist")
        if full.modern:
            assert "asked for input again and again" in str(result.error)
        assert await said(host, "log", text="still there", levels=[]) == "logged"


@IN_ONE_WAY
async def test_a_hook_that_breaks_has_no_part_in_the_answer(full: Full, caplog: pytest.LogCaptureFixture):
    class Broken(Answers):
        async def elicit(self, asked: ElicitationAsked) -> Answer:
            raise ValueError("a bug of the user's")

    async with full.host(hooks=Broken()) as host:
        assert await told(host, "ask", message="Who travels?") == {"action": "cancel"}
    assert "a bug of the user's" in caplog.text


@pytest.mark.parametrize(
    ("hooks", "call", "said_to_model"),
    [
        (Answers(), ("full-sample", '{"text": "Tea?", "more": {"maxTokens": 5000}}'), "4096"),
        (NoHooks(), ("full-sample", '{"text": "Tea?"}'), "nobody can be asked"),
        (NoHooks(), ("full-ask", '{"message": "Who?"}'), '"decline"'),
        (Answers(), ("full-visit", '{"url": "http://login.example.com/"}'), '"decline"'),
    ],
    ids=["too long an answer", "no approval", "nobody to ask", "page without https"],
)
async def test_the_turn_goes_on_after_a_refusal(
    full: Full, hooks: Hooks, call: tuple[str, str], said_to_model: str
):
    model = ScriptedModel(calls(call), says("done"))
    async with full.host(hooks=hooks) as host:
        reply = await host.chat("Go.", model=model)
    assert said_to_model in model.asked[1]["messages"][-1]["content"]
    assert (reply.text, reply.stop, len(model.asked)) == ("done", "answer", 2)


@over(*EARLIER)
async def test_earlier_revisions_have_what_they_have(full: Full, tmp_path: Path):
    hooks = Answers(Accept({"name": "Li Bai"}))
    model = ScriptedModel(says("Tea."))
    revision = f"--revision={full.way.revision}"
    async with full.host(revision, model=model, hooks=hooks, roots=[tmp_path]) as host:
        assert len(await host.prompts()) == 7
        assert (await host.read_resource("memo://today"))[0].text == "milk, bread"
        assert (await host.complete("su", prompt="journey", argument="city")).total == 2
        assert await told(host, "ping") == {}
        assert (await told(host, "roots"))["roots"][0]["uri"] == tmp_path.as_uri()
        assert (await told(host, "sample", text="Tea?"))["content"]["text"] == "Tea."
        if full.way.revision == "2025-06-18":
            assert (await told(host, "ask", message="Who?"))["content"]["name"] == "Li Bai"


@BY_REQUESTS
async def test_a_call_goes_through_after_a_visit_that_the_server_does_not_tell_of(full: Full, tmp_path: Path):
    visited = tmp_path / "visited"
    visited.touch()
    hooks = Answers(Accept())
    async with full.host(hooks=hooks, entry={"timeout": 1}) as host:
        url = "https://login.example.com/"
        assert await said(host, "locked", url=url, visited=str(visited), silent=True) == "unlocked"
    assert len(hooks.asked) == 1
