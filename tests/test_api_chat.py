"""Chat completions of the backend, as OpenAI's own client sees them, over real HTTP."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from mcphost.api import Settings

from .backend import Running, Upstream, backend, data_of, until
from .conftest import rogue
from .endpoint import call, calls, chunk, event, failure, raw, stream, text

USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 4,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
ECHO = ("rogue-echo", {"text": "hello"})
OWN = {
    "type": "function",
    "function": {"name": "open_window", "parameters": {"type": "object", "properties": {}}},
}
HI: list[Any] = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def running(upstream: Upstream) -> Iterator[Running]:
    settings = Settings(keepalive=0.3)
    limits = {"limits": {"rounds": 4}}
    with backend(
        upstream, settings=settings, sections=limits, rogue=rogue(), other=rogue("hint=readOnlyHint")
    ) as started:
        yield started


def offered(body: Any) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


def results(body: Any) -> list[str]:
    """The tool messages that a request to the model holds."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def said(chunks: list[Any], kind: str = "content") -> str:
    return "".join(choice["delta"].get(kind) or "" for each in chunks for choice in each["choices"])


def reasons(chunks: list[Any]) -> list[str]:
    found = [choice["finish_reason"] for each in chunks for choice in each["choices"]]
    return [reason for reason in found if reason is not None]


def test_a_client_that_knows_nothing_of_tools_has_them(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), usage=USAGE), text("It said ", "hello.", usage=USAGE))
    completion = running.openai().chat.completions.create(model="scripted", messages=HI)
    choice = completion.choices[0]
    assert (choice.message.content, choice.finish_reason, choice.message.tool_calls) == (
        "It said hello.",
        "stop",
        None,
    )
    assert completion.id.startswith("chatcmpl-")
    assert completion.usage is not None and completion.usage.total_tokens == 28
    assert completion.usage.prompt_tokens_details.cached_tokens == 6  # type: ignore[union-attr]
    assert completion.usage.completion_tokens_details.reasoning_tokens == 4  # type: ignore[union-attr]
    assert offered(upstream.bodies[0])[:2] == ["rogue-echo", "rogue-env"]
    assert results(upstream.bodies[1]) == ["hello"]
    done = completion.model_extra["mcphost"]  # type: ignore[index]
    assert (done["stop"], done["rounds"]) == ("answer", 2)
    (made,) = done["calls"]
    assert (made["server"], made["tool"], made["arguments"], made["ok"]) == (
        "rogue",
        "echo",
        {"text": "hello"},
        True,
    )
    assert made["seconds"] >= 0


def test_a_stream_is_one_answer_whatever_happens_behind_it(running: Running, upstream: Upstream):
    three = [call("rogue-echo", {"text": word}, index=n) for n, word in enumerate(("a", "b", "c"))]
    upstream.play(calls(*three), calls(call(*ECHO)), text("It is ", "done."))
    chunks = running.chunks()
    assert len({each["id"] for each in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert reasons(chunks) == ["stop"]
    assert said(chunks) == "It is done."
    assert not any("tool_calls" in choice["delta"] for each in chunks for choice in each["choices"])
    assert all("usage" not in each for each in chunks)
    assert results(upstream.bodies[2]) == ["a", "b", "c", "hello"]
    assert len(chunks[-1]["mcphost"]["calls"]) == 4


def test_the_clients_own_stream_reads_it(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), usage=USAGE), text("It is ", "done.", usage=USAGE))
    with running.openai().chat.completions.stream(
        model="scripted", messages=HI, stream_options={"include_usage": True}
    ) as events:
        final = events.get_final_completion()
    assert final.choices[0].message.content == "It is done."
    assert final.usage is not None and final.usage.total_tokens == 28


def test_what_the_model_says_between_calls_is_streamed_apart(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), content="Let me look."), text("It is done."))
    assert said(running.chunks()) == "Let me look.\n\nIt is done."
    upstream.play(calls(call(*ECHO), content="Let me look."), text("It is done."))
    assert running.chat().json()["choices"][0]["message"]["content"] == "It is done."


def test_nothing_stands_before_an_answer_that_is_to_be_json(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), content="Let me look."), text('{"a"', ": 1}"))
    chunks = running.chunks(response_format={"type": "json_object"})
    assert json.loads(said(chunks)) == {"a": 1}


