"""Which servers speak only the old handshake, remembered on disk for a month.

Finding it out costs up to ten seconds and a fresh process each time: a server on the Python SDK up to 1.9.3
answers `server/discover` with silence and then dies of `initialize`.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from mcphost.config import ServerSpec

_LIFETIME: Final = 30 * 24 * 3600


class Verdicts:
    """A small JSON file: digest of a server's configuration → when it was found out, seconds since 1970."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_legacy(self, spec: ServerSpec) -> bool:
        """Whether this server, configured so, was seen to speak nothing but the handshake."""
        return self._read().get(_digest(spec), 0.0) > time.time() - _LIFETIME

    def remember_legacy(self, spec: ServerSpec) -> None:
        known = {key: when for key, when in self._read().items() if when > time.time() - _LIFETIME}
        self._write({**known, _digest(spec): time.time()})

    def forget(self, spec: ServerSpec) -> None:
        self._write({key: when for key, when in self._read().items() if key != _digest(spec)})

    def _write(self, known: Mapping[str, float]) -> None:
        with suppress(OSError):  # without a cache the next start is slower, and nothing else
            self._path.parent.mkdir(parents=True, exist_ok=True)
            scratch = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            scratch.write_text(json.dumps(known), encoding="utf-8")
            scratch.replace(self._path)

    def _read(self) -> Mapping[str, float]:
        try:
            data: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(data, dict):
            return {}
        items = cast("dict[str, Any]", data).items()
        return {key: float(when) for key, when in items if isinstance(when, int | float)}


def _digest(spec: ServerSpec) -> str:
    identity = [spec.type, spec.command, spec.args, sorted(spec.env.items()), str(spec.cwd), spec.url]
    return sha256(json.dumps(identity, default=str).encode()).hexdigest()
