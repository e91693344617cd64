"""`python -m mcphost`, and what the program `mcphost` runs."""

import os
import signal
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    """Ctrl-C while nothing has been done yet, and modules are still being loaded."""
    os._exit(128 + number)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)

from mcphost.cli import main  # noqa: E402 (loading it is what may be interrupted)

__all__ = ["main"]

if __name__ == "__main__":
    main()
