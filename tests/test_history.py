"""What a reply leaves in the history, and histories made fit to send."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.assemble import Reply
from mcphost.dialect import DIALECTS, Dialect
from mcphost.history import assistant_message, mend, prepare
from mcphost.messages import ToolCall

OPENAI, DEEPSEEK, GEMINI = DIALECTS["openai"], DIALECTS["deepseek"], DIALECTS["gemini"]
USER = {"role": "user", "content": "hi"}


def wire(id: str, name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id, "function": {"name": name, "arguments": arguments}, "type": "function"}


def calling(*ids: str, **others: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [wire(id) for id in ids], **others}


def result(id: str, content: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def is_cancelled(message: dict[str, Any], id: str) -> bool:
    said = json.loads(message["content"])
    assert set(said) == {"status", "error", "hint"}
    return (message["role"], message["tool_call_id"], said["status"]) == ("tool", id, "failed")


# The message that a reply leaves


@pytest.mark.parametrize(
    ("dialect", "content"),
    [
        (DEEPSEEK, {}),
        (OPENAI, {"content": ""}),
        (GEMINI, {"content": ""}),
        (Dialect("nullish", empty_content="null"), {"content": None}),
    ],
)
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_reply_that_only_calls_has_the_dialect_s_empty_content(
    dialect: Dialect, content: dict[str, Any], text: str
) -> None:
    message = assistant_message(Reply(text=text, calls=(ToolCall("a", "f", '{"x": 1}'),)), dialect)
    assert message == {"role": "assistant", **content, "tool_calls": [wire("a", "f", '{"x": 1}')]}


@pytest.mark.parametrize("dialect", [OPENAI, DEEPSEEK])
def test_text_is_kept_with_and_without_calls(dialect: Dialect) -> None:
    both = assistant_message(Reply(text="Let me see.", calls=(ToolCall("a", "f"),)), dialect)
    assert both == {"role": "assistant", "content": "Let me see.", "tool_calls": [wire("a")]}
    assert assistant_message(Reply(text="Yes."), dialect) == {"role": "assistant", "content": "Yes."}
    assert assistant_message(Reply(), dialect) == {"role": "assistant", "content": ""}


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ("", "{}"),
        ("null", "{}"),
        ("[1]", "{}"),
        ('{"a": ', "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": 1}{"a": 1}', '{"a":1}'),
    ],
)
def test_arguments_in_the_history_parse_to_an_object(arguments: str, written: str) -> None:
    message = assistant_message(Reply(calls=(ToolCall("a", "f", arguments),)), OPENAI)
    assert message["tool_calls"][0]["function"]["arguments"] == written


@pytest.mark.parametrize(
    ("name", "written"), [("maps.geo", "maps_geo"), ("入库", "__"), ("", "unnamed"), ("x" * 99, "x" * 64)]
)
def test_a_name_that_no_tool_can_have_is_echoed_in_a_form_that_is_taken(name: str, written: str) -> None:
    message = assistant_message(Reply(calls=(ToolCall("a", name),)), OPENAI)
    assert message["tool_calls"][0]["function"]["name"] == written


def test_a_provider_s_own_fields_go_back_to_it_only() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "s"}}, "function": {"note": "n"}}
    answer = Reply(calls=(ToolCall("a", "f", extra=extra),))
    echoed = assistant_message(answer, GEMINI)["tool_calls"][0]
    assert echoed["extra_content"] == extra["extra_content"]
    assert echoed["function"] == {"name": "f", "arguments": "{}", "note": "n"}
    assert assistant_message(answer, OPENAI)["tool_calls"] == [wire("a")]


def test_reasoning_is_kept_for_whoever_wants_it() -> None:
    message = assistant_message(Reply(text="x", reasoning="hm"), OPENAI)
    assert message == {"role": "assistant", "content": "x", "reasoning_content": "hm"}


# Mending

PROPER = [
    [],
    [USER],
    [USER, {"role": "assistant", "content": "x"}, USER],
    [USER, calling("a", "b"), result("a"), result("b"), {"role": "assistant", "content": "x"}],
    [USER, calling("a", "b"), result("b"), result("a")],
    [USER, calling("call_0"), result("call_0"), calling("call_0"), result("call_0")],
    [calling("a"), result("a"), {"role": "user", "content": [{"type": "image_url"}]}],
    [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "ok"},
    ],
    [{"role": "assistant", "content": "x", "tool_calls": None}, USER],
]


@pytest.mark.parametrize("messages", PROPER)
def test_a_proper_history_comes_back_as_it_is(messages: list[dict[str, Any]]) -> None:
    assert mend(messages) is messages


def test_a_dangling_call_gets_a_cancelled_result() -> None:
    messages = [USER, calling("a"), USER]
    before = copy.deepcopy(messages)
    mended = mend(messages)
    assert messages == before
    assert [mended[0], mended[1], mended[3]] == messages
    assert is_cancelled(mended[2], "a")


def test_cancelled_results_stand_in_call_order() -> None:
    mended = mend([calling("a", "b", "c"), result("c"), result("a"), USER])
    assert [message.get("tool_call_id") for message in mended] == [None, "a", "b", "c", None]
    assert is_cancelled(mended[2], "b")


def test_every_dangling_call_of_a_long_history_is_mended() -> None:
    mended = mend([calling("a"), calling("b"), result("b"), USER, calling("c")])
    assert [message.get("tool_call_id") for message in mended] == [None, "a", None, "b", None, None, "c"]


def test_results_without_a_call_go() -> None:
    assert mend([result("x"), USER, calling("a"), result("a"), result("x")]) == [
        USER,
        calling("a"),
        result("a"),
    ]
    assert mend([{"role": "assistant", "content": "x"}, result("a")]) == [
        {"role": "assistant", "content": "x"}
    ]


def test_a_second_result_for_one_call_goes() -> None:
    assert mend([calling("a"), result("a", "1"), result("a", "2")]) == [calling("a"), result("a", "1")]


def ids_of(messages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The ids of the first message's calls, and of the results after it."""
    made = [call["id"] for call in messages[0]["tool_calls"]]
    return made, [message["tool_call_id"] for message in messages[1:] if message["role"] == "tool"]


