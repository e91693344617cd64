"""Asking a model behind a real HTTP endpoint."""

import contextlib
import gzip
import json
import threading
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcphost import model_errors
from mcphost.assemble import Reply
from mcphost.config import ModelSpec
from mcphost.dialect import DIALECTS
from mcphost.errors import ConfigError, ModelError
from mcphost.events import Reasoning, Text
from mcphost.history import assistant_message
from mcphost.messages import Usage
from mcphost.model_errors import key_variable
from mcphost.openai_model import OpenAIModel

from .endpoint import (
    WAIT_SECONDS,
    Answer,
    Endpoint,
    Received,
    Script,
    call,
    calls,
    chunk,
    event,
    failure,
    raw,
    stream,
    text,
)

pytestmark = pytest.mark.anyio

USER = {"role": "user", "content": "hi"}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
FORCED = {"type": "function", "function": {"name": "f"}}
CALLED = [
    USER,
    {"role": "assistant", "content": "", "tool_calls": [call("f", id="a")]},
    {"role": "tool", "tool_call_id": "a", "content": "ok"},
]


async def nothing(_: Text | Reasoning) -> None:
    pass


async def ask(
    model: OpenAIModel,
    messages: Sequence[dict[str, Any]] = (USER,),
    *,
    tools: Sequence[dict[str, Any]] = (),
    tool_choice: Any = None,
    emit: Any = nothing,
) -> Reply:
    return await model.reply(messages, tools=tools, tool_choice=tool_choice, emit=emit)


@contextlib.asynccontextmanager
async def scripted(*script: Script, name: str = "scripted", **options: Any) -> Any:
    """An endpoint with this script, and a model behind it."""
    with Endpoint(*script) as endpoint:
        model = OpenAIModel(name, base_url=endpoint.url, **{"api_key": "sk-test"} | options)
        try:
            yield endpoint, model
        finally:
            await model.aclose()


async def failed(*script: Script, messages: Sequence[dict[str, Any]] = (USER,), **options: Any) -> ModelError:
    async with scripted(*script, **options) as (_, model):
        with pytest.raises(ModelError) as caught:
            await ask(model, messages)
    return caught.value


# What is sent


