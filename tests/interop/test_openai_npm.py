"""The backend as OpenAI's own client for JavaScript sees it."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from ..backend import Running, Upstream, backend
from ..conftest import rogue
from ..endpoint import call, calls, chunk, failure, stream, text
from . import real_servers

USAGE = {"prompt_tokens": 10, "completion_tokens": 4}
OWN = {"type": "function", "function": {"name": "open_window", "parameters": {"type": "object"}}}
PROGRAM = """
import OpenAI from 'openai';
const [url, wanted] = process.argv.slice(1);
const {streamed, ...body} = JSON.parse(wanted);
const client = new OpenAI({baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0});
const request = {model: 'scripted', messages: [{role: 'user', content: 'Hi'}], ...body};
try {
  if (streamed) {
    const chunks = [];
    const stream = await client.chat.completions.create({...request, stream: true});
    for await (const chunk of stream) chunks.push(chunk);
    const helper = client.chat.completions.stream(request);
    const final = await helper.finalChatCompletion();
    console.log(JSON.stringify({chunks, final}));
  } else {
    console.log(JSON.stringify(await client.chat.completions.create(request)));
  }
} catch (error) {
  const {status, code, message, requestID} = error;
  console.log(JSON.stringify({error: error.constructor.name, status, code, message, requestID}));
}
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def running(upstream: Upstream) -> Iterator[Running]:
    with backend(upstream, rogue=rogue()) as started:
        yield started


def ask(running: Running, **body: Any) -> Any:
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", PROGRAM, running.url, json.dumps(body)],
        cwd=real_servers.INSTALLED,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_whole_answer(running: Running, upstream: Upstream):
    upstream.play(
        calls(call("rogue-echo", {"text": "hello"}), usage=USAGE), text("It is ", "done.", usage=USAGE)
    )
    answer = ask(running)
    assert answer["choices"][0]["message"]["content"] == "It is done."
    assert (answer["choices"][0]["finish_reason"], answer["usage"]["total_tokens"]) == ("stop", 28)


def test_a_stream(running: Running, upstream: Upstream):
    rounds = (calls(call("rogue-echo", {"text": "hello"}), usage=USAGE), text("It is ", "done.", usage=USAGE))
    upstream.play(*rounds, *rounds)
    answer = ask(running, streamed=True, stream_options={"include_usage": True})
    reasons = [choice["finish_reason"] for each in answer["chunks"] for choice in each["choices"]]
    assert [reason for reason in reasons if reason] == ["stop"]
    assert answer["final"]["choices"][0]["message"]["content"] == "It is done."
    assert answer["final"]["usage"]["total_tokens"] == 28


def test_the_callers_own_calls(running: Running, upstream: Upstream):
    upstream.play(*[calls(call("open_window", {"wide": True}), call("rogue-pid", index=1))] * 2)
    answer = ask(running, streamed=True, tools=[OWN])["final"]["choices"][0]
    assert answer["finish_reason"] == "tool_calls"
    (made,) = answer["message"]["tool_calls"]
    assert (made["function"]["name"], made["function"]["arguments"]) == ("open_window", '{"wide": true}')


def test_errors(running: Running, upstream: Upstream):
    upstream.play(failure(429, "slow down", code="too_fast"))
    told = ask(running)
    assert (told["error"], told["status"], told["code"]) == ("RateLimitError", 429, "too_fast")
    assert told["requestID"].startswith("req_")
    upstream.play(calls(call("rogue-pid"), content="Let me look."), failure(500, "so it is"))
    assert "so it is" in ask(running, streamed=True)["message"]
    assert ask(running, n=2)["error"] == "BadRequestError"


def test_reasoning_passes_as_an_extra_field(running: Running, upstream: Upstream):
    answer = stream(chunk(reasoning_content="Hm."), chunk(content="Yes."), chunk(finish="stop"))
    upstream.play(answer)
    assert ask(running)["choices"][0]["message"]["reasoning_content"] == "Hm."
