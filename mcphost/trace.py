"""A record of what is sent and received, for finding out who said what: a JSON object a line."""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcphost.errors import ConfigError
from mcphost.text import json_line

logger = logging.getLogger(__name__)

Record = Callable[..., None]
"""`record(kind, **fields)` notes one thing. Kinds: `request` and `reply` (the model's), `send` and `receive`
(a server's JSON-RPC messages, with `server`)."""


def nothing(kind: str, **fields: Any) -> None:
    """The record of a host that keeps none."""


class Trace:
    """Appends to a file that only its owner can read: prompts and results are in it, keys and headers not."""

    def __init__(self, path: Path) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with suppress(OSError):  # a pipe, or another's file, keeps its mode
                os.fchmod(descriptor, 0o600)
        except OSError as exc:
            raise ConfigError(f"--trace: {path} cannot be written: {exc.strerror}") from exc
        self._file = os.fdopen(descriptor, "a", encoding="utf-8", errors="replace")
        self._broken = False

    def record(self, kind: str, **fields: Any) -> None:
        if self._broken:
            return
        try:
            self._file.write(json_line({"time": round(time.time(), 3), "kind": kind, **fields}) + "\n")
            self._file.flush()
        except (OSError, ValueError) as exc:  # a full disk is no reason to lose a connection
            self._broken = True
            logger.warning("the trace ends here: %s", exc)

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
