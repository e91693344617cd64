"""How a person gets to the page where access is granted, and what comes back from there."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Visit(Protocol):
    """One visit, ready to receive what the page sends back to `redirect_uri`."""

    @property
    def redirect_uri(self) -> str: ...

    async def visit(self, url: str) -> str:
        """Send a person to `url`. Returns the URL, below `redirect_uri`, that the page then led to.

        Raises `NotVisited` when nothing came back.
        """
        ...


class Visitor(Protocol):
    """Whoever can ask a person for access. Without one only logins that are there already are used."""

    def receiving(self, redirect_uri: str | None, /) -> AbstractAsyncContextManager[Visit]:
        """Prepare for a visit: at `redirect_uri`, or None for an address of its own choice.

        Raises `NotVisited` when nothing can be received there.
        """
        ...


class NotVisited(Exception):
    """Nobody came back from the page; the message says why, `hint` what to do about it."""

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
