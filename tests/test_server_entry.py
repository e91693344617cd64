"""One entry, and what comes of it."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost import builtin
from mcphost.config import (
    Approve,
    load,
    parse,
)
from mcphost.server_entry import BUILTINS

from .configs import one, warnings, write

# One entry


@pytest.mark.parametrize(
    ("entry", "type_"),
    [
        ({"command": "x"}, "stdio"),
        ({"type": "stdio", "command": "x"}, "stdio"),
        ({"type": "local", "command": "x"}, "stdio"),
        ({"type": "STDIO", "command": "x", "url": "http://y"}, "stdio"),
        ({"url": "http://y"}, "url"),
        ({"url": "http://y/sse"}, "url"),
        ({"httpUrl": "http://y"}, "http"),
        ({"httpUrl": "http://y", "url": "http://z"}, "http"),
        ({"type": "http", "url": "http://y"}, "http"),
        ({"type": "streamable-http", "url": "http://y"}, "http"),
        ({"type": "streamable_http", "url": "http://y"}, "http"),
        ({"type": "streamableHttp", "url": "http://y"}, "http"),
        ({"transport": "streamableHttp", "baseUrl": "http://y"}, "http"),
        ({"type": "remote", "url": "http://y"}, "http"),
        ({"type": "sse", "url": "http://y"}, "sse"),
        ({"type": "", "url": "http://y", "command": ""}, "url"),
        ({"builtin": "think"}, "builtin"),
    ],
)
def test_the_type_is_given_or_follows_from_the_keys(entry: dict[str, Any], type_: str):
    spec = one(entry)
    assert (spec.type, spec.problem) == (type_, None)


def test_command_and_url_without_a_type_is_a_command_with_a_warning():
    spec = one({"command": "x", "url": "http://y"})
    assert (spec.type, spec.command, spec.url) == ("stdio", "x", None)
    assert "both command and url" in warnings({"mcpServers": {"s": {"command": "x", "url": "http://y"}}})[0]
    both = {"type": "http", "command": "x", "url": "http://y"}
    assert one(both).command is None
    assert warnings({"mcpServers": {"s": both}}) == ()


PROBLEMS: list[tuple[object, str]] = [
    (5, "a server is an object, not a number"),
    (None, "a server is an object, not null"),
    ("https://x", "a server is an object, not a string"),
    ([], "a server is an object, not a list"),
    ({}, "has neither a command nor a url"),
    ({"args": ["x"]}, "has neither a command nor a url"),
    ({"type": "stdio"}, "has no command"),
    ({"type": "stdio", "url": "http://x"}, "has no command"),
    ({"type": "http"}, "has no url"),
    ({"type": "sse", "command": "x"}, "has no url"),
    ({"type": "htpp", "url": "http://x"}, "unknown type 'htpp' (did you mean http?)"),
    ({"type": "carrier-pigeon"}, "unknown type 'carrier-pigeon'"),
    ({"type": 3, "command": "x"}, "unknown type a number"),
    ({"command": ""}, "has neither a command nor a url"),
    ({"command": []}, "command is an empty list"),
    ({"command": [""]}, "command is an empty list"),
    ({"command": 5}, "command must be a string, not a number"),
    ({"command": {}}, "command must be a string, not an object"),
    ({"command": "x", "args": "-y foo"}, "args must be a list of strings, not a string"),
    ({"command": "x", "args": {"a": 1}}, "args must be a list of strings, not an object"),
    ({"command": "x", "args": ["a", None]}, "args[1] must be a string, not null"),
    ({"command": "x", "args": [["a"]]}, "args[0] must be a string, not a list"),
    ({"command": "x", "args": [math.nan]}, "args[0] must be a string, not a number"),
    ({"command": "x", "args": ["a\0b"]}, "args[0] holds a character that cannot be passed on"),
    ({"command": "x", "args": ["\ud83d"]}, "args[0] holds a character that cannot be passed on"),
    ({"command": "x", "env": "A=b c"}, None),
    ({"command": "x", "env": 5}, "env must be an object of strings"),
    ({"command": "x", "env": ["A"]}, "env must be an object of strings"),
    ({"command": "x", "env": {"A": {}}}, "env.A must be a string, not an object"),
    ({"command": "x", "env": {"A=B": "c"}}, "env: 'A=B' cannot be the name of a variable"),
    ({"command": "x", "env": {"": "c"}}, "env: '' cannot be the name of a variable"),
    ({"command": "x", "env_file": "no.env"}, "env_file no.env is not there"),
    ({"command": "x", "env_file": 5}, "env_file must be a string, not a number"),
    ({"command": "x", "cwd": "/no/such/folder"}, "cwd /no/such/folder is not a folder"),
    ({"command": "x", "cwd": ["a"]}, "cwd must be a string, not a list"),
    ({"command": "x", "inherit_env": {"A": 1}}, "inherit_env must be a list of names, not an object"),
    ({"url": "x.example/mcp"}, "url must begin with http:// or https://"),
    ({"url": "ws://x.example/mcp"}, "url must begin with http:// or https://"),
    ({"url": "file:///etc/passwd"}, "url must begin with http:// or https://"),
    ({"url": "http://"}, "url names no host"),
    ({"url": "http://[x"}, "url is not a web address"),
    ({"url": "http://x:port/"}, "url is not a web address"),
    ({"url": "http://x/a b"}, "url holds a space"),
    ({"url": ["http://x"]}, "url must be a string, not a list"),
    (
        {"url": "http://x", "headers": {"A": "b\r\nC: d"}},
        "headers.A holds characters that a header cannot have",
    ),
    ({"url": "http://x", "headers": {"A": "高"}}, "headers.A holds characters that a header cannot have"),
    ({"url": "http://x", "headers": {"A b": "c"}}, "headers: 'A b' cannot be the name of a header"),
    ({"url": "http://x", "headers": {"A": []}}, "headers.A must be a string, not a list"),
    (
        {"url": "http://x", "headers": ["A"]},
        'headers must be an object of strings, or a list of "name:value"',
    ),
    ({"command": "x", "enabled": "maybe"}, "enabled must be true or false, not a string"),
    ({"command": "x", "disabled": 1}, "disabled must be true or false, not a number"),
    ({"command": "x", "include": [""]}, "include[0] must be a name or a pattern, not an empty string"),
    ({"command": "x", "include": 5}, "include must be a list of names, not a number"),
    ({"command": "x", "exclude": [5]}, "exclude[0] must be a name or a pattern, not a number"),
    ({"command": "x", "exclude": ["[ab"]}, "exclude[0]: '[ab' has a [ that is not closed"),
    ({"command": "x", "approve": "sometimes"}, "approve must be never, writes, always or a list of tools"),
    ({"command": "x", "approve": True}, "approve must be never, writes, always or a list of tools"),
    ({"command": "x", "approve": [1]}, "approve[0] must be a name or a pattern, not a number"),
    ({"command": "x", "trust": "yes"}, "trust must be true or false, not a string"),
    ({"command": "x", "autoApprove": {"a": 1}}, "autoApprove must be a list of names, not an object"),
    ({"command": "x", "trust_annotations": "yes"}, "trust_annotations must be true or false, not a string"),
    ({"command": "x", "validate": 0}, "validate must be true or false, not a number"),
    ({"command": "x", "timeout": -1}, "timeout must be above 0"),
    ({"command": "x", "timeout": math.nan}, "timeout must be above 0"),
    ({"command": "x", "timeout": math.inf}, "timeout must be above 0"),
    ({"command": "x", "timeout": 10**400}, "timeout must be above 0"),
    ({"command": "x", "timeout": True}, "timeout must be a number, not true"),
    ({"command": "x", "timeout": "soon"}, "timeout must be a number, not a string"),
    ({"command": "x", "timeout": [1]}, "timeout must be a number, not a list"),
    ({"command": "x", "start_timeout": -5}, "start_timeout must be above 0"),
    ({"command": "x", "timeout_ms": -5}, "timeout_ms must be above 0"),
    ({"command": "x", "prefix": 5}, "prefix must be a string, not a number"),
    ({"type": "inMemory", "builtin": "memory"}, "no built-in server is called 'memory'"),
    ({"builtin": True}, "no built-in server is called 's'"),
]


@pytest.mark.parametrize(("entry", "problem"), PROBLEMS)
def test_what_is_wrong_with_a_server_is_its_own_problem(entry: object, problem: str | None):
    data = {"mcpServers": {"s": entry, "other": {"command": "x"}}}
    config = parse(data, source=None, environ={})
    if problem is None:
        assert config.servers["s"].problem is None
    else:
        assert problem in (config.servers["s"].problem or "")
    assert config.servers["s"].enabled
    assert config.servers["other"].problem is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"command": "x", "isActive": "maybe"}, "isActive must be true or false"),
        ({"command": "x", "environment": {"A": "${NO}"}}, "(used in environment.A)"),
        ({"command": "x", "disabledTools": [1]}, "disabledTools[0] must be a name or a pattern"),
        ({"baseUrl": 5}, "baseUrl must be a string"),
        ({"command": "x", "envFile": "no.env"}, "envFile no.env is not there"),
        ({"command": "x", "startup_timeout_sec": -1}, "startup_timeout_sec must be above 0"),
    ],
)
def test_a_problem_uses_the_entrys_own_words(entry: dict[str, Any], problem: str):
    assert problem in (one(entry).problem or "")


@pytest.mark.parametrize(
    ("entry", "exclude"),
    [
        ({"exclude": [], "disabledTools": ["a"]}, ("a",)),
        ({"exclude": "a", "excludeTools": ["b"], "disabled_tools": []}, ("a", "b")),
        ({"exclude": ["a"], "disabledTools": None}, ("a",)),
        ({"exclude": [], "disabledTools": []}, ()),
    ],
)
def test_tools_excluded_in_two_spellings_are_all_excluded(entry: dict[str, Any], exclude: tuple[str, ...]):
    spec = one({"command": "x", **entry})
    assert (spec.exclude, spec.problem) == (exclude, None)


def test_paths_of_a_program_are_taken_as_text(tmp_path: Path):
    spec = one({"command": tmp_path / "x", "args": [tmp_path], "cwd": tmp_path, "env": {"A": tmp_path}})
    assert (spec.command, spec.args, spec.cwd) == (f"{tmp_path}/x", (str(tmp_path),), tmp_path)
    assert (spec.env, spec.problem) == ({"A": str(tmp_path)}, None)


def test_a_slip_in_the_key_that_is_missing_is_the_hint():
    assert one({"comand": "x"}).hint == "Is comand meant to be command?"
    assert one({"type": "http", "ulr": "http://x"}).hint == "Is ulr meant to be url?"


def test_everything_that_is_wrong_is_told_at_once():
    problem = one({"command": "x", "args": 1, "env": {"A": "${NO}"}, "timeout": -1}).problem or ""
    assert "args" in problem and "$NO" in problem and "timeout" in problem


@pytest.mark.parametrize(
    ("entry", "args", "env"),
    [
        ({"args": [1, 2.5, True, "x", ""]}, ("1", "2.5", "true", "x", ""), {}),
        ({"args": None, "env": None}, (), {}),
        (
            {"env": {"A": 1, "B": 1.5, "C": False, "D": "", "E": None}},
            (),
            {"A": "1", "B": "1.5", "C": "false", "D": ""},
        ),
        ({"env": ["A=b=c", "D="]}, (), {"A": "b=c", "D": ""}),
        ({"env": [{"name": "A", "value": "b"}]}, (), {"A": "b"}),
        ({"environment": {"http_proxy": "a", "HTTP_PROXY": "b"}}, (), {"http_proxy": "a", "HTTP_PROXY": "b"}),
    ],
)
def test_arguments_and_variables_become_text(
    entry: dict[str, Any], args: tuple[str, ...], env: dict[str, str]
):
    spec = one({"command": "x", **entry})
    assert (spec.args, spec.env, spec.problem) == (args, env, None)


@pytest.mark.parametrize(
    "headers",
    [
        {"A": "b", "C": 5},
        ["A: b", "C: 5"],
        ["A:b", "C:5"],
        "A: b\nC: 5\n",
        [{"name": "A", "value": "b"}, {"key": "C", "value": 5}],
    ],
)
def test_headers_come_as_an_object_or_as_lines(headers: object):
    assert one({"url": "http://x", "headers": headers}).headers == {"A": "b", "C": "5"}


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        ({"timeout": 60}, 60.0),
        ({"timeout": 0.5}, 0.5),
        ({"timeout": "30"}, 30.0),
        ({"timeout": 9999}, 9999.0),
        ({"timeout": 10000}, 10.0),
        ({"timeout": 600000}, 600.0),
        ({"timeout_ms": 1500}, 1.5),
        ({"timeoutMs": 1500, "timeout": 3}, 1.5),
        ({"timeout": 0}, None),
        ({"timeout": None}, None),
        ({}, None),
    ],
)
def test_a_timeout_is_in_seconds_unless_it_can_only_be_milliseconds(
    entry: dict[str, Any], seconds: float | None
):
    assert one({"command": "x", **entry}).timeout == seconds


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        ({}, 60.0),
        ({"start_timeout": 5}, 5.0),
        ({"startup_timeout_sec": 7}, 7.0),
        ({"startup_timeout_ms": 20000}, 20.0),
    ],
)
def test_the_time_to_start_is_a_minute_unless_given(entry: dict[str, Any], seconds: float):
    assert one({"command": "x", **entry}).start_timeout == seconds


def test_milliseconds_and_zero_are_warned_about():
    found = warnings({"mcpServers": {"s": {"command": "x", "timeout": 10000, "start_timeout": 0}}})
    assert len(found) == 2
    assert any("timeout 10000 is taken as milliseconds, 10 s" in text for text in found)
    assert any("start_timeout 0 is taken as not set" in text for text in found)


@pytest.mark.parametrize(
    ("entry", "mode", "tools"),
    [
        ({"approve": "never"}, "never", ()),
        ({"approve": "writes"}, "writes", ()),
        ({"approve": "always"}, "always", ()),
        ({"approve": ["a", "b*"]}, "only", ("a", "b*")),
        ({"approve": []}, "only", ()),
        ({"trust": True}, "never", ()),
        ({"trust": True, "autoApprove": ["a"]}, "never", ()),
        ({"approve": "always", "trust": True}, "always", ()),
        ({"autoApprove": ["a"], "alwaysAllow": ["b"]}, "except", ("a", "b")),
        ({"alwaysAllow": "a"}, "except", ("a",)),
        ({"autoApprove": True}, "never", ()),
        ({"disabledAutoApproveTools": ["a"]}, "only", ("a",)),
    ],
)
def test_approval_in_every_hosts_words(entry: dict[str, Any], mode: Any, tools: tuple[str, ...]):
    assert one({"command": "x", **entry}).approve == Approve(mode=mode, tools=tools)


@pytest.mark.parametrize(
    "entry",
    [{}, {"trust": False}, {"autoApprove": []}, {"autoApprove": False}, {"disabledAutoApproveTools": []}],
)
def test_words_that_say_nothing_leave_approval_to_the_command(entry: dict[str, Any]):
    assert one({"command": "x", **entry}).approve is None


@pytest.mark.parametrize(
    ("entry", "enabled"),
    [
        ({}, True),
        ({"enabled": False}, False),
        ({"isActive": False}, False),
        ({"disabled": True}, False),
        ({"disabled": False}, True),
        ({"enabled": True, "disabled": True}, False),
        ({"enabled": "false"}, False),
        ({"enabled": None}, True),
    ],
)
def test_a_server_is_on_unless_something_says_off(entry: dict[str, Any], enabled: bool):
    assert one({"command": "x", **entry}).enabled is enabled


def test_a_disabled_server_needs_no_variables_and_asks_nothing():
    def ask(description: str, hidden: bool) -> str:
        raise AssertionError("asked")

    entry = {
        "enabled": False,
        "command": "x",
        "args": ["${NO}", "${input:id}"],
        "env_file": "no.env",
        "cwd": "/no/such/folder",
    }
    spec = one(entry, ask=ask)
    assert (spec.problem, spec.hint, spec.enabled) == (None, None, False)
    assert spec.args == ("${NO}", "${input:id}")
    assert one({"enabled": False}).problem is None


def test_the_remaining_keys():
    spec = one(
        {
            "command": "x",
            "prefix": "a-",
            "validate": False,
            "trust_annotations": True,
            "include": "a*",
            "exclude": ["b"],
            "disabledTools": ["c"],
            "inherit_env": ["*"],
        }
    )
    assert (spec.prefix, spec.validate_arguments, spec.trust_annotations) == ("a-", False, True)
    assert (spec.include, spec.exclude, spec.inherit_env) == (("a*",), ("b", "c"), ("*",))
    assert one({"command": "x", "prefix": ""}).prefix == ""
    assert one({"command": "x"}).prefix is None


def test_a_command_of_several_words_is_warned_about():
    assert "spaces" in warnings({"mcpServers": {"s": {"command": "npx -y foo"}}})[0]
    assert warnings({"mcpServers": {"s": {"command": "/opt/my tools/run"}}}) == ()


def test_an_object_that_is_no_json_is_a_server_of_this_process():
    spec = parse({"mcpServers": {"s": object()}}, source=None, environ={}).servers["s"]
    assert (spec.type, spec.problem) == ("object", None)


def test_the_built_in_servers_are_those_that_exist():
    assert BUILTINS == builtin.NAMES


# Variables


def test_an_unset_variable_fails_its_server_by_name_and_the_others_start():
    config = parse(
        {
            "mcpServers": {
                "amap-maps": {
                    "command": "npx",
                    "env": {"AMAP_MAPS_API_KEY": "${AMAP_MAPS_API_KEY}"},
                },
                "other": {"command": "x"},
            }
        },
        source=None,
        environ={},
    )
    amap = config.servers["amap-maps"]
    assert amap.problem == "$AMAP_MAPS_API_KEY is not set (used in env.AMAP_MAPS_API_KEY)"
    assert amap.hint == "Set it before you start mcphost, or give it a default: ${AMAP_MAPS_API_KEY:-…}."
    assert config.servers["other"].problem is None


@pytest.mark.parametrize(
    ("entry", "label"),
    [
        ({"command": "${NO}/x"}, "command"),
        ({"command": ["x", "${NO}"]}, "command[1]"),
        ({"command": "x", "args": ["a", "${NO}"]}, "args[1]"),
        ({"command": "x", "cwd": "${NO}"}, "cwd"),
        ({"command": "x", "env_file": "${NO}/.env"}, "env_file"),
        ({"url": "http://x?key=${NO}"}, "url"),
        ({"url": "http://x", "headers": {"A": "${NO}"}}, "headers.A"),
    ],
)
def test_variables_are_expanded_in_every_field(entry: dict[str, Any], label: str):
    assert f"$NO is not set (used in {label})" in (one(entry).problem or "")
    assert "$NO" not in (one(entry, environ={"NO": "/tmp"}).problem or "")


def test_a_tilde_is_the_home_folder_in_commands_arguments_and_folders(tmp_path: Path):
    write(tmp_path, "A=b\n", ".env")
    entry = {"command": "~/bin/x", "args": ["~", "~/y", "a~"], "cwd": "~", "env_file": "~/.env"}
    spec = one(entry, environ={"HOME": str(tmp_path)})
    assert spec.command == f"{tmp_path}/bin/x"
    assert spec.args == (str(tmp_path), f"{tmp_path}/y", "a~")
    assert (spec.cwd, spec.env) == (tmp_path, {"A": "b"})


def test_there_is_no_shell():
    spec = one({"command": "x", "args": ["$HOME", "`id`", "*", "a b", "$(id)"]}, environ={"HOME": "/h"})
    assert spec.args == ("$HOME", "`id`", "*", "a b", "$(id)")


def test_relative_folders_start_from_the_file_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "etc" / "work").mkdir(parents=True)
    write(tmp_path / "etc", "A=b\n", "a.env")
    write(tmp_path / "etc", {"mcpServers": {"s": {"command": "x", "cwd": "work", "env_file": "a.env"}}})
    monkeypatch.chdir(tmp_path)
    config = load([Path("etc/servers.json")], environ={})
    spec = config.servers["s"]
    assert (spec.cwd, spec.env, spec.problem) == (tmp_path / "etc" / "work", {"A": "b"}, None)
    assert spec.source == tmp_path / "etc" / "servers.json"
    assert config.files == (tmp_path / "etc" / "servers.json",)


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        (
            'A=1\r\nexport B = two # note\n\n# c\nC=\'a # b\'\nD="x\\ny\\"" # z\n',
            {"A": "1", "B": "two", "C": "a # b", "D": 'x\ny"'},
        ),
        ("\ufeffA=b=c\nB=\nC=#x\nD=a#b\n", {"A": "b=c", "B": "", "C": "", "D": "a#b"}),
        ("A=${HOME} $B\n", {"A": "${HOME} $B"}),
    ],
)
def test_an_env_file_holds_names_and_values(tmp_path: Path, text: str, variables: dict[str, str]):
    write(tmp_path, text, "x.env")
    assert one({"command": "x", "env_file": str(tmp_path / "x.env")}).env == variables


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"A=1\nsecret words\n", "line 2 is not NAME=value"), (b"A=\xff\n", "is not UTF-8 text")],
)
def test_an_env_file_that_is_none_is_the_servers_problem(tmp_path: Path, content: bytes, reason: str):
    write(tmp_path, content, "x.env")
    problem = one({"command": "x", "env_file": str(tmp_path / "x.env")}).problem or ""
    assert problem.endswith(reason)
    assert "secret" not in problem
    assert "cannot be read" in (one({"command": "x", "env_file": str(tmp_path)}).problem or "")


ENTRY_KEYS = (
    "name type transport command args env envFile cwd inherit_env url httpUrl headers enabled disabled "
    "include exclude approve trust autoApprove timeout timeout_ms start_timeout prefix builtin auth cost "
    "tools validate"
).split()
SCRAPS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["stdio", "http://h", "${A}", "${input:a}", "http://[", "~", "\ud800", "never", "*"])
)
VALUES = st.recursive(
    SCRAPS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
ENTRIES = st.dictionaries(st.sampled_from(ENTRY_KEYS) | st.text(max_size=5), VALUES, max_size=6)


@given(st.dictionaries(st.text(max_size=5), ENTRIES | VALUES, max_size=3))
@settings(max_examples=300, deadline=None)
def test_any_servers_become_specs(servers: dict[str, Any]):
    config = parse({"mcpServers": servers}, source=None, environ={"A": "b"})
    assert len(config.servers) <= len(servers)
    for name, spec in config.servers.items():
        assert spec.name == name and name.isprintable() and name
        assert repr(spec) and spec.summary()
        for text in (
            (spec.command or "", spec.url or "", *spec.args) if not spec.problem and spec.enabled else ()
        ):
            text.encode("utf-8", "surrogateescape")
