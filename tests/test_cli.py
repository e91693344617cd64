"""The commands that need no model: what they print, where, and how they exit."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcphost import __version__

from .conftest import rogue
from .http_servers import locked_tools, refusing
from .program import DEAD, Program, Ran

OFF = {"command": "off", "enabled": False}
TOOLS = ["echo", "env", "fail", "wait", "pid"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


# help, versions and usage errors


def imported(stderr: str) -> set[str]:
    """The packages that `python -X importtime` says were imported."""
    lines = (
        line.rpartition("|")[2].strip() for line in stderr.splitlines() if line.startswith("import time:")
    )
    return {name.partition(".")[0] for name in lines}


HEAVY = {"mcp", "mcp_types", "openai", "httpx2", "pydantic", "jsonschema", "anyio", "rich"}


def test_the_version(program: Program):
    ran = program("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"mcphost {__version__}\n", "")


@pytest.mark.parametrize("command", [[], ["run"], ["chat"], ["tools"], ["call"], ["servers"], ["demo"]])
def test_every_command_has_help_on_stdout(program: Program, command: list[str]):
    ran = program(*command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: {' '.join(['mcphost', *command])} ")
    assert "..." not in ran.out.replace("[ARGS]...", "")  # no sentence is cut short
    assert program(*command, "-h").out == ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu", "hello"], "Did you mean 'run'?"),
        (["severs"], "Did you mean 'servers'?"),
        (["run", "--outptu", "json", "hello"], "Did you mean '--output'?"),
        (["run", "--output", "xml", "hello"], "'xml' is not one of 'text', 'json', 'stream-json'"),
        (["run", "--max-rounds", "0", "hello"], "--max-rounds"),
        (["tools", "--wait", "soon"], "--wait"),
        (["tools", "--naming", "long"], "'long' is not one of 'cherry', 'mcp', 'plain'"),
        (["call"], "Missing argument 'TOOL'"),
        (["run"], "there is no prompt: standard input is empty"),
        (["run", " "], "the prompt is empty"),
        (["run", "--system", "@nowhere.txt", "hello"], "--system: nowhere.txt cannot be read: No such file"),
        (["call", "x", "{'a': 1}"], "the arguments are not JSON at character 2"),
        (["call", "x", '{"a": NaN}'], "the arguments are not JSON: NaN is not a JSON value"),
        (["call", "x", "[1]"], "the arguments must be a JSON object, not [1]"),
    ],
)
def test_usage_errors_say_what_is_wrong(program: Program, arguments: list[str], said: str):
    ran = program(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize(
    "arguments", [["--version"], ["run", "--help"], ["rnu"], ["run"], ["call", "x", "{"]]
)
def test_help_versions_and_usage_errors_load_nothing_heavy(program: Program, arguments: list[str]):
    assert not imported(program(*arguments, PYTHONPROFILEIMPORTTIME="1").err) & HEAVY


@pytest.mark.parametrize("arguments", [["tools"], ["run", "hello"], ["tools", "-c", "nowhere.json"]])
def test_config_errors_load_no_sdk(program: Program, arguments: list[str]):
    ran = program(*arguments, PYTHONPROFILEIMPORTTIME="1")
    assert ran.code == 2
    assert not imported(ran.err) & (HEAVY - {"pydantic"})


# tools


def test_tools_are_listed_to_read_as_a_model_gets_them_and_as_the_servers_define_them(program: Program):
    config = program.config(one=rogue(), two_b={**rogue("bad-tools"), "include": ["echo"]}, off=OFF)
    tools = ["tools", "-c", config, "--output"]
    table, sent, defined = program.together(
        [*tools, "table"], [*tools, "openai", "--naming", "mcp"], [*tools, "mcp"]
    )
    left_out = "warning: two-b: left out: tool 7: it has no name\n"
    assert [(ran.code, left_out in ran.err) for ran in (table, sent, defined)] == [(0, True)] * 3
    assert [line for line in table.out.splitlines() if not line.startswith(" ")] == ["one (5)", "two-b (1)"]
    assert "  one-echo    Gives the text back.\n" in table.out
    assert "\x1b" not in table.out

    names = [tool["function"]["name"] for tool in sent.json]
    assert names == [*(f"mcp__one__{name}" for name in TOOLS), "mcp__two-b__echo"]
    assert sent.json[0]["function"] == {
        "name": "mcp__one__echo",
        "description": "Gives the text back.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "any text"}},
            "required": ["text"],
        },
    }
    assert [tool["name"] for tool in defined.json["one"]] == TOOLS
    assert defined.json["one"][0]["inputSchema"]["required"] == ["text"]


def test_server_picks_some_of_the_servers(program: Program):
    config = program.config(one=OFF, two=OFF, three=OFF)
    ran = program("servers", "-c", config, "--server", "three", "--server", "two", "--output", "json")
    assert [server["name"] for server in ran.json] == ["two", "three"]
    ran = program("tools", "-c", config, "--server", "tow")
    assert ran.code == 2
    assert "no server is called 'tow' (did you mean two?)" in ran.error
    assert "one, two, three" in ran.err


def test_without_servers_there_are_no_tools_and_that_is_said(program: Program):
    ran = program("tools", "-c", program.config(off={**rogue(), "enabled": False}))
    assert (ran.code, ran.out) == (0, "")
    assert "warning: no server is enabled" in ran.err
    ran = program("tools", "-c", program.config(), "--output", "openai")
    assert (ran.code, ran.json) == (0, [])
    assert "warning: no servers are configured" in ran.err


# call


def test_a_tool_goes_by_its_public_name_and_where_that_is_enough_by_its_own(program: Program):
    config = program.config(one=rogue(), two={**rogue(), "include": ["echo"]})
    names = ("one-env", "env", "echo")
    *found, ambiguous = program.together(
        *(["call", "-c", config, name, '{"name": "NO_SUCH"}'] for name in names)
    )
    assert [(ran.code, ran.out, ran.err) for ran in found] == [(0, "(not set)\n", "")] * 2
    assert ambiguous.code == 2
    assert "one-echo" in ambiguous.err and "two-echo" in ambiguous.err


def test_a_full_name_starts_its_server_only(program: Program):
    started = program.folder / "started"
    other = {**rogue(), "env": {"ROGUE_STARTED": str(started)}}
    config = program.config(one=rogue(), other=other)
    assert program("call", "-c", config, "one/echo", '{"text": "x"}').out == "x\n"
    assert not started.exists()


def test_a_public_name_does_not_wait_for_servers_that_never_answer(program: Program):
    config = program.config(stuck=rogue("never-init"), one=rogue())
    assert program("call", "-c", config, "one-echo", '{"text": "x"}').out == "x\n"


def test_arguments_come_from_stdin_too(program: Program):
    call = ["call", "-c", program.config(one=rogue()), "one/echo", "-"]
    assert program(*call, stdin='\ufeff{"text": "苏州"}\n').out == "苏州\n"
    assert program(*call, stdin="{").code == 2


def test_arguments_that_do_not_fit_are_not_sent_unless_wanted(program: Program):
    call = ["call", "-c", program.config(one=rogue()), "one/echo", '{"txt": "x"}']
    checked, sent = program.together(call, [*call, "--no-validate"])
    assert checked.code == 2
    assert "one/echo: " in checked.error and "text" in checked.error
    assert "--no-validate" in checked.err
    assert (sent.code, sent.out) == (0, "(no output)\n")


def test_a_result_with_all_about_it(program: Program):
    call = ["call", "-c", program.config(one=rogue()), "--output", "json"]
    echoed, failed = program.together([*call, "one/echo", '{"text": "x"}'], [*call, "one/fail"])
    result = echoed.json
    assert result.pop("seconds") >= 0
    assert result == {
        "ok": True,
        "server": "one",
        "tool": "echo",
        "arguments": {"text": "x"},
        "content": "x",
        "error": None,
        "attachments": [],
        "result": {"content": [{"type": "text", "text": "x"}]},
    }
    assert failed.code == 5
    assert (failed.json["ok"], failed.json["error"]) == (False, "the disk is full")
    assert failed.json["result"]["isError"] is True
    assert "the disk is full" in failed.error


FAILED_CALLS: dict[str, tuple[int, str]] = {
    "fine/fail": (5, "fine/fail: the disk is full"),
    "dies/pid": (5, "the server went away during the call (exit status 9): fatal: lost the database"),
    "hangs/pid": (5, "no answer within 0.2 s"),
    "fine/pidd": (2, "there is no tool named 'fine/pidd'"),
    "off/pid": (2, "off is disabled"),
    "exits/pid": (
        4,
        "exits: the server ended before it was ready (exit status 3): fatal: no licence file found",
    ),
    "locked/pid": (3, "locked: the server wants authorization (HTTP 401)"),
    "safe/treasure": (3, "safe: the server wants authorization (HTTP 401)"),
}


@pytest.fixture(scope="module")
def failed_calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    program = Program(tmp_path_factory.mktemp("calls"))
    with refusing(401) as locked, locked_tools() as safe:
        config = program.config(
            fine=rogue(),
            dies=rogue("exit-in-call"),
            hangs={**rogue("hang-in-call"), "timeout": 0.2},
            off={**rogue(), "enabled": False},
            exits=rogue("exit-at-start"),
            locked={"type": "http", "url": locked},
            safe={"type": "http", "url": safe},
        )
        ran = program.together(*(["call", "-c", config, tool] for tool in FAILED_CALLS))
    return dict(zip(FAILED_CALLS, ran, strict=True))


@pytest.mark.parametrize("tool", FAILED_CALLS)
def test_a_call_that_fails_says_why(failed_calls: dict[str, Ran], tool: str):
    ran, (code, said) = failed_calls[tool], FAILED_CALLS[tool]
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.error
    assert code == 5 or "hint: " in ran.err


def test_near_names_are_offered(failed_calls: dict[str, Ran]):
    assert "hint: Did you mean fine-pid?\n" in failed_calls["fine/pidd"].err


def test_a_server_that_wants_authorization_does_not_stop_the_others(program: Program):
    with refusing(401) as url:
        config = program.config(locked={"type": "http", "url": url}, fine=rogue())
        ran = program("tools", "-c", config)
    assert ran.code == 0
    assert "warning: locked: the server wants authorization (HTTP 401)" in ran.err
    assert '"headers": {"Authorization": "Bearer ${TOKEN}"}' in ran.err


# servers


def test_servers_tell_how_each_is(program: Program):
    config = program.config(one=rogue(), bad=rogue("exit-at-start"), off={**rogue(), "enabled": False})
    servers = ["servers", "-c", config]
    ran, data, verbose = program.together(
        servers, [*servers, "--output", "json"], [*servers, "-v", "--server", "bad"]
    )
    assert (ran.code, ran.err) == (0, "")
    one, failed, hint, off = ran.out.splitlines()
    assert one.split()[:2] == ["one", "ready"]
    assert "5 tools, MCP 2025-06-18, " in one
    assert one.endswith("rogue 1")
    assert failed.split()[:2] == ["bad", "failed"]
    assert failed.endswith("exit status 3): fatal: no licence file found")
    assert hint.strip().startswith("hint: ")
    assert off.split()[:2] == ["off", "disabled"]

    listed = data.json
    assert [(server["name"], server["state"]) for server in listed] == [
        ("one", "ready"),
        ("bad", "failed"),
        ("off", "disabled"),
    ]
    assert (listed[0]["protocol"], listed[0]["server"], listed[0]["tools"]) == ("2025-06-18", "rogue 1", 5)
    assert listed[0]["seconds"] > 0
    assert "no licence file found" in listed[1]["error"]
    assert Path(listed[1]["log"]).read_text(encoding="utf-8").endswith("fatal: no licence file found\n")

    assert verbose.code == 4
    assert "  stderr: " in verbose.out
    assert "    fatal: no licence file found" in verbose.out


def test_servers_that_cannot_be_reached_at_all_are_exit_4(program: Program):
    config = program.config(bad=rogue("exit-at-start"), away={"url": f"http://{DEAD}/mcp"})
    ran = program("tools", "-c", config)
    assert (ran.code, ran.out) == (4, "")
    assert "bad, away: none of the servers can be used" in ran.error
    assert "warning: bad: the server ended before it was ready" in ran.err


def test_secrets_are_never_shown(program: Program):
    secret = "sk-123456789012345678901234"
    config = program.config(
        url={"url": f"http://{DEAD}/mcp?key={secret}"},
        header={
            "url": f"http://{DEAD}/mcp",
            "headers": {"Authorization": f"Bearer {secret}"},
        },
        args={**rogue("exit-at-start", "--api-key", secret), "env": {"SOME_KEY": secret}},
        typo={"url": f"htp://host/?key={secret}"},
    )
    servers = ["servers", "-c", config, "--trace", "trace.jsonl"]
    for ran in program.together([*servers, "-v"], [*servers, "--output", "json"]):
        assert ran.code == 4
        assert secret not in ran.out + ran.err
    assert secret not in (program.folder / "trace.jsonl").read_text(encoding="utf-8")


# where the configuration comes from


def test_no_config_at_all_names_the_ways_to_one(program: Program):
    ran = program("tools")
    assert ran.code == 2
    assert "there is no servers.json" in ran.error
    assert "-c FILE" in ran.err and str(program.home) in ran.err and "mcphost demo" in ran.err


def test_the_users_own_config_and_the_one_of_the_environment_are_found(program: Program):
    own = program.home / ".config/mcphost/servers.json"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"mcpServers": {"own": OFF}}), encoding="utf-8")
    assert program("servers").out.startswith("own  disabled")
    named = program.config(name="named.json", named=OFF)
    assert program("servers", MCPHOST_CONFIG=named).out.startswith("named  disabled")
    assert program("servers", MCPHOST_CONFIG="elsewhere.json").code == 2


def test_a_config_that_only_lies_in_the_folder_has_to_be_named(program: Program):
    program.config(one=OFF)
    ran = program("servers")
    assert (ran.code, ran.out) == (2, "")
    assert "./servers.json" in ran.error
    assert "-c ./servers.json" in ran.err
    assert program("servers", "-c", "./servers.json").code == 0


def test_later_files_win_by_server(program: Program):
    one = program.config(name="one.json", a=OFF, b=OFF, c=OFF)
    two = program.config(name="two.json", b={**OFF, "command": "later"})
    ran = program("servers", "-c", one, "-c", two, "--output", "json")
    assert [(server["name"], server["what"]) for server in ran.json] == [
        ("a", "off"),
        ("b", "later"),
        ("c", "off"),
    ]


def test_comments_trailing_commas_and_unknown_keys_are_no_error(program: Program):
    entry = json.dumps({**OFF, "colour": "red"})
    path = program.folder / "servers.json"
    path.write_text(f'\ufeff// mine\n{{"mcpServers": {{"one": {entry},}},}}', encoding="utf-8")
    ran = program("servers", "-c", str(path))
    assert ran.code == 0
    assert "warning: " in ran.err and "one.colour" in ran.err


# other flags


def test_the_recorded_tools_are_sent_as_recorded(program: Program, shared: Path):
    ran = program("tools", "-c", str(shared / "trace/servers.json"), "--output", "openai")
    assert ran.json == json.loads((shared / "trace/request1.json").read_text("utf-8"))["tools"]


def test_wait_shortens_the_wait_for_all(program: Program):
    config = program.config(stuck=rogue("never-init"))
    flags = ["-c", config, "--wait", "0"]
    tools, call = program.together(["tools", *flags], ["call", *flags, "stuck/pid"])
    assert (tools.code, tools.out) == (0, "")
    assert "warning: stuck is still starting" in tools.err
    assert call.code == 4
    assert "stuck: was not ready within 0 s" in call.error


def test_trace_keeps_a_line_for_every_message(program: Program):
    config = program.config(one=rogue())
    program("call", "-c", config, "one/echo", '{"text": "x"}', "--trace", "trace.jsonl")
    trace = program.folder / "trace.jsonl"
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    assert {line["server"] for line in lines} == {"one"}
    sent = [line["message"].get("method") for line in lines if line["kind"] == "send"]
    assert sent[-2:] == ["tools/list", "tools/call"]
    assert lines[-1]["message"]["result"] == {"content": [{"type": "text", "text": "x"}]}
    assert trace.stat().st_mode & 0o077 == 0
    ran = program("tools", "-c", config, "--trace", "nowhere/trace.jsonl")
    assert ran.code == 2
    assert "--trace: nowhere/trace.jsonl cannot be written: No such file" in ran.error


# streams


def test_a_reader_that_leaves_early_is_no_error(program: Program):
    config = program.config(one=rogue())
    with program.started("tools", "-c", config) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_streams_that_are_closed_or_full_are_survived(program: Program):
    config = program.config(one=OFF)
    assert program.shell(f"{program.line('servers', '-c', config)} <&- 2>&-").out.startswith("one  disabled")
    assert program.shell(f"{program.line('servers', '-c', config)} >&-").code == 0
    if Path("/dev/full").exists():
        ran = program.shell(f"{program.line('servers', '-c', config)} >/dev/full")
        assert ran.code == 1
        assert "standard output cannot be written: No space left" in ran.error
