"""Getting set up: `add`, `remove`, `import`, completion, on real files and with real servers."""

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROGUE, rogue
from .http_servers import refusing, serving
from .program import DEAD, SECONDS, Program, appears

ADD_ROGUE = ["--", sys.executable, str(ROGUE)]
SECRET = "sk-123456789012345678901234"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


@pytest.fixture
def own(program: Program) -> Path:
    """The user's own file, whether or not it is there."""
    return program.home / ".config" / "mcphost" / "servers.json"


def servers(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))["mcpServers"]


# add


def test_a_command_is_tried_and_then_written(program: Program, own: Path):
    ran = program(
        "add", "one", "-e", "SOME_KEY", "-e", "LANG=C", "--timeout", "5", *ADD_ROGUE, "pages", SOME_KEY="x"
    )
    assert (ran.code, ran.err) == (0, "")
    assert "one: rogue 1, MCP 2025-06-18, ready in " in ran.out
    assert "5 tools: echo, env, fail, wait, pid" in ran.out
    assert "one is in ~/.config/mcphost/servers.json, which is new." in ran.out
    assert servers(own) == {
        "one": {
            "command": sys.executable,
            "args": [str(ROGUE), "pages"],
            "env": {"SOME_KEY": "${SOME_KEY}", "LANG": "C"},
            "timeout": 5,
        }
    }
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    ran = program("call", "one/env", '{"name": "SOME_KEY"}', SOME_KEY="from outside")
    assert ran.out == "from outside\n"


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_an_address_is_tried_and_then_written(program: Program, own: Path, kind: Any):
    with serving(kind) as url:
        ran = program("add", "weather", url, "-H", "X-Tier: free")
    assert ran.code == 0, ran.err
    assert "4 tools: temperature, broken, picture, structured" in ran.out
    assert servers(own) == {"weather": {"url": url, "headers": {"X-Tier": "free"}}}


def test_what_cannot_be_used_is_not_written(program: Program, own: Path):
    with refusing(401) as locked:
        runs = program.together(
            ["add", "one", *ADD_ROGUE, "exit-at-start"],
            ["add", "two", f"http://{DEAD}/mcp", "--type", "http"],
            ["add", "three", locked],
            ["add", "four", "--", "no-such-program"],
            ["add", "five", "--wait", "0.5", *ADD_ROGUE, "never-init"],
            ["add", "six", "-e", "KEY", *ADD_ROGUE],
        )
    assert [ran.code for ran in runs] == [4, 4, 3, 4, 4, 4]
    for ran, said in zip(
        runs,
        [
            "no licence file found",
            "connection was refused",
            "authorization",
            "not found",
            "0.5 s",
            "$KEY is not set",
        ],
        strict=True,
    ):
        assert said in ran.error
        assert "Nothing was written; --no-test writes it as it is." in ran.err
        assert ran.out == ""
    assert not own.exists()
    ran = program("add", "four", "--no-test", "--", "no-such-program")
    assert (ran.code, servers(own)) == (0, {"four": {"command": "no-such-program"}})


def test_on_a_terminal_it_is_asked_whether_to_write_it_anyway(program: Program, own: Path):
    for answer, code in (("\n", 4), ("y\n", 0)):
        with program.terminal("add", "one", "--", "no-such-program") as terminal:
            shown = terminal.expect("Write it anyway? [y/N] ")
            assert "error: one: command not found: no-such-program" in shown
            terminal.type(answer)
            assert terminal.finish() == code
    assert servers(own) == {"one": {"command": "no-such-program"}}


def test_stopped_while_it_tries_it_writes_nothing(program: Program, own: Path):
    started = program.folder / "started"
    arguments = ["add", "one", "-e", f"ROGUE_STARTED={started}", *ADD_ROGUE, "never-init"]
    with program.started(*arguments) as process:
        appears(started)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130 and b"Traceback" not in err
    assert not own.exists()


def test_a_name_that_is_taken_is_replaced_only_by_force(program: Program):
    config = Path(program.config(one={"command": "old"}, two={"url": "https://example.com"}))
    ran = program("add", "one", "-c", str(config), "--no-test", "--", "new")
    assert ran.code == 2
    assert "servers.json has a server called 'one'" in ran.error and "--force" in ran.err
    assert servers(config)["one"] == {"command": "old"}
    assert program("add", "one", "-c", str(config), "--no-test", "--force", "--", "new").code == 0
    assert next(iter(servers(config).items())) == ("one", {"command": "new"})


