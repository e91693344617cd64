"""What models stream, and the one reply that it must give."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.arguments import parse
from mcphost.assemble import Assembler, Reply
from mcphost.errors import ModelError
from mcphost.events import Reasoning, Text
from mcphost.messages import Usage

DONE = "[DONE]"


def body(*data: Any, end: str = "\n\n", prefix: str = "data: ") -> bytes:
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in data]
    return "".join(f"{prefix}{text}{end}" for text in texts).encode("utf-8", "surrogatepass")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def part(
    name: Any = None, arguments: Any = None, *, index: Any = "absent", id: Any = "absent", **others: Any
) -> dict[str, Any]:
    """One item of a delta's `tool_calls`, without what is not given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    marks = {key: value for key, value in (("index", index), ("id", id)) if value != "absent"}
    return {**marks, "function": function, **others}


def assemble(data: bytes, *, size: int | None = None) -> tuple[Reply, list[Text | Reasoning]]:
    assembler = Assembler()
    events: list[Text | Reasoning] = []
    for start in range(0, len(data), size or len(data) or 1):
        events += assembler.feed(data[start : start + (size or len(data))])
    events += assembler.close()
    return assembler.reply(), events


def reply(*chunks: Any) -> Reply:
    """The reply to these chunks, the same however the bytes are cut."""
    data = body(*chunks, DONE)
    whole, events = assemble(data)
    for size in (1, 7):
        cut, cut_events = assemble(data, size=size)
        assert (cut.text, cut.reasoning, cut.usage) == (whole.text, whole.reasoning, whole.usage)
        assert [(c.name, c.arguments) for c in cut.calls] == [(c.name, c.arguments) for c in whole.calls]
        assert cut_events == events
    return whole


