"""The command line, run as users run it: a process of its own and a servers.json."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from .real_servers import ROOT, Entry

SECONDS = 100
"""No command takes longer, or it hangs."""

_MARK = "INTEROP_MARK"


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `trace` is what it sent and received, in order."""

    code: int
    out: str
    err: str
    trace: list[dict[str, Any]]

    @property
    def data(self) -> Any:
        """The JSON that it printed."""
        return json.loads(self.out)

    def sent(self, server: str) -> list[str]:
        """The methods of what was sent to a server."""
        mine = [line for line in self.trace if line["kind"] == "send" and line["server"] == server]
        return [line["message"].get("method", "") for line in mine]

    def notified(self, server: str, method: str) -> list[dict[str, Any]]:
        """The params of a server's notifications."""
        mine = [line for line in self.trace if line["kind"] == "receive" and line["server"] == server]
        return [line["message"]["params"] for line in mine if line["message"].get("method") == method]


class CommandLine:
    """Runs `mcphost`. After each command no process may be left of the servers that it started.

    They are told by a variable in their environment, which grandchildren inherit.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._config = folder / "servers.json"
        self._mark = uuid4().hex
        self._runs = 0

    def configure(self, **servers: Entry) -> None:
        """Write the servers.json of the commands that follow; `_` in a name stands for `-`."""
        entries = {name.replace("_", "-"): self._marked(entry) for name, entry in servers.items()}
        self._config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")

    def _marked(self, entry: Entry) -> Entry:
        return {**entry, "env": {**entry.get("env", {}), _MARK: self._mark}} if "command" in entry else entry

    def __call__(self, *args: str, code: int = 0, env: Mapping[str, str] | None = None) -> Outcome:
        """Run a command, which must end with `code` and leave nothing running."""
        self._runs += 1
        trace = self._folder / f"trace-{self._runs}.jsonl"
        command = self._command(*args, trace=trace)
        environ = {**os.environ, **(env or {})}
        done = subprocess.run(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
        outcome = Outcome(
            done.returncode,
            done.stdout.decode(),
            done.stderr.decode(),
            _lines(trace) if trace.exists() else [],
        )
        assert outcome.code == code, f"exit code {outcome.code}\n{outcome.out}\n{outcome.err}"
        assert "Traceback" not in outcome.err
        assert not self.left_running()
        return outcome

    @contextmanager
    def running(self, *args: str, until: str) -> Generator[subprocess.Popen[str]]:
        """A command that has just sent a request of the method `until` to its server."""
        trace = self._folder / "trace.fifo"  # reading from it waits for the command, line by line
        os.mkfifo(trace)
        command = self._command(*args, trace=trace)
        pipe = subprocess.PIPE
        with (
            subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
            ) as process,
            trace.open(encoding="utf-8") as lines,
        ):
            try:
                sent = (json.loads(line) for line in lines)
                assert any(line["kind"] == "send" and line["message"].get("method") == until for line in sent)
                yield process
            finally:
                process.kill()

    def _command(self, *args: str, trace: Path) -> list[str]:
        return [sys.executable, "-m", "mcphost", *args, "-c", str(self._config), "--trace", str(trace)]

    def call(self, tool: str, *options: str, code: int = 0, **arguments: Any) -> Outcome:
        """`mcphost call` with these arguments."""
        return self("call", tool, json.dumps(arguments, ensure_ascii=False), *options, code=code)

    def left_running(self) -> list[str]:
        """The command lines of what runs of the servers that were started."""
        mark = f"{_MARK}={self._mark}".encode()
        found: list[str] = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in environ.read_bytes().split(b"\0"):
                    found.append((environ.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:  # not splitlines(), which also splits inside a string
        return [json.loads(line) for line in lines]
