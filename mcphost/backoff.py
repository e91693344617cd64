"""How long to rest between attempts to connect."""

import random
from typing import Final

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
STEADY_SECONDS: Final = 30.0
"""A connection that held so long was a good one: after it, pauses begin anew."""


def pause(failures: int) -> float:
    """Seconds to rest after so many failures: doubling, capped, and another for each caller."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 16))
    return longest * random.uniform(0.5, 1.0)