def test_usage_is_told_in_a_chunk_of_its_own_when_asked_for(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), usage=USAGE), text("Done.", usage=USAGE))
    chunks = running.chunks(stream_options={"include_usage": True})
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["total_tokens"] == 28
    assert [each["usage"] for each in chunks[:-1]] == [None] * (len(chunks) - 1)


def test_reasoning_is_handed_on(running: Running, upstream: Upstream):
    thoughts = [chunk(reasoning_content="Hm"), chunk(reasoning_content="m.")]
    answer = stream(*thoughts, chunk(content="Yes."), chunk(finish="stop"))
    upstream.play(answer, answer)
    assert said(running.chunks(), "reasoning_content") == "Hmm."
    message = running.chat().json()["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("Hmm.", "Yes.")


def test_probabilities_are_handed_on(running: Running, upstream: Upstream):
    token = {"token": "Yes", "logprob": -0.1, "bytes": [1], "top_logprobs": []}
    first = chunk(content="Yes")
    first["choices"][0]["logprobs"] = {"content": [token]}
    upstream.play(*[stream(first, chunk(finish="stop"))] * 2)
    chunks = running.chunks(logprobs=True)
    assert chunks[1]["choices"][0]["logprobs"]["content"] == [token]
    assert running.chat(logprobs=True).json()["choices"][0]["logprobs"]["content"] == [token]


@pytest.mark.parametrize("reason", ["length", "content_filter", "stop"])
def test_the_last_rounds_reason_is_the_answers(running: Running, upstream: Upstream, reason: str):
    upstream.play(*[stream(chunk(content="So"), chunk(finish=reason))] * 2)
    assert running.chat().json()["choices"][0]["finish_reason"] == reason
    assert reasons(running.chunks()) == [reason]


def test_the_callers_own_calls_come_back(running: Running, upstream: Upstream):
    made = call("open_window", '{"wide": tr', id="call_w")
    upstream.play(*[calls(made, content="One moment.")] * 2)
    completion = running.openai().chat.completions.create(model="scripted", messages=HI, tools=[OWN])  # type: ignore[list-item]
    choice = completion.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "One moment."
    (given,) = choice.message.tool_calls or []
    assert (given.id, given.function.name, given.function.arguments) == (  # type: ignore[union-attr]
        "call_w",
        "open_window",
        '{"wide": tr',
    )
    assert upstream.bodies[0]["tools"][0] == OWN and "rogue-echo" in offered(upstream.bodies[0])
    chunks = running.chunks(tools=[OWN])
    deltas = [choice["delta"] for each in chunks for choice in each["choices"]]
    (sent,) = [delta["tool_calls"] for delta in deltas if "tool_calls" in delta]
    assert sent[0]["index"] == 0 and sent[0]["function"]["name"] == "open_window"
    assert reasons(chunks) == ["tool_calls"]


def test_a_round_that_mixes_both_gives_the_callers_back_and_the_model_asks_again(
    running: Running, upstream: Upstream
):
    both = calls(call("rogue-pid"), call("open_window", index=1, id="call_w"))
    upstream.play(both, calls(call(*ECHO)), text("Both are done."))
    message = running.chat(tools=[OWN]).json()
    assert message["mcphost"]["calls"] == []
    (given,) = message["choices"][0]["message"]["tool_calls"]
    assert given["function"]["name"] == "open_window"
    answered = [
        *HI,
        message["choices"][0]["message"],
        {"role": "tool", "tool_call_id": given["id"], "content": "it is open"},
    ]
    final = running.chat(tools=[OWN], messages=answered).json()
    assert final["choices"][0]["message"]["content"] == "Both are done."
    assert results(upstream.bodies[2]) == ["it is open", "hello"]


def test_a_callers_name_wins_for_its_request_only(running: Running, upstream: Upstream):
    own = {"type": "function", "function": {"name": "rogue-echo", "parameters": {"type": "object"}}}

    def call_the_other(request: Any) -> Any:
        (moved,) = [name for name in offered(request.body) if name.startswith("rogue-echo_")]
        return calls(call(moved, {"text": "hello"}))

    upstream.play(call_the_other, calls(call("rogue-echo", {"text": "mine"})), text("Hi."))
    answer = running.chat(tools=[own]).json()
    assert offered(upstream.bodies[0]).count("rogue-echo") == 1
    assert results(upstream.bodies[1]) == ["hello"]
    (given,) = answer["choices"][0]["message"]["tool_calls"]
    assert given["function"] == {"name": "rogue-echo", "arguments": '{"text": "mine"}'}
    running.chat()
    assert offered(upstream.bodies[2])[0] == "rogue-echo"


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("required", "required"),
        (function("rogue-echo"), function("rogue-echo")),
        (function("open_window"), function("open_window")),
    ],
)
def test_a_tool_choice_is_sent_once(running: Running, upstream: Upstream, choice: Any, sent: Any):
    upstream.play(calls(call(*ECHO)), text("Done."))
    running.chat(tools=[OWN], tool_choice=choice)
    assert [body.get("tool_choice") for body in upstream.bodies] == [sent, None]


