"""Two map servers: npm's, on the first SDK, and PyPI's, on one that a newer client's question kills."""

import sys
from pathlib import Path

import pytest

from . import real_servers
from .commandline import CommandLine

pytestmark = pytest.mark.interop

COUNTED = """
import os, sys
with open(sys.argv[1], "a") as log:
    log.write("started\\n")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Notes a start in a file and becomes the command that follows."""

NODE_TOOLS = 12
PYTHON_TOOLS = 16


def test_the_node_server_lists_its_tools_under_the_names_of_cherry_studio(mcphost: CommandLine):
    mcphost.configure(amap_maps=real_servers.amap_node())
    listed = mcphost("tools", "--output", "openai").data
    names = [entry["function"]["name"] for entry in listed]
    assert len(names) == NODE_TOOLS
    assert all(name.startswith("amap_ma-maps_") for name in names)
    assert {"amap_ma-maps_geo", "amap_ma-maps_weather", "amap_ma-maps_direction_transit_integrated"} <= {
        *names
    }


def test_without_a_key_the_node_server_ends_and_says_why(mcphost: CommandLine):
    mcphost.configure(amap_maps={**real_servers.amap_node(), "env": {}})
    done = mcphost("tools", code=4)
    assert "exit status 1" in done.err
    assert "AMAP_MAPS_API_KEY environment variable is not set" in done.err


def test_an_old_server_is_started_anew_once_and_never_again(mcphost: CommandLine, tmp_path: Path):
    entry, starts = real_servers.amap_python(), tmp_path / "starts"
    counted = {**entry, "command": sys.executable, "args": ["-c", COUNTED, str(starts), entry["command"]]}
    mcphost.configure(amap=counted)

    first = mcphost("servers", "--output", "json")
    assert (first.data[0]["state"], first.data[0]["tools"]) == ("ready", PYTHON_TOOLS)
    assert first.sent("amap")[0] == "server/discover"
    assert starts.read_text().splitlines() == ["started"] * 2

    starts.unlink()
    second = mcphost("tools", "--output", "openai")
    assert len(second.data) == PYTHON_TOOLS
    assert second.sent("amap") == ["initialize", "notifications/initialized", "tools/list"]
    assert starts.read_text().splitlines() == ["started"]


@pytest.mark.parametrize("kind", [{"type": "sse"}, {}], ids=["sse", "url"])
def test_the_old_server_is_reached_over_sse(mcphost: CommandLine, kind: dict[str, str], amap_sse: str):
    mcphost.configure(amap={**kind, "url": amap_sse})
    assert len(mcphost("tools", "--output", "openai").data) == PYTHON_TOOLS


def test_the_old_server_is_reached_over_streamable_http(mcphost: CommandLine, installed: None):
    # one session only: on this SDK the end of a session ends the HTTP server's task group
    with real_servers.amap_python_over("streamable-http") as url:
        mcphost.configure(amap={"type": "http", "url": url})
        assert len(mcphost("tools", "--output", "openai").data) == PYTHON_TOOLS
