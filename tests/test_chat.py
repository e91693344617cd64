"""The chat as its user sees it: on a screen, typing, stopping, deciding."""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcphost.messages import Attachment
from mcphost.terminal.images import drawn

from .conftest import rogue
from .endpoint import Answer, Endpoint, Received, Script, call, calls, chunk, stream, text
from .full_servers import FULL
from .program import Program, Terminal, appears
from .screens import Seen
from .test_flow import ANSWER, lines_of

ECHO = call("one-echo", {"text": "苏州\x1b[2J\u202e"}, id="c1")


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def chat(program: Program, endpoint: Endpoint, *more: str, columns: int = 80, **servers: Any) -> Seen:
    """A chat whose servers have settled."""
    config = program.config(**(servers or {"one": rogue()}))
    arguments = ["chat", "-c", config, "-m", "scripted", "--base-url", endpoint.url, *more]
    seen = Seen(program, *arguments, columns=columns)
    seen.until(lambda shown: re.search(r"^\d+ of \d+ servers, \d+ tools$", shown, re.MULTILINE) is not None)
    return seen


def roles(body: Any) -> list[str]:
    return [message["role"] for message in body["messages"]]


def results(body: Any) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


# answers


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_an_answer_ends_up_as_it_would_be_shown_at_once(program: Program, columns: int):
    answer = ANSWER.replace("\u200d", "")
    pieces = [answer[place : place + 7] for place in range(0, len(answer), 7)]
    with Endpoint(text(*pieces)) as endpoint, chat(program, endpoint, columns=columns) as seen:
        seen.type("说说看\r")
        seen.until("The end")
        seen.type(Terminal.END)
        assert seen.finish() == 0
        shown = seen.lines[seen.lines.index("> 说说看") + 1 :]
        shown = shown[: next(n for n, line in enumerate(shown) if line.startswith("mcphost chat --resume"))]
    expected = ["".join(text for _, text in line).rstrip() for line in _expected(answer, columns)]
    assert [line for line in shown if line] == [_composed(line) for line in expected if line]
    assert shown[: len(expected)] == [_composed(line) for line in expected]


def _expected(answer: str, columns: int) -> list[Any]:
    from mcphost.terminal.cells import chopped
    from mcphost.terminal.flow import MarkdownFlow

    lines = lines_of(MarkdownFlow(), [answer], columns)
    return [part for line in lines for part in chopped(line, columns)]


def _composed(line: str) -> str:
    return line.replace("e\u0301", "é")


def test_what_is_not_finished_is_seen_as_it_comes_and_resizing_is_fine(program: Program):
    first, second = threading.Event(), threading.Event()
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    script = stream(
        chunk(content="One **paragraph** that is"),
        first,
        chunk(content=f" finished.\n\n{table}"),
        second,
        chunk(content="\nLast words " * 1),
    )
    with Endpoint(script) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        seen.until("One paragraph that is")
        seen.resize(40)
        first.set()
        seen.until("1 │ 2")
        seen.resize(120)
        second.set()
        seen.until("Last words")
        seen.type(Terminal.END)
        assert seen.finish() == 0
        for once in ("One paragraph that is finished.", "1 │ 2", "Last words", "> Go"):
            assert seen.text.count(once) == 1, seen.text


def test_without_colour_the_answer_is_as_the_model_wrote_it(program: Program):
    program.env["NO_COLOR"] = "1"
    with Endpoint(text("# A *title*\n\n- it", "em\n")) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        seen.until("- item")
        assert "# A *title*\n\n- item" in seen.text
        assert "\x1b[3" not in seen.output and "\x1b[1m" not in seen.output


def test_reasoning_is_folded_until_it_is_asked_for(program: Program):
    thinking = stream(chunk(reasoning_content="Let me see."), chunk(content="Yes."), chunk(finish="stop"))
    with Endpoint(thinking, thinking) as endpoint, chat(program, endpoint) as seen:
        seen.type("Well?\r")
        seen.until("reasoning, 11 characters (/reasoning shows it)\n\nYes.")
        seen.type("/reasoning\r")
        seen.until("Let me see.\nReasoning is shown from now on.")
        seen.type("Again?\r")
        seen.until("Let me see.\n\nYes.")