async def test_the_body_holds_what_was_asked_for_and_nothing_else() -> None:
    async with scripted(text("ok"), options={"temperature": 0, "top_p": None}) as (endpoint, model):
        await ask(model)
    assert endpoint.bodies == [
        {
            "model": "scripted",
            "messages": [USER],
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
    assert endpoint.requests[0].path == "/v1/chat/completions"


async def test_tools_and_their_choice_are_sent_when_there_are_tools() -> None:
    async with scripted(text("ok"), text("ok"), text("ok")) as (endpoint, model):
        await ask(model, tools=TOOLS)
        await ask(model, tools=TOOLS, tool_choice="none")
        await ask(model, tools=[], tool_choice="none")
    first, second, third = endpoint.bodies
    assert first["tools"] == second["tools"] == TOOLS
    assert "tool_choice" not in first
    assert second["tool_choice"] == "none"
    assert "tools" not in third
    assert "tool_choice" not in third


async def test_extra_body_wins() -> None:
    extra = {"temperature": 1, "tools": [{"type": "web_search"}], "thinking": {"type": "enabled"}}
    async with scripted(text("ok"), options={"temperature": 0}, extra_body=extra) as (endpoint, model):
        await ask(model, tools=TOOLS)
    assert {key: endpoint.bodies[0][key] for key in extra} == extra


async def test_the_tools_are_written_again_only_when_the_list_is_another() -> None:
    async with scripted(text("ok"), text("ok")) as (endpoint, model):
        await ask(model, tools=TOOLS)
        await ask(model, tools=[*TOOLS, *TOOLS])
    assert [len(body["tools"]) for body in endpoint.bodies] == [1, 2]


async def test_text_is_sent_as_utf8_whatever_it_holds() -> None:
    async with scripted(text("ok")) as (endpoint, model):
        await ask(model, [{"role": "user", "content": "苏州 \ud83d\ude00 \ud83d"}])
    assert endpoint.bodies[0]["messages"][0]["content"] == "苏州 \U0001f600 \ufffd"
    assert "苏州".encode() in endpoint.requests[0].raw


async def test_headers_hold_the_key_and_tell_nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-other")
    async with scripted(text("ok")) as (endpoint, model):
        await ask(model)
    headers = endpoint.requests[0].headers
    assert headers["authorization"] == "Bearer sk-test"
    assert "sk-other" not in str(headers)
    assert not [name for name in headers if name.startswith(("x-stainless", "openai-"))]


async def test_without_a_key_none_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-other")
    async with scripted(text("ok"), api_key=None) as (endpoint, model):
        await ask(model)
    assert "authorization" not in endpoint.requests[0].headers


async def test_a_request_that_json_cannot_hold_is_an_error() -> None:
    error = await failed(options={"temperature": float("nan")})
    assert "cannot be written as JSON" in error.message
    assert (
        "cannot be written as JSON"
        in (await failed(messages=[{"role": "user", "content": object()}])).message
    )


async def test_dangling_calls_are_not_sent() -> None:
    async with scripted(text("ok")) as (endpoint, model):
        await ask(model, CALLED[:2])
    assert [message["role"] for message in endpoint.bodies[0]["messages"]] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:{}/v1/chat/completions", "http://127.0.0.1:{}/v1/", " {url} "]
)
async def test_a_base_url_may_be_pasted_in_other_forms(base: str) -> None:
    with Endpoint(text("ok")) as endpoint:
        model = OpenAIModel("m", base_url=base.format(endpoint.port, url=endpoint.url))
        await ask(model)
        await model.aclose()
    assert endpoint.requests[0].path == "/v1/chat/completions"


async def test_a_query_in_the_base_url_stays_a_query() -> None:
    with Endpoint(text("ok")) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url + "?api-version=1")
        await ask(model)
        await model.aclose()
    assert endpoint.requests[0].path == "/v1/chat/completions?api-version=1"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "http://", "http://[::1", "http://host:x/v1"]
)
def test_a_base_url_that_cannot_be_used_is_a_config_error(url: str) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        OpenAIModel("m", base_url=url)


async def test_a_spec_names_model_endpoint_and_dialect() -> None:
    with Endpoint(text("ok")) as endpoint:
        spec = ModelSpec(
            name="m", base_url=endpoint.url, api_key="sk-1", dialect="deepseek", options={"top_p": 1}
        )
        model = OpenAIModel.from_spec(spec)
        await ask(model)
        await model.aclose()
    assert (model.name, model.dialect.name, endpoint.bodies[0]["top_p"]) == ("m", "deepseek", 1)
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-1"


@pytest.mark.parametrize("spec", [ModelSpec(), ModelSpec(name="m", dialect="klingon")])
def test_a_spec_without_name_or_with_an_unknown_dialect_is_a_config_error(spec: ModelSpec) -> None:
    with pytest.raises(ConfigError):
        OpenAIModel.from_spec(spec)


# What comes back


async def test_text_is_emitted_as_it_comes() -> None:
    gate = threading.Event()
    seen: list[Text | Reasoning] = []

    async def emit(event: Text | Reasoning) -> None:
        seen.append(event)
        gate.set()  # the second part is sent only when the first has been seen

    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    answer = stream(chunk(content="Hel"), gate, chunk(content="lo"), chunk(finish="stop", usage=usage))
    async with scripted(answer) as (_, model):
        reply = await ask(model, emit=emit)
    assert seen == [Text("Hel"), Text("lo")]
    assert reply == Reply("Hello", usage=Usage(3, 2), finish_reason="stop")


async def test_calls_come_as_calls() -> None:
    async with scripted(calls(call("f", {"a": 1}), call("g", index=1))) as (_, model):
        reply = await ask(model, tools=TOOLS)
    assert [(each.id, each.name, each.arguments) for each in reply.calls] == [
        ("call_0", "f", '{"a": 1}'),
        ("call_1", "g", "{}"),
    ]


async def test_a_whole_completion_is_taken_where_a_stream_was_asked_for() -> None:
    whole = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    answer = raw(json.dumps(whole).encode(), content_type="application/json")
    async with scripted(answer) as (_, model):
        assert (await ask(model)).text == "Hi"


