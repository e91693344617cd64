"""How a backend is set up. Every default is the careful one."""

from dataclasses import dataclass
from typing import Final

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a backend allows.

    `hosts`: the names under which it may be addressed (`Host` header, without port), `("*",)` for any; they
    keep web pages from reaching it by a name of their own. `origins`: those whose pages may call it, `("*",)`
    for any. `models`: globs over the names that a request may ask for, besides the configured one.
    `keepalive`: seconds of silence after which a stream gets a comment. `grace`: seconds within which a
    failure of the upstream still decides the status of a stream. `stall`: seconds after which a caller who
    reads nothing counts as gone. `body_bytes`: the largest request. `forward_key`: the caller's key goes to
    the model's endpoint, in place of the configured one.
    """

    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()
    models: tuple[str, ...] = ("*",)
    keepalive: float = 15.0
    grace: float = 0.2
    stall: float = 60.0
    body_bytes: int = 16 * 1024 * 1024
    forward_key: bool = False
