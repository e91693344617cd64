"""How much work something is, which is the same on every machine, unlike the time it takes."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Work:
    calls: int = 0
    """Functions called, those of C included."""


@contextmanager
def counted() -> Generator[Work]:
    """Counts the work of what is done inside, in this thread."""
    work = Work()

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        work.calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(before)