def test_an_entry_may_be_pasted_by_itself_or_in_a_file(program: Program, own: Path):
    entry = {"type": "stdio", "command": "uvx", "args": ["x"], "autoApprove": [], "odd": 1}
    runs = program.together(
        ["add", "a", "--no-test", json.dumps(entry)],
        ["add", "b", "--no-test", json.dumps({"mcpServers": {"name of theirs": entry}})],
        ["add", "c", "--no-test", '{"mcpServers": {"x": {"command": "x"}, "y": {"command": "y"}}}'],
        ["add", "d", "--no-test", '{"command": '],
        ["add", "e", "--no-test", "-e", "A=b", json.dumps(entry)],
        ["add", "f", '{"builtin": "think"}'],
    )
    assert [ran.code for ran in runs] == [0, 0, 2, 2, 2, 0]
    assert "odd means nothing here" in runs[0].err
    assert "holds 2 servers" in runs[2].error
    assert "line 1, column 13" in runs[3].error
    assert "1 tool: think" in runs[5].out
    expected = {"command": "uvx", "args": ["x"]}
    assert servers(own) == {"a": expected, "b": expected, "f": {"builtin": "think"}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "npx", "-y", "thing"], "mcphost add x -- npx -y thing"),
        (["x", "docker", "run", "-e", "A=b", "image"], "mcphost add x -- docker run -e A=b image"),
        (["x"], "nothing says what 'x' is"),
        (["https://example.com/mcp", "x"], "the name of the server comes before its URL"),
        (["x", "ws://example.com"], "must begin with http:// or https://"),
        (["x", "https://example.com", "-e", "A=b"], "-e goes with a command"),
        (["x", "-H", "A: b", "--", "npx"], "-H goes with a URL"),
        (["x", "https://example.com", "-H", "A"], "has no ':'"),
        (["x", "-e", "=b", "--", "npx"], "has no name"),
        (["x", "https://example.com", "--type", "stdio"], "not by stdio"),
        (["x", "--type", "http", "--", "npx"], "has a URL, not a command"),
        (["// x", "--", "npx"], "cannot be the name of a server"),
        ([" ", "--", "npx"], "cannot be the name of a server"),
    ],
)
def test_what_is_typed_wrong_is_told_right(program: Program, own: Path, arguments: list[str], said: str):
    ran = program("add", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert "hint: " in ran.err or "Usage: " in ran.err
    assert not own.exists()


def test_secrets_that_are_typed_are_warned_of_and_not_shown(program: Program, own: Path):
    ran = program("add", "a", "--no-test", "-e", f"SOME_KEY={SECRET}", "--", "x")
    assert ran.code == 0
    assert "warning: env SOME_KEY is written as it is; -e SOME_KEY takes it from your environment" in ran.err
    assert SECRET not in ran.out + ran.err
    assert servers(own)["a"]["env"] == {"SOME_KEY": SECRET}
    ran = program("add", "b", f"http://{DEAD}/mcp?key={SECRET}", "-H", f"Authorization: Bearer {SECRET}")
    assert ran.code == 4
    assert "headers Authorization is written as it is" in ran.err and "url is written as it is" in ran.err
    assert SECRET not in ran.out + ran.err


def test_a_program_of_this_folder_is_started_here_wherever_one_is(program: Program, own: Path):
    (program.folder / "server.py").write_text(ROGUE.read_text())
    ran = program("add", "one", "--", sys.executable, "server.py")
    assert ran.code == 0, ran.err
    assert f"cwd is {program.folder}" in ran.err
    assert servers(own)["one"]["cwd"] == str(program.folder)
    assert program("add", "one", "--scope", "project", "--", sys.executable, "server.py").code == 0
    assert servers(program.folder / "servers.json")["one"]["cwd"] == "."


# which file


def test_a_projects_file_that_we_made_is_not_asked_about(program: Program, own: Path):
    ran = program("add", "one", "--scope", "project", *ADD_ROGUE)
    assert (ran.code, ran.err) == (0, "")
    assert "one is in ./servers.json, which is new." in ran.out
    assert not own.exists()
    assert program("tools").code == 0
    assert program("add", "two", "--scope", "project", "--no-test", *ADD_ROGUE).code == 0
    assert program("servers").code == 0


def test_a_strangers_file_is_asked_about_after_our_edit_as_before(program: Program):
    program.config(theirs=rogue())
    ran = program("add", "one", "--scope", "project", "--no-test", *ADD_ROGUE)
    assert ran.code == 0
    assert "./servers.json was not confirmed yet" in ran.err
    ran = program("tools")
    assert ran.code == 2
    assert "nobody has confirmed it" in ran.error


def test_a_project_has_one_file(program: Program):
    path = program.folder / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"servers": {}}')
    assert program("add", "one", "--scope", "project", "--no-test", "--", "x").code == 0
    assert json.loads(path.read_text()) == {"servers": {"one": {"type": "stdio", "command": "x"}}}
    assert not (program.folder / "servers.json").exists()


