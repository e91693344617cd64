"""A record of what is sent and received, for finding out who said what: a JSON object a line."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcphost.errors import ConfigError
from mcphost.text import json_line

Record = Callable[..., None]
"""`record(kind, **fields)` notes one thing. Kinds: `request` and `reply` (the model's), `send` and `receive`
(a server's JSON-RPC messages, with `server`)."""


def nothing(kind: str, **fields: Any) -> None:
    """The record of a host that keeps none."""


class Trace:
    """Appends to a file that only its owner can read: prompts and results are in it, keys and headers not."""

    def __init__(self, path: Path) -> None:
        try:
            # its own user's alone: prompts and results are in it
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as exc:
            raise ConfigError(f"--trace: {path} cannot be written: {exc.strerror}") from exc
        self._file = os.fdopen(descriptor, "a", encoding="utf-8", errors="replace")

    def record(self, kind: str, **fields: Any) -> None:
        line = {"time": round(time.time(), 3), "kind": kind, **fields}
        self._file.write(json_line(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
