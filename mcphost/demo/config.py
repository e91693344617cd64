"""The configuration of the demo, in the shape of a servers.json."""

import sys
from typing import Any

from mcphost.demo.wire import MODEL


def config(base_url: str) -> dict[str, Any]:
    """The two bundled servers and the scripted model at `base_url`.

    The servers' tools only read, and say so; as they are ours, they are believed, and no call needs approval.
    """
    return {
        "mcpServers": {
            name: _server(module) for name, module in (("12306-mcp", "trains"), ("amap-maps", "maps"))
        },
        "model": {"name": MODEL, "base_url": base_url, "api_key": "none", "dialect": "deepseek"},
    }


def _server(module: str) -> dict[str, Any]:
    command = {"command": sys.executable, "args": ["-m", f"mcphost.demo.{module}"]}
    return {**command, "inherit_env": ["MCPHOST_DEMO_DATE"], "trust_annotations": True}
