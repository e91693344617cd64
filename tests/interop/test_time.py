"""mcp-server-time, a server on the newest SDK: it speaks 2026-07-28, which has no handshake."""

import json
from datetime import datetime, timedelta

import pytest

from . import real_servers
from .commandline import CommandLine

pytestmark = pytest.mark.interop


@pytest.fixture
def clock(mcphost: CommandLine) -> CommandLine:
    mcphost.configure(time=real_servers.time_server())
    return mcphost


def test_the_newest_protocol_is_agreed_on_without_a_handshake(clock: CommandLine):
    done = clock("servers", "--output", "json")
    assert done.data[0]["protocol"] == "2026-07-28"
    assert done.sent("time") == ["server/discover", "tools/list"]


def test_the_time_is_told(clock: CommandLine):
    done = clock.call("get_current_time", "--output", "json", timezone="Asia/Shanghai")
    told = done.data["result"]["structuredContent"]
    assert json.loads(done.data["content"]) == told
    assert datetime.fromisoformat(told["datetime"]).utcoffset() == timedelta(hours=8)


def test_a_time_is_converted(clock: CommandLine):
    times = {"source_timezone": "Asia/Shanghai", "time": "16:30", "target_timezone": "Asia/Tokyo"}
    assert "T17:30:00+09:00" in clock.call("time/convert_time", **times).out


def test_an_unknown_zone_is_an_error_of_the_tool(clock: CommandLine):
    assert "Mars/Phobos" in clock.call("get_current_time", timezone="Mars/Phobos", code=5).err


def test_a_missing_argument_is_named(clock: CommandLine):
    assert "timezone" in clock.call("get_current_time", code=2).err
