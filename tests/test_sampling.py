"""A server's request for a model's answer: to the chat API and back."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mcphost import sampling
from mcphost.assemble import Reply
from mcphost.dialect import OPENAI
from mcphost.messages import ToolCall

PNG = "iVBORw0KGgo="


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "maxTokens": 100, **more}


USE = {"type": "tool_use", "id": "u1", "name": "看 weather", "input": {"city": "苏州"}}
ANSWER = {"type": "tool_result", "toolUseId": "u1", "content": [text("rain")]}
TOOLS = [{"name": "看 weather", "description": "d", "inputSchema": {"type": "object"}}]


def test_texts_and_the_system_prompt_and_options():
    params = asked(
        said("user", text("hello")),
        said("assistant", [text("a"), text("b")]),
        said("user", text("go on")),
        systemPrompt="be brief",
        temperature=0.5,
        stopSequences=["END", 3],
        modelPreferences={"hints": [{"name": "x"}]},
        includeContext="thisServer",
    )
    request = sampling.read(params, OPENAI)
    assert request.messages == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "a\n\nb"},
        {"role": "user", "content": "go on"},
    ]
    assert request.options == {"max_tokens": 100, "temperature": 0.5, "stop": ["END"]}
    assert (request.functions, request.tool_choice, request.max_tokens) == ([], None, 100)


def test_pictures_where_the_model_sees():
    image = {"type": "image", "mimeType": "image/png", "data": PNG}
    params = asked(said("user", image))
    seen = sampling.read(params, replace(OPENAI, images=True)).messages[0]["content"]
    assert seen[0]["image_url"]["url"].startswith("data:image/png;base64,")
    unseen = sampling.read(params, replace(OPENAI, images=False)).messages[0]["content"]
    assert unseen.startswith("[image 1")


def test_tools_go_by_names_that_endpoints_take_and_come_back_by_their_own():
    params = asked(said("user", text("?")), tools=TOOLS, toolChoice={"mode": "required"})
    request = sampling.read(params, OPENAI)
    name = request.functions[0]["function"]["name"]
    assert name.isascii() and " " not in name
    assert request.tool_choice == "required"
    reply = Reply(calls=(ToolCall("c1", name, '{"city": "苏州"}'),), finish_reason="tool_calls")
    result = sampling.result(reply, request, "m")
    assert result["content"] == [
        {"type": "tool_use", "id": "c1", "name": "看 weather", "input": {"city": "苏州"}}
    ]
    assert result["stopReason"] == "toolUse"


def test_uses_of_tools_and_their_results_become_calls_and_tool_messages():
    params = asked(
        said("user", text("?")),
        said("assistant", [text("let me see"), USE]),
        said("user", [ANSWER]),
        tools=TOOLS,
    )
    messages = sampling.read(params, OPENAI).messages
    assert messages[1]["content"] == "let me see"
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"city": "苏州"}'
    assert messages[2] == {"role": "tool", "tool_call_id": "u1", "content": "rain"}


def test_tools_that_were_used_and_are_brought_no_more_go_by_names_of_their_own():
    other = {**USE, "id": "u2", "name": "看.weather"}
    params = asked(
        said("assistant", [USE, other]), said("user", [ANSWER, {**ANSWER, "toolUseId": "u2"}]), tools=TOOLS
    )
    request = sampling.read(params, OPENAI)
    used = [call["function"]["name"] for call in request.messages[0]["tool_calls"]]
    assert used[0] == request.functions[0]["function"]["name"]
    assert used[1] != used[0]
    assert all(name.isascii() and "." not in name for name in used)


def test_a_failed_tool_is_seen_to_have_failed():
    params = asked(said("assistant", USE), said("user", {**ANSWER, "isError": True}))
    content = sampling.read(params, OPENAI).messages[1]["content"]
    assert json.loads(content) == {"status": "failed", "error": "rain"}


def test_calls_that_nobody_offered_are_left_out():
    request = sampling.read(asked(said("user", text("x"))), OPENAI)
    reply = Reply("hi", calls=(ToolCall("c1", "made_up", "{}"),), finish_reason="tool_calls")
    result = sampling.result(reply, request, "m")
    assert (result["content"], result["stopReason"]) == (text("hi"), "endTurn")


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"messages": [said("user", text("x"))]}, "maxTokens"),
        ({"messages": [said("user", text("x"))], "maxTokens": 0}, "maxTokens"),
        ({"messages": [said("user", text("x"))], "maxTokens": True}, "maxTokens"),
        (asked(), "no messages"),
        (asked(said("user", [])), "no content"),
        (asked(said("user", None)), "no content"),
        (asked({"role": "user"}), "no content"),
        (asked(said("assistant", [USE, USE]), said("user", [ANSWER])), "same id"),
        (asked(said("system", text("x"))), "role"),
        (asked("x"), "role"),
        (asked(said("user", text("?")), said("assistant", USE)), "'u1' has no result"),
        (asked(said("user", text("?")), said("assistant", USE), said("user", text("x"))), "has no result"),
        (asked(said("user", ANSWER)), "no tool use 'u1'"),
        (asked(said("assistant", USE), said("user", [ANSWER, text("x")])), "nothing else"),
        (asked(said("user", USE)), "only the assistant"),
        (asked(said("user", text("x")), tools=[{"name": "a"}, {"name": "a"}]), "name of its own"),
        (asked(said("user", text("x")), tools=[{}]), "name of its own"),
    ],
)
def test_what_breaks_the_rules_is_told(params: dict[str, Any], complaint: str):
    with pytest.raises(sampling.Unusable, match=complaint):
        sampling.read(params, OPENAI)


@pytest.mark.parametrize(
    ("finish_reason", "stop"),
    [("stop", "endTurn"), ("length", "maxTokens"), (None, "endTurn"), ("content_filter", "content_filter")],
)
def test_why_the_answer_ended(finish_reason: str | None, stop: str):
    request = sampling.read(asked(said("user", text("x"))), OPENAI)
    result = sampling.result(Reply("hi", finish_reason=finish_reason), request, "m")
    assert result == {"role": "assistant", "content": text("hi"), "model": "m", "stopReason": stop}


def test_an_empty_answer_is_an_empty_text():
    request = sampling.read(asked(said("user", text("x"))), OPENAI)
    assert sampling.result(Reply(), request, "m")["content"] == text("")
