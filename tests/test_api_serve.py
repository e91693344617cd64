"""`mcphost serve` as a process: how it starts, reads its configuration again, and ends."""

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .backend import data_of, until
from .conftest import rogue
from .endpoint import Endpoint, call, calls, chunk, stream, text
from .program import DEAD, Program, appears

HI = {"messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    started = Program(tmp_path)
    yield started
    assert started.left() == []


class Serving:
    """A backend of its own process. `told` collects what it says on stderr."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        self.process = process
        self.told: list[str] = []
        self._stderr = process.stderr
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        until(lambda: self._url() or process.poll() is not None)
        found = self._url()
        assert found is not None, self.told
        self.url = found[1]
        until(lambda: any("servers are ready" in line for line in self.told))

    def _read(self) -> None:
        for line in self._stderr:
            self.told.append(line.decode())

    def _url(self) -> re.Match[str] | None:
        return re.search(r"(http://127\.0\.0\.1:\d+)/v1", "".join(self.told))

    def tools(self) -> list[str]:
        data = httpx2.get(f"{self.url}/v1/tools").json()["data"]
        return [entry["mcphost"]["server"] + "/" + entry["mcphost"]["tool"] for entry in data]

    def pid_of(self, server: str) -> str:
        body = {"name": f"{server}/pid"}
        return httpx2.post(f"{self.url}/v1/tools/call", json=body).json()["content"]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def log(self) -> list[Any]:
        """The lines on stdout, once it has ended."""
        assert self.process.stdout is not None
        return [json.loads(line) for line in self.process.stdout.read().splitlines()]


@contextmanager
def serving(program: Program, *arguments: str) -> Iterator[Serving]:
    with program.started("serve", "--port", "0", *arguments) as process:
        yield Serving(process)


def model(endpoint: Endpoint | None = None) -> dict[str, Any]:
    url = f"http://{DEAD}/v1" if endpoint is None else endpoint.url
    return {"model": {"name": "scripted", "base_url": url}}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_an_address_that_others_reach_needs_a_key(program: Program, host: str):
    ran = program("serve", "-c", program.config(sections=model(), rogue=rogue()), "--host", host)
    assert ran.code == 2
    assert "callers would need no key" in ran.error and "--serve-key" in ran.err


def test_a_port_that_is_taken_is_told(program: Program):
    with Endpoint() as other:
        ran = program("serve", "-c", program.config(sections=model()), "--port", str(other.port))
    assert ran.code == 2 and f"port {other.port}" in ran.error and "--port" in ran.err


def test_a_file_of_keys_that_is_not_there_is_told(program: Program):
    ran = program("serve", "-c", program.config(sections=model()), "--keys", "keys.json")
    assert ran.code == 2 and "keys.json: there is no such file" in ran.error


def test_a_backend_without_a_model_is_told(program: Program):
    ran = program("serve", "-c", program.config(rogue=rogue()))
    assert ran.code == 2 and "no model is configured" in ran.error


def test_a_key_from_the_environment_is_wanted(program: Program):
    config = program.config(sections=model())
    with program.started("serve", "--port", "0", "-c", config, MCPHOST_SERVE_KEY="the-key") as process:
        running = Serving(process)
        assert httpx2.get(f"{running.url}/v1/tools").status_code == 401
        good = {"authorization": "Bearer the-key"}
        assert httpx2.get(f"{running.url}/v1/tools", headers=good).status_code == 200
        assert running.end() == 0
        assert "the-key" not in json.dumps(running.log()) + "".join(running.told)


def test_sigterm_lets_requests_finish(program: Program):
    gate = threading.Event()
    with Endpoint(
        stream(chunk(content="It is "), gate, chunk(content="done."), chunk(finish="stop"))
    ) as upstream:
        with serving(program, "-c", program.config(sections=model(upstream), rogue=rogue())) as running:
            with httpx2.stream(
                "POST", f"{running.url}/v1/chat/completions", json=HI | {"stream": True}, timeout=30
            ) as answer:
                assert upstream.arrived.wait(30)
                running.process.send_signal(signal.SIGTERM)
                until(lambda: refuses(running.url))
                gate.set()
                chunks = data_of(answer.read().decode())
            assert running.process.wait(30) == 0
            assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
            assert [line["status"] for line in running.log() if line.get("stream")] == [200]


def refuses(url: str) -> bool:
    try:
        httpx2.get(f"{url}/healthz")
    except httpx2.ConnectError:
        return True
    return False


def test_what_does_not_finish_in_time_is_ended(program: Program, tmp_path: Path):
    there = tmp_path / "there"
    with Endpoint(calls(call("rogue-wait", {"until": str(there)}))) as upstream:
        config = program.config(sections=model(upstream), rogue=rogue())
        with serving(program, "-c", config, "--drain", "0.2") as running:
            with httpx2.Client(timeout=30) as client, ThreadPoolExecutor() as pool:
                asked = pool.submit(client.post, f"{running.url}/v1/chat/completions", json=HI)
                appears(Path(f"{there}.awaited"))
                assert running.end() == 0
                assert asked.result().status_code == 503


def test_ctrl_c_ends_it(program: Program):
    with serving(program, "-c", program.config(sections=model(), rogue=rogue())) as running:
        assert running.end(signal.SIGINT) == 130


@pytest.mark.parametrize("how", ["signal", "watch"])
def test_a_changed_configuration_is_read_again(program: Program, how: str):
    config = program.config(sections=model(), kept=rogue(), changed=rogue(), gone=rogue())
    with serving(program, "-c", config, *(["--watch"] if how == "watch" else [])) as running:
        kept, changed = running.pid_of("kept"), running.pid_of("changed")
        program.config(sections=model(), kept=rogue(), changed=rogue("hint=readOnlyHint"), new=rogue())
        if how == "signal":
            running.process.send_signal(signal.SIGHUP)
        until(lambda: "new/pid" in running.tools())
        assert not any(tool.startswith("gone/") for tool in running.tools())
        assert running.pid_of("kept") == kept
        assert running.pid_of("changed") != changed
        assert running.end() == 0


def test_a_configuration_that_is_broken_changes_nothing(program: Program):
    config = program.config(sections=model(), rogue=rogue())
    with serving(program, "-c", config) as running:
        Path(config).write_text("{")
        running.process.send_signal(signal.SIGHUP)
        until(lambda: any("stays as it was" in line for line in running.told))
        assert "rogue/pid" in running.tools()
        assert running.end() == 0


def test_requests_under_way_finish_on_what_they_had(program: Program, tmp_path: Path):
    there = tmp_path / "there"
    with Endpoint(
        calls(call("rogue-wait", {"until": str(there)})), calls(call("rogue-pid")), text("Done.")
    ) as upstream:
        config = program.config(sections=model(upstream), rogue=rogue())
        with serving(program, "-c", config) as running:
            before = running.pid_of("rogue")
            with httpx2.Client(timeout=30) as client, ThreadPoolExecutor() as pool:
                asked = pool.submit(client.post, f"{running.url}/v1/chat/completions", json=HI)
                appears(Path(f"{there}.awaited"))
                program.config(sections=model(upstream), rogue=rogue("hint=readOnlyHint"))
                running.process.send_signal(signal.SIGHUP)
                until(lambda: any("read again" in line for line in running.told))
                assert running.pid_of("rogue") != before
                there.touch()
                answer = asked.result().json()
            assert upstream.bodies[2]["messages"][-1]["content"] == before
            assert [made["ok"] for made in answer["mcphost"]["calls"]] == [True, True]
            until(lambda: not alive(before))
            assert running.end() == 0


def alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()
