"""Many streams at a time through the backend, each of two rounds and three calls; then the same with chaos.

    python benchmarks/load.py [--streams 200] [--requests 10000] [--servers 5] [--chaos 20]

All of it stays on this machine. Tells what the backend adds to the time that the bare upstream takes for the
same two requests. Fails for a wrong answer, for memory that grows, for an event loop that is kept busy over
50 ms, and, after servers were killed, upstream requests failed and callers left, for anything that is not as
it was. Linux only: it reads /proc.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ASK: dict[str, Any] = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
TOOLS = [{"type": "function", "function": {"name": f"tool_{n}"}} for n in range(5)]
GROWTH = 1.1


@dataclass
class Tally:
    """How long requests took, in seconds, and how they ended."""

    seconds: list[float] = field(default_factory=list[float])
    first: list[float] = field(default_factory=list[float])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return f"p50 {at(self.seconds, 0.5):.0f} ms, p99 {at(self.seconds, 0.99):.0f} ms"


def at(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed, in milliseconds."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000 if values else 0.0


class Caller:
    """One client with a connection that it keeps."""

    def __init__(self, port: int, tally: Tally, *, leave: float = 0.0) -> None:
        self.port = port
        self.tally = tally
        self.leave = leave
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: object) -> bytes:
        """The body of the answer. Raises `EOFError` when the connection is closed over it."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n")
        writer.write(b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b"chunked" not in head:
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            return await reader.readexactly(int(length))
        pieces: list[bytes] = []
        while size := int(await reader.readline() or b"-1", 16):
            if size < 0:
                raise EOFError
            pieces.append((await reader.readexactly(size + 2))[:-2])
            if random.random() < self.leave:
                raise EOFError
        await reader.readexactly(2)
        return b"".join(pieces)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def bare(self) -> None:
        """The two requests of a turn, straight to the upstream."""
        began = time.perf_counter()
        await self.ask(ASK | {"tools": TOOLS})
        made = [{"role": "tool", "tool_call_id": f"call_{n}", "content": "t"} for n in range(3)]
        await self.ask(ASK | {"tools": TOOLS, "messages": [*ASK["messages"], *made]})
        self.tally.seconds.append(time.perf_counter() - began)

    async def through(self) -> None:
        """One request to the backend, whose answer is looked at."""
        began = time.perf_counter()
        try:
            answer = await self.ask(ASK)
        except (OSError, EOFError):
            self.close()
            self.tally.outcomes["left"] += 1
            return
        self.tally.seconds.append(time.perf_counter() - began)
        outcome = judge(answer)
        self.tally.outcomes[outcome] += 1
        if outcome == "wrong":
            self.tally.wrong.append(repr(answer[-600:]))


def judge(answer: bytes) -> str:
    """How a turn ended: well, with calls that failed, in an error, or in a way that it may not."""
    if b'"error":{' in answer:
        return "error"
    events = [line[6:] for line in answer.split(b"\n") if line.startswith(b"data: ")]
    if not events or events[-1] != b"[DONE]":
        return "wrong"
    last = json.loads(events[-2])
    made = last.get("mcphost", {}).get("calls", [])
    text = "".join(json.loads(each)["choices"][0]["delta"].get("content") or "" for each in events[:-1])
    if len(made) != 3 or not text.startswith("word0 ") or last["choices"][0]["finish_reason"] != "stop":
        return "wrong"
    return "answered" if all(call["ok"] for call in made) else "answered, with failed calls"


async def load(port: int, streams: int, requests: int, *, bare: bool = False, leave: float = 0.0) -> Tally:
    """So many requests, so many at a time."""
    tally, left = Tally(), iter(range(requests))

    async def one(caller: Caller) -> None:
        for _ in left:
            await (caller.bare() if bare else caller.through())
        caller.close()

    async with asyncio.timeout(1800), asyncio.TaskGroup() as tg:
        for _ in range(streams):
            tg.create_task(one(Caller(port, tally, leave=leave)))
    return tally


@dataclass(frozen=True)
class Footprint:
    memory: int
    files: int
    children: int

    def __str__(self) -> str:
        return f"{self.memory / 1e6:.0f} MB, {self.files} files, {self.children} children"


def footprint(pid: int) -> Footprint:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Footprint(pages * os.sysconf("SC_PAGE_SIZE"), pipes_and_files(pid), len(children(pid)))


def pipes_and_files(pid: int) -> int:
    """Open files but for sockets: of those, some idle connections are kept."""
    folder = Path(f"/proc/{pid}/fd")
    kinds: list[str] = []
    for name in os.listdir(folder):
        with suppress(OSError):
            kinds.append(os.readlink(folder / name))
    return sum(not kind.startswith("socket:") for kind in kinds)


def processor_seconds(pid: int) -> float:
    """What a process has used of them."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found


@contextmanager
def started(program: str, *arguments: object) -> Generator[tuple[subprocess.Popen[str], int]]:
    """A program of this folder, and the port that it prints first."""
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What the backend saw of its event loop, after an end as SIGTERM asks for it."""
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0, f"the backend exited with {process.returncode}"
    return json.loads(out)


async def killer(pid: int, stop: asyncio.Event, tally: Counter[str]) -> None:
    """Kill a server of the backend now and then."""
    while not stop.is_set():
        await asyncio.sleep(random.uniform(0.2, 1.0))
        servers = [child for child in children(pid) if b"chaos_server" in command_of(child)]
        if servers:
            os.kill(random.choice(servers), signal.SIGKILL)
            tally["killed"] += 1


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def chaos(process: subprocess.Popen[str], port: int, options: argparse.Namespace) -> list[str]:
    """Requests while servers are killed, the upstream fails and callers leave: what is wrong after it."""
    stop, kills = asyncio.Event(), Counter[str]()
    await load(port, options.streams, options.streams)
    before = footprint(process.pid)
    async with asyncio.TaskGroup() as tg:
        tg.create_task(killer(process.pid, stop, kills))
        tally = await load(port, options.streams, options.chaos, leave=0.01)
        stop.set()
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.outcomes.items()))
    print(f"chaos: {told}; {kills['killed']} servers killed")
    await settled(port, options.servers)
    after = footprint(process.pid)
    print(f"before {before}; after {after}")
    found = tally.wrong[:3]
    if after.files > before.files + 2 or after.children != before.children:
        found.append("files or children are not what they were")
    return found