async def test_a_compressed_body_is_read() -> None:
    data = gzip.compress(event(chunk(content="Hi", finish="stop")))
    answer = raw(*(data[n : n + 5] for n in range(0, len(data), 5)), headers={"Content-Encoding": "gzip"})
    async with scripted(answer) as (_, model):
        assert (await ask(model)).text == "Hi"


async def test_bytes_may_be_cut_anywhere() -> None:
    data = (
        event(
            chunk(content="世界\u2028"),
        )
        + event(chunk(finish="stop"))
        + event("[DONE]")
    )
    async with scripted(raw(*(data[n : n + 1] for n in range(len(data))))) as (_, model):
        assert (await ask(model)).text == "世界\u2028"


async def test_one_connection_serves_all_requests() -> None:
    async with scripted(*[text("ok")] * 3) as (endpoint, model):
        for _ in range(3):
            await ask(model)
    assert endpoint.connections == 1


async def test_an_endpoint_that_keeps_the_stream_open_after_its_end_is_not_waited_for() -> None:
    async with scripted(stream(chunk(content="Hi"), "[DONE]", threading.Event(), done=False)) as (
        endpoint,
        model,
    ):
        assert (await ask(model)).text == "Hi"
        assert await anyio.to_thread.run_sync(endpoint.gone.wait, WAIT_SECONDS)


async def test_a_dead_proxy_is_gone_past(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with scripted(text("ok")) as (_, model):
        assert (await ask(model)).text == "ok"


async def test_what_emit_raises_passes_and_the_connection_is_closed() -> None:
    class Stop(Exception):
        pass

    async def emit(_: Text | Reasoning) -> None:
        raise Stop

    async with scripted(stream(chunk(content="Hi"), threading.Event())) as (endpoint, model):
        with pytest.raises(Stop):
            await ask(model, emit=emit)
        assert await anyio.to_thread.run_sync(endpoint.gone.wait, WAIT_SECONDS)


@pytest.mark.parametrize("answer", [stream(chunk(content="Hi"), threading.Event()), raw(threading.Event())])
async def test_cancelling_closes_the_connection(answer: Answer) -> None:
    async with scripted(answer) as (endpoint, model):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, model)
            assert await anyio.to_thread.run_sync(endpoint.arrived.wait, WAIT_SECONDS)
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(endpoint.gone.wait, WAIT_SECONDS)


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "status", "said", "hint"),
    [
        (
            failure(401, "Incorrect API key"),
            401,
            "Incorrect API key",
            "The key was not accepted: set OPENAI_API_KEY",
        ),
        (failure(403, "no"), 403, "no", "--api-key"),
        (
            failure(404, "no such model"),
            404,
            "no such model",
            "Check the model's name, scripted, and the base URL",
        ),
        (failure(402, "Insufficient Balance"), 402, "Insufficient Balance", "no balance"),
        (failure(429, "slow down"), 429, "slow down", "wait a little"),
        (failure(429, "You exceeded your current quota"), 429, "quota", "plan and billing"),
        (failure(500, "oops"), 500, "oops", "ask again later"),
        (failure(418, "teapot"), 418, "teapot", ""),
        (
            raw(b"<html>Bad gateway</html>", status=404, content_type="text/html"),
            404,
            "Bad gateway",
            "base URL",
        ),
        (raw(b'[{"error": {"message": "as Gemini"}}]', status=400), 400, "as Gemini", ""),
        (raw(b'{"detail": [{"msg": "as FastAPI"}]}', status=422), 422, "as FastAPI", ""),
        (raw(status=404), 404, "404", "base URL"),
    ],
)
async def test_statuses_are_told_with_the_server_s_words_and_what_to_do(
    answer: Answer, status: int, said: str, hint: str
) -> None:
    error = await failed(answer)
    assert error.status == status
    assert error.message.startswith("scripted at 127.0.0.1:")
    assert said in error.message
    assert hint in (error.hint or "")


async def test_without_a_key_the_message_says_so() -> None:
    assert "No key was sent" in ((await failed(failure(401), api_key=None)).hint or "")


