"""The nginx configuration that replicas are meant to run behind, with a real nginx."""

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcphost.api import Settings

from .backend import Running, Upstream, backend, data_of, until
from .conftest import rogue
from .endpoint import call, calls, chunk, stream, text
from .http_servers import closed_port

CONFIG = Path(__file__).parents[1] / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
HOST = "api.example.com"

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@contextmanager
def nginx(folder: Path, ports: list[int]) -> Iterator[str]:
    """Run nginx with our configuration for replicas at these ports. Its address."""
    listen = closed_port()
    config = CONFIG.read_text().replace("listen 8080", f"listen 127.0.0.1:{listen}")
    for ours, theirs in zip((8001, 8002), ports, strict=True):
        config = config.replace(f"server 127.0.0.1:{ours}", f"server 127.0.0.1:{theirs}")
    (folder / "mcphost.conf").write_text(config)
    main = folder / "nginx.conf"
    bodies = "".join(
        f"{kind}_temp_path {folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main.write_text(
        f"daemon off; worker_processes 1; pid {folder / 'pid'}; error_log {folder / 'error.log'};"
        "events { worker_connections 256; }"
        f"http {{ access_log off; {bodies} include {folder / 'mcphost.conf'}; }}"
    )
    assert NGINX is not None
    with subprocess.Popen([NGINX, "-p", str(folder), "-c", str(main)], stderr=subprocess.PIPE) as process:
        try:
            until(lambda: process.poll() is not None or answers(listen))
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            yield f"http://127.0.0.1:{listen}"
        finally:
            process.terminate()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Replicas:
    """Two backends behind nginx at `url`."""

    def __init__(self, upstream: Upstream, folder: Path, stack: ExitStack) -> None:
        settings = Settings(hosts=(HOST, "127.0.0.1"), keepalive=0.2)
        self.stacks = [stack.enter_context(ExitStack()) for _ in range(2)]
        self.replicas: list[Running] = [
            own.enter_context(backend(upstream, settings=settings, rogue=rogue())) for own in self.stacks
        ]
        self.url = stack.enter_context(nginx(folder, [replica.port for replica in self.replicas]))

    def ask(self, **fields: Any) -> httpx2.Response:
        body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
        return httpx2.post(f"{self.url}/v1/chat/completions", json=body, headers={"host": HOST}, timeout=30)

    def answered(self) -> list[int]:
        """How many chats each replica has answered."""
        return [
            sum(
                int(float(line.rpartition(" ")[2]))
                for line in replica.get("/metrics").text.splitlines()
                if line.startswith('mcphost_requests_total{route="/v1/chat/completions"')
            )
            for replica in self.replicas
        ]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as endpoint:
        yield endpoint


@pytest.fixture
def replicas(upstream: Upstream, tmp_path: Path) -> Iterator[Replicas]:
    with ExitStack() as stack:
        yield Replicas(upstream, tmp_path, stack)


def test_a_stream_passes_chunk_by_chunk_and_is_kept_alive(replicas: Replicas, upstream: Upstream):
    gate = threading.Event()
    upstream.play(stream(chunk(content="It is "), gate, chunk(content="done."), chunk(finish="stop")))
    body = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
    url = f"{replicas.url}/v1/chat/completions"
    with httpx2.stream("POST", url, json=body, headers={"host": HOST}, timeout=30) as answer:
        lines = answer.iter_lines()
        until(lambda: "It is " in next(lines))
        until(lambda: next(lines) == ": keepalive")
        gate.set()
        rest = data_of("\n".join(lines))
    assert rest[-1]["choices"][0]["finish_reason"] == "stop"


def test_both_replicas_answer_and_one_is_enough(replicas: Replicas, upstream: Upstream):
    upstream.play(*[text("Hi.")] * 12)
    assert {replicas.ask().status_code for _ in range(6)} == {200}
    until(lambda: sum(replicas.answered()) == 6)
    assert all(replicas.answered())
    replicas.stacks[0].close()
    assert {replicas.ask().status_code for _ in range(6)} == {200}


def test_a_caller_who_leaves_is_noticed_behind_it(replicas: Replicas, upstream: Upstream):
    upstream.play(stream(chunk(content="It"), threading.Event()))
    data = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
    port = int(replicas.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as caller:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(data)}\r\n\r\n"
        caller.sendall(head.encode() + data)
        assert upstream.arrived.wait(30)
    assert upstream.gone.wait(30)


def test_calls_go_through_and_ids_are_ours_and_nginxs(replicas: Replicas, upstream: Upstream):
    upstream.play(calls(call("rogue-echo", {"text": "hello"})), text("It said hello."))
    answer = replicas.ask()
    assert answer.json()["mcphost"]["calls"][0]["ok"] is True
    assert len(answer.headers["x-request-id"]) == 32


def test_figures_are_for_the_machine_itself(replicas: Replicas):
    assert httpx2.get(f"{replicas.url}/metrics", headers={"host": HOST}).status_code == 404
    assert replicas.replicas[0].get("/metrics").status_code == 200