def test_a_file_that_is_not_read_here_is_mentioned(program: Program):
    program.config(one=rogue())
    ran = program("add", "one", "--no-test", "--", "x")
    assert ran.code == 0
    assert "note: in this folder ./servers.json is read" in ran.err


def test_the_file_of_the_environment_is_the_one_to_change(program: Program, own: Path):
    ran = program("add", "one", "--no-test", "--", "x", MCPHOST_CONFIG="other.json")
    assert ran.code == 0
    assert servers(program.folder / "other.json") == {"one": {"command": "x"}}
    assert program("remove", "one", MCPHOST_CONFIG="other.json").code == 0
    assert servers(program.folder / "other.json") == {} and not own.exists()


def test_comments_and_order_stay_and_what_is_no_json_is_not_touched(program: Program):
    path = program.folder / "mine.json"
    text = (
        '\ufeff{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"one": {"command": "x"}, // first\r\n\t},\r\n}\r\n'
    )
    path.write_bytes(text.encode())
    assert program("add", "two", "-c", "mine.json", "--no-test", "--", "y").code == 0
    line = '\t\t"one": {"command": "x"}, // first\r\n'
    assert path.read_bytes().decode() == text.replace(line, line + '\t\t"two": {"command": "y"},\r\n')
    assert program("remove", "two", "-c", "mine.json").code == 0
    assert path.read_bytes().decode() == text
    path.write_text('{"mcpServers": {"a": {},,}}')
    for arguments in (
        ["add", "two", "--no-test", "-c", "mine.json", "--", "y"],
        ["remove", "a", "-c", "mine.json"],
    ):
        ran = program(*arguments)
        assert ran.code == 2
        assert "mine.json:1:25: not JSON: there is a comma with nothing before it" in ran.error
    assert path.read_text() == '{"mcpServers": {"a": {},,}}'


def test_several_at_the_same_time_all_get_in(program: Program, own: Path):
    names = [f"s{number}" for number in range(6)]
    runs = program.together(*(["add", name, "--no-test", "--", "x"] for name in names))
    assert [ran.code for ran in runs] == [0] * 6
    assert sorted(servers(own)) == names


# remove


def test_a_server_is_removed_from_where_it_is(program: Program, own: Path):
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"mcpServers": {"both": rogue(), "mine": rogue()}}))
    config = Path(program.config(both=rogue(), theirs=rogue()))
    ran = program("remove", "both")
    assert (ran.code, ran.out) == (0, "both is no longer in ./servers.json.\n")
    assert "~/.config/mcphost/servers.json has one of that name too" in ran.err
    assert program("remove", "mine").code == 0
    assert (list(servers(config)), list(servers(own))) == (["theirs"], ["both"])
    ran = program("remove", "thiers")
    assert ran.code == 2
    assert "no server is called 'thiers' in ./servers.json nor in ~/.config/mcphost/servers.json" in ran.error
    assert "Did you mean theirs?" in ran.err
    assert program("remove", "theirs", "--scope", "user").code == 2
    assert program("remove", "both", "--scope", "user").code == 0


def test_without_a_file_there_is_nothing_to_remove(program: Program):
    ran = program("remove", "one")
    assert ran.code == 2
    assert "there is no such file" in ran.error


# import

CURSOR = {
    "mcpServers": {
        "one": {**rogue(), "env": {"SOME_KEY": SECRET}},
        "off": {"url": f"https://example.com/mcp?key={SECRET}", "disabled": True, "sandbox": 1},
        "theirs": {"type": "inMemory"},
    }
}


def cursor(program: Program) -> Path:
    path = program.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CURSOR))
    return path


def test_the_servers_of_another_program_are_found_and_taken_over(program: Program, own: Path):
    path = cursor(program)
    (program.home / ".claude.json").write_text('{"theme": "dark"}')
    ran = program("import")
    assert ran.code == 0
    assert "Cursor  ~/.cursor/mcp.json  3 servers: one, off, theirs" in ran.out
    assert "claude" not in ran.out
    dry = program("import", str(path), "--dry-run")
    assert (dry.code, own.exists()) == (0, False)
    assert "2 servers would be written to ~/.config/mcphost/servers.json" in dry.out
    ran = program("import", str(path))
    assert ran.code == 0
    for line in (
        "(disabled, as it was)",
        "not carried over: sandbox means nothing here",
        "theirs  not carried over: it is a part of the other program",
        "env SOME_KEY is written as it is",
        "2 servers written to ~/.config/mcphost/servers.json",
    ):
        assert line in ran.out
    assert SECRET not in ran.out + ran.err
    assert servers(own)["off"] == {"url": f"https://example.com/mcp?key={SECRET}", "enabled": False}
    assert program("call", "one/env", '{"name": "SOME_KEY"}').out == f"{SECRET}\n"
    again = program("import", str(path))
    assert "one     is there already" in again.out and "no servers written" in again.out


