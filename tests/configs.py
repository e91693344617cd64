"""Configurations for tests: one entry, one file, and the warnings about them."""

import json
from pathlib import Path
from typing import Any

from mcphost.config import ServerSpec, parse


def one(entry: object, *, environ: dict[str, str] | None = None, **kwargs: Any) -> ServerSpec:
    """The spec of a single entry, called `s`."""
    return parse({"mcpServers": {"s": entry}}, source=None, environ=environ or {}, **kwargs).servers["s"]


def warnings(data: object) -> tuple[str, ...]:
    return parse(data, source=None, environ={}).warnings


def write(folder: Path, text: str | bytes | dict[str, Any], name: str = "servers.json") -> Path:
    """A file of that content, a dict as its JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(text) if isinstance(text, dict) else text
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
