"""Signals in the middle of the work: it ends with the right code, and no server stays behind."""

import signal

import pytest

from . import real_servers
from .commandline import SECONDS, CommandLine

pytestmark = pytest.mark.interop

SIGNALS = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)


@SIGNALS
def test_a_signal_in_a_call_ends_the_command_and_the_server(
    mcphost: CommandLine, number: signal.Signals, code: int
):
    mcphost.configure(everything=real_servers.everything())
    command = ("call", "everything/trigger-long-running-operation", '{"duration": 600}')
    with mcphost.running(*command, until="tools/call") as process:
        assert mcphost.left_running()
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)
        assert process.returncode == code
    assert "Traceback" not in err
    assert not mcphost.left_running()


@SIGNALS
def test_a_signal_while_a_server_keeps_silent_ends_the_command_and_the_server(
    mcphost: CommandLine, number: signal.Signals, code: int
):
    mcphost.configure(amap=real_servers.amap_python())  # it does not answer the first question
    with mcphost.running("tools", until="server/discover") as process:
        assert mcphost.left_running()
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)
        assert process.returncode == code
    assert "Traceback" not in err
    assert not mcphost.left_running()
