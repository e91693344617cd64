"""Ctrl-C and its like: everything ends at once and quietly, nothing is left, and the exit code tells."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import rogue
from .endpoint import WAIT_SECONDS, Endpoint, call, calls, chunk, stream, text
from .program import DEAD, SECONDS, Program, Ran, appears

STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def stopped(process: subprocess.Popen[bytes], number: signal.Signals) -> Ran:
    """How a process ends that is sent a signal: as the signal says, and without a traceback."""
    process.send_signal(number)
    out, err = process.communicate(timeout=SECONDS)
    ran = Ran(process.returncode, out.decode(), err.decode())
    assert ran.code == STOPPED[number], ran.err
    assert "Traceback" not in ran.err
    return ran


def unanswered(messages: list[dict[str, Any]]) -> list[str]:
    """The ids of calls that do not have exactly one result."""
    made = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    return [call for call in made if answered.count(call) != 1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_stopped_while_servers_start(program: Program, number: signal.Signals):
    started = program.folder / "started"
    entry = {**rogue("never-init", "ignore-sigterm"), "env": {"ROGUE_STARTED": str(started)}}
    with program.started("tools", "-c", program.config(stuck=entry, one=rogue())) as process:
        appears(started)
        assert stopped(process, number).out == ""


def test_stopped_before_the_turn_it_is_told_as_interrupted(program: Program):
    started = program.folder / "started"
    entry = {**rogue("never-init"), "env": {"ROGUE_STARTED": str(started)}}
    run = [
        "run",
        "-c",
        program.config(stuck=entry),
        "-m",
        "scripted",
        "--base-url",
        f"http://{DEAD}",
        "Hi",
    ]
    with program.started(*run, "--output", "json") as process:
        appears(started)
        answer = stopped(process, signal.SIGINT).json
    assert (answer["stop"], answer["rounds"]) == ("interrupted", 0)
    assert answer["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("number", "output"),
    [(signal.SIGINT, "text"), (signal.SIGTERM, "json"), (signal.SIGINT, "stream-json")],
)
def test_stopped_while_the_model_answers(program: Program, number: signal.Signals, output: str):
    never = threading.Event()
    with Endpoint(stream(chunk(content="So far"), chunk(reasoning_content="Hm"), never)) as endpoint:
        run = [
            "run",
            "-c",
            program.config(),
            "-m",
            "scripted",
            "--base-url",
            endpoint.url,
            "--output",
            output,
        ]
        with program.started(*run, "Hi") as process:
            assert endpoint.arrived.wait(WAIT_SECONDS)
            ran = stopped(process, number)
        assert endpoint.gone.wait(WAIT_SECONDS)
    if output == "text":
        assert ran.out in ("So far\n", "")
    else:
        end = ran.json if output == "json" else ran.events[-1]
        assert end["stop"] == "interrupted"
        assert end["text"] in ("So far", "")
        assert output == "json" or end["type"] == "done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_a_tool_runs(program: Program, number: signal.Signals):
    never = program.folder / "never"
    both = calls(
        call("one-echo", {"text": "x"}, id="c1"), call("one-wait", {"until": str(never)}, id="c2", index=1)
    )
    with Endpoint(both) as endpoint:
        config = program.config(one=rogue())
        run = ["run", "-c", config, "-m", "scripted", "--base-url", endpoint.url, "--output", "json", "Hi"]
        with program.started(*run) as process:
            appears(Path(f"{never}.awaited"))
            answer = stopped(process, number).json
    assert answer["stop"] == "interrupted"
    assert unanswered(answer["messages"]) == []
    echoed, waited = [message for message in answer["messages"] if message["role"] == "tool"]
    assert (echoed["tool_call_id"], waited["tool_call_id"]) == ("c1", "c2")
    assert "cancelled" in json.loads(waited["content"])["error"]


def test_stopped_while_a_call_without_a_model_runs(program: Program):
    never = program.folder / "never"
    arguments = json.dumps({"until": str(never)})
    with program.started("call", "-c", program.config(one=rogue()), "one/wait", arguments) as process:
        appears(Path(f"{never}.awaited"))
        assert stopped(process, signal.SIGINT).out == ""


def test_stopped_while_it_ends(program: Program):
    """The answer is there, and the server does not want to leave."""
    with Endpoint(text("Done.")) as endpoint:
        config = program.config(one=rogue("stay"))
        with program.started(
            "run", "-c", config, "-m", "scripted", "--base-url", endpoint.url, "Hi"
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"Done.\n"
            stopped(process, signal.SIGINT)


def test_stopped_while_it_waits_for_a_prompt(program: Program):
    with program.started("run", "-c", "servers.json", stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"waiting for standard input to end")
        stopped(process, signal.SIGINT)
