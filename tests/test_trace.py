"""The recorded conversation, request for request; and the same in the plain form of other clients."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .endpoint import Endpoint, call, calls, text

QUESTION = "今天下午从苏州到北京的高铁票还有没"


def mcphost(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mcphost", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@contextmanager
def recorded_model(shared: Path, log: Path) -> Iterator[str]:
    """The recording's own endpoint, in a process of its own. Its URL."""
    script = [
        sys.executable,
        shared / "tools/scripted_model.py",
        shared / "trace/model.script.json",
        "--log",
        log,
    ]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def test_the_four_requests_and_the_answer_are_as_recorded(shared: Path, tmp_path: Path):
    trace, log = shared / "trace", tmp_path / "log.jsonl"
    with recorded_model(shared, log) as url:
        config, system = str(trace / "servers.json"), f"@{trace / 'system.txt'}"
        run = mcphost("run", "-c", config, "--base-url", url, "--system", system, QUESTION)
    assert run.returncode == 0, run.stderr
    requests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert requests == [json.loads((trace / f"request{n}.json").read_text("utf-8")) for n in range(1, 5)]
    answer = json.loads((trace / "response4.json").read_text("utf-8"))["choices"][0]["message"]["content"]
    assert run.stdout == answer + "\n"


def test_the_tools_are_as_recorded(shared: Path):
    run = mcphost("tools", "-c", str(shared / "trace/servers.json"), "--output", "openai")
    assert run.returncode == 0, run.stderr
    request = json.loads((shared / "trace/request1.json").read_text("utf-8"))
    assert json.loads(run.stdout) == request["tools"]


@pytest.mark.parametrize("in_the_file", [True, False])
def test_plain_names_empty_content_and_text_results_are_one_configuration_away(
    tmp_path: Path, in_the_file: bool
):
    call_id = "function-call-3593472046455991621"
    script = [calls(call("maps_geo", '{"address":"苏州站"}', id=call_id)), text("那里是苏州站。")]
    servers = {"amap-maps": {"command": sys.executable, "args": ["-m", "mcphost.demo.maps"]}}
    config: dict[str, Any] = {"mcpServers": servers, "model": {"name": "gemini-2.5-pro", "dialect": "gemini"}}
    flags: list[str] = []
    if in_the_file:
        config["tools"] = {"naming": "plain", "results": "text"}
    else:
        flags = ["--naming", "plain", "--results", "text"]
    path = tmp_path / "servers.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    with Endpoint(*script) as endpoint:
        run = mcphost("run", "-c", str(path), "--base-url", endpoint.url, *flags, "苏州站在哪里")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "那里是苏州站。\n"
    first, second = endpoint.bodies
    assert [tool["function"]["name"] for tool in first["tools"]][:2] == ["maps_regeocode", "maps_geo"]
    assistant, result = second["messages"][-2:]
    assert assistant["content"] == ""
    assert assistant["tool_calls"][0]["id"] == call_id
    assert (result["role"], result["tool_call_id"]) == ("tool", call_id)
    assert "location" in result["content"]
    assert not result["content"].startswith("[")