async def settled(port: int, servers: int) -> None:
    """Wait until all servers are back, no request is open but this one, and a request is answered well."""
    async with asyncio.timeout(60):
        while True:
            figures = await fetch(port, "/metrics")
            up = len(re.findall(rb"^mcphost_server_up.* 1\.0$", figures, re.MULTILINE))
            if b"\nmcphost_requests_in_progress 1.0\n" in figures and up == servers:
                break
            await asyncio.sleep(0.1)
        while (await load(port, 1, 1)).outcomes["answered"] == 0:  # the upstream still fails now and then
            pass


async def fetch(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    data = await reader.read(-1)
    writer.close()
    return data


async def steady(
    process: subprocess.Popen[str], port: int, upstream: int, options: argparse.Namespace
) -> list[str]:
    """The load without chaos: what is wrong, and the figures."""
    bare = await load(upstream, options.streams, max(options.streams * 3, 600), bare=True)
    first = await load(port, options.streams, max(options.requests // 5, options.streams))
    before = footprint(process.pid)
    began, used = time.perf_counter(), processor_seconds(process.pid)
    rest = await load(port, options.streams, options.requests - options.requests // 5)
    rate = len(rest.seconds) / (time.perf_counter() - began)
    each = (processor_seconds(process.pid) - used) / len(rest.seconds)
    after = footprint(process.pid)
    added = [at(rest.seconds, share) - at(bare.seconds, share) for share in (0.5, 0.99)]
    print(f"{options.streams} streams: bare upstream {bare}; through the backend {rest}, {rate:.0f} a second")
    print(f"added: p50 {added[0]:.0f} ms, p99 {added[1]:.0f} ms; {each * 1000:.1f} ms of processor time each")
    print(f"after {len(first.seconds)} requests {before}; after {options.requests} {after}")
    found = [*first.wrong, *rest.wrong][:3]
    if set(first.outcomes | rest.outcomes) != {"answered"}:
        found.append(f"not all were answered: {first.outcomes | rest.outcomes}")
    if after.memory > before.memory * GROWTH:
        found.append("memory grew")
    return found


async def run(options: argparse.Namespace, log: Path) -> list[str]:
    found: list[str] = []
    with started("load_upstream.py") as (_, upstream):
        with started("load_backend.py", f"http://127.0.0.1:{upstream}/v1", log, options.servers, 60) as (
            backend,
            port,
        ):
            one = await load(port, 1, 20)
            alone = await load(upstream, 1, 20, bare=True)
            print(f"one stream: bare upstream {alone}; through the backend {one}")
            found += await steady(backend, port, upstream, options)
            loop = ended(backend)
    print(
        f"event loop: busy at most {loop['longest_cpu'] * 1000:.0f} ms at a time, "
        f"{loop['longest'] * 1000:.0f} ms with the waits for a processor"
    )
    if loop["long"]:
        found.append(f"the event loop was busy over 50 ms {loop['long']} times")
    with started("load_upstream.py", "--fail", "0.05") as (_, upstream):
        with started("load_backend.py", f"http://127.0.0.1:{upstream}/v1", log, options.servers, 5) as (
            backend,
            port,
        ):
            found += await chaos(backend, port, options)
            ended(backend)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200, help="requests at a time")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--servers", type=int, default=5)
    parser.add_argument("--chaos", type=int, default=2000, help="requests amid chaos")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(run(options, Path(folder) / "log"))
    for problem in found:
        print(f"WRONG: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
