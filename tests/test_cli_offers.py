"""`mcphost prompts`, `mcphost resources` and `mcphost read`, with a real server."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .full_servers import FullServers
from .program import Program

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SCRIPTED = """
import json, sys
answers = json.loads(sys.argv[1])
for request in map(json.loads, sys.stdin):
    if request.get("method") in answers:
        answer = {"jsonrpc": "2.0", "id": request["id"], **answers[request["method"]]}
        print(json.dumps(answer), flush=True)
"""
"""A server that answers these methods and no other."""


def scripted(**answers: Any) -> dict[str, Any]:
    """The entry of one that has prompts, and answers `METHOD_list` with a result."""
    hello: dict[str, Any] = {
        "capabilities": {"prompts": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    }
    script: dict[str, Any] = {
        "server/discover": {"error": {"code": -32601, "message": "Method not found"}},
        "initialize": {"result": {"protocolVersion": "2025-11-25", **hello}},
        "tools/list": {"result": {"tools": []}},
        **{name.replace("_", "/"): {"result": result} for name, result in answers.items()},
    }
    return {"command": sys.executable, "args": ["-c", SCRIPTED, json.dumps(script)]}


@pytest.fixture
def program(tmp_path: Path, full_servers: FullServers) -> Iterator[Program]:
    program = Program(tmp_path)
    with full_servers.entry("stdio") as entry:
        program.config(full=entry)
        yield program
    assert program.left() == []


def with_config(*arguments: str) -> list[str]:
    return [*arguments, "-c", "servers.json"]


def test_prompts_and_resources_are_listed(program: Program):
    prompts, resources, as_json = program.together(
        with_config("prompts"), with_config("resources"), with_config("prompts", "--output", "json")
    )
    assert (prompts.code, prompts.err, resources.code, resources.err) == (0, "", 0, "")
    heading, *lines = prompts.out.splitlines()
    assert heading == "full (7)"
    assert lines[1] == "  journey city [station] [days]  Plans a journey."
    heading, *lines = resources.out.splitlines()
    assert heading == "full (11)"
    assert lines[0] == "  memo://today  Today (text/plain, 11 B)"
    assert lines[7] == "  memo://people/{name}  people"
    assert {entry["server"] for entry in as_json.json} == {"full"}
    assert as_json.json[1]["arguments"][0] == {"name": "city", "description": "where to", "required": True}


def test_a_prompt_is_filled_in(program: Program):
    filled, unclear, missing, unknown, asking = program.together(
        with_config("prompts", "full/journey", "city=苏州", "days=3", "--output", "json"),
        with_config("prompts", "journey", "苏州"),
        with_config("prompts", "journey", "days=3"),
        with_config("prompts", "jorney"),
        with_config("prompts", "letter"),
    )
    assert filled.json == [{"role": "user", "content": "Plan a journey to 苏州, 3 days."}]
    assert (unclear.code, missing.code, unknown.code) == (2, 2, 2)
    assert "'苏州' is not KEY=VALUE" in unclear.err
    assert missing.error == "error: the prompt journey needs city"
    assert unknown.error == "error: no server offers a prompt 'jorney'"
    assert "hint: There is journey." in unknown.err
    assert asking.out == "user\nWrite a letter: {'action': 'decline'}.\n\n"
    assert "nobody is here to answer full" in asking.err


def test_what_a_resource_holds_goes_to_stdout(program: Program):
    text, several, nothing, unknown = program.together(
        with_config("read", "memo://today"),
        with_config("read", "memo://all", "--output", "json"),
        with_config("read", "memo://empty"),
        with_config("read", "memo://nothing"),
    )
    assert (text.code, text.out, text.err) == (0, "milk, bread\n", "")
    assert [part["uri"] for part in several.json] == ["memo://all/1", "memo://all/2"]
    assert [key for part in several.json for key in part if key in ("text", "blob")] == ["text", "blob"]
    assert (nothing.code, nothing.out) == (0, "")
    assert "memo://empty holds nothing" in nothing.err
    assert unknown.code == 5
    assert "there is no resource memo://nothing" in unknown.error


def test_what_a_resource_holds_goes_into_files(program: Program):
    program.shell(program.line(*with_config("read", "memo://logo")) + " > piped.png")
    assert (program.folder / "piped.png").read_bytes() == PNG
    saved, lost = program.together(
        with_config("read", "memo://all", "-o", "all.bin"),
        with_config("read", "memo://today", "-o", "nowhere/today"),
    )
    assert saved.code == 0
    assert (program.folder / "all.bin").read_bytes() == b"one"
    assert (program.folder / "all-2.bin").read_bytes() == PNG
    assert lost.code == 1
    assert "nowhere/today cannot be written" in lost.error


def test_the_only_server_not_answering_is_not_that_it_offers_nothing(program: Program):
    program.config(mute={**scripted(), "timeout": 0.2})
    for done in program.together(with_config("prompts"), with_config("prompts", "journey")):
        assert (done.code, done.out) == (5, "")
        assert done.error == "error: the server did not list its prompts within 0.2 s"


def test_what_is_no_list_and_no_message_is_said_to_be_none(program: Program):
    program.config(odd=scripted(prompts_list={"prompts": {"a": 1}}))
    done = program(*with_config("prompts"))
    assert done.code == 0
    assert 'odd: its prompts are left out: they are no list, but {"a":1}' in done.err
    program.config(odd=scripted(prompts_list={"prompts": [{"name": "a"}]}, prompts_get={"messages": "no"}))
    done = program(*with_config("prompts", "a"))
    assert (done.code, done.out, done.err) == (0, "", "warning: a holds no messages\n")


def test_a_terminal_is_spared_bytes(program: Program):
    with program.terminal(*with_config("read", "memo://logo")) as terminal:
        assert terminal.finish() == 2
    assert "memo://logo is image/png, 24 B, which is nothing for a terminal" in terminal.output
    assert "-o FILE saves it" in terminal.output


def test_a_question_of_a_prompt_is_asked_on_the_terminal(program: Program):
    with program.terminal(*with_config("prompts", "letter")) as terminal:
        terminal.expect("full asks: In what tone?")
        terminal.expect("tone [second]: ")
        terminal.type("first\n")
        terminal.expect("Send it?")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert "Write a letter: {'tone': 'first'}." in terminal.output