async def test_the_key_is_in_no_message() -> None:
    error = await failed(
        failure(401, "Incorrect API key provided: sk-very-secret."), api_key="sk-very-secret"
    )
    assert "sk-very-secret" not in f"{error} {error.hint}"


@pytest.mark.parametrize(
    "answer",
    [
        stream(chunk(content="Hi"), {"error": {"message": "bad key sk-very-secret", "code": 401}}),
        raw(b"data: sk-very-secret is not a key\n\n"),
        raw(b"<p>sk-very-secret is not a key</p>"),
        failure(400, "maximum context length for sk-very-secret"),
        failure(500, "no sk-very-secret"),
    ],
    ids="stream unreadable page too-long failure".split(),
)
async def test_the_key_is_in_no_error_nor_in_the_record_of_it(answer: Answer) -> None:
    records: list[str] = []
    error = await failed(
        answer,
        api_key="sk-very-secret",
        max_retries=0,
        record=lambda kind, **fields: records.append(f"{kind} {fields}"),
    )
    assert "***" in error.message
    assert "sk-very-secret" not in f"{error} {error.hint} {records}"


def test_no_repr_shows_the_key() -> None:
    assert "sk-very-secret" not in repr(model_errors.Endpoint("m", "https://h/v1", "sk-very-secret"))


@pytest.mark.parametrize(
    ("base_url", "variable"),
    [
        ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        ("https://api.z.ai/api/paas/v4", "ZHIPU_API_KEY"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("https://eu.api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        ("https://x.openai.azure.com/openai/v1", "OPENAI_API_KEY"),
        ("https://example.com/v1", "OPENAI_API_KEY"),
    ],
)
def test_the_variable_for_the_key_is_known_by_host(base_url: str, variable: str) -> None:
    assert key_variable(base_url) == variable


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens."),
        (400, "Input tokens exceed the configured limit (context_length_exceeded)"),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "Your request exceeded model token limit: 8192"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "Range of input length should be [1, 30720]"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
        (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
        (400, "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens"),
        (413, "Request too large for model `llama` on tokens per minute"),
        (422, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
        (400, "Prompt 超长"),
    ],
)
async def test_a_conversation_too_long_is_told_as_such_with_what_takes_the_room(
    status: int, message: str
) -> None:
    long = {"role": "tool", "tool_call_id": "a", "content": "x" * 50_000}
    async with scripted(failure(status, message), options={"max_tokens": 5000}) as (endpoint, model):
        with pytest.raises(ModelError) as caught:
            await ask(model, [*CALLED[:2], long], tools=TOOLS)
    error = caught.value
    assert "too long" in error.message
    assert message in error.message
    assert "message 3 (a tool's result) 50 kB" in (error.hint or "")
    assert "1 tool " in (error.hint or "")
    assert len(endpoint.requests) == 1


async def test_nothing_listening_is_told() -> None:
    with Endpoint() as endpoint:
        url = endpoint.url
    model = OpenAIModel("m", base_url=url, max_retries=0)
    with pytest.raises(ModelError) as caught:
        await ask(model)
    await model.aclose()
    assert "the connection was refused" in caught.value.message
    assert "Is it running" in (caught.value.hint or "")


async def test_an_unknown_host_is_told() -> None:
    model = OpenAIModel("m", base_url="http://nowhere.invalid/v1", max_retries=0)
    with pytest.raises(ModelError) as caught:
        await ask(model)
    await model.aclose()
    assert "nowhere.invalid" in caught.value.message


async def test_silence_within_an_answer_ends_it() -> None:
    answer = stream(chunk(content="Hi"), threading.Event())
    error = await failed(answer, read_seconds=0.2)
    assert "nothing came for 0.2 seconds" in error.message
    assert error.partial == "Hi"


async def test_silence_before_an_answer_ends_it() -> None:
    error = await failed(raw(threading.Event()), read_seconds=0.2, max_retries=0)
    assert "nothing came for 0.2 seconds" in error.message


async def test_a_cut_connection_is_told_with_what_had_arrived() -> None:
    error = await failed(raw(event(chunk(content="Hi", tool_calls=[call("f")])), cut=True))
    assert "the connection broke" in error.message
    assert error.partial == "Hi"


async def test_a_stream_that_ends_early_is_told() -> None:
    error = await failed(stream(chunk(content="Hi"), done=False))
    assert "broke off" in error.message
    assert error.partial == "Hi"


async def test_a_connection_cut_after_the_finish_reason_did_no_harm() -> None:
    answer = raw(event(chunk(content="Hi")), event(chunk(finish="stop")), cut=True)
    async with scripted(answer) as (_, model):
        assert (await ask(model)).text == "Hi"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (raw(b"<!doctype html><title>Sign in</title>", content_type="text/html"), "Sign in"),
        (raw(b"It works!", content_type="text/plain"), "It works!"),
        (raw(), "answered with nothing"),
        (raw(b"data: {broken\n\n"), "{broken"),
        (stream({"error": {"message": "overloaded"}}), "overloaded"),
    ],
)
async def test_an_answer_that_is_none_is_told_by_its_beginning(answer: Answer, said: str) -> None:
    error = await failed(answer)
    assert said in error.message
    assert error.message.startswith("scripted at 127.0.0.1:")


