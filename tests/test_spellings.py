"""Servers in every host's spelling."""

from pathlib import Path
from typing import Any

import pytest

from mcphost.config import (
    Approve,
    ServerSpec,
    load,
    parse,
)

from .configs import one, warnings, write

# Files of other hosts


def test_a_cherry_studio_export_works_as_it_is():
    config = parse(
        {
            "mcpServers": {
                "kX3mP9": {
                    "id": "kX3mP9",
                    "name": "train-tickets",
                    "type": "stdio",
                    "description": "Where trains go",
                    "isActive": True,
                    "registryUrl": "https://registry.npmmirror.com",
                    "baseUrl": "",
                    "command": "npx",
                    "args": ["-y", "train-tickets-mcp"],
                    "env": {"LEVEL": 3},
                    "disabledTools": ["delete_order"],
                    "disabledAutoApproveTools": ["book"],
                    "timeout": "90",
                    "longRunning": True,
                    "provider": "Somebody",
                    "providerUrl": "https://somebody.example",
                    "logoUrl": "https://somebody.example/logo.png",
                    "tags": ["travel"],
                    "headers": {},
                    "installSource": "manual",
                    "isTrusted": True,
                    "configSample": {"command": "npx", "args": []},
                },
                "q7": {
                    "name": "hosted",
                    "type": "streamableHttp",
                    "baseUrl": "https://hosted.example/mcp",
                    "command": "",
                    "args": [],
                    "isActive": False,
                },
                "w2": {"name": "@cherry/think", "type": "inMemory", "isActive": True},
                "w3": {"name": "@cherry/memory", "type": "inMemory", "isActive": True},
            }
        },
        source=None,
        environ={},
    )
    tickets, hosted, think, memory = config.servers.values()
    assert config.warnings == ()
    assert tickets == ServerSpec(
        name="train-tickets",
        type="stdio",
        command="npx",
        args=("-y", "train-tickets-mcp"),
        env={
            "NPM_CONFIG_REGISTRY": "https://registry.npmmirror.com",
            "UV_DEFAULT_INDEX": "https://registry.npmmirror.com",
            "PIP_INDEX_URL": "https://registry.npmmirror.com",
            "LEVEL": "3",
        },
        exclude=("delete_order",),
        approve=Approve(mode="only", tools=("book",)),
        timeout=90.0,
    )
    assert (hosted.name, hosted.type, hosted.enabled) == ("hosted", "http", False)
    assert (think.type, think.builtin, think.problem) == ("builtin", "think", None)
    assert memory.problem == "no built-in server is called 'memory'"


def test_a_claude_desktop_file_works_as_it_is():
    config = parse(
        {
            "globalShortcut": "",
            "mcpServers": {
                "notes": {
                    "command": "node",
                    "args": ["/opt/notes/index.js", "--depth", 2, "--deep", True],
                    "env": {"NOTES_ROOT": "/srv/notes"},
                },
            },
        },
        source=None,
        environ={},
    )
    assert config.servers["notes"].args == ("/opt/notes/index.js", "--depth", "2", "--deep", "true")
    assert config.warnings == ("the configuration: unknown keys are ignored: globalShortcut",)


def test_a_claude_code_file_works_as_it_is(tmp_path: Path):
    path = write(
        tmp_path,
        {
            "mcpServers": {
                "board": {
                    "type": "http",
                    "url": "${BOARD_URL:-https://board.example}/mcp",
                    "headers": {"Authorization": "Bearer ${BOARD_TOKEN}"},
                },
                "files": {"type": "stdio", "command": "${userHome}/bin/files", "args": [], "env": {}},
            }
        },
        ".mcp.json",
    )
    config = load([path], environ={"BOARD_TOKEN": "t0ps3cret", "HOME": "/home/ada"})
    board, files = config.servers.values()
    assert (board.type, board.url) == ("http", "https://board.example/mcp")
    assert board.headers == {"Authorization": "Bearer t0ps3cret"}
    assert (files.command, files.source) == ("/home/ada/bin/files", path)
    assert config.warnings == ()


def test_a_cursor_file_works_as_it_is(tmp_path: Path):
    (tmp_path / "shop").mkdir()
    path = write(
        tmp_path / "shop",
        {
            "mcpServers": {
                "db": {
                    "type": "stdio",
                    "command": "uvx",
                    "args": ["db-mcp", "${workspaceFolder}/data"],
                    "envFile": "${workspaceFolder}/.env",
                    "env": {"DB_USER": "${env:DB_USER}"},
                },
                "docs": {"url": "https://docs.example/mcp", "headers": {"X-Key": "${env:DOCS_KEY}"}},
            }
        },
        ".cursor/mcp.json",
    )
    write(tmp_path / "shop", "DB_PASSWORD='p w'\nDB_USER=nobody\n", ".env")
    config = load([path], environ={"DB_USER": "ada", "DOCS_KEY": "k"})
    db, docs = config.servers.values()
    assert db.args == ("db-mcp", f"{tmp_path}/shop/data")
    assert db.env == {"DB_PASSWORD": "p w", "DB_USER": "ada"}
    assert (docs.type, docs.headers) == ("url", {"X-Key": "k"})
    assert config.warnings == ()


