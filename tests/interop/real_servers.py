"""The real servers that `make interop` installs, as entries of a servers.json and as HTTP servers."""

import os
import socket
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
INSTALLED: Final = ROOT / ".interop"
READY: Final = INSTALLED / ".ready"
"""The stamp that the set-up leaves when all of it went well."""

_MODULES = INSTALLED / "node_modules"
_EVERYTHING = str(_MODULES / "@modelcontextprotocol/server-everything/dist/index.js")
_FILESYSTEM = str(_MODULES / "@modelcontextprotocol/server-filesystem/dist/index.js")
_AMAP_NODE = str(_MODULES / "@amap/amap-maps-mcp-server/build/index.js")
_AMAP_PYTHON = str(INSTALLED / "amap/bin/amap-mcp-server")
_TIME = str(INSTALLED / "time/bin/mcp-server-time")

_KEY = {"AMAP_MAPS_API_KEY": "dummy"}  # a key is only looked at when a tool is called

Entry = dict[str, Any]


def everything() -> Entry:
    return {"command": "node", "args": [_EVERYTHING]}


def filesystem(folder: Path) -> Entry:
    return {"command": "node", "args": [_FILESYSTEM, str(folder)]}


def amap_node() -> Entry:
    return {"command": "node", "args": [_AMAP_NODE], "env": dict(_KEY)}


def amap_python() -> Entry:
    return {"command": _AMAP_PYTHON, "env": dict(_KEY)}


def time_server() -> Entry:
    return {"command": _TIME}


@contextmanager
def everything_over(transport: str) -> Generator[str]:
    """The URL of server-everything over `streamableHttp` or `sse`."""
    path = "/sse" if transport == "sse" else "/mcp"
    with _listening(["node", _EVERYTHING, transport], variable="PORT", ready=" on port ") as base:
        yield base + path


@contextmanager
def amap_python_over(transport: str) -> Generator[str]:
    """The URL of amap-mcp-server over `streamable-http` or `sse`."""
    path = "/sse" if transport == "sse" else "/mcp"
    with _listening([_AMAP_PYTHON, transport], variable="FASTMCP_PORT", ready="Uvicorn running") as base:
        yield base + path


@contextmanager
def _listening(command: Sequence[str], *, variable: str, ready: str) -> Generator[str]:
    """The address of a server that takes its port from `variable`, once it has said `ready` on stderr."""
    port = free_port()
    env = {**os.environ, **_KEY, "FASTMCP_HOST": "127.0.0.1", variable: str(port)}
    out, err = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, env=env, stdout=out, stderr=err, text=True) as process:
        assert process.stderr is not None
        try:
            assert any(ready in line for line in process.stderr), f"{command} ended at its start"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def free_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
