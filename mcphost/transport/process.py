"""Child processes: started in a group of their own, stderr kept, ended to the last grandchild.

Knows nothing of MCP. A server's life ends as the protocol's lifecycle section says: stdin closed, a grace
period, SIGTERM, another, SIGKILL; the signals go to the whole group.
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from mcphost.errors import ConnectFailed
from mcphost.paths import command_path
from mcphost.transport.watchdog import Watchdog

GRACE_SECONDS: Final = 1.5
"""How long a server has to leave by itself after its stdin closed, and again after SIGTERM."""

LOG_BYTES: Final = 1_000_000
"""A server's log file is begun anew at this size; the one before is kept beside it as `.old`."""


class StderrLog:
    """What one server wrote to stderr: the last lines in memory, all of it (up to a size) in a file.

    The file is appended to, also by another host that runs the same server at the same time.
    """

    def __init__(self, path: Path | None, *, lines: int = 200) -> None:
        self.path = path
        self._lines: deque[str] = deque(maxlen=lines)
        self._partial = b""
        self._file = None if path is None else _opened(path)

    def write(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        self._partial = self._partial[-8192:]
        self._lines.extend(line.decode(errors="replace").rstrip("\r")[:2000] for line in lines)
        if self._file is None or self.path is None:
            return
        try:
            self._file.write(data)
            if self._file.tell() > LOG_BYTES:
                self._file.close()
                self._file = _opened(self.path)
        except OSError:
            self._file = None

    def tail(self, count: int = 5) -> list[str]:
        """The last `count` lines that say something, oldest first."""
        partial = self._partial.decode(errors="replace").strip()
        lines = [line for line in self._lines if line.strip()] + ([partial] if partial else [])
        return lines[-count:]

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None


def _opened(path: Path) -> FileIO | None:
    """A log file to append to, its owner's alone, begun anew when full. None where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".old"))
        return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a")
    except OSError:  # a log that cannot be written is no reason not to run the server
        return None


class Child:
    """A running server. Whoever spawned it calls `stop`, always."""

    def __init__(self, process: Process, log: StderrLog, watchdog: Watchdog) -> None:
        self.process = process
        self.log = log
        self._watchdog = watchdog
        self._stopped = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    async def drain_stderr(self) -> None:
        """Read stderr until it ends, so that a server which writes a lot there never stalls."""
        assert self.process.stderr is not None
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            while True:
                self.log.write(await self.process.stderr.receive())

    async def exited(self, seconds: float, *, every: float = 0.01) -> bool:
        """Whether the process ends within `seconds`, looking `every` so many.

        Polls: `Process.wait` also waits for the pipes' ends, which a grandchild may hold open.
        """
        deadline = anyio.current_time() + seconds
        while self.process.returncode is None:
            if anyio.current_time() >= deadline:
                return False
            await anyio.sleep(every)
        return True

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """End the child and all of its group. Bounded, not interrupted by cancellation; done only once."""
        if self._stopped:
            return
        self._stopped = True
        with anyio.CancelScope(shield=True):
            if self.process.stdin is not None:
                with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self.process.stdin.aclose()
            if not await self.exited(grace):
                self._signal("SIGTERM")
                await self.exited(grace)
            self._signal("SIGKILL")
            await self.exited(grace)
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    await stream.aclose()
            _close_transport(self.process)
            self._watchdog.remove(self.pid)
            self.log.close()

    def _signal(self, name: str) -> None:
        """Signal the group; it may outlive its leader, and may be gone."""
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                if self.process.returncode is None:
                    self.process.terminate()
            else:
                os.killpg(self.process.pid, signal.Signals[name])


def _close_transport(process: Process) -> None:
    """Close asyncio's own transport, which a grandchild's hold on a pipe would keep open and warn about."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def spawn(
    server: str,
    command: str,
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    log: StderrLog,
    watchdog: Watchdog,
) -> Child:
    """Start a server's command, without a shell. Raises `ConnectFailed` that says what is missing."""
    process: Process | None = None
    try:
        with anyio.CancelScope(shield=True):  # a process half started would be nobody's
            process = await _open(server, command, args, env=env, cwd=cwd)
    finally:
        if process is None:
            log.close()
    assert process is not None
    watchdog.add(process.pid)
    return Child(process, log, watchdog)


async def _open(
    server: str, command: str, args: Sequence[str], *, env: Mapping[str, str], cwd: Path | None
) -> Process:
    if cwd is not None and not await anyio.Path(cwd).is_dir():
        raise ConnectFailed(
            server, f"its working folder {cwd} does not exist", hint="Correct `cwd`.", final=True
        )
    found = command if os.sep in command else shutil.which(command, path=command_path(env))
    if found is None:
        raise ConnectFailed(server, f"command not found: {command}", hint=_install_hint(command), final=True)
    try:
        return await anyio.open_process(
            [found, *args],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as exc:
        raise ConnectFailed(
            server, f"{command} cannot be started: {_reason(exc)}", hint=_start_hint(exc), final=True
        ) from exc


def _reason(exc: OSError | ValueError) -> str:
    return (exc.strerror or str(exc)) if isinstance(exc, OSError) else str(exc)


def _start_hint(exc: OSError | ValueError) -> str:
    code = exc.errno if isinstance(exc, OSError) else None
    if code == errno.EACCES:
        return "Make the file executable, or name its interpreter as `command` and the file in `args`."
    if code == errno.ENOEXEC:
        return "It is no program by itself: name its interpreter as `command` and the file in `args`."
    if code == errno.ENOENT:
        return "Correct `command`; a relative path is looked up from `cwd`."
    return "Correct `command`, `args` and `env`."


def _install_hint(command: str) -> str:
    tools = {
        "npx": "Install Node.js, which brings npx.",
        "node": "Install Node.js.",
        "uvx": "Install uv, which brings uvx (pip install uv).",
        "uv": "Install uv (pip install uv).",
        "docker": "Install Docker, and start it.",
        "bunx": "Install Bun, which brings bunx.",
        "deno": "Install Deno.",
    }
    return tools.get(command, "Install it, or give its whole path as `command`.")
