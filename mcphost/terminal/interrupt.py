"""Ctrl-C, SIGTERM and SIGHUP, as cancellation, so that everything opened is closed."""

import signal
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import cast

import anyio


class Interrupts:
    """What a signal cancels: SIGINT the innermost scope, the next what is around that; others everything.

    `ended_by`: the signal that ended everything.
    """

    def __init__(self) -> None:
        self.ended_by: signal.Signals | None = None
        self._scopes: list[anyio.CancelScope] = []
        self._deaf = 0

    @contextmanager
    def scope(self) -> Generator[anyio.CancelScope]:
        """A scope that the next Ctrl-C cancels, instead of what is around it."""
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            try:
                yield scope
            finally:
                self._scopes.remove(scope)

    @contextmanager
    def deaf(self) -> Generator[None]:
        """Ctrl-C is for another program, which has the terminal meanwhile."""
        self._deaf += 1
        try:
            yield
        finally:
            self._deaf -= 1

    def end(self) -> None:
        """End everything, as Ctrl-C does where nothing else is to be stopped."""
        self.ended_by = self.ended_by or signal.SIGINT
        for scope in self._scopes:
            scope.cancel()

    def receive(self, number: signal.Signals) -> None:
        if number == signal.SIGINT and self._deaf:
            return
        live = [scope for scope in self._scopes if not scope.cancel_called]
        if number != signal.SIGINT or len(live) < 2:
            self.ended_by = self.ended_by or number
        for scope in live[-1:] if number == signal.SIGINT else live:
            scope.cancel()


def run(work: Callable[[Interrupts], Awaitable[int]]) -> int:
    """Run `work` in an event loop. Its exit code, or 128 and the signal's number when one ended it."""
    interrupts = Interrupts()

    async def main() -> int:
        code: int | None = None
        failure: Exception | None = None
        async with anyio.create_task_group() as tg:
            if sys.platform != "win32":  # there, Ctrl-C comes as KeyboardInterrupt
                await tg.start(_listen, interrupts)
            with interrupts.scope():
                try:
                    code = await work(interrupts)
                except Exception as exc:  # noqa: BLE001 (boundary: the task group would wrap it in a group)
                    failure = exc
            tg.cancel_scope.cancel()
        if failure is not None:
            raise _single(failure)
        if interrupts.ended_by is not None:
            return 128 + interrupts.ended_by
        return code or 0

    return anyio.run(main)


def _single(exc: Exception) -> Exception:
    """The error in a task group's error, where there is but one."""
    if not isinstance(exc, ExceptionGroup):
        return exc
    group = cast("ExceptionGroup[Exception]", exc)
    return _single(group.exceptions[0]) if len(group.exceptions) == 1 else group


async def _listen(
    interrupts: Interrupts, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            interrupts.receive(number)
