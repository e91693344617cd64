"""Which servers of another program's file go into one of ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcphost.carrying import Move
from mcphost.errors import ConfigError
from mcphost.importing import declared_inputs, plan
from mcphost.server_edit import Sheet
from mcphost.sources import Source, document, known_places, servers

HERE = Path("/work")
MOVE = Move(HERE, HERE, Path("/home/me"))


def source(value: object, name: str = "other.json", project: Path = HERE) -> Source:
    data = value if isinstance(value, str) else json.dumps(value)
    return servers(HERE / name, document(HERE / name, data.encode()), project=project)


def outcomes(value: object, ours: object = None, **options: Any) -> dict[str, tuple[str, str]]:
    sheet = Sheet.of(HERE / "servers.json", json.dumps(ours or {}).encode())
    return {each.called: (each.outcome, each.name) for each in plan(source(value), sheet, MOVE, **options)}


THEIRS = {"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://b"}, "odd": 3}}
OURS = {"mcpServers": {"a": {"type": "stdio", "command": "x"}, "b": {"url": "https://other"}}}


def test_servers_are_added_and_those_that_are_there_stay():
    assert outcomes(THEIRS) == {"a": ("added", "a"), "b": ("added", "b"), "odd": ("impossible", "odd")}
    assert outcomes(THEIRS, OURS) == {"a": ("same", "a"), "b": ("taken", "b"), "odd": ("impossible", "odd")}


def test_a_name_that_is_taken_is_replaced_or_made_another():
    assert outcomes(THEIRS, OURS, collisions="replace")["b"] == ("replaced", "b")
    assert outcomes(THEIRS, OURS, collisions="rename")["b"] == ("added", "b-2")
    again = {"mcpServers": {**OURS["mcpServers"], "b-2": {"url": "https://b"}}}
    assert outcomes(THEIRS, again, collisions="rename")["b"] == ("same", "b-2")


def test_only_those_that_are_named():
    assert list(outcomes(THEIRS, only=["b"])) == ["b"]
    with pytest.raises(ConfigError, match="no server is called 'odds' \\(did you mean odd\\?\\)"):
        outcomes(THEIRS, only=["odds"])


def test_codex_writes_toml():
    found = source('model = "m"\n[mcp_servers.ctx]\ncommand = "npx"\nargs = ["-y"]\n', "config.toml")
    assert found.servers["ctx"].value == {"command": "npx", "args": ["-y"]}
    with pytest.raises(ConfigError, match="not TOML"):
        source("[mcp_servers", "config.toml")


def test_claude_code_keeps_servers_by_project():
    value = {
        "mcpServers": {"mine": {"command": "x"}},
        "projects": {
            "/work": {"mcpServers": {"here": {"command": "y"}}},
            "/other": {"mcpServers": {"there": {}}},
        },
        "numStartups": 3,
    }
    assert list(source(value).servers) == ["mine", "here"]
    assert list(source(value, project=Path("/elsewhere")).servers) == ["mine"]


def test_what_is_declared_of_inputs_is_known_by_id():
    value = {"servers": {"a": {"command": "x"}}, "inputs": [{"id": "k", "password": True}, 3, {"type": "x"}]}
    assert declared_inputs(source(value)) == {"k": {"id": "k", "password": True}}


@pytest.mark.parametrize(
    ("platform", "environ", "desktop"),
    [
        ("linux", {}, "/home/me/.config/Claude/claude_desktop_config.json"),
        ("linux", {"XDG_CONFIG_HOME": "/conf"}, "/conf/Claude/claude_desktop_config.json"),
        ("darwin", {}, "/home/me/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_each_platform_has_its_places(platform: str, environ: dict[str, str], desktop: str):
    places = dict(known_places(environ=environ, platform=platform, home=Path("/home/me"), cwd=HERE))
    assert places["Claude Desktop"] == Path(desktop)
    assert places["Cursor"] == Path("/home/me/.cursor/mcp.json")
    assert places["VS Code, this folder"] == HERE / ".vscode/mcp.json"
