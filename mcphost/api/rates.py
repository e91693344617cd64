"""How often callers may call, and how much their answers may take, a minute."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from mcphost.api.keys import Caller
from mcphost.api.problems import Refused

_MINUTE = 60.0


@dataclass(slots=True)
class _Allowance:
    """What is left of so much a minute. It comes back steadily, and may be overdrawn by one request."""

    left: float
    seen: float

    def refill(self, most: float, now: float) -> None:
        self.left = min(most, self.left + (now - self.seen) * most / _MINUTE)
        self.seen = now


class Rates:
    """What each caller has left, by name: new limits of a caller's hold at once. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._requests: dict[str, _Allowance] = {}
        self._tokens: dict[str, _Allowance] = {}

    def admit(self, caller: Caller) -> dict[str, str]:
        """Count a request. The headers that tell what is left. Raises `Refused` with the time to wait."""
        headers: dict[str, str] = {}
        if caller.requests is not None:
            allowance = self._current(self._requests, caller.name, caller.requests)
            if allowance.left < 1:
                raise _too_many("requests", caller.requests, (1 - allowance.left) / caller.requests)
            headers |= _told("requests", caller.requests, allowance.left - 1)
        if caller.tokens is not None:
            spent = self._current(self._tokens, caller.name, caller.tokens)
            if spent.left <= 0:
                raise _too_many("tokens", caller.tokens, (1 - spent.left) / caller.tokens)
            headers |= _told("tokens", caller.tokens, spent.left)
        if caller.requests is not None:
            self._requests[caller.name].left -= 1
        return headers

    def charge(self, caller: Caller, tokens: int) -> None:
        """Count the tokens that an answer took."""
        if caller.tokens is not None:
            self._current(self._tokens, caller.name, caller.tokens).left -= tokens

    def _current(self, allowances: dict[str, _Allowance], name: str, most: float) -> _Allowance:
        now = self._clock()
        allowance = allowances.setdefault(name, _Allowance(most, now))
        allowance.refill(most, now)
        return allowance


def _told(what: str, most: float, left: float) -> dict[str, str]:
    return {
        f"x-ratelimit-limit-{what}": f"{most:.0f}",
        f"x-ratelimit-remaining-{what}": f"{max(0, math.floor(left))}",
    }


def _too_many(what: str, most: float, minutes: float) -> Refused:
    seconds = max(1, math.ceil(minutes * _MINUTE))
    message = f"this key is limited to {most:g} {what} a minute; try again in {seconds} s"
    headers = {"retry-after": str(seconds)}
    return Refused(429, message, code="rate_limit_exceeded", headers=headers)
