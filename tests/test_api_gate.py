"""Who may call the backend, from where and how often; and what is told of it."""

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from mcphost import ConfigError, McphostError, ModelError, ServerError
from mcphost.api import Settings
from mcphost.api.keys import Caller, Key, Keys, read
from mcphost.api.problems import Refused, problem_of, without_paths
from mcphost.api.rates import Rates

from .backend import Running, Upstream, backend, until
from .conftest import rogue
from .endpoint import call, calls, text

HI: list[Any] = [{"role": "user", "content": "Hi"}]
USAGE = {"prompt_tokens": 600, "completion_tokens": 400}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def keys_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_text(
        json.dumps(
            {
                "alice": "key-of-alice",
                "bob": {"key": "key-of-bob", "servers": ["other"]},
                "carol": {"sha256": hashlib.sha256(b"key-of-carol").hexdigest()},
                "dora": {"key": "key-of-dora", "requests_per_minute": 2},
                "emil": {"key": "key-of-emil", "tokens_per_minute": 500},
            }
        )
    )
    return path


@pytest.fixture(scope="module")
def running(upstream: Upstream, keys_file: Path) -> Iterator[Running]:
    settings = Settings(
        hosts=("127.0.0.1", "api.example"),
        origins=("https://chat.example",),
        models=("scripted*",),
        body_bytes=2000,
        stall=0.5,
    )
    with backend(
        upstream, settings=settings, keys=Keys(file=keys_file), rogue=rogue(), other=rogue()
    ) as started:
        yield started


def auth(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer key-of-{name}"}


def offered(body: Any) -> set[str]:
    return {tool["function"]["name"].partition("-")[0] for tool in body.get("tools", [])}


@pytest.mark.parametrize("path", ["/v1/models", "/v1/tools", "/v1/servers", "/metrics", "/nothing"])
def test_without_a_key_there_is_nothing(running: Running, path: str):
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic a2V5LW9mLWFsaWNl"}):
        answer = running.get(path, **headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_wrong_key_is_what_the_client_knows_as_such(running: Running):
    with pytest.raises(openai.AuthenticationError):
        running.openai("wrong").chat.completions.create(model="scripted", messages=HI)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_need_no_key(running: Running, path: str):
    assert running.get(path).status_code == 200


def test_a_key_may_stand_in_the_file_as_its_digest(running: Running):
    assert running.get("/v1/tools", **auth("carol")).status_code == 200


def test_a_key_is_never_passed_on(running: Running, upstream: Upstream):
    upstream.play(calls(call("rogue-env", {"name": "HOME"})), text("Done."))
    running.chat_as("alice")
    for request in upstream.requests:
        assert "key-of-alice" not in json.dumps(dict(request.headers)) + request.raw.decode()


def test_a_key_can_be_limited_to_servers(running: Running, upstream: Upstream):
    upstream.play(calls(call("rogue-echo", {"text": "x"})), text("Done."))
    answer = running.chat_as("bob").json()
    assert [offered(body) for body in upstream.bodies] == [{"other"}, {"other"}]
    assert answer["mcphost"]["calls"][0]["cause"] == "unknown"
    assert running.chat_as("bob", mcphost={"servers": ["rogue"]}).status_code == 403
    listed = running.get("/v1/servers", **auth("bob")).json()["data"]
    assert [server["name"] for server in listed] == ["other"]
    body = {"name": "rogue/echo", "arguments": {"text": "x"}}
    assert running.post("/v1/tools/call", body, **auth("bob")).status_code == 404
    assert running.post("/v1/tools/call", body, **auth("alice")).json()["content"] == "x"
    assert running.post("/v1/servers/rogue/reconnect", {}, **auth("bob")).status_code == 404


def test_a_key_can_be_limited_in_requests(running: Running):
    answers = [running.get("/v1/tools", **auth("dora")) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers.get("x-ratelimit-remaining-requests") for answer in answers] == ["1", "0", None]
    assert 25 <= int(answers[2].headers["retry-after"]) <= 30
    assert answers[2].json()["error"]["code"] == "rate_limit_exceeded"


def test_a_key_can_be_limited_in_tokens(running: Running, upstream: Upstream):
    upstream.play(text("Hi.", usage=USAGE))
    assert running.chat_as("emil").status_code == 200
    answer = running.chat_as("emil")
    assert answer.status_code == 429
    assert 55 <= int(answer.headers["retry-after"]) <= 61


def test_what_is_left_comes_back_with_time():
    now = 1000.0
    rates, caller = Rates(lambda: now), Caller("x", requests=2)
    rates.admit(caller)
    rates.admit(caller)
    with pytest.raises(Refused):
        rates.admit(caller)
    now += 31
    rates.admit(caller)


def test_keys_are_read_again_when_their_file_changes(tmp_path: Path):
    path = tmp_path / "keys.json"
    path.write_text('{"a": "first"}')
    keys = Keys(file=path)
    assert keys.caller("first") == Caller("a") and keys.caller("second") is None
    path.write_text('{"b": "second"} // more')
    until(lambda: keys.caller("second"))
    assert keys.caller("first") is None
    path.write_text("{")
    os.utime(path, (1, 1))
    time_to_look(keys)
    assert keys.caller("second") == Caller("b")


def time_to_look(keys: Keys) -> None:
    keys._looked -= 10  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "holds no keys"),
        ("[]", "holds no keys"),
        ('{"a": 5}', "a: must be a key"),
        ('{"a": {}}', "needs either a key, or its sha256"),
        ('{"a": {"key": "x", "sha256": "y"}}', "needs either"),
        ('{"a": {"key": "x", "server": []}}', "did you mean servers"),
        ('{"a": {"key": "x", "servers": "y"}}', "list of servers' names"),
        ('{"a": {"key": "x", "tokens_per_minute": 0}}', "a number above 0"),
        ('{"a": "x", "b": "x"}', "one key twice"),
    ],
)
def test_a_file_of_keys_that_is_wrong_says_where(tmp_path: Path, content: str, said: str):
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said):
        read(path)