# Asking again

SOON = {"Retry-After": "0.001"}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_passing_trouble_is_retried_by_the_client(status: int) -> None:
    async with scripted(failure(status, headers=SOON), failure(status, headers=SOON), text("ok")) as (
        endpoint,
        model,
    ):
        assert (await ask(model)).text == "ok"
    assert len(endpoint.requests) == 3


async def test_nothing_is_retried_once_the_answer_has_begun() -> None:
    async with scripted(raw(event(chunk(content="Hi")), cut=True), text("ok")) as (endpoint, model):
        with pytest.raises(ModelError):
            await ask(model)
    assert len(endpoint.requests) == 1


async def test_stream_options_are_left_out_for_an_endpoint_that_refuses_them() -> None:
    refusal = failure(400, "Unrecognized request argument supplied: stream_options")
    async with scripted(refusal, text("a"), text("b")) as (endpoint, model):
        assert (await ask(model)).text == "a"
        assert (await ask(model)).text == "b"
    assert ["stream_options" in body for body in endpoint.bodies] == [True, False, False]


@pytest.mark.parametrize("status", [400, 422])
async def test_reasoning_is_sent_to_an_endpoint_that_misses_it(status: int) -> None:
    refusal = failure(
        status, "Missing `reasoning_content` field in the assistant message at message index 1."
    )
    async with scripted(refusal, text("a"), text("b")) as (endpoint, model):
        await ask(model, CALLED)
        await ask(model, CALLED)
    sent = [body["messages"][1].get("reasoning_content") for body in endpoint.bodies]
    assert sent == [None, "", ""]


async def test_reasoning_is_left_out_for_an_endpoint_that_refuses_it() -> None:
    refusal = failure(400, "Extra inputs are not permitted: reasoning_content")
    messages = [USER, CALLED[1] | {"reasoning_content": "hm"}, CALLED[2]]
    async with scripted(refusal, text("ok"), dialect=DIALECTS["zhipu"]) as (endpoint, model):
        await ask(model, messages)
    sent = [body["messages"][1].get("reasoning_content") for body in endpoint.bodies]
    assert sent == ["hm", None]


async def test_a_refusal_that_stays_is_told_after_one_more_try() -> None:
    refusal = failure(400, "the `reasoning_content` is wrong")
    async with scripted(refusal, refusal, text("ok")) as (endpoint, model):
        with pytest.raises(ModelError, match="reasoning_content"):
            await ask(model, CALLED)
        assert (await ask(model, CALLED)).text == "ok"
    sent = [body["messages"][1].get("reasoning_content") for body in endpoint.bodies]
    assert sent == [None, "", None], "what did not help is not remembered"


async def test_several_refusals_in_a_row_each_teach_something() -> None:
    refusals = [failure(400, "unknown field stream_options"), failure(400, "'temperature' is not supported")]
    async with scripted(*refusals, text("ok"), options={"temperature": 0, "top_p": 1}) as (endpoint, model):
        await ask(model)
    last = endpoint.bodies[2]
    assert ("stream_options" in last, "temperature" in last, last["top_p"]) == (False, False, 1)