def test_calls_that_share_an_id_get_one_each_and_take_their_results_in_order() -> None:
    mended = mend([calling("a", "a"), result("a", "1"), result("a", "2")])
    made, answered = ids_of(mended)
    assert made[0] == "a"
    assert made == answered
    assert len(set(made)) == 2
    assert [message["content"] for message in mended[1:]] == ["1", "2"]


def test_calls_that_share_an_id_are_each_answered() -> None:
    made, answered = ids_of(mend([calling("a", "a")]))
    assert made == answered
    assert len(set(made)) == 2


@pytest.mark.parametrize("missing", [{}, {"id": None}, {"id": ""}])
def test_a_call_without_an_id_gets_one_and_its_result_the_same(missing: dict[str, Any]) -> None:
    call = {"function": {"name": "f", "arguments": "{}"}, **missing}
    odd = {"role": "assistant", "content": "", "tool_calls": [call]}
    mended = mend([odd, {"role": "tool", "content": "ok", "name": "f", "tool_call_id": missing.get("id")}])
    made, answered = ids_of(mended)
    assert made == answered
    assert made[0]
    assert mended[1]["content"] == "ok"


def test_a_late_result_moves_up_to_its_call() -> None:
    assert mend([calling("a"), USER, result("a")]) == [calling("a"), result("a"), USER]


def test_a_result_is_not_taken_from_a_later_call_with_the_same_id() -> None:
    mended = mend([calling("a"), calling("a"), result("a", "second")])
    assert is_cancelled(mended[1], "a")
    assert mended[3] == result("a", "second")


MESSAGES = st.lists(
    st.one_of(
        st.just(USER),
        st.lists(st.sampled_from("abc"), max_size=3).map(lambda ids: calling(*ids)),
        st.sampled_from("abcd").map(result),
    ),
    max_size=10,
)


