"""A conversation on its way to disk. What cannot be kept is told once, and stops nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mcphost.errors import McphostError
from mcphost.events import Event
from mcphost.messages import Message
from mcphost.store import Store
from mcphost.stored import Session
from mcphost.terminal.output import note
from mcphost.text import printable


class Recorder:
    """Keeps one conversation, from its first message on. Without a `store` nothing is kept; `session` is one
    that goes on."""

    def __init__(self, store: Store | None, session: Session | None = None) -> None:
        self._store = store
        self._session = session
        self._known = None if session is None else session.id

    @property
    def session(self) -> Session | None:
        """What is kept, None where there is nothing."""
        return self._session

    def restart(self) -> None:
        """What comes from now on is another conversation."""
        self._session = self._known = None

    def sync(self, messages: Sequence[Message], model: str) -> None:
        """Keep the conversation as it is now."""
        if self._session is None and not any(message["role"] == "user" for message in messages):
            return
        self._try(lambda: self._begun(model).sync(messages))
        if self._session is not None and self._session.id != self._known:
            if self._known is not None:
                about = "warning: this conversation went on elsewhere as well"
                note(f"{about}; what is said here is kept as {self._session.id}", style="yellow")
            self._known = self._session.id

    def note(self, event: Event) -> None:
        """Keep what happens in a turn."""
        session = self._session
        if session is not None:
            self._try(lambda: session.note(event))

    def compact(self, summary: str, upto: int) -> None:
        """Keep that the first `upto` messages are summed up."""
        session = self._session
        if session is not None:
            self._try(lambda: session.compact(summary, upto))

    def _begun(self, model: str) -> Session:
        assert self._store is not None
        if self._session is None:
            self._session = self._store.create(model=model, folder=str(Path.cwd()))
        return self._session

    def _try(self, keep: Callable[[], None]) -> None:
        if self._store is None:
            return
        try:
            keep()
        except McphostError as exc:
            self._store = None
            note(f"warning: this conversation is no longer kept: {printable(exc.message)}", style="yellow")