def test_names_that_are_taken_are_kept_replaced_or_made_others(program: Program):
    path, config = cursor(program), Path(program.config(one={"command": "mine"}))
    into = ["import", str(path), "-c", str(config), "--only", "one"]
    assert "another server is called that" in program(*into).out
    assert servers(config) == {"one": {"command": "mine"}}
    assert "as one-2: " in program(*into, "--rename").out
    assert list(servers(config)) == ["one", "one-2"]
    assert program(*into, "--force").code == 0
    assert servers(config)["one"]["args"] == [str(ROGUE)]
    assert program(*into, "--force", "--rename").code == 2


def test_what_vs_code_asks_for_comes_along(program: Program, own: Path):
    path = program.folder / ".vscode" / "mcp.json"
    path.parent.mkdir()
    entry = {**rogue(), "env": {"WHO": "${input:who}"}}
    inputs = [{"id": "who", "description": "Your name"}, {"id": "other"}]
    path.write_text(json.dumps({"servers": {"one": entry}, "inputs": inputs}))
    assert program("import", str(path)).code == 0
    assert json.loads(own.read_text())["inputs"] == inputs[:1]
    with program.terminal("call", "-c", str(own), "one/env", '{"name": "WHO"}') as terminal:
        terminal.expect("Your name: ")
        terminal.type("Ada\n")
        assert terminal.finish() == 0
        assert terminal.output.endswith("Ada\n")


def test_servers_may_be_piped_in(program: Program, own: Path):
    ran = program("import", "-", "--only", "one", stdin=json.dumps(CURSOR))
    assert ran.code == 0
    assert list(servers(own)) == ["one"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        ("{", "ends before the {"),
        ("{}", "holds no servers"),
        ('{"theme": 1}', "has no mcpServers"),
        ('{"mcpServers": {"a": {"args": []}}}', "neither a command nor a url"),
    ],
)
def test_what_cannot_be_taken_over_is_exit_2(program: Program, own: Path, content: str | None, said: str):
    if content is not None:
        (program.folder / "other.json").write_text(content)
    ran = program("import", "other.json")
    assert ran.code == 2
    assert said in ran.out + ran.err
    assert not own.exists()


def test_a_file_is_not_taken_over_into_itself(program: Program):
    config = program.config(one=rogue())
    ran = program("import", config, "--scope", "project")
    assert ran.code == 2
    assert "is the file to write to" in ran.error


# completion and the beginning


@pytest.mark.parametrize("content", ["{}", "[]", '{"mcpServers": {}}'])
def test_a_file_without_servers_is_named(program: Program, content: str):
    (program.folder / "mine.json").write_text(content)
    ran = program("tools", "-c", "mine.json")
    assert (ran.code, ran.out) == (0, "")
    assert f"no servers are configured in {program.folder / 'mine.json'}" in ran.err
    assert "`mcphost add`" in ran.err


def completed(program: Program, line: str) -> list[str]:
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    env = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_MCPHOST_COMPLETE": "bash_complete"}
    ran = program(**env)
    assert ran.code == 0, ran.err
    return [line.partition(",")[2] for line in ran.out.splitlines() if line]


def test_commands_flags_and_servers_are_completed(program: Program):
    started = program.folder / "started"
    program.config(one={**rogue(), "env": {"ROGUE_STARTED": str(started)}}, other=rogue(), name="mine.json")
    program.config(found=rogue())
    assert "remove" in completed(program, "mcphost re")
    assert "--server" in completed(program, "mcphost tools --se")
    assert completed(program, "mcphost remove ") == ["found"]
    assert completed(program, "mcphost tools -c mine.json --server o") == ["one", "other"]
    (program.folder / "servers.json").write_text("{")
    assert completed(program, "mcphost remove ") == []
    assert not started.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(program: Program, shell: str):
    ran = program("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_MCPHOST_COMPLETE={shell}_complete" in ran.out
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=ran.out, text=True, check=False).returncode == 0


def test_ctrl_c_before_anything_is_done_is_quiet(program: Program):
    """While modules are loaded: here one of them sends the signal itself."""
    early = program.folder / "early"
    early.mkdir()
    (early / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ran = program("tools", PYTHONPATH=os.pathsep.join([str(early), program.env["PYTHONPATH"]]))
    assert (ran.code, ran.out, ran.err) == (130, "", "")