def test_a_tool_choice_by_a_tools_own_name_is_translated(running: Running, upstream: Upstream):
    upstream.play(text("Done."))
    running.chat(tool_choice=function("rogue/echo"))
    assert upstream.bodies[0]["tool_choice"] == function("rogue-echo")


def test_allowed_tools_stay_allowed_when_the_call_is_no_longer_forced(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO)), text("Done."))
    allowed = {"mode": "required", "tools": [function("rogue-echo")]}
    running.chat(tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert [body["tool_choice"]["allowed_tools"]["mode"] for body in upstream.bodies] == ["required", "auto"]


def test_none_holds_in_every_round(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO)), text("Done."))
    running.chat(tool_choice="none")
    assert [body.get("tool_choice") for body in upstream.bodies] == ["none", "none"]


def test_a_tool_choice_for_no_tool_is_refused(running: Running, upstream: Upstream):
    upstream.play()
    with pytest.raises(openai.BadRequestError, match=r"rogue-echoo.*rogue-echo") as caught:
        running.openai().chat.completions.create(
            model="scripted",
            messages=HI,
            tool_choice=function("rogue-echoo"),  # type: ignore[arg-type]
        )
    assert caught.value.param == "tool_choice"
    assert not upstream.requests


def test_all_other_fields_go_to_the_model_as_they_are(running: Running, upstream: Upstream):
    fields = {
        "temperature": 0.25,
        "seed": 7,
        "stop": ["\n"],
        "max_tokens": 50,
        "response_format": {"type": "json_object"},
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
        "user": "u1",
        "something_new": {"a": [1, None]},
    }
    upstream.play(calls(call(*ECHO)), text("{}"))
    running.chat(**fields)
    for body in upstream.bodies:
        assert {key: body[key] for key in fields} == fields
        assert body["stream"] is True and "mcphost" not in body


def test_several_answers_are_refused_where_there_are_tools(running: Running, upstream: Upstream):
    upstream.play()
    with pytest.raises(openai.BadRequestError, match="n can only be 1 where there are tools") as caught:
        running.openai().chat.completions.create(model="scripted", messages=HI, n=2)
    assert caught.value.param == "n"


@pytest.mark.parametrize("streamed", [False, True])
def test_without_tools_several_answers_are_the_upstreams_own(
    running: Running, upstream: Upstream, streamed: bool
):
    answer = b'{"id": "upstreams", "choices": [{"index": 0}, {"index": 1}]}'
    upstream.play(raw(answer, content_type="application/json"))
    got = running.chat(n=2, stream=streamed, mcphost={"servers": []})
    assert (got.content, got.headers["content-type"]) == (answer, "application/json")
    body = upstream.bodies[0]
    assert body["n"] == 2 and "tools" not in body and body.get("stream", False) is streamed


def test_a_request_can_narrow_what_it_uses(running: Running, upstream: Upstream):
    upstream.play(*[text("Hi.")] * 4)
    for narrowing in (
        {"servers": ["other"]},
        {"tools": ["rogue-e*", "other/pid"]},
        {"servers": []},
        {"servers": ["rogue"], "tools": ["p*"]},
    ):
        running.chat(mcphost=narrowing)
    assert [offered(body) for body in upstream.bodies] == [
        ["other-echo", "other-env", "other-fail", "other-wait", "other-pid"],
        ["rogue-echo", "rogue-env", "other-pid"],
        [],
        ["rogue-pid"],
    ]


def test_a_tool_that_was_narrowed_away_cannot_be_called(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO)), text("No."))
    running.chat(mcphost={"servers": ["other"]})
    assert "there is no tool named 'rogue-echo'" in results(upstream.bodies[1])[0]