def test_keys_do_not_show(tmp_path: Path):
    assert "secret" not in repr(Key.of("secret", Caller("a")))


def raw_request(running: Running, *lines: str, body: bytes = b"") -> str:
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as connection:
        connection.sendall(
            "".join(f"{line}\r\n" for line in (*lines, "Connection: close", "")).encode() + body
        )
        data = b""
        while piece := connection.recv(65536):
            data += piece
    return data.decode()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::2]", ""])
def test_a_host_name_of_somebody_elses_is_refused(running: Running, host: str):
    answer = raw_request(running, "GET /healthz HTTP/1.1", f"Host: {host}")
    assert answer.startswith("HTTP/1.1 403") and "host_not_allowed" in answer


@pytest.mark.parametrize("host", ["127.0.0.1:1", "api.example", "API.example:443"])
def test_the_names_that_are_meant_are_taken(running: Running, host: str):
    assert raw_request(running, "GET /healthz HTTP/1.1", f"Host: {host}").startswith("HTTP/1.1 200")


def test_pages_of_other_origins_may_not_call(running: Running):
    answer = running.post(
        "/v1/chat/completions", {}, origin="https://evil.example", content_type="text/plain", **auth("alice")
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in answer.headers


def test_pages_of_origins_that_are_named_may(running: Running):
    preflight = raw_request(
        running,
        "OPTIONS /v1/chat/completions HTTP/1.1",
        "Host: api.example",
        "Origin: https://chat.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization,x-stainless-lang",
    ).lower()
    assert preflight.startswith("http/1.1 204")
    assert "access-control-allow-origin: https://chat.example\r\n" in preflight
    assert "access-control-allow-headers: authorization,x-stainless-lang\r\n" in preflight
    answer = running.get("/v1/tools", origin="https://chat.example", **auth("alice"))
    assert answer.headers["access-control-allow-origin"] == "https://chat.example"


def test_a_page_of_the_backends_own_address_may(running: Running):
    assert running.get("/healthz", origin=running.url).status_code == 200


def test_a_body_has_a_limit(running: Running):
    answer = running.post("/v1/chat/completions", b"x" * 2001, **auth("alice"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
    chunked = raw_request(
        running,
        "POST /v1/chat/completions HTTP/1.1",
        "Host: api.example",
        "Authorization: Bearer key-of-alice",
        "Transfer-Encoding: chunked",
        body=b"7d1\r\n" + b"x" * 2001 + b"\r\n0\r\n\r\n",
    )
    assert chunked.startswith("HTTP/1.1 413")


def test_a_body_that_does_not_come_is_not_waited_for(running: Running):
    answer = raw_request(
        running,
        "POST /v1/chat/completions HTTP/1.1",
        "Host: api.example",
        "Authorization: Bearer key-of-alice",
        "Content-Length: 100",
        body=b"{",
    )
    assert answer.startswith("HTTP/1.1 408")


def test_models_that_are_not_offered_are_refused(running: Running, upstream: Upstream):
    upstream.play(text("Hi."))
    assert running.chat_as("alice", model="scripted-large").json()["model"] == "scripted-large"
    assert upstream.bodies[0]["model"] == "scripted-large"
    answer = running.chat_as("alice", model="gpt-9")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_an_id_of_the_callers_is_kept_where_it_is_a_sane_one(running: Running):
    assert running.get("/healthz", x_request_id="abc-1").headers["x-request-id"] == "abc-1"
    assert running.get("/healthz", x_request_id="a b").headers["x-request-id"].startswith("req_")


def test_metrics_tell_what_was_done(running: Running, upstream: Upstream):
    upstream.play(calls(call("rogue-fail"), call("nonsense", index=1), usage=USAGE), text("Hi.", usage=USAGE))
    running.chat_as("alice", stream=True)
    lines = running.get("/metrics", **auth("alice")).text.splitlines()
    assert 'mcphost_calls_total{outcome="tool",server="rogue",tool="fail"} 1.0' in lines
    assert any(line.startswith('mcphost_calls_total{outcome="unknown",server="",tool=""}') for line in lines)
    assert 'mcphost_server_up{server="other"} 1.0' in lines
    assert any(line.startswith('mcphost_tokens_total{kind="prompt"}') for line in lines)
    assert any(line.startswith("mcphost_first_byte_seconds_count") for line in lines)
    assert "nonsense" not in "\n".join(lines)


@pytest.mark.parametrize(
    ("text_with", "text_without"),
    [
        ("/usr/local/bin/uvx: not found", "…/uvx: not found"),
        ("cannot read '/home/me/x.json'", "cannot read '…/x.json'"),
        ("C:\\Users\\me\\x.exe is gone", "…/x.exe is gone"),
        ("~/secret/key.pem", "…/key.pem"),
        ("https://example.com/a/b answered 500", "https://example.com/a/b answered 500"),
        ("amap/maps_geo: 3/4 done", "amap/maps_geo: 3/4 done"),
    ],
)
def test_paths_of_the_machine_are_cut(text_with: str, text_without: str):
    assert without_paths(text_with) == text_without


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ModelError("silent", code="timeout"), 504, "upstream_timeout"),
        (ModelError("cut"), 502, "upstream_error"),
        (ModelError("no", status=401), 502, "upstream_authentication_error"),
        (ModelError("broke", status=402), 402, None),
        (ModelError("odd", code="unwritable_request"), 400, "unwritable_request"),
        (ConfigError("no model is configured"), 500, "configuration_error"),
        (ServerError("rogue", "is gone"), 502, "server_error"),
        (McphostError("hm"), 500, "internal_error"),
    ],
)
def test_every_failure_has_a_status(error: McphostError, status: int, code: str | None):
    problem = problem_of(error)
    assert (problem.status, problem.code) == (status, code)


