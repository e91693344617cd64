"""The file that sessions are kept in: opening it, refusing what is not ours, bringing it up to date."""

import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from mcphost.errors import McphostError

APPLICATION: Final = 0x6D637068
"""SQLite's `application_id` of our files: "mcph"."""

MIGRATIONS: Final[Sequence[str]] = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        revision INTEGER NOT NULL DEFAULT 0,
        title TEXT NOT NULL DEFAULT '',
        model TEXT NOT NULL DEFAULT '',
        folder TEXT NOT NULL DEFAULT '',
        writing TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        at REAL NOT NULL,
        json TEXT NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX messages_of ON messages (session, dropped, number);
    CREATE TABLE calls (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        at REAL NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        server TEXT,
        tool TEXT,
        arguments TEXT,
        ok INTEGER,
        seconds REAL,
        error TEXT,
        content TEXT
    );
    CREATE INDEX calls_of ON calls (session, id);
    CREATE TABLE usage (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        at REAL NOT NULL,
        model TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL
    );
    CREATE INDEX usage_of ON usage (session);
    CREATE TABLE summaries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        at REAL NOT NULL,
        upto INTEGER NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX summaries_of ON summaries (session);
    CREATE VIRTUAL TABLE texts USING fts5 (text, session UNINDEXED, tokenize = 'trigram');
    """,
)
"""What makes each version of the file from the one before, the first from nothing."""

_BUSY_SECONDS: Final = 10.0


def connect(path: Path, *, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Open the file, made or brought up to date if need be. Raises `McphostError`; what is not ours, or is of
    a later version, stays as it is."""
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            _prepare(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    _check(connection, path, migrations)
    connection.execute("PRAGMA journal_mode = WAL")
    # what is committed outlives our process, whatever ends it; a power failure may cost the last of it
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    if _pragma(connection, "user_version") < len(migrations):
        with transaction(connection):  # another process may be at the same thing
            for version in range(_pragma(connection, "user_version"), len(migrations)):
                for statement in migrations[version].split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")


def _check(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    """Raises for a file that is another program's, or from a later version of ours."""
    version, application = _pragma(connection, "user_version"), _pragma(connection, "application_id")
    with closing(connection.execute("SELECT count(*) FROM sqlite_master")) as found:
        (tables,) = found.fetchone()
    if application not in (0, APPLICATION) or (application == 0 and (tables or version)):
        raise McphostError(f"{path} is a database of another program", hint="Move it, or name another file.")
    if version > len(migrations):
        hint = "Update mcphost. The file was left as it is."
        raise McphostError(f"{path} was written by a newer mcphost (version {version})", hint=hint)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    with closing(connection.execute(f"PRAGMA {name}")) as found:
        return int(found.fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All or nothing of what is done in the block; it is on disk when the block ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def translated(path: Path) -> Generator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as exc:
        reason, hint = _reason(exc)
        raise McphostError(f"the sessions in {path} cannot be used: {reason}", hint=hint) from exc
    except OSError as exc:
        hint = "Sessions are kept there; see that it can be written."
        raise McphostError(f"{path} cannot be opened: {exc.strerror}", hint=hint) from exc


def _reason(exc: sqlite3.Error) -> tuple[str, str]:
    said = str(exc)
    if "not a database" in said or "malformed" in said or "disk image" in said:
        return (
            f"the file is damaged, or no database ({said})",
            "It was left as it is. Move it away to begin anew.",
        )
    if "locked" in said or "busy" in said:
        return "another program holds the file", "Close it, and try again."
    if "full" in said:
        return "the disk is full", "Make room, and try again."
    if "readonly" in said or "unable to open" in said:
        return "the file cannot be written", "See who owns it and its folder."
    return said, "`mcphost sessions list` shows whether others can still be read."
