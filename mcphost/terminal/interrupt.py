"""Ctrl-C, SIGTERM and SIGHUP, as cancellation, so that everything opened is closed."""

import signal
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

import anyio


class Interrupts:
    """What a signal cancels: SIGINT the innermost scope, the others everything."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._scopes: list[anyio.CancelScope] = []

    @contextmanager
    def scope(self) -> Generator[anyio.CancelScope]:
        """A scope that the next Ctrl-C cancels, instead of what is around it."""
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            try:
                yield scope
            finally:
                self._scopes.remove(scope)

    def receive(self, number: signal.Signals) -> None:
        self.received = number
        scopes = self._scopes[-1:] if number == signal.SIGINT else self._scopes
        for scope in scopes:
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
            raise failure
        return 128 + (interrupts.received or 0) if code is None else code

    return anyio.run(main)


async def _listen(
    interrupts: Interrupts, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            interrupts.receive(number)
