"""What servers ask the person at the terminal: forms, pages, and the use of the model."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcphost import elicitation
from mcphost.terminal.elicit import looks_secret

from .endpoint import Endpoint, call, calls, text
from .program import Program

FULL = {"command": sys.executable, "args": [str(Path(__file__).parent / "servers" / "full.py"), "stdio"]}
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Passenger\x1b[2J", "minLength": 2},
        "seats": {"type": "integer", "minimum": 1, "default": 2},
        "class": {"type": "string", "enum": ["first", "second"]},
        "api_key": {"type": "string"},
    },
    "required": ["name", "class"],
}
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def asking(program: Program, tool: str, **arguments: object) -> list[str]:
    return ["call", "-c", program.config(full=FULL), f"full/{tool}", json.dumps(arguments)]


def test_a_form_is_asked_for_field_by_field_and_shown_before_it_is_sent(program: Program):
    with program.terminal(*asking(program, "ask", message="Who travels?", schema=FORM)) as terminal:
        terminal.expect("full asks: Who travels?")
        terminal.expect("Never type a password or a key here")
        terminal.expect("Passenger (text)")
        terminal.expect("name: ")
        terminal.type("x\n")
        terminal.expect("name must be at least 2 characters.")
        terminal.type("张三\n")
        terminal.expect("seats [2]: ")
        terminal.type("\n")
        terminal.expect("2. second")
        terminal.expect("class: ")
        terminal.type("\n")
        terminal.expect("class is needed.")
        terminal.type("2\n")
        terminal.expect("api_key: ")
        terminal.type("\n")
        shown = terminal.expect("Send it? [y]es, [e]dit, [N]o: ")
        assert json.loads(shown[shown.index("{") :]) == {"name": "张三", "seats": 2, "class": "second"}
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert '"action": "accept"' in terminal.output or '"action":"accept"' in terminal.output


@pytest.mark.parametrize(
    ("typed", "action"), [("!\n", "cancel"), ("\x04", "decline"), ("张三\n\n1\n\nn\n", "decline")]
)
def test_a_form_can_be_left(program: Program, typed: str, action: str):
    with program.terminal(*asking(program, "ask", message="Who travels?", schema=FORM)) as terminal:
        terminal.expect("name: ")
        terminal.type(typed)
        assert terminal.finish() == 0
    assert action in terminal.output.split("name: ")[-1]


def test_a_form_can_be_left_at_its_last_question(program: Program):
    with program.terminal(*asking(program, "ask", message="Sure?", schema=EMPTY)) as terminal:
        terminal.expect("Send it? [y]es, [e]dit, [N]o: ")
        terminal.type("!\n")
        assert terminal.finish() == 0
    assert "cancel" in terminal.output.split("[N]o: ")[-1]


def test_what_was_typed_can_be_edited_before_it_is_sent(program: Program):
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "seats": {"type": "integer"}}}
    with program.terminal(*asking(program, "ask", message="Who travels?", schema=schema)) as terminal:
        for name, prompt in (("张三", "name: "), ("李四", "name [张三]: ")):
            terminal.expect(prompt)
            terminal.type(f"{name}\n")
            terminal.expect("seats: ")
            terminal.type("\n")
            shown = terminal.expect("[N]o: ")
            assert json.loads(shown[shown.index("{") : shown.index("}") + 1]) == {"name": name}
            terminal.type("e\n" if name == "张三" else "y\n")
        assert terminal.finish() == 0
    sent = terminal.output.split("[N]o: y\n")[-1]
    assert json.loads(sent) == {"action": "accept", "content": {"name": "李四"}}


def test_nothing_that_a_server_says_passes_for_a_line_of_ours_or_moves_the_cursor(program: Program):
    schema = {
        "type": "object",
        "properties": {
            "a\nb": {
                "type": "string",
                "title": "t\nSend it? [y]es",
                "description": "d\nSend it? [y]es",
                "format": "\x1b[2Jf",
                "pattern": "^[A-Z]+$",
            },
            "c": {"type": "string", "enum": ["\x1b[2Jx", "y\nz"]},
        },
        "required": ["c"],
    }
    message = "m\x1b]0;title\x07\nfull asks: send money"
    with program.terminal(*asking(program, "ask", message=message, schema=schema)) as terminal:
        terminal.expect("full asks: m\n    full asks: send money")
        terminal.expect("t Send it? [y]es (f, such as ^[A-Z]+$ describes, may be left out): d\n    Send it?")
        terminal.expect("a b: ")
        terminal.type("\n")
        terminal.expect("2. y z\n")
        terminal.expect("c: ")
        terminal.type("3\n")
        terminal.expect("c must be one of x, y z.")
        terminal.type("!\n")
        assert terminal.finish() == 0
    assert "\x1b[2J" not in terminal.output
    assert "\x1b]" not in terminal.output


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(
            (name, True)
            for name in "user_password accessToken db_pwd PIN card-number api_key otp 验证码".split()
        ),
        *((name, False) for name in "name max_tokens secretary shopping tokenizer passenger keyword".split()),
    ],
)
def test_fields_that_look_like_secrets_are_told_apart(name: str, secret: bool):
    (field,) = elicitation.fields({"properties": {name: {"type": "string"}}})
    assert looks_secret(field) is secret


def test_questions_come_one_at_a_time(program: Program):
    asked = [call("ask", {"message": name, "schema": EMPTY}, id=name) for name in ("one?", "two?")]
    with Endpoint(calls(*asked), text("done")) as endpoint:
        command = ["run", "-c", program.config(full=FULL), "-m", "scripted", "--base-url", endpoint.url, "go"]
        with program.terminal(*command) as terminal:
            for _ in asked:
                before = terminal.expect("Send it? [y]es, [e]dit, [N]o: ")
                assert before.count("full asks: ") == 1
                terminal.type("y\n")
            assert terminal.finish() == 0
        given = [message for message in endpoint.requests[1].body["messages"] if message["role"] == "tool"]
    assert [json.loads(message["content"])["action"] for message in given] == ["accept", "accept"]


def test_a_page_is_shown_whole_and_opened_only_after_a_yes(program: Program):
    url = "https://tickets.example/login?state=" + "a" * 150
    opened = program.folder / "opened"
    browser = program.folder / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    program.env["BROWSER"] = str(browser)
    with program.terminal(*asking(program, "visit", url=url)) as terminal:
        terminal.expect(f"  {url}\n")
        terminal.expect("It is at tickets.example.")
        terminal.expect("[N]o: ")
        assert not opened.exists()
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert opened.read_text() == url


def test_a_page_is_named_as_it_is_looked_up_and_where_there_is_no_browser_that_is_said(program: Program):
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        program.env.pop(name, None)
    url = "https://b\u0430nk.example/login"
    with program.terminal(*asking(program, "visit", url=url)) as terminal:
        terminal.expect(f"  {url}\n")
        terminal.expect("It is at xn--bnk-6cd.example.")
        terminal.expect("can look like those of another")
        terminal.type("y\n")
        terminal.expect("No browser could be opened here")
        assert terminal.finish() == 0
    assert "accept" in terminal.output


def test_a_page_that_is_not_safe_is_not_even_asked_about(program: Program):
    with program.terminal(*asking(program, "visit", url="http://tickets.example/")) as terminal:
        assert terminal.finish() == 0
    assert "visit a page" not in terminal.output
    assert "decline" in terminal.output


def test_without_a_terminal_questions_are_declined_and_that_is_said(program: Program):
    ran = program(*asking(program, "ask", message="Who travels?", schema=FORM))
    assert ran.code == 0
    assert "decline" in ran.out
    assert "nobody is here to answer full: Who travels?" in ran.err


def test_the_model_answers_for_a_server_after_a_yes(program: Program):
    steps = (
        calls(call("sample", {"text": "三个字的城市？" + "长" * 700}, id="c1")),
        text("石家庄"),
        text("done"),
    )
    with Endpoint(*steps) as endpoint:
        command = ["run", "-c", program.config(full=FULL), "-m", "scripted", "--base-url", endpoint.url, "go"]
        with program.terminal(*command) as terminal:
            terminal.expect("full wants your model to answer, in at most 100 tokens:")
            terminal.expect("[v]iew all")
            terminal.type("v\n")
            terminal.expect("长" * 700)
            terminal.type("y\n")
            assert terminal.finish() == 0
        asked = endpoint.requests[1].body
    assert asked["max_tokens"] == 100
    assert "tools" not in asked
    given = json.loads(endpoint.requests[2].body["messages"][-1]["content"])
    assert given["content"] == {"type": "text", "text": "石家庄"}


def test_without_a_terminal_the_model_does_not_answer_for_a_server_unless_told_to(program: Program):
    steps = (calls(call("sample", {"text": "hi"}, id="c1")), text("refused"))
    twice = calls(call("sample", {"text": "hi"}, id="c1"), call("sample", {"text": "ho"}, id="c2"))
    with Endpoint(twice, text("refused")) as endpoint:
        command = ["run", "-c", program.config(full=FULL), "-m", "scripted", "--base-url", endpoint.url, "go"]
        ran = program(*command)
        assert (ran.code, ran.out) == (0, "refused\n")
        assert ran.err.count("full was refused an answer by your model") == 1
        assert "nobody can be asked" in endpoint.requests[1].body["messages"][-1]["content"]
    with Endpoint(steps[0], text("answer for the server"), text("fine")) as endpoint:
        command[command.index("--base-url") + 1] = endpoint.url
        assert program(*command, "--yes").out == "fine\n"
        assert "answer for the server" in endpoint.requests[2].body["messages"][-1]["content"]
