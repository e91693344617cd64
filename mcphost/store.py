"""Sessions on disk: every message, call, result and usage of a conversation, committed as it happens.

SQLite in WAL mode, a transaction of some 0.1 ms for each thing, so that a process that is killed has lost
nothing that it showed.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mcphost import paths
from mcphost.database import connect, transaction, translated
from mcphost.errors import ConfigError
from mcphost.stored import Session, insert

_SNIPPET: Final = 60
_TRIGRAM: Final = 3


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as lists show it. Times are seconds since 1970; `messages` counts those that still count."""

    id: str
    title: str
    model: str
    folder: str
    created: float
    updated: float
    messages: int


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a search found something: the session, and the words around it."""

    session: Listed
    snippet: str


class Store:
    """All sessions of a user. A context manager; `path` is the user's own file unless another is named.

    Everything here raises `McphostError` when the file cannot be used, and `ConfigError` for a session that
    is not there.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.data_folder() / "sessions.db"
        self._connection = connect(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    def create(self, *, title: str = "", model: str = "", folder: str = "") -> Session:
        """A new session, with nothing in it."""
        with translated(self.path), transaction(self._connection):
            session_id = insert(self._connection, title=title, model=model, folder=folder)
        return Session(self._connection, self.path, session_id)

    def resume(self, session_id: str) -> Session:
        """The session of that id, or of the only one that begins so."""
        return Session(self._connection, self.path, self.find(session_id).id)

    def latest(self, *, folder: str | None = None) -> Session:
        """The session that was last used, of all or of those of a working folder."""
        found = self.list(limit=1, folder=folder)
        if not found:
            raise ConfigError("there is no session to continue", hint="Begin one: `mcphost chat`.")
        return Session(self._connection, self.path, found[0].id)

    def find(self, session_id: str) -> Listed:
        """The session of that id, or of the only one that begins so."""
        pattern = session_id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        found = self._listed("WHERE s.id LIKE ? ESCAPE '\\'", (pattern,), 3)
        exact = [listed for listed in found if listed.id == session_id]
        if len(exact or found) == 1 and session_id:
            return (exact or found)[0]
        if found and session_id:
            names = ", ".join(listed.id for listed in found)
            raise ConfigError(f"several sessions begin with {session_id!r}", hint=f"Name one: {names}, …")
        raise ConfigError(f"there is no session {session_id!r}", hint="`mcphost sessions list` shows them.")

    def list(self, *, limit: int = 50, folder: str | None = None) -> "list[Listed]":
        """The sessions that were last used, the last first."""
        if folder is None:
            return self._listed("", (), limit)
        return self._listed("WHERE s.folder = ?", (folder,), limit)

    def search(self, words: str, *, limit: int = 20) -> "list[Hit]":
        """Sessions whose messages hold all the words, in any script; the last used first."""
        wanted = words.split()
        if not wanted:
            return []
        if all(len(word) >= _TRIGRAM for word in wanted):
            match = " AND ".join('"' + word.replace('"', '""') + '"' for word in wanted)
            where, values = "text MATCH ?", [match]
        else:  # the index knows only three characters in a row, and many Chinese words have two
            where = " AND ".join("text LIKE ? ESCAPE '\\'" for _ in wanted)
            escaped = [word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for word in wanted]
            values = [f"%{word}%" for word in escaped]
        rows = self._all(f"SELECT session, text FROM texts WHERE {where}", values)
        first = {row[0]: row[1] for row in reversed(rows)}
        found = [listed for listed in self._listed("", (), -1) if listed.id in first]
        return [Hit(listed, _snippet(first[listed.id], wanted[0])) for listed in found[:limit]]

    def delete(self, session_ids: Iterable[str]) -> None:
        """Remove sessions, by whole ids, and all that is kept of them."""
        with translated(self.path), transaction(self._connection):
            for session_id in session_ids:
                self._connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
                self._connection.execute("DELETE FROM texts WHERE session = ?", (session_id,))

    def _listed(self, where: str, values: Sequence[object], limit: int) -> "list[Listed]":
        rows = self._all(
            "SELECT s.id, s.title, s.model, s.folder, s.created, s.updated,"
            " (SELECT count(*) FROM messages m WHERE m.session = s.id AND NOT m.dropped)"
            f" FROM sessions s {where} ORDER BY s.updated DESC LIMIT ?",
            (*values, limit),
        )
        return [Listed(*row) for row in rows]

    def _all(self, query: str, values: Sequence[object]) -> "list[Any]":
        with translated(self.path), closing(self._connection.execute(query, tuple(values))) as found:
            return found.fetchall()


def _snippet(text: str, word: str) -> str:
    """The words around the first place of `word`, on one line."""
    place = max(0, text.casefold().find(word.casefold()))
    start, end = max(0, place - _SNIPPET), place + len(word) + _SNIPPET
    cut = " ".join(text[start:end].split())
    return ("…" if start else "") + cut + ("…" if end < len(text) else "")