def calls(*parts: dict[str, Any] | list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Names and arguments of the calls in these deltas; a list is one delta of several."""
    deltas = [chunk(tool_calls=each if isinstance(each, list) else [each]) for each in parts]
    answer = reply(*deltas, chunk("tool_calls"))
    ids = [call.id for call in answer.calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    return [(call.name, call.arguments) for call in answer.calls]


def broken(data: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        assemble(data)
    return caught.value


# Calls


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(
            [part("f", "", index=0, id="a"), part(None, '{"x"', index=0), part(None, ":1}", index=0)],
            [("f", '{"x":1}')],
            id="as OpenAI does",
        ),
        pytest.param(
            [part("f", '{"x"', id="a"), part(None, ":1}"), part("g", "{}", id="b")],
            [("f", '{"x":1}'), ("g", "{}")],
            id="no index",
        ),
        pytest.param(
            [part("f", '{"x"', index=None, id="a"), part(None, ":1}", index=None), part("g", "{}", id="b")],
            [("f", '{"x":1}'), ("g", "{}")],
            id="a null index",
        ),
        pytest.param(
            [part("f", "{}", index=0, id="a"), part("f", "{}", index=0, id="b")],
            [("f", "{}"), ("f", "{}")],
            id="two ids at one index",
        ),
        pytest.param(
            [
                part("f", '{"x"', index=0, id="a"),
                part("g", '{"y"', index=0, id="b"),
                part(None, ":2}", index=0),
            ],
            [("f", '{"x"'), ("g", '{"y":2}')],
            id="two ids at one index, in pieces",
        ),
        pytest.param(
            [
                part("f", "", index=0, id="a"),
                part("g", "", index=1, id="b"),
                part(None, '{"x"', index=0),
                part(None, '{"y"', index=1),
                part(None, ":1}", index=0),
                part(None, ":2}", index=1),
            ],
            [("f", '{"x":1}'), ("g", '{"y":2}')],
            id="interleaved indices",
        ),
        pytest.param(
            [part("f", "{", index="0", id="a"), part(None, "}", index="0")],
            [("f", "{}")],
            id="an index as text",
        ),
        pytest.param(
            [
                part("f", "{", index=0, id="a"),
                part("f", '"x"', index=0, id="a"),
                part("f", ":1}", index=0, id="a"),
            ],
            [("f", '{"x":1}')],
            id="name and id repeated",
        ),
        pytest.param(
            [part("get_", None, index=0, id="a"), part("weather", "", index=0), part(None, "{}", index=0)],
            [("get_weather", "{}")],
            id="the name in pieces",
        ),
        pytest.param(
            [part("get", "", index=0, id="a"), part("get_weather", "{}", index=0)],
            [("get_weather", "{}")],
            id="the name growing",
        ),
        pytest.param(
            [
                {"index": 0, "id": "a", "function": {"name": None, "arguments": ""}},
                part("f", "{", index=0),
                {"index": 0, "function": {"name": None, "arguments": "}"}},
            ],
            [("f", "{}")],
            id="a null name",
        ),
        pytest.param(
            [
                part("f", '{"x"', index=0, id="a"),
                part(None, ":1}", index=0, id="b"),
                part(None, "", index=0, id="c"),
            ],
            [("f", '{"x":1}')],
            id="a new id with every delta",
        ),
        pytest.param(
            [part("f", "{", index=0), part(None, "}", index=0, id="a")], [("f", "{}")], id="the id comes late"
        ),
        pytest.param(
            [part("f", "{"), part(None, "}", id="a")], [("f", "{}")], id="the id comes late, no index"
        ),
        pytest.param(
            [part("f", "{", id="a"), part(None, "}", index=0)], [("f", "{}")], id="the index comes late"
        ),
        pytest.param(
            [part("f", "{}", index=0, id=""), part("g", "{}", index=1, id=None)],
            [("f", "{}"), ("g", "{}")],
            id="no ids",
        ),
        pytest.param(
            [part("f", '{"x":1}', index=0, id=""), part("g", '{"x":1}', index=0, id="")],
            [("f", '{"x":1}'), ("g", '{"x":1}')],
            id="no ids, one index, two names",
        ),
        pytest.param(
            [part("f", '{"x":1}', index=0), part("f", '{"x":2}', index=0)],
            [("f", '{"x":1}'), ("f", '{"x":2}')],
            id="no ids, one index, two whole objects",
        ),
        pytest.param(
            [part("f", '{"x":1}'), part("f", '{"x":2}')],
            [("f", '{"x":1}'), ("f", '{"x":2}')],
            id="neither ids nor indices, two whole objects",
        ),
        pytest.param(
            [[part("f", ""), part("f", "")]],
            [("f", ""), ("f", "")],
            id="neither ids nor indices, in one delta",
        ),
        pytest.param(
            [[part("f", "{}", id="a"), part("g", "{}", id="a")]],
            [("f", "{}"), ("g", "{}")],
            id="one id for both",
        ),
        pytest.param(
            [part("f", "{}", index=0, id="a"), part("f", "{}", index=1, id="a")],
            [("f", "{}"), ("f", "{}")],
            id="one id for two indices",
        ),
        pytest.param([part("f", {"x": 1}, id="a")], [("f", '{"x": 1}')], id="arguments as an object"),
        pytest.param([part("f", id="a")], [("f", "")], id="arguments absent"),
        pytest.param(
            [{}, {"index": 0, "id": "", "function": {"name": "", "arguments": ""}}, part("f", "{}", index=0)],
            [("f", "{}")],
            id="placeholders",
        ),
        pytest.param([{"index": 0, "function": None}, {"index": 1}], [], id="placeholders alone"),
        pytest.param([part(" f ", "{}", id=7)], [("f", "{}")], id="a number as id"),
    ],
)
def test_fragments_become_their_own_calls(parts: list[Any], expected: list[tuple[str, str]]) -> None:
    assert calls(*parts) == expected


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        ([part("f", "{}", index=0), part("f", '{"x":1}', index=0)], {"x": 1}),
        ([part("f", "{}", index=0), part(None, '{"x":1}', index=0)], {"x": 1}),
        ([part("f", '{"x":', index=0), part(None, "1}", index=0), part("f", '{"x":1}', index=0)], {"x": 1}),
        ([part("f", "", index=0), part(None, None, index=0)], {}),
        ([part("f", " ", index=0)], {}),
        ([part("f", '"{\\"x\\":1}"', index=0)], {"x": 1}),
    ],
)
def test_arguments_given_in_odd_ways_are_still_one_object(parts: list[Any], value: dict[str, Any]) -> None:
    ((name, arguments),) = calls(*parts)
    assert name == "f"
    assert parse(arguments).value == value


def test_ids_are_kept_where_they_can_be_and_made_where_not() -> None:
    answer = reply(
        chunk(tool_calls=[part("f", "{}", index=n, id=i) for n, i in enumerate(["a", "", "a"])]), DONE
    )
    first, second, third = (call.id for call in answer.calls)
    assert first == "a"
    assert second.startswith("call_")
    assert third.startswith("call_")


def test_an_id_that_was_made_stays_the_same() -> None:
    assembler = Assembler()
    assembler.feed(body(chunk("stop", tool_calls=[part("f", "{}")])))
    assert assembler.reply().calls == assembler.reply().calls


def test_a_provider_s_own_fields_of_a_call_are_kept() -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    answer = reply(chunk(tool_calls=[part("f", "{}", index=0, type="function", extra_content=signature)]))
    assert answer.calls[0].extra == {"extra_content": signature}
    odd = {
        "index": 0,
        "function": {"name": "f", "arguments": "{}", "thought_signature": "c2ln"},
        "note": None,
    }
    assert reply(chunk(tool_calls=[odd])).calls[0].extra == {"function": {"thought_signature": "c2ln"}}


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "length", None])
def test_calls_count_whatever_the_finish_reason_says(finish: str | None) -> None:
    answer = reply(
        chunk(content="Let me see."), chunk(tool_calls=[part("f", '{"a":1}', index=0)]), chunk(finish)
    )
    assert (answer.text, answer.finish_reason) == ("Let me see.", finish)
    assert [call.name for call in answer.calls] == ["f"]


def test_calls_after_the_finish_chunk_count() -> None:
    assert reply(chunk("stop", content="x"), chunk(tool_calls=[part("f", "{}", index=0)])).calls


@pytest.mark.parametrize("arguments", ["", " ", '{"city": "Par'])
def test_a_call_cut_by_the_length_limit_cannot_be_read(arguments: str) -> None:
    cut = reply(chunk(tool_calls=[part("f", "", index=0), part("g", arguments, index=1)]), chunk("length"))
    assert parse(cut.calls[0].arguments).problem is None
    assert "cut short" in (parse(cut.calls[1].arguments).problem or "")


def test_a_legacy_function_call_is_one_call() -> None:
    answer = reply(
        chunk(function_call={"name": "f", "arguments": '{"x"'}),
        chunk(function_call={"arguments": ":1}"}),
        chunk("function_call"),
    )
    assert [(call.name, call.arguments) for call in answer.calls] == [("f", '{"x":1}')]


def test_a_legacy_function_call_beside_tool_calls_is_not_a_second_one() -> None:
    both = {"tool_calls": [part("f", "{}", index=0)], "function_call": {"name": "f", "arguments": "{}"}}
    assert len(reply(chunk(**both)).calls) == 1


@pytest.mark.parametrize("odd", [None, "x", 5, [None, "x", 5], {}])
def test_tool_calls_of_a_wrong_type_are_none(odd: Any) -> None:
    assert reply(chunk(content="x", tool_calls=odd, function_call=odd)).calls == ()


def test_a_name_and_arguments_are_valid_unicode() -> None:
    parts = [part("f\ud800", '{"a":"\ud83d', index=0), part(None, '\ude00"}', index=0)]
    answer = reply(*(json.dumps(chunk(tool_calls=[each])) for each in parts))
    assert [(call.name, call.arguments) for call in answer.calls] == [("f\ufffd", '{"a":"\U0001f600"}')]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from("fgh"), st.dictionaries(st.text(max_size=3), st.integers())), max_size=4
    )
)
def test_calls_streamed_as_openai_does_come_out_as_they_went_in(
    made: list[tuple[str, dict[str, int]]],
) -> None:
    parts: list[dict[str, Any]] = []
    for index, (name, arguments) in enumerate(made):
        text = json.dumps(arguments)
        parts.append(part(name, "", index=index, id=f"id{index}"))
        parts += [part(None, text[n : n + 3], index=index) for n in range(0, len(text), 3)]
    data = body(*(chunk(tool_calls=[each]) for each in parts), chunk("tool_calls"), DONE)
    answer, _ = assemble(data)
    assert [(call.id, call.name, json.loads(call.arguments)) for call in answer.calls] == [
        (f"id{index}", name, arguments) for index, (name, arguments) in enumerate(made)
    ]


# Text and reasoning


def test_text_comes_as_it_is_streamed() -> None:
    data = body(
        chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"), chunk("stop"), DONE
    )
    answer, events = assemble(data)
    assert events == [Text("Hel"), Text("lo")]
    assert answer == Reply("Hello", finish_reason="stop")


@pytest.mark.parametrize(
    ("delta", "reasoning"),
    [
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "hm"),
        (
            {"reasoning_details": [{"type": "reasoning.text", "text": "h"}, {"summary": "m"}, {"data": "x"}]},
            "hm",
        ),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, "hm"),
        ({"content": [{"type": "thinking", "thinking": "hm"}]}, "hm"),
        ({"reasoning_content": None, "reasoning": 5, "reasoning_details": "x"}, ""),
    ],
)
def test_reasoning_is_kept_apart_under_all_its_names(delta: dict[str, Any], reasoning: str) -> None:
    answer = reply(chunk(**delta), chunk(content="answer"))
    assert (answer.text, answer.reasoning) == ("answer", reasoning)


@pytest.mark.parametrize(
    ("pieces", "text", "reasoning"),
    [
        (["<think>hm</think>answer"], "answer", "hm"),
        (["<th", "ink>h", "m</thi", "nk>\n\n", "\nanswer"], "answer", "hm"),
        (list("<think>a<b</think>c"), "c", "a<b"),
        (["\n<think>", "\n</think>", "answer"], "answer", "\n"),
        (["<think>hm"], "", "hm"),
        (["<think>hm</thi"], "", "hm</thi"),
        (["<think></think>"], "", ""),
        (["<thinking>"], "<thinking>", ""),
        (["<th"], "<th", ""),
        (["1 <think> 2"], "1 <think> 2", ""),
        (["<think>a</think>b<think>c</think>"], "b<think>c</think>", "a"),
        ([" ", "\n", "a", " "], " \na ", ""),
        (["  "], "  ", ""),
    ],
)
def test_think_tags_at_the_beginning_hold_reasoning(pieces: list[str], text: str, reasoning: str) -> None:
    answer = reply(*(chunk(content=piece) for piece in pieces))
    assert (answer.text, answer.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        (["a", {"type": "other"}, None, {"type": "text", "text": None}], "a"),
        (None, ""),
        (5, ""),
    ],
)
def test_content_may_be_a_list_of_parts(content: Any, text: str) -> None:
    assert reply(chunk(content=content)).text == text


def test_a_refusal_is_what_the_model_says() -> None:
    assert (
        reply(chunk(refusal="I cannot "), chunk(refusal="do that."), chunk("stop")).text
        == "I cannot do that."
    )


def test_a_character_cut_between_two_deltas_is_put_together() -> None:
    data = b'data: {"choices":[{"delta":{"content":"x\\ud83d"}}]}\n\n'
    data += b'data: {"choices":[{"delta":{"content":"\\ude00y"}}]}\n\n' + body(DONE)
    answer, events = assemble(data)
    assert answer.text == "x\U0001f600y"
    assert events == [Text("x"), Text("\U0001f600y")]


def test_half_a_character_at_the_end_is_replaced() -> None:
    assert reply(json.dumps(chunk(content="x\ud83d"))).text == "x\ufffd"
    assert reply(json.dumps(chunk(reasoning="x\ud83d"))).reasoning == "x\ufffd"


def test_line_separators_inside_a_string_are_content() -> None:
    assert reply(chunk(content="a\u2028b\u2029c\x85d\x0be")).text == "a\u2028b\u2029c\x85d\x0be"


# The stream itself

HELLO = [chunk(content="Héllo"), chunk(content=" 世界"), chunk("stop")]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(body(*HELLO, DONE, end="\r\n\r\n"), id="CRLF"),
        pytest.param(body(*HELLO, DONE, end="\r\r"), id="CR"),
        pytest.param(body(*HELLO, DONE, end="\n"), id="no blank lines"),
        pytest.param(body(*HELLO, DONE, prefix="data:"), id="no space"),
        pytest.param(b"\xef\xbb\xbf" + body(*HELLO, DONE), id="byte order mark"),
        pytest.param(b"\n\n\r\n" + body(*HELLO, DONE), id="blank lines first"),
        pytest.param(b": ping\n\n" + body(*HELLO, DONE), id="comments"),
        pytest.param(body(*HELLO, DONE, prefix="event: message\nid: 1\nretry: 5\ndata: "), id="other fields"),
        pytest.param(body(*HELLO, " [DONE] "), id="spaces around the end"),
        pytest.param(body(*HELLO), id="no end after a finish_reason"),
        pytest.param(body(*HELLO)[:-2], id="no end of line"),
        pytest.param(body(*HELLO, DONE, {"error": "late"}, chunk(content="!")), id="more after the end"),
        pytest.param(body(*HELLO[:2], DONE), id="no finish_reason before the end"),
        pytest.param(body("ping", *HELLO, "", "5", DONE), id="data that is no object"),
        pytest.param(
            body(*(json.dumps(each, indent=1).replace("\n", "\ndata: ") for each in HELLO), DONE),
            id="data in lines",
        ),
        pytest.param(body({"choices": []}, {"choices": None}, {}, *HELLO, DONE), id="no choices"),
        pytest.param(body({"choices": [{"delta": None}, None, 5]}, *HELLO, DONE), id="null deltas"),
        pytest.param(
            body(*HELLO, {"choices": [{"index": 1, "delta": {"content": "2"}}]}, DONE), id="more choices"
        ),
        pytest.param(body(*HELLO[:2], {"choices": [{"finish_reason": "stop"}]}), id="no delta"),
        pytest.param(
            body({"choices": [{"delta": {"content": "Héllo 世界"}, "logprobs": {"x": float("nan")}}]}, DONE),
            id="NaN",
        ),
        pytest.param(
            body(*HELLO, {"choices": [{"message": {"content": "Héllo 世界"}}]}, DONE),
            id="the message once more",
        ),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 2, 3])
def test_streams_of_all_forms_are_read_alike(data: bytes, size: int | None) -> None:
    answer, events = assemble(data, size=size)
    assert answer.text == "Héllo 世界"
    assert "".join(event.text for event in events) == "Héllo 世界"


def test_text_is_given_before_its_event_ends() -> None:
    assert Assembler().feed(body(HELLO[0], end="\n")) == [Text("Héllo")]


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_whole_completion_in_place_of_a_stream_is_read(indent: int | None, size: int | None) -> None:
    message = {
        "content": "Hi",
        "reasoning_content": "hm",
        "tool_calls": [part("f", "{}", id="a"), part("f", "{}")],
    }
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": None}],
        "usage": {"prompt_tokens": 3},
    }
    answer, events = assemble(json.dumps(whole, indent=indent).encode(), size=size)
    assert (answer.text, answer.reasoning, answer.usage) == ("Hi", "hm", Usage(3))
    assert [call.name for call in answer.calls] == ["f", "f"]
    assert events == [Reasoning("hm"), Text("Hi")]


def test_chunks_a_line_without_events_are_read() -> None:
    assert assemble(body(*HELLO, prefix="", end="\n"))[0].text == "Héllo 世界"


@settings(max_examples=60)
@given(st.text(alphabet=st.characters(blacklist_categories=()), max_size=30), st.integers(1, 9))
def test_any_text_arrives_however_the_bytes_are_cut(text: str, size: int) -> None:
    content = "x" + text
    data = b"data: " + json.dumps(chunk("stop", content=content)).encode() + b"\n\n"
    answer, events = assemble(data, size=size)
    assert answer.text == content.encode("utf-16", "surrogatepass").decode("utf-16", "replace").removesuffix(
        ""
    )
    assert "".join(event.text for event in events) == answer.text


# Usage

FULL = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


@pytest.mark.parametrize(
    ("chunks", "usage"),
    [
        ([chunk("stop"), {"choices": [], "usage": FULL}], Usage(10, 5, 4, 3)),
        ([chunk("stop") | {"usage": FULL}], Usage(10, 5, 4, 3)),
        ([chunk("stop"), {"usage": {"prompt_tokens": 10, "prompt_cache_hit_tokens": 4}}], Usage(10, 0, 4)),
        ([{"choices": [{"delta": {}, "usage": {"prompt_tokens": 7, "cached_tokens": 2}}]}], Usage(7, 0, 2)),
        ([chunk("stop") | {"x_groq": {"usage": {"prompt_tokens": 7}}}], Usage(7)),
        (
            [
                chunk(content="a") | {"usage": {"prompt_tokens": 10, "completion_tokens": 1}},
                chunk(content="b") | {"usage": {"prompt_tokens": 10, "completion_tokens": 2}},
            ],
            Usage(10, 2),
        ),
        (
            [chunk() | {"usage": FULL}, chunk() | {"usage": None}, chunk() | {"usage": {"prompt_tokens": 0}}],
            Usage(10, 5, 4, 3),
        ),
        (
            [
                chunk()
                | {"usage": {"prompt_tokens": 3.0, "completion_tokens": "x", "prompt_tokens_details": None}}
            ],
            Usage(3),
        ),
        ([chunk() | {"usage": {"prompt_tokens": -3, "completion_tokens": float("nan")}}], Usage()),
        ([chunk()], Usage()),
    ],
)
def test_usage_is_counted_once_a_round(chunks: list[Any], usage: Usage) -> None:
    assert reply(*chunks).usage == usage


# What is no answer


@pytest.mark.parametrize(
    ("error", "said", "status"),
    [
        ({"error": {"message": "overloaded", "code": 503}}, "overloaded", 503),
        ({"error": {"message": "bad", "code": "invalid"}}, "bad", None),
        ({"error": "boom"}, "boom", None),
        ({"error": {"code": 500}}, "500", 500),
        ({"object": "error", "message": "too long", "code": 400}, "too long", 400),
        ({"code": "1002", "message": "no such key"}, "no such key", None),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required", None),
        (
            {"choices": [{"delta": {"content": ""}, "finish_reason": "error", "error": {"message": "gone"}}]},
            "gone",
            None,
        ),
        ({"choices": [{"delta": {}, "finish_reason": "error"}]}, "no reason given", None),
        (
            {
                "error": {
                    "message": "Provider returned error",
                    "metadata": {"raw": '{"detail": "out of memory"}'},
                }
            },
            "out of memory",
            None,
        ),
    ],
)
def test_an_error_in_the_stream_is_told_with_what_had_arrived(
    error: Any, said: str, status: int | None
) -> None:
    calling = chunk(content="I will", tool_calls=[part("f", "{}", index=0)])
    failed = broken(body(calling, error, chunk("stop"), DONE))
    assert said in failed.message
    assert (failed.partial, failed.status) == ("I will", status)


@pytest.mark.parametrize(
    "data",
    [
        b'event: error\ndata: {"message": "boom"}\n\n',
        b"event: error\ndata: boom\n\n",
        b'event: error\ndata: "boom"\n\n',
        b'{"error": {"message": "boom"}}\n\n',
        b'[{"error": {"message": "boom"}}]',
        body(HELLO[0]) + b'{"error": {"message": "boom"}}\n',
    ],
)
def test_errors_in_other_forms_are_told_as_well(data: bytes) -> None:
    assert "boom" in broken(data).message


def test_a_stream_without_an_end_is_cut_and_nothing_of_it_counts() -> None:
    failed = broken(body(chunk(content="I will"), chunk(tool_calls=[part("f", "{}", index=0)])))
    assert "broke off" in failed.message
    assert failed.partial == "I will"
    assert "Nothing of the unfinished answer was run" in (failed.hint or "")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "answered with nothing"),
        (b"\n\n", "answered with nothing"),
        (b"<!doctype html><title>Sign in</title>", "Sign in"),
        (b"upstream not found", "upstream not found"),
        (b'{"choices": [', "cannot be read"),
        (b'{"status": "ok"}', "something else than a completion"),
        (b"[]", "cannot be read"),
        (b'data: {"choices": [\n\n', "cannot be read"),
        (b"data: hello\n\n", "something else than a completion"),
        (b"data: " + b'{"a":' * 5000 + b"\n\n", "cannot be read"),
        (b"\xff\xfe\x00", "something else than a completion"),
    ],
)
def test_a_body_that_is_no_answer_is_quoted(data: bytes, said: str) -> None:
    failed = broken(data)
    assert said in failed.message
    assert len(failed.message) < 400


def test_a_chunk_that_cannot_be_read_is_an_error_though_others_can() -> None:
    failed = broken(body(HELLO[0], '{"choices": [{"delta"', chunk("stop"), DONE))
    assert "cannot be read" in failed.message
    assert failed.partial == "Héllo"


def test_an_empty_reply_is_a_reply() -> None:
    assert reply(chunk("content_filter")) == Reply(finish_reason="content_filter")


def test_long_streams_in_small_pieces_cost_little() -> None:
    pieces = [part(None, "x" * 4, index=0) for _ in range(20_000)]
    data = body(
        chunk(tool_calls=[part("f", '{"a":"', index=0)]), *(chunk(tool_calls=[p]) for p in pieces), DONE
    )
    assert len(assemble(data, size=4096)[0].calls[0].arguments) == 80_006
    one_line = body(chunk("stop", content="x" * 5_000_000))
    assert len(assemble(one_line, size=4096)[0].text) == 5_000_000
