"""The program as its users run it: a process of its own, with pipes or on a terminal.

    def test_x(program: Program):
        ran = program("tools", "-c", program.config(rogue=rogue()))
        assert ran.code == 0

Every run starts in a folder that only its test has, with a home folder in it, and has to be over within a
minute. What is left of it is looked for by that home folder.
"""

import fcntl
import json
import os
import pty
import select
import shlex
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcphost

ROOT = Path(mcphost.__file__).parents[1]
SECONDS = 60
"""Nothing takes this long; what does is stuck."""

DEAD = "127.0.0.1:9"
"""Where nobody listens; no port that a server of a test could be given by chance."""


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        """The one line that says what went wrong."""
        lines = [line for line in self.err.splitlines() if line.lower().startswith("error: ")]
        assert len(lines) == 1, self.err
        return lines[0]


class Program:
    """Runs `mcphost` in `folder`. `env` is added to the environment of every run."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("XDG_", "MCPHOST_", "OPENAI_"))
            and not name.upper().endswith(("_PROXY", "_API_KEY"))
        }
        own = {"HOME": str(self.home), "PYTHONPATH": str(ROOT), "OLLAMA_HOST": DEAD, "TERM": "xterm"}
        self.env: dict[str, str] = {**inherited, **own, **env}

    def config(
        self, *, name: str = "servers.json", sections: Mapping[str, Any] | None = None, **servers: Any
    ) -> str:
        """Write a config with these servers. Its path. In a name, `_` stands for `-`."""
        entries = {server.replace("_", "-"): entry for server, entry in servers.items()}
        path = self.folder / name
        path.write_text(json.dumps({"mcpServers": entries, **(sections or {})}), encoding="utf-8")
        return str(path)

    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> Ran:
        """Run it to its end, with `stdin` piped in, or nothing to read."""
        given = None if stdin is None else stdin.encode()
        with self.started(
            *arguments, stdin=subprocess.DEVNULL if given is None else subprocess.PIPE, **env
        ) as process:
            out, err = process.communicate(given, timeout=SECONDS)
        return Ran(process.returncode, out.decode(), err.decode())

    def together(self, *runs: Sequence[str], stdin: Sequence[str | None] = ()) -> list[Ran]:
        """Several runs at once, each with its `stdin`, to save time. How they ended, in the same order."""
        given = [*stdin, *[None] * (len(runs) - len(stdin))]
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(lambda arguments, text: self(*arguments, stdin=text), runs, given))

    def shell(self, line: str) -> Ran:
        """Run a line of a shell, for what only a shell does to streams. `line` gives our part of it."""
        ran = subprocess.run(
            ["sh", "-c", line], cwd=self.folder, env=self.env, capture_output=True, timeout=SECONDS, text=True
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    @staticmethod
    def line(*arguments: str) -> str:
        return shlex.join(command(arguments))

    @contextmanager
    def started(
        self, *arguments: str, stdin: Any = subprocess.DEVNULL, **env: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A run under way; killed if it is still there at the end of the block."""
        process = subprocess.Popen(
            command(arguments),
            cwd=self.folder,
            env={**self.env, **env},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def terminal(self, *arguments: str, **options: Any) -> Iterator["Terminal"]:
        """A run on a terminal of its own."""
        terminal = Terminal(command(arguments), self.folder, self.env, **options)
        try:
            yield terminal
        finally:
            terminal.close()

    def left(self) -> list[str]:
        """The command lines of processes that are still there; those that were killed get a moment to go."""
        deadline = time.monotonic() + 5
        while (found := _processes(self.home)) and time.monotonic() < deadline:
            time.sleep(0.01)
        return found


def command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "mcphost", *arguments]


def appears(path: Path) -> None:
    """Wait until a file is there, which some process writes to say how far it is."""
    deadline = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never appeared"
        time.sleep(0.01)


def _processes(home: Path) -> list[str]:
    marker = f"HOME={home}".encode()
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            pass  # gone meanwhile, or nobody's
    return found


class Terminal:
    """A run on a pseudo-terminal. What it writes is in `output`; Ctrl-C and Ctrl-D are typed as such."""

    INTERRUPT, END = "\x03", "\x04"

    def __init__(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str], *, columns: int = 200
    ) -> None:
        self.output = ""
        self._seen = 0
        self._raw = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ON_ITS_TERMINAL, *command],
            cwd=folder,
            env=dict(env),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def expect(self, text: str) -> str:
        """Read until `text` comes, after what an earlier call found. What came before it."""
        deadline = time.monotonic() + SECONDS
        while (place := self.output.find(text, self._seen)) < 0:
            assert time.monotonic() < deadline and self._read(), (
                f"{text!r} never came: {self.output[self._seen :]!r}"
            )
        before, self._seen = self.output[self._seen : place], place + len(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def finish(self) -> int:
        """Read to the end. The exit code."""
        while self._read():
            pass
        return self._process.wait(SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(SECONDS)
        os.close(self._master)

    def _read(self) -> bool:
        """Read some more; whether there was any."""
        readable, _, _ = select.select([self._master], [], [], SECONDS)
        try:
            data = os.read(self._master, 65536) if readable else b""
        except OSError:  # what Linux says when nobody holds the other end any more
            data = b""
        self._raw += data
        self.output = self._raw.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


_ON_ITS_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