VS_CODE = """
{
  // asked for when a server starts
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "Key for the weather", "password": true},
  ],
  "servers": {
    "weather": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "weather-mcp", "--key=${input:api-key}"],
      "env": {"WEATHER_KEY": "${input:api-key}", "LOGS": "${workspaceFolder}/logs"},
      "envFile": "${workspaceFolder}/weather.env",
      "dev": {"watch": "src/**"},
    },
    "hub": {"type": "http", "url": "https://hub.example/mcp", "gallery": true, "version": "1.0.0"},
  },
}
"""


def test_a_vs_code_file_works_as_it_is(tmp_path: Path):
    path = write(tmp_path, VS_CODE, ".vscode/mcp.json")
    write(tmp_path, "UNIT=celsius\n", "weather.env")
    asked: list[tuple[str, bool]] = []

    def ask(description: str, hidden: bool) -> str:
        asked.append((description, hidden))
        return "s3cr3t"

    config = load([path], environ={}, ask=ask)
    assert asked == [("Key for the weather", True)]
    weather = config.servers["weather"]
    assert weather.args[-1] == "--key=s3cr3t"
    assert weather.env == {"UNIT": "celsius", "WEATHER_KEY": "s3cr3t", "LOGS": f"{tmp_path}/logs"}
    assert weather.problem is None
    assert config.warnings == ()
    assert "s3cr3t" not in repr(config)


def test_an_input_without_a_terminal_is_that_servers_problem(tmp_path: Path):
    path = write(tmp_path, VS_CODE, ".vscode/mcp.json")
    write(tmp_path, "", "weather.env")
    weather, hub = load([path], environ={}).servers.values()
    assert weather.problem == (
        "the input 'api-key' can only be asked for on a terminal (used in args[2] and env.WEATHER_KEY)"
    )
    assert weather.hint is not None
    assert hub.problem is None


@pytest.mark.parametrize(
    "data",
    [
        {"mcp": {"servers": {"s": {"command": "x"}}, "inputs": []}, "editor.fontSize": 13, "model": "theirs"},
        {"mcp.servers": {"s": {"command": "x"}}},
    ],
)
def test_vs_code_settings_hold_servers_under_mcp(data: dict[str, Any]):
    config = parse(data, source=None, environ={})
    assert config.servers["s"].command == "x"
    assert config.model.name is None
    assert config.warnings == ()


def test_a_cline_or_roo_file_works_as_it_is():
    config = parse(
        {
            "mcpServers": {
                "lint": {
                    "command": "lint-mcp",
                    "disabled": False,
                    "autoApprove": ["check", "list_*"],
                    "timeout": 120,
                },
                "wiki": {
                    "type": "streamable-http",
                    "url": "https://wiki.example/mcp",
                    "alwaysAllow": [],
                    "disabled": True,
                    "disabledTools": [],
                },
            }
        },
        source=None,
        environ={},
    )
    lint, wiki = config.servers.values()
    assert lint.approve == Approve(mode="except", tools=("check", "list_*"))
    assert (lint.timeout, lint.enabled) == (120.0, True)
    assert (wiki.type, wiki.approve, wiki.enabled) == ("http", None, False)
    assert config.warnings == ()


def test_a_gemini_cli_file_works_as_it_is():
    config = parse(
        {
            "theme": "Dark",
            "mcpServers": {
                "graph": {
                    "httpUrl": "https://graph.example/mcp",
                    "headers": {"Authorization": "Bearer $GRAPH_TOKEN"},
                    "timeout": 30000,
                    "trust": True,
                    "includeTools": ["query"],
                    "excludeTools": ["drop"],
                },
                "local": {"command": "./bin/serve", "env": {"API_KEY": "$GRAPH_TOKEN"}, "trust": False},
                "events": {"url": "https://events.example/sse"},
            },
        },
        source=None,
        environ={"GRAPH_TOKEN": "g"},
    )
    graph, local, events = config.servers.values()
    assert (graph.type, graph.url, graph.headers) == (
        "http",
        "https://graph.example/mcp",
        {"Authorization": "Bearer g"},
    )
    assert (graph.timeout, graph.approve) == (30.0, Approve(mode="never"))
    assert (graph.include, graph.exclude) == (("query",), ("drop",))
    assert (local.env, local.approve) == ({"API_KEY": "g"}, None)
    assert events.type == "url"
    assert config.warnings == (
        "the configuration: graph: timeout 30000 is taken as milliseconds, 30 s; timeout_ms would say so",
        "the configuration: unknown keys are ignored: theme",
    )


