"""Servers put into files of every manner, and taken out."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcphost.config import parse
from mcphost.errors import ConfigError
from mcphost.server_edit import Sheet

PATH = Path("servers.json")
LOCAL = {"command": "uvx", "args": ["time"], "env": {"A": "b"}}
REMOTE = {"url": "https://example.com/mcp"}


def sheet(value: object) -> Sheet:
    return Sheet.of(PATH, value.encode() if isinstance(value, str) else json.dumps(value).encode())


def added(value: object, name: str = "new", entry: dict[str, Any] = LOCAL) -> Any:
    return json.loads(sheet(value).with_server(name, entry))


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ({}, {"mcpServers": {"new": LOCAL}}),
        ("", {"mcpServers": {"new": LOCAL}}),
        ({"model": "x"}, {"model": "x", "mcpServers": {"new": LOCAL}}),
        ({"mcpServers": None}, {"mcpServers": {"new": LOCAL}}),
        ({"mcp_servers": {"a": REMOTE}}, {"mcp_servers": {"a": REMOTE, "new": LOCAL}}),
        ({"a": REMOTE}, {"a": REMOTE, "new": LOCAL}),
        ([], [{"name": "new", **LOCAL}]),
        ([{"name": "a", **REMOTE}], [{"name": "a", **REMOTE}, {"name": "new", **LOCAL}]),
        ({"mcpServers": []}, {"mcpServers": [{"name": "new", **LOCAL}]}),
        ({"servers": {"a": REMOTE}}, {"servers": {"a": REMOTE, "new": {"type": "stdio", **LOCAL}}}),
        ({"mcp": {"servers": {}}}, {"mcp": {"servers": {"new": {"type": "stdio", **LOCAL}}}}),
        (
            {"mcp": {"a": {"type": "local", "command": ["x"]}}},
            {
                "mcp": {
                    "a": {"type": "local", "command": ["x"]},
                    "new": {"type": "local", "command": ["uvx", "time"], "environment": {"A": "b"}},
                }
            },
        ),
    ],
)
def test_a_server_goes_where_the_others_are_in_the_manner_of_the_file(value: object, after: object):
    assert added(value) == after


def test_an_address_too():
    assert added({"servers": {}}, entry=REMOTE) == {"servers": {"new": {"type": "http", **REMOTE}}}
    opencode = {"mcp": {"a": {"type": "remote", "url": "https://a"}}}
    assert added(opencode, entry=REMOTE)["mcp"]["new"] == {"type": "remote", **REMOTE}


@pytest.mark.parametrize(
    "value", [{"mcpServers": {"a": REMOTE}}, {"servers": {"a": REMOTE}}, [REMOTE | {"name": "a"}]]
)
def test_what_is_written_reads_as_what_was_meant(value: Any):
    servers = parse(added(value), source=None, environ={}).servers
    assert list(servers) == ["a", "new"]
    assert (servers["new"].command, servers["new"].args, servers["new"].env) == ("uvx", ("time",), {"A": "b"})


def test_a_server_that_is_there_is_replaced_in_its_place_and_keeps_its_name():
    value = {"mcpServers": {"id-1": {"name": "a", "command": "x", "isActive": True}, "b": REMOTE}}
    assert added(value, "a") == {"mcpServers": {"id-1": {"name": "a", **LOCAL}, "b": REMOTE}}


def test_a_server_is_removed_by_the_name_it_goes_by():
    value = {"mcpServers": {"id-1": {"name": "a", "command": "x"}, "a": REMOTE}}
    assert list(sheet(value).servers) == ["a", "a-2"]
    assert json.loads(sheet(value).without_server("a")) == {"mcpServers": {"a": REMOTE}}
    assert json.loads(sheet(value).without_server("a-2")) == {
        "mcpServers": {"id-1": value["mcpServers"]["id-1"]}
    }
    with pytest.raises(KeyError):
        sheet(value).without_server("b")


def test_inputs_come_along_once():
    inputs = {"key": {"id": "key", "password": True}, "who": {"id": "who"}}
    text = sheet({"mcpServers": {}, "inputs": [{"id": "who", "description": "theirs"}]}).with_inputs(inputs)
    assert json.loads(text)["inputs"] == [{"id": "who", "description": "theirs"}, inputs["key"]]
    nested = sheet({"mcp": {"servers": {}}}).with_inputs(inputs)
    assert json.loads(nested)["mcp"]["inputs"] == list(inputs.values())
    assert sheet([]).with_inputs(inputs) == "[]"
    assert sheet({}).with_inputs({}) == "{}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"mcpServers": {"a" 1}}', "servers.json:1:21: not JSON: a colon belongs after a key"),
        (b"\xff\xfe{\x00", "is UTF-16"),
        (b"[1", "servers.json:1:3"),
        (b'{"mcpServers": 3}', "an object of servers belongs here"),
    ],
)
def test_what_is_no_servers_json_is_refused_with_its_place(data: bytes, words: str):
    with pytest.raises(ConfigError) as caught:
        Sheet.of(PATH, data)
    assert words in caught.value.message