@pytest.mark.parametrize("name", ["o3-mini", "gpt-5.1"])
async def test_reasoning_models_get_their_own_names_for_options(name: str) -> None:
    options = {"temperature": 0, "max_tokens": 9}
    async with scripted(text("ok"), name=name, options=options) as (endpoint, model):
        await ask(model)
    body = endpoint.bodies[0]
    assert body["max_completion_tokens"] == 9
    assert not {"temperature", "max_tokens"} & set(body)


async def test_max_tokens_goes_by_its_newer_name_where_the_older_is_refused() -> None:
    refusal = failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    async with scripted(refusal, text("a"), text("b"), options={"max_tokens": 9}) as (endpoint, model):
        await ask(model)
        await ask(model)
    for body in endpoint.bodies[1:]:
        assert (body.get("max_tokens"), body["max_completion_tokens"]) == (None, 9)


async def test_max_tokens_goes_by_its_older_name_where_the_newer_is_refused() -> None:
    refusal = failure(400, "Unknown field: max_completion_tokens")
    async with scripted(refusal, text("ok"), name="gpt-5", options={"max_tokens": 9}) as (endpoint, model):
        await ask(model)
    assert endpoint.bodies[1]["max_tokens"] == 9


@pytest.mark.parametrize("choice", ["required", FORCED])
async def test_forcing_a_tool_switches_thinking_off_for_that_request(choice: Any) -> None:
    async with scripted(text("ok"), text("ok"), dialect=DIALECTS["deepseek"]) as (endpoint, model):
        await ask(model, tools=TOOLS, tool_choice=choice)
        await ask(model, tools=TOOLS, tool_choice="auto")
    first, second = endpoint.bodies
    assert (first["tool_choice"], first["thinking"]) == (choice, {"type": "disabled"})
    assert second["tool_choice"] == "auto"
    assert "thinking" not in second


@pytest.mark.parametrize("dialect", ["deepseek", "moonshot", "openai"])
async def test_where_forcing_is_refused_the_model_is_left_to_choose_with_a_warning(dialect: str) -> None:
    refusal = failure(400, "deepseek-reasoner does not support this tool_choice")
    script = [refusal, text("a"), text("b")]
    async with scripted(*script, dialect=DIALECTS[dialect]) as (endpoint, model):
        first = await ask(model, tools=TOOLS, tool_choice=FORCED)
        second = await ask(model, tools=TOOLS, tool_choice=FORCED)
    assert [body["tool_choice"] for body in endpoint.bodies] == [FORCED, "auto", "auto"]
    assert first.warnings == second.warnings
    assert "cannot be made to call a tool" in first.warnings[0]


async def test_a_400_that_teaches_nothing_is_told_at_once() -> None:
    async with scripted(failure(400, "messages must not be empty")) as (endpoint, model):
        with pytest.raises(ModelError, match="messages must not be empty"):
            await ask(model)
    assert len(endpoint.requests) == 1


# The recorded conversation


async def test_the_recorded_requests_are_sent_as_they_were_recorded(shared: Any) -> None:
    def load(name: str) -> Any:
        return json.loads((shared / "trace" / name).read_text(encoding="utf-8"))

    recorded = [load(f"request{n}.json") for n in (1, 2, 3, 4)]
    answers = [load(f"response{n}.json") for n in (1, 2, 3, 4)]
    script = [raw(json.dumps(each).encode(), content_type="application/json") for each in answers]
    options = {"temperature": 0, "top_p": 1}
    async with scripted(*script, name="deepseek-chat", dialect=DIALECTS["deepseek"], options=options) as (
        endpoint,
        model,
    ):
        messages = list(recorded[0]["messages"])
        for n in range(4):
            reply = await ask(model, messages, tools=recorded[0]["tools"])
            messages.append(assistant_message(reply, model.dialect))
            if n < 3:
                messages.append(recorded[n + 1]["messages"][-1])
    assert endpoint.bodies == recorded
    assert messages[-1]["content"] == answers[3]["choices"][0]["message"]["content"]


async def test_answers_may_depend_on_the_request() -> None:
    def echo(request: Received) -> Answer:
        return text(request.body["messages"][-1]["content"])

    async with scripted(echo) as (_, model):
        assert (await ask(model, [USER | {"content": "echo"}])).text == "echo"