# calls


def test_calls_run_side_by_side_with_a_line_each(program: Program):
    file = program.folder / "there"
    both = calls(
        call("one-wait", {"until": str(file)}, id="c1"),
        call("two-wait", {"until": f"{file}2"}, id="c2", index=1),
        call("three-fail", id="c3", index=2),
    )
    servers = {"one": rogue(), "two": rogue(), "three": rogue()}
    with Endpoint(both, text("Done.")) as endpoint, chat(program, endpoint, "--yes", **servers) as seen:
        seen.type("Go\r")
        seen.until(
            lambda shown: " one/wait {" in shown and " two/wait {" in shown and "✗ three/fail {}" in shown
        )
        assert "the disk is full" in seen.text
        file.touch()
        seen.until("✓ one/wait")
        Path(f"{file}2").touch()
        seen.until("Done.")
        assert "✓ two/wait" in seen.text
        seen.type("\x0f")  # Ctrl-O
        seen.until("/wait · ok · ")
        assert '"until": ' in seen.until("it is there")


# approvals


def test_calls_of_a_round_are_asked_about_together(program: Program):
    both = calls(ECHO, call("one-pid", id="c2", index=1))
    with Endpoint(both, text("Done.")) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        shown = seen.until("Run these 2 calls? [y]es to all, [o]ne by one, [n]o to all, [s]top:")
        assert (
            'one/echo wants to run with\n{\n  "text": "苏州' in shown
            and "one/pid wants to run with\n{}" in shown
        )
        assert "\x1b[2J\u202e" not in seen.output
        seen.type("o\r")
        seen.until("Run one/echo?")
        seen.type("n use the other one\r")
        seen.until("Run one/pid?")
        seen.type("what\r")
        seen.until("Please answer y, t, a, n or s")
        seen.type("y\r")
        seen.until("Done.")
    first, second = results(endpoint.bodies[-1])
    assert "the user refused this call and says: use the other one" in first
    assert second.isdecimal()


def test_what_is_allowed_for_good_is_remembered_for_that_server_as_it_is(program: Program):
    again = [calls(call("one-echo", {"text": str(n)}, id=f"c{n}")) for n in range(3)]
    with Endpoint(again[0], text("One."), again[1], text("Two.")) as endpoint:
        with chat(program, endpoint) as seen:
            seen.type("Go\r")
            seen.until("[a]lways")
            seen.type("a\r")
            seen.until("One.")
            seen.type("/approve\r")
            seen.until("one/echo always may run")
        allowed = program.home / ".config/mcphost/approvals.json"
        assert json.loads(allowed.read_text())["allowed"][0]["tool"] == "echo"
        assert allowed.stat().st_mode & 0o077 == 0
        with chat(program, endpoint) as seen:
            seen.type("Go\r")
            assert "wants to run" not in seen.until("Two.")
    with Endpoint(again[2]) as endpoint, chat(program, endpoint, one=rogue("pages")) as seen:
        seen.type("Go\r")
        seen.until("wants to run")  # another program has the name now


def test_stop_ends_the_turn_and_leaves_a_conversation_that_goes_on(program: Program):
    with Endpoint(calls(ECHO), text("Fine.")) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        seen.until("[s]top")
        seen.type("s\r")
        seen.until("Stopped.")
        seen.type("Go on\r")
        seen.until("Fine.")
    assert roles(endpoint.bodies[1]) == ["user", "assistant", "tool", "user"]


# typing


def test_what_is_typed_meanwhile_is_queued_and_shown(program: Program):
    first = threading.Event()
    script = [stream(chunk(content="Wait"), first, chunk(content=" over.")), text("Second."), text("Third.")]
    with Endpoint(*script) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        seen.until("Wait")
        seen.type("你好\r")
        seen.type("/tools\r")  # at once
        seen.until("one-echo")
        seen.type("and then\r")
        seen.until("queued: 你好\nqueued: and then")
        first.set()
        seen.until("Third.")
        assert "queued" not in seen.text
        seen.until(lambda shown: shown.index("> 你好") < shown.index("Second.") < shown.index("> and then"))
    assert [body["messages"][-1]["content"] for body in endpoint.bodies] == ["Go", "你好", "and then"]


