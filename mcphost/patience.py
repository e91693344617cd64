"""How long calls are waited for: deadlines that progress moves, and that stand still while we are asked.

The time that a person takes to answer a server's question, or the host's model to answer for it, is not the
server's.
"""

import math
from collections.abc import Generator
from contextlib import contextmanager

import anyio


class Deadline:
    """When a call is given up: `seconds` from its start or its last progress, `longest` from its start at
    the most."""

    def __init__(self, scope: anyio.CancelScope, seconds: float, longest: float) -> None:
        self.scope = scope
        self._seconds = seconds
        self._left = seconds
        self._longest = longest
        self._began = anyio.current_time()
        self._paused = self._began
        self._moved = False

    @property
    def waited(self) -> float:
        """How long was waited for, in seconds: since the beginning, but for the time that did not count."""
        return anyio.current_time() - self._began if self._moved else self._seconds

    def progress(self) -> None:
        """The server has shown that it is at work."""
        self._moved = True
        self._left = self._seconds
        if self.scope.deadline != math.inf:
            self._wait_on()

    def pause(self) -> None:
        """Have no time pass until `resume`."""
        self._paused = anyio.current_time()
        self._left = self.scope.deadline - self._paused
        self.scope.deadline = math.inf

    def resume(self) -> None:
        """Let time go on; that since `pause` does not count."""
        self._began += anyio.current_time() - self._paused
        self._wait_on()

    def _wait_on(self) -> None:
        self.scope.deadline = min(anyio.current_time() + self._left, self._began + self._longest)


class Patience:
    """The deadlines of one connection's calls. Which call a server's question belongs to is not told by
    every revision of MCP, so a question holds them all."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._questions = 0

    @contextmanager
    def waiting(self, seconds: float, longest: float | None = None) -> Generator[Deadline]:
        """Give up what runs in the block when its deadline has passed: `TimeoutError`."""
        with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
            deadline = Deadline(scope, seconds, max(seconds, longest or seconds))
            if self._questions:
                deadline.pause()
            self._running.add(deadline)
            try:
                yield deadline
            finally:
                self._running.discard(deadline)
        if scope.cancelled_caught:
            raise TimeoutError

    @contextmanager
    def held(self) -> Generator[None]:
        """No deadline passes while the block runs."""
        if not self._questions:
            for deadline in self._running:
                deadline.pause()
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                for deadline in self._running:
                    deadline.resume()