def test_the_callers_key_goes_to_the_model_when_asked_to(upstream: Upstream):
    upstream.play(text("Hi."))
    with backend(upstream, settings=Settings(forward_key=True)) as started:
        started.openai("key-of-theirs").chat.completions.create(model="scripted", messages=HI)
    assert upstream.requests[0].headers["authorization"] == "Bearer key-of-theirs"


def test_the_log_holds_what_happened_and_nothing_that_was_said(upstream: Upstream):
    lines: list[Any] = []
    upstream.play(calls(call("rogue-echo", {"text": "a secret"}), usage=USAGE), text("Hi.", usage=USAGE))
    with backend(upstream, log=lines.append, rogue=rogue()) as started:
        started.chat(messages=[{"role": "user", "content": "a secret"}], x="a secret")
        until(lambda: any(line["path"] == "/v1/chat/completions" for line in lines))
        (line,) = [line for line in lines if line["path"] == "/v1/chat/completions"]
    assert "secret" not in json.dumps(lines)
    assert (line["status"], line["rounds"], line["prompt_tokens"]) == (200, 2, 1200)
    assert [(made["tool"], made["outcome"]) for made in line["calls"]] == [("echo", "ok")]
    assert {"time", "id", "caller", "seconds", "model"} <= line.keys() and "left" not in line
