"""`mcphost run`: what the model is asked, what is printed where, and how it exits."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcphost import Host
from mcphost.terminal.run import tool_choice

from .conftest import rogue
from .endpoint import Answer, Endpoint, Received, call, calls, chunk, stream, text
from .http_servers import refusing, serving
from .program import DEAD, Program

USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
ECHO = calls(call("one-echo", {"text": "苏州"}, id="c1"), content="I ask.", usage=USAGE)
FAIL = calls(call("one-fail", id="c1"), call("nobody", {"a": 1}, id="c2", index=1), usage=USAGE)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def repeat(request: Received) -> Answer:
    """A model that says what it was told, as JSON."""
    told = [(message["role"], message["content"]) for message in request.body["messages"]]
    return text(json.dumps(told, ensure_ascii=False))


def asking(endpoint: Endpoint, config: str) -> list[str]:
    """The beginning of a command line that asks the model at `endpoint`."""
    return ["run", "-c", config, "-m", "scripted", "--base-url", endpoint.url]


def content_of(result: dict[str, Any]) -> Any:
    return json.loads(result["content"])


# what the model is asked


def test_the_prompt_comes_from_the_command_line_or_stdin_or_both(program: Program):
    config = program.config()
    with Endpoint(*[repeat] * 7) as endpoint:
        run = asking(endpoint, config)
        *asked, empty = program.together(
            [*run, "Hi 苏州"],
            [*run, "-"],
            run,
            [*run, "Sum up:"],
            [*run, "Hi"],
            run,
            stdin=[None, "from stdin\n", "\ufefffrom stdin\r\n", "  1\n  2\n", "", " \n"],
        )
        from_a_file = program.shell(f"echo attached > notes; {program.line(*run, 'Hi')} < notes")
    assert [ran.json for ran in (*asked, from_a_file)] == [
        [["user", "Hi 苏州"]],
        [["user", "from stdin"]],
        [["user", "from stdin"]],
        [["user", "Sum up:\n\n  1\n  2"]],
        [["user", "Hi"]],
        [["user", "Hi\n\nattached"]],
    ]
    assert (empty.code, empty.out) == (2, "")
    assert "there is no prompt: standard input is empty" in empty.error


def test_the_system_prompt_is_a_text_or_a_file(program: Program):
    (program.folder / "system.txt").write_text("Be brief.\nPlease.", encoding="utf-8")
    with Endpoint(repeat, repeat) as endpoint:
        run = asking(endpoint, program.config())
        said, read = program.together(
            [*run, "--system", "Be kind.", "Hi"], [*run, "--system", "@system.txt", "Hi"]
        )
    assert said.json == [["system", "Be kind."], ["user", "Hi"]]
    assert read.json == [["system", "Be brief.\nPlease."], ["user", "Hi"]]


ECHO_ONLY = {"type": "function", "function": {"name": "one-echo"}}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("one-echo", ECHO_ONLY),
        ("echo", ECHO_ONLY),
        ("one/echo", ECHO_ONLY),
    ],
)
async def test_a_tool_can_be_chosen_by_each_of_its_names(typed: str | None, sent: Any):
    async with Host.from_config({"mcpServers": {"one": rogue()}}) as host:
        await host.ready()
        assert tool_choice(host, typed) == sent


def test_the_tool_choice_is_sent(program: Program):
    with Endpoint(text("Hi.")) as endpoint:
        run = asking(endpoint, program.config(one=rogue()))
        ran, unknown = program.together(
            [*run, "--tool-choice", "echo", "Hi"], [*run, "--tool-choice", "ehco", "Hi"]
        )
    assert ran.code == 0
    assert endpoint.bodies[0]["tool_choice"] == ECHO_ONLY
    assert (unknown.code, unknown.out) == (2, "")
    assert "--tool-choice: there is no tool named 'ehco'" in unknown.error
    assert "hint: Did you mean one-echo?" in unknown.err


# what is printed


def test_text_is_the_answer_alone_and_the_steps_are_on_stderr(program: Program):
    config = program.config(one=rogue(), bad=rogue("exit-at-start"))
    with Endpoint(ECHO, text("It said ", "苏州。")) as endpoint, Endpoint(FAIL, text("Sorry.")) as other:
        ran, quiet = program.together([*asking(endpoint, config), "Hi"], [*asking(other, config), "-q", "Hi"])
    assert (ran.code, ran.out) == (0, "It said 苏州。\n")
    warning, hint, called, result = ran.err.splitlines()
    assert warning.startswith("warning: bad: the server ended before it was ready (exit status 3)")
    assert hint.startswith("hint: ")
    assert called == '→ one/echo {"text": "苏州"}'
    assert result.startswith("✓ 苏州 (")
    assert (quiet.code, quiet.out) == (0, "Sorry.\n")
    assert [line[:8] for line in quiet.err.splitlines()] == ["warning:", "hint: Ru"]
    refusals = [message for message in other.bodies[1]["messages"] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in refusals] == ["c1", "c2"]


def test_json_is_one_object(program: Program):
    with Endpoint(ECHO, FAIL, text("Done.", usage=USAGE)) as endpoint:
        ran = program(*asking(endpoint, program.config(one=rogue())), "--output", "json", "Hi")
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    answer = ran.json
    assert list(answer) == ["text", "messages", "tool_calls", "usage", "rounds", "stop"]
    assert (answer["text"], answer["rounds"], answer["stop"]) == ("Done.", 3, "answer")
    usage = {"prompt_tokens": 30, "completion_tokens": 6, "cached_tokens": 0, "reasoning_tokens": 0}
    assert answer["usage"] == usage
    echoed, failed, unknown = answer["tool_calls"]
    assert 0 <= echoed.pop("seconds") < 60
    arguments = {"text": "苏州"}
    assert echoed == {
        "id": "c1", "name": "one-echo", "server": "one", "tool": "echo", "arguments": arguments, "ok": True
    }  # fmt: skip
    assert (failed["tool"], failed["arguments"], failed["ok"]) == ("fail", {}, False)
    assert (unknown["name"], unknown["server"], unknown["tool"], unknown["ok"]) == (
        "nobody",
        None,
        None,
        False,
    )
    roles = [message["role"] for message in answer["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    assert answer["messages"][:-1] == endpoint.bodies[2]["messages"]
    assert "→ one/echo" in ran.err


def test_stream_json_is_an_event_a_line(program: Program):
    thinking = stream(chunk(reasoning_content="Hm."), chunk(content="I "), chunk(content="ask.", tool_calls=[
        call("one-echo", {"text": "x"}, id="c1")
    ]), chunk(finish="tool_calls", usage=USAGE))  # fmt: skip
    with Endpoint(thinking, text("Done.", usage=USAGE)) as endpoint:
        ran = program(*asking(endpoint, program.config(one=rogue())), "--output", "stream-json", "Hi")
    assert (ran.code, ran.err) == (0, "")
    events = ran.events
    result = next(event for event in events if event["type"] == "result")
    assert result.pop("seconds") >= 0
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 0, "reasoning_tokens": 0}
    both = {"prompt_tokens": 20, "completion_tokens": 4, "cached_tokens": 0, "reasoning_tokens": 0}
    assert events == [
        {"type": "server", "name": "one", "state": "ready", "tools": 5},
        {"type": "round", "n": 1},
        {"type": "reasoning", "text": "Hm."},
        {"type": "text", "text": "I "},
        {"type": "text", "text": "ask."},
        {"type": "usage", "n": 1, **usage},
        {
            "type": "call",
            "id": "c1",
            "name": "one-echo",
            "server": "one",
            "tool": "echo",
            "arguments": {"text": "x"},
        },
        {"type": "result", "id": "c1", "ok": True, "content": "x", "attachments": []},
        {"type": "round", "n": 2},
        {"type": "text", "text": "Done."},
        {"type": "usage", "n": 2, **usage},
        {"type": "done", "stop": "answer", "text": "Done.", "usage": both, "rounds": 2},
    ]


def test_at_the_round_limit_the_model_answers_from_what_it_has(program: Program):
    script = [ECHO, text("So far: 苏州.")]
    with Endpoint(*script) as endpoint, Endpoint(*script) as other:
        config = program.config(one=rogue())
        flags = ["--max-rounds", "1", "Hi"]
        ran, data = program.together(
            [*asking(endpoint, config), *flags], [*asking(other, config), "--output", "json", *flags]
        )
    assert (ran.code, ran.out) == (6, "So far: 苏州.\n")
    assert "a limit was reached" in ran.error and "--max-rounds" in ran.err
    assert [body.get("tool_choice") for body in endpoint.bodies] == [None, "none"]
    assert data.code == 6
    assert (data.json["stop"], data.json["text"], data.json["rounds"]) == ("limit", "So far: 苏州.", 2)


def test_a_reader_that_leaves_early_ends_the_run_quietly(program: Program):
    gate = threading.Event()
    with Endpoint(stream(chunk(content="A"), gate, *[chunk(content="B")] * 9)) as endpoint:
        command = [*asking(endpoint, program.config(one=rogue())), "--output", "stream-json", "Hi"]
        with program.started(*command) as process:
            assert process.stdout is not None and process.stderr is not None
            assert b'"server"' in process.stdout.readline()
            process.stdout.close()
            gate.set()
            assert process.wait(60) == 0
            assert process.stderr.read() == b""


# approval


def test_without_a_terminal_a_call_that_has_to_be_approved_is_refused_and_the_model_told(program: Program):
    config = program.config(one={**rogue(), "approve": "always"})
    with Endpoint(ECHO, text("Not allowed.")) as endpoint, Endpoint(ECHO, text("Allowed.")) as other:
        refused, allowed = program.together(
            [*asking(endpoint, config), "Hi"], [*asking(other, config), "--yes", "Hi"]
        )
    assert (refused.code, refused.out) == (0, "Not allowed.\n")
    told = content_of(endpoint.bodies[1]["messages"][-1])
    assert told["status"] == "failed"
    assert "approval" in told["error"]
    assert "warning: one/echo needs your approval" in refused.err
    assert "--yes" in refused.err
    assert (allowed.code, allowed.out) == (0, "Allowed.\n")
    assert other.bodies[1]["messages"][-1]["content"] == "苏州"


# servers that are not there


def test_without_any_server_that_works_nothing_is_asked(program: Program):
    with refusing(401) as url, Endpoint() as endpoint:
        config = program.config(bad=rogue("exit-at-start"), locked={"type": "http", "url": url})
        run = [*asking(endpoint, config), "Hi"]
        none, locked, bad = program.together(
            run,
            [*run, "--server", "locked", "--output", "json"],
            [*run, "--server", "bad", "--output", "stream-json"],
        )
    assert endpoint.requests == []
    assert (none.code, none.out) == (4, "")
    assert "bad, locked: none of the servers can be used" in none.error
    assert locked.code == 3
    assert (locked.json["stop"], locked.json["rounds"], locked.json["tool_calls"]) == ("error", 0, [])
    assert locked.json["messages"] == [{"role": "user", "content": "Hi"}]
    assert locked.json["error"] == "locked: the server wants authorization (HTTP 401)"
    assert locked.json["error"] in locked.error
    assert bad.code == 4
    assert (bad.events[-1]["type"], bad.events[-1]["exit_code"]) == ("error", 4)


def test_dead_proxies_are_no_hindrance_on_this_machine(program: Program):
    dead = f"http://{DEAD}"
    proxies = dict.fromkeys(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"], dead)
    weather = calls(call("h-picture", id="c1"), call("s-picture", id="c2", index=1))
    with serving("http") as http, serving("sse") as sse, Endpoint(weather, text("Fine.")) as endpoint:
        config = program.config(h={"url": http.replace("127.0.0.1", "localhost")}, s={"url": sse})
        ran = program(*asking(endpoint, config), "Hi", **proxies)
    assert (ran.code, ran.out) == (0, "Fine.\n"), ran.err
    assert [message["content"] for message in endpoint.bodies[1]["messages"][-2:]] == ["no picture today"] * 2


# the record


def test_trace_keeps_requests_replies_and_messages_and_no_keys(program: Program):
    secret = "sk-123456789012345678901234"
    one = {**rogue(), "env": {"SOME_KEY": secret}}
    with Endpoint(ECHO, text("Done.")) as endpoint:
        run = asking(endpoint, program.config(one=one))
        run[run.index(endpoint.url)] = f"{endpoint.url}?key={secret}"
        ran = program(*run, "--trace", "trace.jsonl", "--api-key", secret, "Hi")
    assert ran.out == "Done.\n"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {secret}"
    written = (program.folder / "trace.jsonl").read_text(encoding="utf-8")
    assert secret not in written
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["kind"] for line in lines if line["kind"] in ("request", "reply")] == [
        "request",
        "reply",
    ] * 2
    assert [line["body"] for line in lines if line["kind"] == "request"] == endpoint.bodies
    first, last = [line for line in lines if line["kind"] == "reply"]
    assert first["tool_calls"] == [{"id": "c1", "name": "one-echo", "arguments": '{"text": "苏州"}'}]
    assert (last["text"], last["finish_reason"]) == ("Done.", "stop")
    assert any(line["kind"] == "send" and line["message"].get("method") == "tools/call" for line in lines)


def test_a_run_is_kept_and_can_be_gone_on_with(program: Program):
    with Endpoint(*[text("Yes.")] * 4) as endpoint:
        run = ["run", "-c", program.config(), "-m", "scripted", "--base-url", endpoint.url]
        assert program(*run, "--continue", "Hi").error.startswith("error: there is no session to continue")
        assert program(*run, "Is it 苏州?").out == "Yes.\n"
        assert program(*run, "--no-save", "Another").code == 0
        ran = program(*run, "--continue", "--system", "Be brief.", "And now?", "--output", "json")
        assert [message["content"] for message in ran.json["messages"]] == [
            "Be brief.", "Is it 苏州?", "Yes.", "And now?", "Yes."
        ]  # fmt: skip
    kept = program("sessions", "list", "--output", "json").json
    assert [(each["title"], each["messages"]) for each in kept] == [("Is it 苏州?", 5)]


def test_files_go_along_with_a_prompt(program: Program):
    picture = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
    (program.folder / "a.png").write_bytes(picture)
    (program.folder / "notes.md").write_text("Milk")
    (program.folder / "some.bin").write_bytes(b"\0\1")
    with Endpoint(text("Seen.")) as endpoint:
        run = ["run", "-c", program.config(), "-m", "scripted", "--base-url", endpoint.url, "Look"]
        assert program(*run, "-a", "notes.md", "-a", "a.png").code == 0
        for name, problem in (("some.bin", "is not text"), ("none", "cannot be attached")):
            ran = program(*run, "-a", name)
            assert (ran.code, problem in ran.error) == (2, True)
    said = endpoint.bodies[0]["messages"][-1]["content"]
    assert [part["type"] for part in said] == ["text", "text", "text", "image_url"]
    assert said[1]["text"] == "notes.md:\n```\nMilk\n```"


def test_what_needs_asking_is_refused_where_nobody_is_there(program: Program):
    with Endpoint(calls(call("one-pid")), text("So be it.")) as endpoint:
        config = program.config(one=rogue())
        run = ["run", "-c", config, "-m", "scripted", "--base-url", endpoint.url, "--approve", "writes", "Go"]
        ran = program(*run)
        assert (ran.code, ran.out) == (0, "So be it.\n")
        assert "warning: one/pid needs your approval" in ran.err
    assert "nobody can be asked here" in endpoint.bodies[1]["messages"][-1]["content"]