def test_a_windsurf_file_works_as_it_is():
    spec = one({"serverUrl": "https://w.example/mcp", "disabledTools": ["a"], "headers": {"K": "v"}})
    assert (spec.type, spec.url, spec.exclude) == ("url", "https://w.example/mcp", ("a",))


def test_zed_settings_work_as_they_are():
    data = {
        "context_servers": {
            "old": {
                "source": "custom",
                "command": {"path": "a", "args": ["b"], "env": {"C": "d"}},
                "settings": {},
            },
            "new": {"command": "a", "args": ["b"], "env": {"C": "d"}},
        }
    }
    old, new = parse(data, source=None, environ={}).servers.values()
    assert old.model_copy(update={"name": "new"}) == new
    assert new.env == {"C": "d"}
    assert warnings(data) == ()


def test_codex_keys_work_as_they_are():
    data = {
        "mcp_servers": {
            "a": {
                "command": "a-mcp",
                "env_vars": ["A_*", {"name": "B", "source": "local"}],
                "startup_timeout_sec": 20,
                "tool_timeout_sec": 45,
                "enabled_tools": ["x"],
                "disabled_tools": ["y"],
                "enabled": True,
            },
            "b": {
                "url": "https://b.example/mcp",
                "bearer_token_env_var": "B_TOKEN",
                "http_headers": {"X-Region": "eu"},
                "env_http_headers": {"X-Org": "B_ORG"},
            },
        }
    }
    config = parse(data, source=None, environ={"B_TOKEN": "t", "B_ORG": "o"})
    a, b = config.servers.values()
    assert a.inherit_env == ("A_*", "B")
    assert (a.start_timeout, a.timeout, a.include, a.exclude) == (20.0, 45.0, ("x",), ("y",))
    assert b.headers == {"X-Region": "eu", "X-Org": "o", "Authorization": "Bearer t"}
    assert config.warnings == ()
    assert "$B_TOKEN is not set" in (parse(data, source=None, environ={}).servers["b"].problem or "")


@pytest.mark.parametrize("nested", [False, True])
def test_opencode_settings_work_as_they_are(nested: bool):
    servers = {
        "a": {
            "type": "local",
            "command": ["bun", "x", "a-mcp"],
            "environment": {"A": "b"},
            "enabled": True,
            "timeout": {"startup": 5000, "request": 60000},
        },
        "b": {"type": "remote", "url": "https://b.example/mcp", "oauth": {}},
    }
    data = {"$schema": "https://opencode.ai/config.json", "mcp": {"servers": servers} if nested else servers}
    a, b = parse(data, source=None, environ={}).servers.values()
    assert (a.type, a.command, a.args, a.env) == ("stdio", "bun", ("x", "a-mcp"), {"A": "b"})
    assert (a.start_timeout, a.timeout) == (5.0, 60.0)
    assert b.type == "http"
    assert warnings(data) == ()


def test_an_lm_studio_file_works_as_it_is():
    assert one({"url": "https://l.example/mcp", "headers": {"Authorization": "Bearer x"}}).type == "url"


def test_goose_and_copilot_and_continue_words_are_understood():
    assert one({"type": "stdio", "cmd": "a", "args": ["b"], "envs": {"C": "d"}}).env == {"C": "d"}
    assert one({"type": "sse", "uri": "https://g.example/sse", "available_tools": ["t"]}).include == ("t",)
    assert one({"type": "local", "command": "a", "tools": ["t"]}).include == ("t",)
    assert one({"transport": {"type": "stdio", "command": "a", "args": ["b"]}}).args == ("b",)


# The map of servers


