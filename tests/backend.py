"""The backend over real HTTP: a host with an app of its own, under uvicorn in a thread.

with Endpoint(text("Hello")) as upstream, backend(upstream, rogue=rogue()) as running:
    ... running.url ...           # "http://127.0.0.1:PORT"
    running.openai()              # the real client
"""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from openai import OpenAI

from mcphost import Host
from mcphost.api import Settings, create_app
from mcphost.api.keys import Keys

from .endpoint import Endpoint

SECONDS = 30


class Upstream(Endpoint):
    """An endpoint for many tests in turn, each with a script of its own; or for one that asks without end,
    with `always` the same answer."""

    def __init__(self, *, always: Any = None) -> None:
        super().__init__()
        self._always = always

    def answer(self, request: Any) -> Any:
        return self._always or super().answer(request)

    def play(self, *script: Any) -> None:
        self.requests.clear()
        self.arrived.clear()
        self.gone.clear()
        self._script = script


@dataclass(frozen=True)
class Running:
    """A backend under way. `host` lives in its thread."""

    port: int
    host: Host

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def openai(self, key: str = "none", **options: Any) -> OpenAI:
        return OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=SECONDS, **options)

    def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"content-type": "application/json", **named}
        with httpx2.Client(timeout=SECONDS) as client:
            return client.post(self.url + path, content=data, headers=sent)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with httpx2.Client(timeout=SECONDS) as client:
            return client.get(self.url + path, headers=named)

    def chat(self, **fields: Any) -> httpx2.Response:
        """One request for a completion, as plain HTTP."""
        return self.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], **fields})

    def chat_as(self, name: str, **fields: Any) -> httpx2.Response:
        """The same, with a key that goes by the name of who has it."""
        body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
        return self.post("/v1/chat/completions", body, authorization=f"Bearer key-of-{name}")

    def chunks(self, **fields: Any) -> list[Any]:
        """The data of a streamed answer's events, without the `[DONE]` that has to end it."""
        return data_of(self.chat(stream=True, **fields).text)


def data_of(stream: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]", stream
    return [json.loads(line) for line in lines[:-1]]


@contextmanager
def backend(
    upstream: Endpoint | None,
    *,
    settings: Settings | None = None,
    keys: Keys | None = None,
    log: Any = None,
    sections: Mapping[str, Any] | None = None,
    wait: bool = True,
    **servers: Any,
) -> Iterator[Running]:
    """A backend for these servers, whose model is at `upstream`."""
    model = {} if upstream is None else {"model": {"name": "scripted", "base_url": upstream.url}}
    entries = {name.replace("_", "-"): entry for name, entry in servers.items()}
    host = Host.from_config({"mcpServers": entries, **model, **(sections or {})}, save=False)
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(host, settings, keys=keys, log=log)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    running = Running(listener.getsockname()[1], host)
    try:
        if wait:
            until(lambda: running.get("/readyz").status_code == 200)
        yield running
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        listener.close()
        assert not thread.is_alive()


def until(happened: Any) -> None:
    """Wait until something that is looked at again and again is so."""
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
