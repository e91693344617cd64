"""All servers in one servers.json, with broken ones beside them, and a model that calls several at once."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ..endpoint import Endpoint, call, calls, text
from . import real_servers
from .commandline import CommandLine

pytestmark = pytest.mark.interop

TOOLS = {
    "amap-mapper": 16,
    "everything": 17,
    "files": 14,
    "amap-maps": 12,
    "time": 2,
    "everything-http": 17,
    "everything-sse": 17,
    "everything-url": 17,
    "amap-sse": 16,
}


@pytest.fixture
def servers(
    tmp_path: Path, everything_http: str, everything_sse: str, amap_sse: str
) -> dict[str, real_servers.Entry]:
    return {
        "amap_mapper": {**real_servers.amap_python(), "start_timeout": 20},
        "everything": real_servers.everything(),
        "files": real_servers.filesystem(tmp_path),
        "amap_maps": real_servers.amap_node(),
        "time": real_servers.time_server(),
        "everything_http": {"type": "http", "url": everything_http},
        "everything_sse": {"type": "sse", "url": everything_sse},
        "everything_url": {"url": everything_sse},
        "amap_sse": {"url": amap_sse},
    }


def test_all_become_ready_beside_each_other(mcphost: CommandLine, servers: dict[str, Any]):
    mcphost.configure(**servers)
    done = mcphost("servers", "--output", "json")
    assert {server["name"]: (server["state"], server["tools"]) for server in done.data} == {
        name: ("ready", count) for name, count in TOOLS.items()
    }
    # the first of them keeps silent for seconds, and every other has been asked before its first word
    spoke = next(
        number
        for number, line in enumerate(done.trace)
        if (line["kind"], line["server"]) == ("receive", "amap-mapper")
    )
    assert {line["server"] for line in done.trace[:spoke]} == set(TOOLS)

    listed = mcphost("tools", "--output", "openai").data
    names = [entry["function"]["name"] for entry in listed]
    assert len(names) == sum(TOOLS.values()) - 4  # four times a tool that runs only as a task
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name) for name in names)


def test_broken_servers_do_not_disturb_the_others(
    mcphost: CommandLine, servers: dict[str, Any], everything_http: str
):
    del servers["amap_mapper"]
    broken = {
        "missing": {"command": "no-such-command-anywhere"},
        "ends": {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no licence file')"]},
        "chatters": {"command": sys.executable, "args": ["-c", "print('hello\\n' * 1000)"]},
        "silent": {"command": sys.executable, "args": ["-c", "input(); input()"], "start_timeout": 3},
        "refused": {"url": f"http://127.0.0.1:{real_servers.free_port()}/mcp"},
        "elsewhere": {"type": "http", "url": everything_http.replace("/mcp", "/nothing")},
        "unset": {"command": "node", "env": {"KEY": "${NOBODY_SET_THIS}"}},
    }
    mcphost.configure(**broken, **servers)
    done = mcphost("servers", "--output", "json")
    states = {server["name"]: server for server in done.data}
    assert {name for name, server in states.items() if server["state"] == "ready"} == {*TOOLS} - {
        "amap-mapper"
    }
    for name, said in {
        "missing": "command not found",
        "ends": "no licence file",
        "chatters": "ended before it was ready",
        "silent": "no answer within 3 s",
        "refused": "cannot connect",
        "elsewhere": "404",
        "unset": "NOBODY_SET_THIS",
    }.items():
        assert states[name]["state"] == "failed"
        assert said in states[name]["error"]

    assert mcphost.call("everything/get-sum", a=1, b=2).out == "The sum of 1 and 2 is 3.\n"


def test_a_model_calls_several_servers_in_one_round(
    mcphost: CommandLine, servers: dict[str, Any], tmp_path: Path
):
    mcphost.configure(**{name: servers[name] for name in ("everything", "files", "time", "everything_http")})
    wanted = [
        ("everything", "trigger-long-running-operation", {"duration": 0.4, "steps": 2}),
        ("files", "write_file", {"path": str(tmp_path / "note.txt"), "content": "written"}),
        (
            "time",
            "convert_time",
            {"source_timezone": "UTC", "time": "08:00", "target_timezone": "Asia/Tokyo"},
        ),
        ("everything-http", "get-tiny-image", {}),
        ("files", "read_text_file", {"path": "/etc/hostname"}),
    ]
    names = _names(mcphost)
    items = [
        call(names[server, tool], arguments, index=number)
        for number, (server, tool, arguments) in enumerate(wanted)
    ]
    with Endpoint(calls(*items), text("done")) as endpoint:
        model = ("-m", "scripted", "--base-url", endpoint.url, "--api-key", "none")
        done = mcphost("run", "Do it all.", "--output", "stream-json", *model)
        messages = endpoint.bodies[1]["messages"]

    events = [json.loads(line) for line in done.out.splitlines()]
    assert [(event["progress"], event["id"]) for event in events if event["type"] == "progress"] == [
        (1, "call_0"),
        (2, "call_0"),
    ]
    results = {event["id"]: event for event in events if event["type"] == "result"}
    assert [results[f"call_{number}"]["ok"] for number in range(5)] == [True, True, True, True, False]
    assert (tmp_path / "note.txt").read_text() == "written"
    answers = [message for message in messages if message["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == [f"call_{number}" for number in range(5)]
    assert "17:00" in answers[2]["content"]
    assert json.loads(answers[4]["content"])["status"] == "failed"
    shown = messages[messages.index(answers[-1]) + 1]
    assert shown["role"] == "user"
    assert [part["type"] for part in shown["content"]] == ["text", "image_url"]
    assert events[-1]["type"] == "done"
    assert events[-1]["text"] == "done"


def _names(mcphost: CommandLine) -> dict[tuple[str, str], str]:
    """The public name of each server's tools; both lists are in the same order."""
    public = [entry["function"]["name"] for entry in mcphost("tools", "--output", "openai").data]
    listed = mcphost("tools", "--output", "mcp").data
    keys = [
        (server, tool["name"])
        for server, tools in listed.items()
        for tool in tools
        if tool.get("execution", {}).get("taskSupport") != "required"
    ]
    return dict(zip(keys, public, strict=True))
