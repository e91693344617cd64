"""What servers ask the person at the terminal: forms, pages, and the use of the model."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    with Endpoint(*steps) as endpoint:
        command = ["run", "-c", program.config(full=FULL), "-m", "scripted", "--base-url", endpoint.url, "go"]
        ran = program(*command)
        assert (ran.code, ran.out) == (0, "refused\n")
        assert "full was refused an answer by your model" in ran.err
        assert "nobody can be asked" in endpoint.requests[1].body["messages"][-1]["content"]
    with Endpoint(steps[0], text("answer for the server"), text("fine")) as endpoint:
        command[command.index("--base-url") + 1] = endpoint.url
        assert program(*command, "--yes").out == "fine\n"
        assert "answer for the server" in endpoint.requests[2].body["messages"][-1]["content"]
