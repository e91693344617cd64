"""Sessions on disk: every message, call, result and usage of a conversation, committed as it happens.

SQLite in WAL mode, and a transaction of some 0.05 ms for each thing, so that a process that is killed has
lost nothing that it showed. One of some hundreds waits for the disk, 10 to 25 ms.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mcphost import paths, session_rows
from mcphost.database import connect, storable, transaction, translated
from mcphost.errors import ConfigError
from mcphost.stored import Session, text_of

_AROUND: Final = 60
"""Characters of a snippet on either side of what was found."""

_LONGEST: Final = 200
"""Characters of a word that the database looks for."""


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

    Everything here raises `ConfigError`: for a file that cannot be used, or a session that is not there.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.data_folder() / "sessions.db"
        self._connection = connect(self.path)
        if path is None:
            with suppress(OSError):
                self.path.parent.chmod(0o700)  # whoever made it may not have cared

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing can be kept after this, in sessions neither."""
        self._connection.close()

    def create(self, *, title: str = "", model: str = "", folder: str = "") -> Session:
        """A new session, with nothing in it."""
        with translated(self.path), transaction(self._connection):
            session_id = session_rows.new_session(self._connection, title=title, model=model, folder=folder)
        return Session(self._connection, self.path, session_id)

    def resume(self, session_id: str) -> Session:
        """The session that `find` finds."""
        return Session(self._connection, self.path, self.find(session_id).id)

    def latest(self, *, folder: str | None = None) -> Session:
        """The session that was last used, of all or of those of a working folder."""
        found = self.list(limit=1, folder=folder)
        if not found:
            raise ConfigError("there is no session to continue", hint="Begin one: `mcphost chat`.")
        return Session(self._connection, self.path, found[0].id)

    def find(self, session_id: str) -> Listed:
        """The session of that id, or the only one whose id, or what follows its day, begins so."""
        pattern = f"{_literal(session_id)}%"
        where = "WHERE s.id LIKE :pattern ESCAPE '\\' OR s.id LIKE '%-' || :pattern ESCAPE '\\'"
        found = self._listed(where, limit=3, pattern=pattern) if session_id else []
        exact = [listed for listed in found if listed.id == session_id]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if found:
            names = ", ".join(listed.id for listed in found)
            raise ConfigError(f"several sessions begin with {session_id!r}", hint=f"Name one: {names}, …")
        raise ConfigError(f"there is no session {session_id!r}", hint="`mcphost sessions list` shows them.")

    def list(self, *, limit: int = 50, folder: str | None = None) -> "list[Listed]":
        """The sessions that were last used, the last first. A negative `limit` is for all."""
        return self._listed("WHERE :folder IS NULL OR s.folder = :folder", limit=limit, folder=folder)

    def search(self, words: str, *, limit: int = 20) -> "list[Hit]":
        """Sessions that have all the words, in any script and case, in their messages or their title; the
        last used first."""
        found = [self._texts_with(word) for word in words.split()]
        wanted = words.casefold().split()
        hits: list[Hit] = []
        for listed in self._listed("", limit=-1) if wanted else ():
            if len(hits) == limit:
                break
            texts = [where.get(listed.id) for where in found]
            if all(text is not None for text in texts):
                best = max(texts, key=lambda text: sum(word in (text or "").casefold() for word in wanted))
                hits.append(Hit(listed, _snippet(best or "", wanted)))
        return hits

    def _texts_with(self, word: str) -> dict[str, str]:
        """A text with a word from each session that has one.

        There is no index: reading 100 MB of conversations takes some 0.2 s, while one that finds two Chinese
        characters in a sentence would have to be kept up with every result that comes.
        """
        found: dict[str, str] = {}
        pattern, folded = f"%{_pattern(word[:_LONGEST])}%", word.casefold()
        with translated(self.path):
            titles = self._all(
                "SELECT id, title FROM sessions WHERE title LIKE :pattern ESCAPE '\\'", pattern=pattern
            )
            found |= {session: title for session, title in titles if folded in title.casefold()}
            for session, text in self._connection.execute(
                "SELECT session, json FROM messages WHERE NOT dropped AND json LIKE :pattern ESCAPE '\\'"
                " ORDER BY number DESC",
                storable({"pattern": pattern}),
            ):
                message = json.loads(text)
                if message.get("role") in ("system", "developer"):
                    continue
                said = text_of(message)
                if folded in said.casefold():
                    found[session] = said
        return found

    def delete(self, session_ids: Iterable[str]) -> None:
        """Remove sessions, by whole ids, and all that is kept of them; the file shrinks."""
        with translated(self.path):
            for session_id in session_ids:  # one by one: another process may want to write
                with transaction(self._connection):
                    self._connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
            # as a script, since `execute` ends the first after one page
            self._connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

    def _listed(self, where: str, *, limit: int, **values: object) -> "list[Listed]":
        found = self._all(
            "SELECT s.id, s.title, s.model, s.folder, s.created, s.updated,"
            " (SELECT count(*) FROM messages m WHERE m.session = s.id AND NOT m.dropped)"
            f" FROM sessions s {where} ORDER BY s.updated DESC LIMIT :limit",
            **values,
            limit=limit,
        )
        return [Listed(*row) for row in found]

    def _all(self, query: str, **values: object) -> "list[Any]":
        with translated(self.path):
            return session_rows.rows(self._connection, query, **values)


def _literal(text: str) -> str:
    """`text` with nothing in it that LIKE takes for a pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _pattern(word: str) -> str:
    """What a word looks like inside JSON, for LIKE, which knows the two cases of ASCII letters only: in the
    place of other letters that have two, any character will do."""
    escaped = _literal(json.dumps(word, ensure_ascii=False)[1:-1])
    return "".join("_" if char > "\x7f" and char.upper() != char.lower() else char for char in escaped)


def _snippet(text: str, wanted: Sequence[str]) -> str:
    """The words around the first of those wanted, on one line."""
    folded = text.casefold()
    word = next((each for each in wanted if each in folded), "")
    place = folded.find(word)
    start, end = max(0, place - _AROUND), place + len(word) + _AROUND
    return ("…" if start else "") + " ".join(text[start:end].split()) + ("…" if end < len(text) else "")