@settings(max_examples=200)
@given(MESSAGES)
def test_after_mending_every_call_is_answered_once_directly_after_it(messages: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(messages)
    mended = mend(messages)
    assert messages == before
    assert mend(mended) is mended
    open_ids: set[str] = set()
    for message in mended:
        if message["role"] == "tool":
            open_ids.remove(message["tool_call_id"])
        else:
            assert not open_ids
            open_ids = {call["id"] for call in message.get("tool_calls", ())}
    assert not open_ids
    others = [[m["role"] for m in each if m["role"] != "tool"] for each in (mended, messages)]
    assert others[0] == others[1]


# Preparing


def reasoned(*ids: str, reasoning: str | None = None) -> dict[str, Any]:
    return calling(*ids) | ({} if reasoning is None else {"reasoning_content": reasoning})


def test_no_reasoning_anywhere_leaves_the_key_out() -> None:
    messages = [USER, calling("a"), result("a"), {"role": "assistant", "content": "x"}]
    assert prepare(messages, DEEPSEEK) == messages


@pytest.mark.parametrize("dialect", [DIALECTS[name] for name in ("deepseek", "moonshot", "zhipu")])
def test_once_there_is_reasoning_every_message_that_calls_carries_it(dialect: Dialect) -> None:
    messages = [
        USER,
        reasoned("a", reasoning="hm"),
        result("a"),
        reasoned("b"),
        result("b"),
        {"role": "assistant", "content": "x", "reasoning_content": "so"},
    ]
    sent = prepare(messages, dialect)
    assert [message.get("reasoning_content") for message in sent] == [None, "hm", None, "", None, None]
    assert "reasoning_content" not in sent[-1]


@pytest.mark.parametrize("dialect", [OPENAI, GEMINI, DIALECTS["local"]])
def test_dialects_that_do_not_echo_reasoning_never_get_it(dialect: Dialect) -> None:
    sent = prepare([reasoned("a", reasoning="hm"), result("a")], dialect)
    assert sent == [calling("a"), result("a")]


def test_reasoning_can_be_forced_either_way() -> None:
    lost = [calling("a"), result("a")]
    assert prepare(lost, OPENAI, reasoning=True)[0]["reasoning_content"] == ""
    kept = [reasoned("a", reasoning="hm"), result("a")]
    assert prepare(kept, OPENAI, reasoning=True)[0]["reasoning_content"] == "hm"
    assert "reasoning_content" not in prepare(kept, DEEPSEEK, reasoning=False)[0]


@pytest.mark.parametrize(
    ("dialect", "content"),
    [
        (OPENAI, {"content": ""}),
        (DEEPSEEK, {}),
        (Dialect("nullish", empty_content="null"), {"content": None}),
    ],
)
@pytest.mark.parametrize("given_content", [{}, {"content": None}])
def test_null_and_absent_content_become_what_the_dialect_wants(
    dialect: Dialect, content: dict[str, Any], given_content: dict[str, Any]
) -> None:
    message = {"role": "assistant", **given_content, "tool_calls": [wire("a")]}
    assert prepare([message, result("a")], dialect)[0] == {
        "role": "assistant",
        **content,
        "tool_calls": [wire("a")],
    }


def test_null_content_of_other_messages_becomes_empty() -> None:
    sent = prepare(
        [calling("a"), {**result("a"), "content": None}, {"role": "assistant", "content": None}], DEEPSEEK
    )
    assert [message["content"] for message in sent] == ["", "", ""]


def test_an_empty_list_of_calls_is_not_sent() -> None:
    for none in ([], None):
        message = {"role": "assistant", "content": "x", "tool_calls": none}
        assert prepare([message], OPENAI) == [{"role": "assistant", "content": "x"}]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [({"a": 1}, '{"a": 1}'), (None, "{}"), ("", "{}"), ("[1", "{}"), ('{"a":1}', '{"a":1}')],
)
def test_a_caller_s_arguments_are_made_the_text_of_an_object(arguments: Any, written: str) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [wire("a", arguments=arguments)]}
    before = copy.deepcopy(message)
    sent = prepare([message, result("a")], OPENAI)
    assert sent[0]["tool_calls"][0]["function"]["arguments"] == written
    assert message == before


def test_what_a_caller_s_messages_hold_besides_is_kept() -> None:
    """A history as other hosts write it: index, a null function_call, names of tools."""
    call = {
        "index": 0,
        "id": "a",
        "type": "function",
        "function": {"name": "maps_geo", "arguments": '{"x":"y"}'},
    }
    messages = [
        {"role": "user", "content": "hi", "name": "someone"},
        {"role": "assistant", "content": "", "function_call": None, "tool_calls": [call]},
        {"role": "tool", "name": "maps_geo", "tool_call_id": "a", "content": "{}"},
    ]
    assert prepare(messages, GEMINI) == messages
    assert all(one is other for one, other in zip(prepare(messages, GEMINI), messages, strict=True))


def test_dangling_calls_are_mended_before_they_are_sent() -> None:
    sent = prepare([USER, calling("a")], OPENAI)
    assert is_cancelled(sent[2], "a")


def test_the_recorded_conversation_is_what_its_replies_leave(shared: Any) -> None:
    """Four rounds: each recorded answer, as a message, is what the next recorded request holds."""
    for n in (1, 2, 3):
        answer = json.loads((shared / "trace" / f"response{n}.json").read_text(encoding="utf-8"))
        later = json.loads((shared / "trace" / f"request{n + 1}.json").read_text(encoding="utf-8"))[
            "messages"
        ]
        said = answer["choices"][0]["message"]
        made = tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in said["tool_calls"]
        )
        message = assistant_message(Reply(text=said.get("content") or "", calls=made), DEEPSEEK)
        assert message == later[-2]
        assert prepare(later, DEEPSEEK) == later


def test_a_callers_calls_keep_the_fields_of_their_function() -> None:
    wire = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}", "signature": "s"}}
    made = ToolCall.of(wire | {"extra_content": {"x": 1}})
    assert made.extra == {"extra_content": {"x": 1}, "function": {"signature": "s"}}
    assert assistant_message(Reply(calls=(made,)), DIALECTS["gemini"])["tool_calls"] == [
        wire | {"extra_content": {"x": 1}}
    ]