def test_several_lines_history_and_the_editor(program: Program):
    def echo(request: Received) -> Answer:
        return text(f"Got {request.body['messages'][-1]['content']!r}.")

    editor = program.folder / "editor"
    editor.write_text('#!/bin/sh\necho "edited: $(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    program.env["EDITOR"] = str(editor)
    with Endpoint(*[echo] * 6) as endpoint:
        with chat(program, endpoint) as seen:
            seen.type("one\x1b\rtwo\r")  # Alt-Enter
            seen.until("Got 'one\\ntwo'.")
            seen.type("\x1b[200~a\nb\x1b[201~\r")  # bracketed paste
            seen.until("Got 'a\\nb'.")
            seen.type("draft\x18\x05")  # Ctrl-X Ctrl-E
            seen.until("> edited: draft")
            seen.type("\r")
            seen.until("Got 'edited: draft'.")
            seen.type("/edit\r")
            seen.until("Got 'edited: edited: draft'.")
        history = program.home / ".local/share/mcphost/history"
        assert history.stat().st_mode & 0o077 == 0
        with chat(program, endpoint) as seen:
            seen.type("\x12dra")  # Ctrl-R
            seen.until("draft")
            seen.type("\r\r")
            seen.until("Got 'edited: draft'." if "edited: draft" in history.read_text() else "Got 'draft'.")


def test_what_can_be_completed(program: Program):
    (program.folder / "notes.txt").write_text("Remember the milk.")
    with Endpoint(text("Noted.")) as endpoint, chat(program, endpoint) as seen:
        seen.type("/ser")
        seen.until("the servers are")
        seen.type("\t")
        seen.until("> /servers")
        seen.type(" recon")
        seen.until("> /servers recon\n reconnect")
        seen.type("\t")
        seen.until("> /servers reconnect")
        seen.type(" one\r")
        seen.until("one: ready, 5 tools")
        seen.type("/servrs\r")
        seen.until("Did you mean /servers")
        seen.type("/help tools\r")
        seen.until("Example: /tools maps_geo")
        seen.type("Read @not")
        seen.until("@notes.txt")
        seen.type("\t")
        seen.until("> Read @notes.txt")
        seen.type(" please\r")
        seen.until("attached: notes.txt (18 B)")
        seen.until("Noted.")
    said = endpoint.bodies[0]["messages"][-1]["content"]
    assert said == "Read @notes.txt please\n\nnotes.txt:\n```\nRemember the milk.\n```"


def test_a_file_that_is_no_text_is_not_sent(program: Program):
    (program.folder / "some.bin").write_bytes(b"\0\1\2")
    with Endpoint() as endpoint, chat(program, endpoint) as seen:
        seen.type("See @some.bin\r")
        seen.until("error: some.bin (3 B) is not text")
        seen.type("See @./none\r")
        seen.until("error: @./none: there is no such file")
    assert endpoint.requests == []


# stopping


def test_ctrl_c_stops_an_answer_and_twice_leaves(program: Program):
    never = threading.Event()
    script: list[Script] = [stream(chunk(content="Once upon"), never), text("Yes.")]
    with Endpoint(*script) as endpoint, chat(program, endpoint) as seen:
        seen.type("A story\r")
        seen.until("Once upon")
        seen.type("later\r")
        seen.until("queued: later")
        seen.type(Terminal.INTERRUPT)
        seen.until("Stopped.")
        seen.until("> later")  # what waited can be typed on
        assert endpoint.gone.wait(10)
        seen.type(" on\r")
        seen.until("Yes.")
        seen.type("draft")
        seen.until("> draft")
        seen.type(Terminal.INTERRUPT)
        seen.gone("> draft")
        seen.type(Terminal.INTERRUPT)
        seen.until("Ctrl-C once more leaves")
        seen.type(Terminal.INTERRUPT)
        assert seen.finish() == 130
        assert "Traceback" not in seen.output
    assert [message["content"] for message in endpoint.bodies[1]["messages"]] == ["A story", "later on"]


def test_ctrl_c_cancels_the_calls_that_run_and_those_that_are_asked_about(program: Program):
    never = program.folder / "never"
    wait = calls(call("one-wait", {"until": str(never)}, id="c1"))
    with Endpoint(wait, wait, text("Yes.")) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        seen.until("Run one/wait?")
        seen.type(Terminal.INTERRUPT)
        seen.until("Stopped.")
        seen.type("/approve never\r")
        seen.until("without being asked about")
        seen.type("Again\r")
        appears(Path(f"{never}.awaited"))
        seen.type(Terminal.INTERRUPT)
        seen.until("✗ one/wait cancelled")
        seen.type("Go on\r")
        seen.until("Yes.")
    assert roles(endpoint.bodies[-1]) == ["user", "assistant", "tool", "user", "assistant", "tool", "user"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(program: Program, number: signal.Signals):
    never = threading.Event()
    with Endpoint(stream(chunk(content="Once"), never)) as endpoint, chat(program, endpoint) as seen:
        seen.type("Go\r")
        seen.until("Once")
        os.kill(seen.pid, number)
        assert seen.finish() == 128 + number
        assert "Traceback" not in seen.output
        assert seen.output.rstrip().endswith("\x1b[?2004l") or "\x1b[?2004l" in seen.output[-400:]


def test_servers_that_start_are_waited_for_by_nobody(program: Program):
    started = program.folder / "started"
    slow = {**rogue("never-init"), "start_timeout": 2, "env": {"ROGUE_STARTED": str(started)}}
    config = program.config(one=rogue(), slow=slow)
    with Endpoint(text("Hello.")) as endpoint:
        arguments = ["chat", "-c", config, "-m", "scripted", "--base-url", endpoint.url]
        with Seen(program, *arguments) as seen:
            appears(started)
            seen.type("Hi\r")
            seen.until("Hello.")
            seen.until("1 of 2 servers, 5 tools · starting slow")
            seen.until("✗ slow: no answer within 2 s")
            seen.until("1 of 2 servers, 5 tools\n")
            seen.until("scripted · 5 tools")


# what has been said


def test_the_conversation_can_be_changed(program: Program):
    def last(request: Received) -> Answer:
        said = [message["content"] for message in request.body["messages"]]
        return text(f"{len(said)}: {said[-1]}.", usage={"prompt_tokens": 1200, "completion_tokens": 34})

    sections = {"prices": {"scripted": {"input": 1, "output": 2}}, "model": {"context_tokens": 10_000}}
    config = program.config(sections=sections, one=rogue())
    with Endpoint(*[last] * 8) as endpoint:
        arguments = [
            "chat",
            "-c",
            config,
            "-m",
            "scripted",
            "--base-url",
            endpoint.url,
            "--system",
            "Be brief.",
        ]
        with Seen(program, *arguments) as seen:
            seen.type("first\r")
            seen.until("2: first.")
            seen.type("second\r")
            seen.until("4: second.")
            seen.until("scripted · 5 tools · context 12% of 10,000 tokens · $0.0025")
            seen.type("/undo\r")
            seen.until("Forgotten, with all that followed: second")
            seen.type("/set temperature 0.5\r")
            seen.until("temperature = 0.5")
            seen.type("/retry\r")
            seen.until(lambda shown: shown.count("2: first.") == 2)
            seen.type("/save talk.json\r")
            seen.until("3 messages are in talk.json.")
            seen.type("/clear\r")
            seen.until("The conversation is forgotten.")
            seen.type("anew\r")
            seen.until("2: anew.")
            seen.type("/load talk.json\r")
            seen.until("3 messages come from talk.json.")
            seen.type("/system Be long.\r")
            seen.until("The system prompt is: Be long.")
            seen.type("third\r")
            seen.until("4: third.")
            seen.type("/export talk.md\r")
            seen.until("The conversation is in talk.md.")
            seen.type("/usage\r")
            seen.until("6,000 in, 170 out, $0.0063")
            seen.type("/trace trace.jsonl\r")
            seen.until("All requests go to trace.jsonl as well.")
            seen.type("fourth\r")
            seen.until("6: fourth.")
            seen.type("/copy\r")
            seen.until("went to the terminal's clipboard")
    assert "temperature" not in endpoint.bodies[1] and endpoint.bodies[2]["temperature"] == 0.5
    assert endpoint.bodies[4]["messages"][0]["content"] == "Be long."
    assert (program.folder / "talk.md").read_text().startswith("# first\n")
    assert '"fourth"' in (program.folder / "trace.jsonl").read_text()


def test_a_conversation_survives_sigkill_and_goes_on(program: Program):
    never = threading.Event()
    script = [text("The first answer."), stream(chunk(content="So far"), never), text("Welcome back.")]
    with Endpoint(*script) as endpoint:
        with chat(program, endpoint) as seen:
            seen.type("你好\r")
            seen.until("The first answer.")
            seen.type("And then?\r")
            seen.until("So far")
            os.kill(seen.pid, signal.SIGKILL)
        with chat(program, endpoint, "--continue") as seen:
            seen.until("4 messages · 你好")
            seen.until("> And then?\nSo far")
            seen.type("Go on\r")
            seen.until("Welcome back.")
            seen.type(Terminal.END)
            assert seen.finish() == 0
            seen.until("mcphost chat --resume ")
    said = [message["content"] for message in endpoint.bodies[2]["messages"]]
    assert said == ["你好", "The first answer.", "And then?", "So far", "Go on"]


def test_old_turns_are_summed_up_when_the_window_is_nearly_full(program: Program):
    long = "word " * 500
    script = [
        text(f"{long}one."),
        text(f"{long}two."),
        text("In short: words."),
        text("Still here."),
        text("And here."),
        text("In short."),
        text("Yes."),
    ]
    config = program.config(sections={"model": {"context_tokens": 1550}})
    with Endpoint(*script) as endpoint:
        arguments = [
            "chat",
            "-c",
            config,
            "-m",
            "scripted",
            "--base-url",
            endpoint.url,
            "--system",
            "Be brief.",
        ]
        with Seen(program, *arguments) as seen:
            for number, answer in enumerate((" one.", " two.", "Still here.")):
                seen.type(f"question {number}\r")
                seen.until(answer)
            assert "of the model's window: old turns are summed up." in seen.text
            seen.type("question 3\r")
            seen.until("And here.")
            seen.type("/compact\r")
            seen.until("2 messages are summed up; the conversation that is kept has them all.")
            seen.type("last\r")
            seen.until("Yes.")
    said = [message["content"] for message in endpoint.bodies[3]["messages"]]
    assert said == ["Be brief.", "What was said before, in short:\nIn short: words.", "question 2"]
    said = [message["content"] for message in endpoint.bodies[6]["messages"]]
    assert said == [
        "Be brief.",
        "What was said before, in short:\nIn short.",
        "question 3",
        "And here.",
        "last",
    ]


def test_at_the_limit_of_rounds_it_is_asked_how_to_go_on(program: Program):
    steps = [calls(call("one-echo", {"text": str(n)}, id=f"c{n}")) for n in range(4)]
    config = program.config(sections={"limits": {"rounds": 1}}, one=rogue())
    with Endpoint(*steps[:3], text("That is all.")) as endpoint:
        arguments = ["chat", "-c", config, "-m", "scripted", "--base-url", endpoint.url, "--yes"]
        with Seen(program, *arguments) as seen:
            seen.until("scripted · 5 tools")
            seen.type("Go\r")
            seen.until("[g]o on for 1 more, a number, [w]rap up, [s]top:")
            seen.type("2\r")
            seen.until("3 rounds of calls are the limit")
            seen.type("w\r")
            seen.until("That is all.")
            seen.until("A limit was reached")
    assert endpoint.bodies[3]["tool_choice"] == "none"


def test_prompts_and_resources_of_servers(program: Program):
    full = {"command": sys.executable, "args": [str(FULL), "stdio"]}
    with (
        Endpoint(text("A plan."), text("It is sunny.")) as endpoint,
        chat(program, endpoint, full=full) as seen,
    ):
        seen.type("/prompts\r")
        seen.until("/full:journey  city [station] [days] Plans a journey.")
        seen.type("/full:jo")
        seen.until("> /full:jo\n /full:journey")
        seen.type("\t")
        seen.until("> /full:journey\n")
        seen.type(" ci")
        seen.until("> /full:journey ci\n city=")
        seen.type("\t")
        seen.until("> /full:journey city=\n")
        seen.type("Suz")
        seen.until("city=Suz\n city=Suzhou")
        seen.type("hou\r")
        seen.until("A plan.")
        seen.type("/full:journey\r")
        seen.until("city (where to):")
        seen.type(Terminal.END)
        seen.type("/resources\r")
        seen.until("@full:memo://today")
        seen.type("How is it? @full:memo://tod")
        seen.until("@full:memo://tod\n")
        seen.type("ay\r")
        seen.until("attached: full:memo://today (")
        seen.until("It is sunny.")
    assert "Suzhou" in endpoint.bodies[0]["messages"][-1]["content"]
    assert endpoint.bodies[1]["messages"][-1]["content"].startswith(
        "How is it? @full:memo://today\n\nfull:memo://today:\n```"
    )


def test_what_a_server_asks_is_asked_on_the_screen(program: Program):
    full = {"command": sys.executable, "args": [str(FULL), "stdio"]}
    with Endpoint(text("Dear Sir.")) as endpoint, chat(program, endpoint, full=full) as seen:
        seen.type("/full:letter\r")
        seen.until("full asks:")
        seen.until("tone [second]:")
        seen.type("1\r")
        seen.until("Send it? [y]es, [e]dit, [N]o:")
        seen.type("y\r")
        seen.until("Dear Sir.")
    assert "first" in endpoint.bodies[0]["messages"][-1]["content"]


def test_a_conversation_can_be_chosen_from_those_there_are(program: Program):
    with Endpoint(text("One."), text("Two."), text("Three.")) as endpoint:
        run = ["run", "-c", program.config(one=rogue()), "-m", "scripted", "--base-url", endpoint.url]
        assert program(*run, "the first").code == program(*run, "the second").code == 0
        with Seen(program, "chat", *run[1:], "--resume") as seen:
            seen.until("the second (2 messages)")
            shown = seen.until("Which one?")
            seen.type(f"{2 if shown.index('the second') < shown.index('the first') else 1}\n")
            seen.until("> the first\nOne.")
            seen.type("Go on\r")
            seen.until("Three.")
        with Seen(program, "chat", *run[1:], "--resume") as seen:
            seen.until("Which one?")
            seen.type(Terminal.END)
            seen.until("error: no session was chosen")
            assert seen.finish() == 2
    assert [message["content"] for message in endpoint.bodies[2]["messages"]] == [
        "the first",
        "One.",
        "Go on",
    ]


def test_two_that_go_on_with_one_conversation_get_one_each(program: Program):
    with Endpoint(*[text(f"Answer {n}.") for n in range(1, 4)]) as endpoint:
        with chat(program, endpoint) as seen:
            seen.type("Hi\r")
            seen.until("Answer 1.")
            with chat(program, endpoint, "--continue") as other:
                other.type("Here?\r")
                other.until("Answer 2.")
                seen.type("There?\r")
                seen.until("warning: this conversation went on elsewhere as well")
                seen.until("Answer 3.")
    assert len(endpoint.bodies[2]["messages"]) == 3


PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@pytest.mark.parametrize(
    ("environ", "drawn_as"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b_Ga=T,f=100,q=2,m=0;iVBORw0K"),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]1337;File=inline=1;preserveAspectRatio=1;size=24:iVBORw0K"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, None),
        ({"TERM": "xterm"}, None),
    ],
)
def test_pictures_are_drawn_where_the_terminal_can(environ: dict[str, str], drawn_as: str | None):
    shown = drawn(Attachment("image", "image/png", PNG, "a picture"), environ)
    assert shown is None if drawn_as is None else shown is not None and shown.startswith(drawn_as)


def test_a_large_picture_goes_to_kitty_in_pieces():
    shown = drawn(Attachment("image", "image/png", PNG * 1000, "a picture"), {"KITTY_WINDOW_ID": "1"}) or ""
    pieces = shown.split("\x1b\\")[:-1]
    assert [piece.split(";")[0] for piece in pieces] == [
        "\x1b_Ga=T,f=100,q=2,m=1",
        *["\x1b_Gm=1"] * (len(pieces) - 2),
        "\x1b_Gm=0",
    ]
    assert drawn(Attachment("image", "image/jpeg", PNG, "a photo"), {"KITTY_WINDOW_ID": "1"}) is None
