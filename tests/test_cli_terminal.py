"""On a terminal: what is asked there, what is shown there only, and the chat."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import rogue
from .endpoint import Answer, Endpoint, Received, call, calls, chunk, stream, text
from .program import Program, Terminal, appears

ECHO = calls(call("one-echo", {"text": "苏州\x1b[2J\u202e"}, id="c1"))


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def model(endpoint: Endpoint) -> list[str]:
    return ["-m", "scripted", "--base-url", endpoint.url]


def results(request: Received) -> list[str]:
    return [message["content"] for message in request.body["messages"] if message["role"] == "tool"]


# run


def test_without_a_prompt_there_is_nothing_to_run(program: Program):
    with program.terminal("run", "-c", program.config()) as terminal:
        assert terminal.finish() == 2
        assert "error: there is no prompt" in terminal.output


def test_text_comes_as_it_is_written_and_servers_that_are_waited_for_are_named(program: Program):
    first, started = threading.Event(), program.folder / "started"
    slow = {**rogue("never-init"), "start_timeout": 1, "env": {"ROGUE_STARTED": str(started)}}
    with Endpoint(
        stream(chunk(content="So \x1b]0;title\x07far"), first, chunk(content=", so good."))
    ) as endpoint:
        command = ["run", "-c", program.config(one=rogue(), slow=slow), *model(endpoint), "Hi"]
        with program.terminal(*command) as terminal:
            terminal.expect("starting one, slow …")
            assert "warning: slow: no answer within 1 s" in terminal.expect("So far") + terminal.output
            first.set()
            assert terminal.expect(", so good.\n") == ""
            assert terminal.finish() == 0


def test_a_call_is_shown_whole_and_runs_when_it_is_approved(program: Program):
    """Two calls of one round are asked about together; one tool can be allowed for the rest of this run."""
    two = calls(call("one-echo", {"text": "4"}, id="c1"), call("one-echo", {"text": "5"}, id="c2", index=1))
    others = [calls(call("one-echo", {"text": each}, id="c1")) for each in "23"]
    with Endpoint(ECHO, *others, two, calls(call("one-pid")), text("Thanks.")) as endpoint:
        config = program.config(one={**rogue(), "approve": "always"})
        with program.terminal("run", "-c", config, *model(endpoint), "Hi") as terminal:
            choices = "[y]es, [t]his tool from now on, [a]lways, [N]o or n WHY, [s]top: "
            asked = terminal.expect(f"Run one/echo? {choices}")
            assert 'one/echo wants to run with\n{\n  "text": "苏州' in asked
            assert "\x1b[2J" not in asked and "\u202e" not in asked
            for typed in ("\n", Terminal.END):
                terminal.type(typed)
                terminal.expect("[s]top: ")
            terminal.type("Yes\n")
            terminal.expect("Run these 2 calls? [y]es to all, [o]ne by one, [n]o to all, [s]top: ")
            terminal.type("o\n")
            terminal.expect(choices)
            terminal.type("t\n")
            asked = terminal.expect("Run one/pid? ")
            assert "one/echo wants" not in asked
            terminal.type("what?\n")
            terminal.expect("Please answer y, t, a, n or s;")
            terminal.expect(choices)
            terminal.type("n\n")
            terminal.expect("Thanks.")
            assert terminal.finish() == 0
            assert "\x1b[36m→ \x1b[0mone/pid {}\n" in terminal.output
    answers = results(endpoint.requests[-1])
    assert ["the user refused" in answer for answer in answers] == [True, True, False, False, False, True]
    assert answers[3:5] == ["4", "5"]


def test_stopped_while_it_asks(program: Program):
    with Endpoint(ECHO) as endpoint:
        config = program.config(one={**rogue(), "approve": "always"})
        with program.terminal("run", "-c", config, *model(endpoint), "--output", "json", "Hi") as terminal:
            terminal.expect("? [y]es")
            terminal.type(Terminal.INTERRUPT)
            assert terminal.finish() == 130
            assert "Traceback" not in terminal.output
            answer = json.loads(terminal.output.splitlines()[-1])
    assert answer["stop"] == "interrupted"
    assert [message["role"] for message in answer["messages"]] == ["user", "assistant", "tool"]


# what is asked before anything runs


def test_a_config_that_was_only_found_is_shown_asked_about_and_remembered(program: Program):
    secret = "sk-123456789012345678901234"
    entry = {**rogue("--token", secret), "enabled": True, "env": {"SOME_KEY": secret}}
    program.config(one=entry, off={"command": "off", "enabled": False})
    with program.terminal("servers") as terminal:
        shown = terminal.expect("[y/N] ")
        assert "./servers.json was found in this folder" in shown
        assert "  one:" in shown and "rogue.py" in shown and "env SOME_KEY=***" in shown
        assert "off" not in shown and secret not in shown
        terminal.type("n\n")
        assert terminal.finish() == 2
        assert "error: ./servers.json was not confirmed" in terminal.output
    with program.terminal("tools") as terminal:
        terminal.expect("[y/N] ")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert program("tools").code == 0
    program.config(one={**entry, "args": [*rogue()["args"], "pages"]})  # type: ignore[misc]
    with program.terminal("tools") as terminal:
        terminal.expect("[y/N] ")
        terminal.type(Terminal.INTERRUPT)
        assert terminal.finish() == 130
        assert "Traceback" not in terminal.output


def test_what_a_config_asks_for_is_typed_in_once_a_secret_without_an_echo(program: Program):
    inputs = [
        {"id": "who", "type": "promptString", "description": "Your name"},
        {"id": "key", "type": "promptString", "description": "Your key", "password": True},
    ]
    variables = {"WHO": "${input:who}", "KEY": "${input:key}", "AGAIN": "${input:who}"}
    config = program.config(one={**rogue(), "env": variables}, sections={"inputs": inputs})
    with program.terminal("call", "-c", config, "one/env", '{"name": "AGAIN"}') as terminal:
        terminal.expect("Your name: ")
        terminal.type("Ada\n")
        terminal.expect("Your key: ")
        terminal.type("tell-nobody\n")
        assert terminal.finish() == 0
        assert terminal.output.endswith("Ada\n")
        assert "tell-nobody" not in terminal.output
    ran = program("call", "-c", config, "one/env", '{"name": "AGAIN"}')
    assert ran.code == 4
    assert "${input:who}" in ran.error or "who" in ran.error


def test_a_model_on_this_machine_is_offered(program: Program):
    def models(request: Received) -> Answer:
        return text(f"I am {request.body['model']}.")

    with Endpoint(models) as endpoint:
        program.env["OLLAMA_HOST"] = f"127.0.0.1:{endpoint.port}"
        run = ["run", "-c", program.config(), "Hi"]
        with program.terminal(*run) as terminal:
            assert "1  ollama/scripted\n" in terminal.expect("[1, or n for none] ")
            terminal.type("\n")
            terminal.expect("export MCPHOST_MODEL=ollama/scripted")
            terminal.expect("I am scripted.")
            assert terminal.finish() == 0
        with program.terminal(*run) as terminal:
            terminal.expect("[1, or n for none] ")
            terminal.type("n\n")
            assert terminal.finish() == 2
            assert "error: no model is configured" in terminal.output


# chat


def test_a_chat_on_a_terminal_that_can_only_write_lines(program: Program):
    program.env["TERM"] = "dumb"
    never = threading.Event()
    script = [text("Hello."), stream(chunk(content="Once upon"), never), ECHO, text("There."), text("Anew.")]
    with Endpoint(*script) as endpoint:
        config = program.config(one=rogue(), bad=rogue("exit-at-start"))
        with program.terminal("chat", "-c", config, *model(endpoint), "--system", "Be brief.") as terminal:
            terminal.expect("1 of 2 servers, 5 tools\n")
            terminal.expect("warning: bad: the server ended before it was ready")
            terminal.expect("> ")

            terminal.type("/help\n")
            terminal.expect("/quit")
            terminal.type("/tools\n")
            terminal.expect("one-echo")
            terminal.type("/servers\n")
            terminal.expect("ready, 5 tools")
            terminal.type("/nonsense\n")
            terminal.expect("There is no command /nonsense; /help lists them.")

            terminal.type("Hi\n")
            terminal.expect("Hello.\n")
            terminal.type("A story\n")
            terminal.expect("Once upon")
            terminal.type(Terminal.INTERRUPT)
            terminal.expect("Stopped.")
            terminal.expect("> ")

            terminal.type("Call\nn\n")  # what is typed before the question is no answer to it
            terminal.expect("one/echo wants to run with")
            terminal.expect("? [y]es")
            terminal.type("y\n")
            terminal.expect("There.\n")
            terminal.type("/clear\n")
            terminal.expect("forgotten")
            terminal.type("Who am I?\n")
            terminal.expect("Anew.\n")
            terminal.expect("> ")
            terminal.type(Terminal.END)
            assert terminal.finish() == 0
            assert "Traceback" not in terminal.output
    said = [[message["content"] for message in body["messages"]] for body in endpoint.bodies]
    assert said[1] == ["Be brief.", "Hi", "Hello.", "A story"]
    assert said[2] == ["Be brief.", "Hi", "Hello.", "A story", "Call"]
    assert said[3][-1].startswith("苏州")
    assert said[4] == ["Be brief.", "Who am I?"]


def test_ctrl_c_stops_the_answer_and_at_the_prompt_leaves_such_a_chat(program: Program):
    program.env["TERM"] = "dumb"
    never = program.folder / "never"
    with Endpoint(calls(call("one-wait", {"until": str(never)}))) as endpoint:
        command = ["chat", "-c", program.config(one=rogue()), *model(endpoint), "--yes"]
        with program.terminal(*command) as terminal:
            terminal.expect("1 of 1 servers")
            terminal.type("Wait\n")
            appears(Path(f"{never}.awaited"))
            terminal.type(Terminal.INTERRUPT)
            terminal.expect("Stopped.")
            terminal.expect("> ")
            terminal.type(Terminal.INTERRUPT)
            assert terminal.finish() == 130
            assert "Traceback" not in terminal.output


def test_a_chat_takes_its_lines_from_a_pipe_or_a_file(program: Program):
    def length(request: Received) -> Answer:
        return text(f"{len(request.body['messages'])} messages")

    with Endpoint(*[length] * 4) as endpoint:
        chat = ["chat", "-c", program.config(), *model(endpoint)]
        ran = program(*chat, stdin="Hi\n\nHow are you?")
        assert (ran.code, ran.out) == (0, "1 messages\n3 messages\n")
        assert "> " not in ran.err
        (program.folder / "lines").write_text("Hi\n/clear\nHi\n/quit\nHi\n", encoding="utf-8")
        ran = program.shell(f"{program.line(*chat)} < lines")
        assert (ran.code, ran.out) == (0, "1 messages\n1 messages\n")


def test_a_chat_goes_on_after_a_model_error(program: Program):
    with Endpoint() as endpoint:
        ran = program("chat", "-c", program.config(), *model(endpoint), stdin="Hi\nHi again\n")
    assert ran.code == 0
    assert ran.err.count("error: scripted at 127.0.0.1") == 2
    assert [len(body["messages"]) for body in endpoint.bodies] == [1, 2]
