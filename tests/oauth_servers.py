"""The protected MCP server of `servers/authorization.py`, a person who visits its pages, and hosts to use it.

def test_x():
    server = protected(scope="mcp")
    async with server.host(visitor=person()) as host: ...
"""

import atexit
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import httpx2

from mcphost import Host
from mcphost.oauth.loopback import Came, Loopback
from mcphost.oauth.visitor import Visitor

PROGRAM = Path(__file__).parent / "servers" / "authorization.py"
Transport = Literal["http", "sse"]


@dataclass(frozen=True)
class Protected:
    """The MCP server at `url`, and its authorization server at `authority`."""

    url: str
    authority: str
    transport: Transport

    def entry(self, **auth: Any) -> dict[str, Any]:
        """Its entry in a servers.json."""
        return {"type": self.transport, "url": self.url, **({"auth": auth} if auth else {})}

    @asynccontextmanager
    async def host(
        self, visitor: Visitor | None = None, *, name: str = "safe", **auth: Any
    ) -> AsyncGenerator[Host]:
        """A host with it, settled."""
        config = {"mcpServers": {name: self.entry(**auth)}}
        async with Host.from_config(config, visitor=visitor, save=False) as host:
            await host.ready()
            yield host

    def log(self, server: str = "as", **wanted: str) -> list[dict[str, Any]]:
        """What one of the two was asked, in order."""
        entries = httpx2.get(f"{self.authority}/log").raise_for_status().json()
        matching = [entry for entry in entries if entry["server"] == server]
        return [entry for entry in matching if all(entry[key] == value for key, value in wanted.items())]

    def grants(self) -> list[str]:
        """The grants that tokens were asked by."""
        return [
            entry["form"]["grant_type"]
            for entry in self.log(method="POST")
            if entry["path"].endswith("/token")
        ]

    def pages(self) -> list[dict[str, str]]:
        """What access was asked with, of a person."""
        return [entry["query"] for entry in self.log() if entry["path"].endswith("/authorize")]

    def control(self, *, forget: tuple[str, ...] = (), **options: Any) -> None:
        """Change its options, or have it forget `clients`, `access` tokens, `refresh` tokens."""
        httpx2.post(f"{self.authority}/control", json={"forget": forget, **options}).raise_for_status()


def protected(transport: Transport = "http", **options: Any) -> Protected:
    """The servers, as new, with these options (see `DEFAULTS` in the program)."""
    server = _started(transport)
    httpx2.post(f"{server.authority}/reset", json=options).raise_for_status()
    return server


@cache
def _started(transport: Transport) -> Protected:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), transport], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )

    def end() -> None:
        process.kill()
        process.communicate()

    atexit.register(end)
    assert process.stdout is not None
    told: Mapping[str, str] = json.loads(process.stdout.readline())
    return Protected(told["url"], told["authority"], transport)


def person() -> Loopback:
    """Somebody who goes to the page, and follows wherever it leads."""
    return Loopback(_visit, seconds=20)


async def _visit(url: str, came: Came) -> None:
    del came
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(url)