def test_rounds_can_be_fewer_and_never_more(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO)), text("Enough."), *[calls(call(*ECHO))] * 4, text("Enough."))
    few = running.chat(mcphost={"max_rounds": 1}).json()["mcphost"]
    many = running.chat(mcphost={"max_rounds": 100}).json()["mcphost"]
    assert (few["stop"], few["rounds"]) == ("limit", 2)
    assert (many["stop"], many["rounds"]) == ("limit", 5)
    assert upstream.bodies[1]["tool_choice"] == "none"


def test_a_request_can_have_calls_refused(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), call("rogue-pid", index=1)), text("I may not."))
    answer = running.chat(mcphost={"approve": ["echo"]}).json()
    assert [(made["ok"], made["cause"]) for made in answer["mcphost"]["calls"]] == [
        (False, "refused"),
        (True, None),
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": ["Hi"]}, "messages[0]"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0]"),
        ({"functions": [{"name": "x"}]}, "functions"),
        ({"n": 0}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"model": 5}, "model"),
        ({"tool_choice": 5}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        ({"stream_options": []}, "stream_options"),
        ({"mcphost": []}, "mcphost"),
        ({"mcphost": {"severs": ["rogue"]}}, "mcphost"),
        ({"mcphost": {"servers": ["rouge"]}}, "mcphost.servers"),
        ({"mcphost": {"servers": "rogue"}}, "mcphost.servers"),
        ({"mcphost": {"tools": [1]}}, "mcphost.tools"),
        ({"mcphost": {"max_rounds": -1}}, "mcphost.max_rounds"),
        ({"mcphost": {"approve": "sometimes"}}, "mcphost.approve"),
        ({"mcphost": {"events": 1}}, "mcphost.events"),
    ],
)
def test_a_request_that_is_wrong_is_told_where(running: Running, fields: Any, param: str):
    answer = running.chat(**fields)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert answer.headers["x-request-id"] == error["request_id"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"a": NaN}', b"[" * 100_000, b"\xff\xfe"])
def test_a_body_that_is_no_json_object_is_refused(running: Running, body: bytes):
    answer = running.post("/v1/chat/completions", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")


def test_a_history_with_our_calls_is_taken_and_mended(running: Running, upstream: Upstream):
    upstream.play(text("Yes."))
    made = {"id": "c1", "type": "function", "function": {"name": "rogue-echo", "arguments": "{}"}}
    lost = {"id": "c2", "type": "function", "function": {"name": "gone-tool", "arguments": "not json"}}
    history = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [made, lost]},
        {"role": "tool", "tool_call_id": "c1", "content": "hello"},
        {"role": "assistant", "content": "It said hello."},
        {"role": "user", "content": "Again?"},
    ]
    assert running.chat(messages=history).status_code == 200
    sent = upstream.bodies[0]["messages"]
    assert [message["role"] for message in sent] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]
    assert "cancelled" in sent[3]["content"]


def test_a_tools_trouble_is_for_the_model_to_hear(running: Running, upstream: Upstream):
    upstream.play(calls(call("rogue-fail"), call("rogue-nope", index=1)), text("The disk is full."))
    answer = running.chat()
    assert answer.status_code == 200
    assert [(made["ok"], made["cause"]) for made in answer.json()["mcphost"]["calls"]] == [
        (False, "tool"),
        (False, "unknown"),
    ]
    assert "the disk is full" in results(upstream.bodies[1])[0]