@pytest.mark.parametrize(
    "data",
    [
        {"mcpServers": {"a": {"command": "x"}, "b": {"url": "http://y"}}},
        {"servers": {"a": {"command": "x"}, "b": {"url": "http://y"}}},
        {"a": {"command": "x"}, "b": {"url": "http://y"}},
        [{"name": "a", "command": "x"}, {"name": "b", "url": "http://y"}],
        {"mcpServers": [{"name": "a", "command": "x"}, {"name": "b", "url": "http://y"}]},
        {"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"url": "http://y"}}},
        {"mcpServers": {"k1": {"name": "a", "command": "x"}, "k2": {"name": " b ", "url": "http://y"}}},
    ],
)
def test_servers_are_found_wherever_hosts_keep_them_and_keep_their_order(data: object):
    config = parse(data, source=None, environ={})
    assert [(spec.name, spec.type) for spec in config.servers.values()] == [("a", "stdio"), ("b", "url")]
    assert list(config.servers) == ["a", "b"]
    assert config.warnings == ()


@pytest.mark.parametrize(
    "data",
    [{}, [], {"mcpServers": {}}, {"mcpServers": None}, {"model": "openai/x"}, {"$schema": "x", "//": ""}],
)
def test_a_file_may_hold_no_server(data: object):
    assert parse(data, source=None, environ={}).servers == {}


def test_a_bare_object_of_servers_may_have_our_sections_beside_it():
    config = parse(
        {"a": {"command": "x"}, "tools": {"naming": "plain"}, "model": {"base_url": "http://h/v1"}},
        source=None,
        environ={},
    )
    assert list(config.servers) == ["a"]
    assert (config.tools.naming, config.model.base_url) == ("plain", "http://h/v1")


@pytest.mark.parametrize("name", ["tools", "model", "_private", "x-files", "$s", "/"])
def test_a_server_may_have_any_name(name: str):
    assert list(parse({"mcpServers": {name: {"command": "x"}}}, source=None, environ={}).servers) == [name]
    if name in ("tools", "model"):
        assert list(parse({name: {"command": "x"}}, source=None, environ={}).servers) == [name]


def test_comments_kept_as_keys_are_no_servers():
    data = {
        "_comment": "x",
        "mcpServers": {
            "//": "off for now",
            "//b": {"command": "y"},
            "#c": {"command": "z"},
            "$schema": "x",
            "_note": {},
            "a": {"command": "x", "//": 1},
        },
    }
    assert list(parse(data, source=None, environ={}).servers) == ["a"]
    assert warnings(data) == ()


def test_equal_names_in_one_file_are_made_different():
    data = {
        "mcpServers": {
            "k1": {"name": "a", "command": "x"},
            "k2": {"name": "a", "command": "y"},
            "a-2": {"command": "z"},
            "k3": {"name": "a", "command": "w"},
        }
    }
    config = parse(data, source=None, environ={})
    assert {name: spec.command for name, spec in config.servers.items()} == {
        "a": "x",
        "a-3": "y",
        "a-2": "z",
        "a-4": "w",
    }
    assert [spec.name for spec in config.servers.values()] == list(config.servers)
    assert config.warnings == (
        "the configuration: another server is called a; this one is now a-3",
        "the configuration: another server is called a; this one is now a-4",
    )


@pytest.mark.parametrize(
    ("key", "entry", "name"),
    [
        ("k", {"name": "", "command": "x"}, "k"),
        ("k", {"name": 5, "command": "x"}, "k"),
        ("", {"command": "x"}, "server"),
        ("\x1b[2Jk\n", {"command": "x"}, "[2Jk"),
        ("k", {"name": "高德地图", "command": "x"}, "高德地图"),
        ("\ud800k", {"command": "x"}, "k"),
    ],
)
def test_a_name_is_printable_and_never_empty(key: str, entry: dict[str, Any], name: str):
    assert list(parse({"mcpServers": {key: entry}}, source=None, environ={}).servers) == [name]


def test_an_entry_of_an_array_without_a_name_gets_its_number():
    assert list(
        parse([{"command": "x"}, {"name": "b", "command": "y"}], source=None, environ={}).servers
    ) == [
        "server-1",
        "b",
    ]


# Keys that do nothing


def test_unknown_keys_are_named_in_one_warning_with_what_they_may_mean():
    data = {
        "mcpServers": {"a": {"command": "x", "argss": [], "wibble": 1}, "b": {"command": "x", "evn": {}}},
        "mcpServer": {},
        "limits": {"round": 3},
        "wobble": 1,
    }
    assert warnings(data) == (
        "the configuration: unknown keys are ignored: mcpServer (did you mean mcpServers?), wobble, "
        "limits.round (did you mean rounds?), a.argss (did you mean args?), a.wibble, "
        "b.evn (did you mean env?)",
    )


def test_a_long_list_of_unknown_keys_is_cut():
    data = {"mcpServers": {}} | {f"zz{number}": 1 for number in range(50)}
    assert warnings(data)[0].endswith("zz11 and 38 more")


def test_keys_without_effect_yet_are_warned_about_once_each():
    data = {
        "mcpServers": {
            "a": {"url": "http://x", "cost": 0.1},
            "b": {"url": "http://x", "requires": {"x": ["y"]}},
            "c": {"url": "http://x", "cost": 0, "requires": []},
        }
    }
    assert warnings(data) == (
        "the configuration: cost is not yet effective (a)",
        "the configuration: requires is not yet effective (b)",
    )
