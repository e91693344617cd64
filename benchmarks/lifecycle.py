"""What starting, reading and ending cost, as ratios within one run.

python benchmarks/lifecycle.py
"""

import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from mcphost import Host

HERE = Path(__file__).parent
CHAOS = [sys.executable, "-I", "-S", str(HERE / "chaos_server.py"), "/dev/null"]
STUBBORN = """
import runpy, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
time.sleep(600)
"""


def config(count: int, command: list[str]) -> dict[str, Any]:
    entry = {"command": command[0], "args": command[1:]}
    return {"mcpServers": {f"server-{n}": entry for n in range(count)}}


async def start_and_stop(count: int, command: list[str]) -> tuple[float, float]:
    """Seconds until all are ready, and seconds to end them all."""
    began = time.perf_counter()
    async with Host.from_config(config(count, command)) as host:
        await host.ready()
        assert all(server.state == "ready" for server in host.servers.values())
        ready = time.perf_counter()
    return ready - began, time.perf_counter() - ready


async def cpu_of(work: Callable[[], Awaitable[object]]) -> float:
    began = time.process_time()
    await work()
    return time.process_time() - began


async def read_large(megabytes: int) -> tuple[float, float]:
    """CPU seconds to take one result of so many megabytes on one line: ours, and the SDK's."""
    program = str(HERE / "large_server.py")
    arguments = {"megabytes": megabytes}
    async with Host.from_config(config(1, [sys.executable, program])) as host:
        await host.ready()
        ours = await cpu_of(lambda: host.call_tool("server-0/large", arguments))
    async with Client(StdioServerParameters(command=sys.executable, args=[program]), mode="legacy") as client:
        theirs = await cpu_of(lambda: client.call_tool("large", arguments))
    return ours, theirs


def seconds_of(*command: str) -> float:
    best = 60.0
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - began)
    return best


async def main() -> None:
    one, _ = await start_and_stop(1, CHAOS)
    many, _ = await start_and_stop(20, CHAOS)
    print(f"start 20 servers: {many:.2f} s, {many / one:.1f} × one ({one:.2f} s)")
    stubborn = [sys.executable, "-c", STUBBORN, *CHAOS[3:]]
    _, one = await start_and_stop(1, stubborn)
    _, ten = await start_and_stop(10, stubborn)
    print(f"end 10 servers that only SIGKILL ends: {ten:.2f} s, {ten / one:.1f} × one ({one:.2f} s)")
    for megabytes in (1, 10, 40):
        ours, theirs = await read_large(megabytes)
        print(f"read {megabytes} MB on one line: {ours:.2f} s of CPU, the SDK's reader {theirs / ours:.1f} ×")
    bare = seconds_of(sys.executable, "-c", "pass")
    shown = seconds_of(sys.executable, "-m", "mcphost", "--help")
    print(f"mcphost --help: {shown:.2f} s, {shown / bare:.1f} × an empty Python program ({bare:.2f} s)")


if __name__ == "__main__":
    anyio.run(main)
