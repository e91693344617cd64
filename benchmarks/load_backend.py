"""The backend for load tests, which watches its own event loop. Prints its port, and at the end what it saw.

load_backend.py UPSTREAM_URL LOG SERVERS SECONDS_FOR_A_CALL
"""

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import anyio

from mcphost import Host
from mcphost.api import create_app, serving

LONG = 0.05
"""Seconds that nothing may keep the event loop busy."""


class Watched:
    """Measures every step of the event loop, in time and in our own processor time."""

    def __init__(self) -> None:
        self.longest = self.longest_cpu = 0.0
        self.long = 0
        self._run: Any = asyncio.Handle._run  # pyright: ignore[reportPrivateUsage]
        watched, run = self, self._run

        def measured(handle: Any) -> None:
            began, began_cpu = time.perf_counter(), time.thread_time()
            run(handle)
            took, took_cpu = time.perf_counter() - began, time.thread_time() - began_cpu
            watched.longest = max(watched.longest, took)
            watched.longest_cpu = max(watched.longest_cpu, took_cpu)
            watched.long += took_cpu > LONG

        self._measured = measured

    def begin(self) -> None:
        asyncio.Handle._run = self._measured  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]

    def told(self) -> dict[str, Any]:
        return {"longest": self.longest, "longest_cpu": self.longest_cpu, "long": self.long}


async def main() -> None:
    upstream, log, servers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    program = str(Path(__file__).with_name("chaos_server.py"))
    entry = {"command": sys.executable, "args": ["-I", "-S", program, log], "timeout": float(sys.argv[4])}
    config = {
        "mcpServers": {f"server-{n}": entry for n in range(servers)},
        "model": {"name": "scripted", "base_url": upstream},
    }
    host = Host.from_config(config, save=False)
    app = create_app(host)
    listener = serving.listen("127.0.0.1", 0)
    watched = Watched()

    async def nothing() -> None:
        pass

    async def tell() -> None:
        await host.ready()
        await anyio.sleep(0.5)  # what is done once, when all servers are there
        watched.begin()
        print(listener.getsockname()[1], flush=True)

    await serving.serve_until_told(app, host, listener, drain=5, reload=nothing, beside=tell)
    print(json.dumps(watched.told()), flush=True)


if __name__ == "__main__":
    gc.set_threshold(100_000)
    anyio.run(main)