@pytest.mark.parametrize(
    ("upstreams", "ours", "kind"),
    [
        (400, 400, openai.BadRequestError),
        (401, 502, openai.InternalServerError),
        (403, 502, openai.InternalServerError),
        (404, 404, openai.NotFoundError),
        (422, 422, openai.UnprocessableEntityError),
        (429, 429, openai.RateLimitError),
        (500, 502, openai.InternalServerError),
        (503, 503, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_the_upstreams_failures_are_mapped(
    running: Running, upstream: Upstream, upstreams: int, ours: int, kind: type[Exception], streamed: bool
):
    upstream.play(failure(upstreams, "so it is", code="a_word"))
    with pytest.raises(kind, match="so it is") as caught:
        running.openai().chat.completions.create(model="scripted", messages=HI, stream=streamed)
    error: Any = caught.value
    assert error.status_code == ours
    assert error.request_id.startswith("req_")
    if ours == upstreams:
        assert error.code == "a_word"


def test_a_conversation_that_is_too_long_is_told_as_such(running: Running, upstream: Upstream):
    upstream.play(failure(400, "This model's maximum context length is 8192 tokens."))
    with pytest.raises(openai.BadRequestError) as caught:
        running.openai().chat.completions.create(model="scripted", messages=HI)
    assert caught.value.code == "context_length_exceeded"


def test_a_wait_that_the_upstream_asks_for_is_handed_on(running: Running, upstream: Upstream):
    upstream.play(failure(429, "slow down", headers={"x-should-retry": "false", "retry-after": "7"}))
    assert running.chat().headers["retry-after"] == "7"


def test_a_failure_in_mid_stream_is_an_event(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO), content="Let me look."), failure(500, "so it is"))
    answer = running.chat(stream=True)
    assert answer.status_code == 200
    assert "[DONE]" not in answer.text and "event: error\n" in answer.text
    last = json.loads(answer.text.strip().splitlines()[-1].removeprefix("data: "))
    assert "so it is" in last["error"]["message"]
    assert last["error"]["request_id"] == answer.headers["x-request-id"]
    upstream.play(calls(call(*ECHO), content="Let me look."), failure(500, "so it is"))
    with pytest.raises(openai.APIError, match="so it is"):
        for _ in running.openai().chat.completions.create(model="scripted", messages=HI, stream=True):
            pass


def test_a_stream_that_the_upstream_cuts_ends_in_an_error(running: Running, upstream: Upstream):
    upstream.play(raw(event(chunk(content="It is ")), cut=True))
    answer = running.chat(stream=True)
    assert "event: error\n" in answer.text and 'finish_reason":"' not in answer.text


def test_the_first_byte_goes_out_at_once_and_comments_keep_the_connection(
    running: Running, upstream: Upstream
):
    gate = threading.Event()
    upstream.play(stream(gate, chunk(content="At last."), chunk(finish="stop")))
    body = {"messages": HI, "stream": True}
    with httpx2.stream("POST", f"{running.url}/v1/chat/completions", json=body, timeout=30) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        first = json.loads(next(lines).removeprefix("data: "))
        assert first["choices"][0]["delta"]["role"] == "assistant"
        assert [next(lines) for _ in range(4)] == ["", ": keepalive", "", ": keepalive"]
        gate.set()
        rest = "\n".join(lines)
    assert said(data_of(rest)) == "At last."


def test_events_are_shown_to_who_asks(running: Running, upstream: Upstream):
    upstream.play(calls(call(*ECHO)), text("Done."))
    chunks = running.chunks(mcphost={"events": True})
    shown = [each["mcphost"]["event"] for each in chunks if "event" in each.get("mcphost", {})]
    assert [each["type"] for each in shown] == ["round", "usage", "call", "result", "round", "usage"]
    assert (shown[2]["server"], shown[3]["content"]) == ("rogue", "hello")
    assert all(each["choices"] == [] for each in chunks if "event" in each.get("mcphost", {}))
    assert said(chunks) == "Done."


@contextmanager
def left(running: Running, body: Any) -> Iterator[socket.socket]:
    """A request whose caller leaves at the end of the block."""
    data = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", running.port)) as caller:
        caller.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n")
        caller.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        yield caller


@pytest.mark.parametrize("streamed", [False, True])
def test_a_caller_who_leaves_while_the_model_answers_ends_that(
    running: Running, upstream: Upstream, streamed: bool
):
    upstream.play(stream(chunk(content="It"), threading.Event()))
    with left(running, {"messages": HI, "stream": streamed}) as caller:
        assert upstream.arrived.wait(30)
        if streamed:
            assert caller.recv(12) == b"HTTP/1.1 200"
    assert upstream.gone.wait(30)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_caller_who_leaves_while_a_tool_runs_ends_that_and_the_server_stays_usable(
    running: Running, upstream: Upstream, tmp_path: Path, streamed: bool
):
    until_file = tmp_path / "there"
    upstream.play(calls(call("other-wait", {"until": str(until_file)})), text("It is there."))
    with left(running, {"messages": HI, "stream": streamed}):
        until((tmp_path / "there.awaited").exists)
    until_file.touch()
    upstream.play(calls(call("other-echo", {"text": "still here"})), text("Good."))
    assert running.chat().json()["mcphost"]["calls"][0]["ok"] is True
    assert results(upstream.bodies[1]) == ["still here"]
