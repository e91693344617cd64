"""The full test server (`servers/full.py`), over each transport and in each revision that is told apart."""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import anyio
import pytest

from mcphost import Host
from mcphost.events import Event
from mcphost.hooks import Accept, Allow, Answer, Decision, ElicitationAsked, NoHooks, SamplingAsked

_FOLDER = Path(__file__).parent / "servers"
FULL = _FOLDER / "full.py"

SECONDS = 20
"""Whatever is waited for comes sooner, or it never will."""


class Way(NamedTuple):
    """A transport, and the revision that is spoken over it."""

    transport: str
    revision: str

    def __str__(self) -> str:
        return f"{self.transport}-{self.revision}"


MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
WAYS = (
    Way("stdio", HANDSHAKE),
    Way("stdio", MODERN),
    Way("http", HANDSHAKE),
    Way("http", MODERN),
    Way("sse", HANDSHAKE),
)


def over(*ways: Way) -> pytest.MarkDecorator:
    """Has a test run with the full server in these ways, instead of all `WAYS`."""
    return pytest.mark.parametrize("full", ways, ids=str, indirect=True)


IN_ONE_WAY = over(WAYS[0])
"""For what has nothing to do with transports and revisions."""
IN_BOTH_REVISIONS = over(*WAYS[:2])
"""For what has nothing to do with transports."""
BY_REQUESTS = over(*(way for way in WAYS if way.revision == HANDSHAKE))
"""For what only servers do that may make requests."""


class FullServers:
    """Makes full servers, each a process of its own that is there at once: one imports all, and forks."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="full-")  # the path of a socket must be short
        self._path = f"{self._folder}/s"

    def __enter__(self) -> Self:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._path)
            listener.listen(16)
            file = listener.fileno()
            command = [sys.executable, str(FULL), "fork", str(file)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[file])
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=SECONDS)
        shutil.rmtree(self._folder)

    @contextmanager
    def entry(self, transport: str, *options: str) -> Generator[dict[str, Any]]:
        """The entry of a servers.json for a new server. Over HTTP it runs until the block is left."""
        if transport == "stdio":
            program = str(_FOLDER / "forked.py")
            args = ["-I", "-S", program, self._path, "stdio", *options]
            yield {"command": sys.executable, "args": args}
            return
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as server:
            port = listener.getsockname()[1]
            server.connect(self._path)
            arguments = json.dumps([transport, *options]).encode()
            socket.send_fds(server, [arguments], [listener.fileno()])
            listener.close()  # connections are taken from now on, and answered once the server is up
            path = "sse" if transport == "sse" else "mcp"
            yield {"type": transport, "url": f"http://127.0.0.1:{port}/{path}"}


@dataclass
class Full:
    """The full server in one way: what the tests are parametrised over."""

    way: Way
    servers: FullServers

    @property
    def modern(self) -> bool:
        return self.way.revision == MODERN

    @contextmanager
    def entry(self, *options: str) -> Generator[dict[str, Any]]:
        """The entry of a servers.json for a new server."""
        choice = [] if self.modern else ["--legacy"]
        with self.servers.entry(self.way.transport, *choice, *options) as entry:
            yield entry

    @asynccontextmanager
    async def host(
        self,
        *options: str,
        entry: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        **host_options: Any,
    ) -> AsyncGenerator[Host]:
        """A host with one new server that is ready, `full`. `options` are the server's, `entry` and `limits`
        of the configuration."""
        with self.entry(*options) as made:
            config = {"mcpServers": {"full": {**made, **(entry or {})}}, "limits": dict(limits or {})}
            async with Host.from_config(config, **host_options) as host:
                await host.ready()
                server = host.servers["full"]
                assert (server.state, server.protocol) == ("ready", self.way.revision), server.error
                yield host


class Answers(NoHooks):
    """Hooks that give prepared answers, and keep what was `asked`."""

    def __init__(self, *answers: Answer, sample: Decision | None = None) -> None:
        self.asked: list[Any] = []
        self._answers = list(answers)
        self._sample = sample or Allow()

    async def sample(self, asked: SamplingAsked) -> Decision:
        self.asked.append(asked)
        return self._sample

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        self.asked.append(asked)
        return self._answers.pop(0) if self._answers else Accept()


async def said(host: Host, tool: str, **arguments: Any) -> str:
    """What a tool of the full server answers, which must go well."""
    result = await host.call_tool(f"full/{tool}", arguments)
    assert result.ok, result.error
    return result.content


async def told(host: Host, tool: str, **arguments: Any) -> Any:
    """The JSON that a tool of the full server answers."""
    return json.loads(await said(host, tool, **arguments))


async def upcoming(events: Any, kind: type[Event]) -> Any:
    """The next event of a kind."""
    with anyio.fail_after(SECONDS):
        async for event in events:
            if isinstance(event, kind):
                return event
    raise AssertionError("the events ended")


async def made(path: str) -> None:
    """Wait for a file that a server makes."""
    with anyio.fail_after(SECONDS):
        while not await anyio.Path(path).exists():  # noqa: ASYNC110 (files have no events)
            await anyio.sleep(0.005)
