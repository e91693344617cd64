"""What is sent fits the window, and stays a conversation that endpoints take."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost import context, history
from mcphost.context import Gauge, fitted, old_part, summary_request
from mcphost.messages import Message

from .test_conversation import is_valid


def turn(number: int, size: int, calls: int = 1) -> list[Message]:
    made = [
        {"id": f"c{number}-{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for n in range(calls)
    ]
    return [
        {"role": "user", "content": f"question {number}"},
        *([{"role": "assistant", "content": None, "tool_calls": made}] if made else []),
        *({"role": "tool", "tool_call_id": call["id"], "content": "x" * size} for call in made),
        {"role": "assistant", "content": f"answer {number}"},
    ]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "Be brief."}] if draw(st.booleans()) else []
    for number in range(draw(st.integers(1, 5))):
        messages += turn(number, draw(st.integers(0, 9000)), draw(st.integers(0, 3)))
    return messages[: len(messages) - draw(st.integers(0, 1))]


@settings(max_examples=150, deadline=None)
@given(conversations(), st.integers(50, 6000))
def test_what_is_sent_is_valid_and_fits_where_it_can(messages: list[Message], budget: int):
    before = json.dumps(messages)
    gauge = Gauge()
    sent = fitted(messages, budget, gauge)
    assert json.dumps(messages) == before
    assert is_valid(sent.messages)
    assert list(history.mend(sent.messages)) == sent.messages
    assert [m for m in sent.messages if m["role"] == "user"][-1] == [
        m for m in messages if m["role"] == "user"
    ][-1]
    if messages[0]["role"] == "system":
        assert sent.messages[0] == messages[0]
    least = gauge.tokens(fitted(messages, 0, gauge).messages)
    assert gauge.tokens(sent.messages) <= max(budget, least)
    if gauge.tokens(messages) <= budget:
        assert sent.messages == messages and not sent.shortened and not sent.dropped


def test_old_results_give_way_before_anything_is_left_out():
    messages = [*turn(1, 8000), *turn(2, 8000), *turn(3, 8000)]
    sent = fitted(messages, 3500, Gauge())
    sizes = [len(m["content"]) for m in sent.messages if m["role"] == "tool"]
    assert sent.dropped == 0 and sent.shortened == 2
    assert sizes[0] <= 2000 and sizes[2] == 8000
    assert "characters left out" in sent.messages[2]["content"]


def test_then_old_turns_are_left_out_whole():
    messages: list[Message] = [{"role": "system", "content": "Be brief."}]
    for number in range(5):
        messages += [{"role": "user", "content": "q" * 4000}, {"role": "assistant", "content": str(number)}]
    sent = fitted([*messages, {"role": "user", "content": "now"}], 2500, Gauge())
    assert [m["content"][:3] for m in sent.messages] == ["Be ", "qqq", "3", "qqq", "4", "now"]
    assert sent.dropped == 6


@settings(max_examples=100, deadline=None)
@given(conversations(), st.integers(0, 3000))
def test_what_is_summed_up_ends_where_a_turn_does(messages: list[Message], keep: int):
    upto = old_part(messages, keep, Gauge())
    assert is_valid(messages[:upto]) and is_valid(messages[upto:])
    assert messages[upto]["role"] in ("user", "system")


def test_a_conversation_of_one_turn_has_nothing_to_sum_up():
    assert old_part(turn(1, 9000), 10, Gauge()) == 0
    assert old_part([], 10, Gauge()) == 0


def test_a_summary_is_asked_for_with_what_was_said_called_and_found():
    asked = summary_request([{"role": "system", "content": "Be brief."}, *turn(1, 5)], "They met.")
    assert asked[0]["role"] == "system"
    assert asked[1]["content"].split("\n\n") == [
        "Earlier, in short: They met.",
        "user: question 1",
        "call: look {}",
        "result: xxxxx",
        "assistant: answer 1",
    ]


@pytest.mark.parametrize(("text", "tokens"), [("a" * 400, 104), ("中" * 300, 204)])
def test_the_estimate_knows_scripts_and_learns_from_what_is_counted(text: str, tokens: int):
    gauge = Gauge()
    messages: list[dict[str, Any]] = [{"role": "u", "content": text}]
    assert abs(gauge.tokens(messages) - tokens) <= 1
    gauge.learn(2 * tokens, messages)
    assert abs(gauge.tokens(messages) - 2 * tokens) <= 3
    gauge.learn(0, messages)
    assert abs(gauge.tokens(messages) - 2 * tokens) <= 3


def test_a_picture_weighs_what_models_take_for_it_and_not_its_base64():
    url = {"url": "data:image/png;base64," + "A" * 1_000_000}
    part = {"type": "image_url", "image_url": url}
    assert Gauge().tokens([{"role": "user", "content": [part]}]) < 2000
    assert context.said_before("so").get("role") == "user"
