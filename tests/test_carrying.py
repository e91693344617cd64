"""Other hosts' entries in our spelling."""

from pathlib import Path
from typing import Any

import pytest

from mcphost.carrying import Move, carried
from mcphost.config import parse

HOME = Path("/home/me")
MOVE = Move(Path("/work/project/.vscode"), HOME / ".config/mcphost", HOME)


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"type": "stdio", "command": "npx", "args": ["x"], "env": {}}, {"command": "npx", "args": ["x"]}),
        ({"command": "x", "isActive": True, "disabled": False}, {"command": "x"}),
        ({"command": "x", "isActive": False}, {"command": "x", "enabled": False}),
        ({"command": "x", "disabled": True}, {"command": "x", "enabled": False}),
        (
            {
                "type": "local",
                "command": ["bun", "x"],
                "environment": {"A": "b"},
                "timeout": {"request": 5000},
            },
            {"command": "bun", "args": ["x"], "env": {"A": "b"}, "timeout": 5},
        ),
        ({"type": "streamableHttp", "baseUrl": "https://x"}, {"type": "http", "url": "https://x"}),
        ({"httpUrl": "https://x", "timeout": 30000}, {"type": "http", "url": "https://x", "timeout": 30}),
        ({"transport": "sse", "serverUrl": "https://x"}, {"type": "sse", "url": "https://x"}),
        ({"url": "https://x", "headers": ["A: b"]}, {"url": "https://x", "headers": {"A": "b"}}),
        (
            {"url": "https://x", "bearer_token_env_var": "T", "env_http_headers": {"X": "Y"}},
            {"url": "https://x", "headers": {"X": "${Y}", "Authorization": "Bearer ${T}"}},
        ),
        ({"command": "x", "trust": True}, {"command": "x", "approve": "never"}),
        ({"command": "x", "trust": False, "alwaysAllow": []}, {"command": "x"}),
        ({"command": "x", "alwaysAllow": ["a"]}, {"command": "x", "autoApprove": ["a"]}),
        ({"command": "x", "disabledAutoApproveTools": ["a"]}, {"command": "x", "approve": ["a"]}),
        ({"command": "x", "disabledTools": ["a"], "tools": ["*"]}, {"command": "x", "exclude": ["a"]}),
        ({"command": "x", "startup_timeout_ms": 2500}, {"command": "x", "start_timeout": 2.5}),
        (
            {"command": "x", "cwd": "sub", "envFile": ".env"},
            {"command": "x", "env_file": "/work/project/.vscode/.env", "cwd": "/work/project/.vscode/sub"},
        ),
        (
            {"command": "x", "cwd": "~/a", "env_file": "${A}/b"},
            {"command": "x", "env_file": "${A}/b", "cwd": "~/a"},
        ),
        ({"command": "${workspaceFolder}/x", "args": ["a"]}, {"command": "/work/project/x", "args": ["a"]}),
        ({"command": "x", "id": "1", "description": "d", "logoUrl": "u"}, {"command": "x"}),
        ({"builtin": "think"}, {"builtin": "think"}),
    ],
)
def test_an_entry_is_said_in_our_words(entry: dict[str, Any], ours: dict[str, Any]):
    found = carried("s", entry, MOVE)
    assert (found.entry, found.problem) == (ours, None)
    assert found.lost == ()
    assert parse({"mcpServers": {"s": dict(found.entry)}}, source=None, environ={}).warnings == ()


def test_what_cannot_come_along_is_told():
    found = carried("s", {"command": "x", "comand": "y", "sandbox": True, "type": "magic"}, MOVE)
    assert found.entry == {"command": "x"}
    assert found.lost == (
        "comand means nothing here (did you mean command?)",
        "sandbox means nothing here",
        "its type 'magic' means nothing here",
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (3, "it is a number, not an object"),
        ({"args": ["x"]}, "neither a command nor a url"),
        ({"type": "inMemory"}, "a part of the other program"),
    ],
)
def test_what_is_no_server_for_us_has_a_problem(entry: object, words: str):
    assert words in (carried("@cherry/fetch", entry, MOVE).problem or "")


def test_what_is_asked_for_is_known():
    entry = {"url": "https://x", "headers": {"A": "${input:key}", "B": "${input:who} ${input:key}"}}
    assert carried("s", entry, MOVE).inputs == ("key", "who")


def test_in_the_same_folder_paths_stay_as_they_are():
    here = Move(Path("/work"), Path("/work"), HOME)
    entry = {"command": "${workspaceFolder}/x", "cwd": "sub", "roots": ["docs"]}
    assert carried("s", entry, here).entry == entry


def test_the_workspace_of_a_program_for_all_projects_is_not_known():
    found = carried("s", {"command": "${workspaceFolder}/x"}, Move(HOME / ".cursor", MOVE.target, HOME))
    assert found.entry == {"command": "${workspaceFolder}/x"}
    assert "${workspaceFolder} is the folder of the file here" in found.lost[0]
