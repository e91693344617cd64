"""Ends the servers of a host that was killed, their children too.

A host that is SIGKILLed cannot end anything. So a small process holds a pipe to it and knows the process
groups of its servers; when the pipe closes, whatever groups are left are ended. PR_SET_PDEATHSIG would reach
only a server itself, and not what it started.

Run as a program (`python -I -S watchdog.py`), this file is that process: it imports nothing of ours.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress


class Watchdog:
    """Knows the process groups that must not outlive us. Starts its process with the first of them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def add(self, group: int) -> None:
        self._groups.add(group)
        if sys.platform == "win32":  # has no process groups of this kind
            return
        if self._process is None or self._process.poll() is not None:
            self._process = _start()
            for known in self._groups:
                self._tell(f"+{known}\n")
        else:
            self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        self._groups.discard(group)
        self._tell(f"-{group}\n")

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()
        self._process = None

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):  # it was killed: nothing watches then, and nothing stops
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def _start() -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C at the terminal is not for it
        )
    except OSError:
        return None


def main() -> None:
    """Read which groups there are until the pipe closes, and end those that are left."""
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))
    for name, wait in (("SIGCONT", 0.5), ("SIGTERM", 1.0), ("SIGKILL", 0.0)):
        for group in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.Signals[name])
        if groups:
            time.sleep(wait)


if __name__ == "__main__":
    main()
