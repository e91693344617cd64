"""The file that sessions are kept in: opening it, refusing what is not ours, bringing it up to date."""

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from mcphost.errors import ConfigError
from mcphost.jsontext import well_formed

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
        folder TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        place INTEGER NOT NULL,
        at REAL NOT NULL,
        json TEXT NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX messages_of ON messages (session, dropped, place);
    CREATE TABLE calls (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        message INTEGER NOT NULL,
        at REAL NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        server TEXT,
        tool TEXT,
        arguments TEXT,
        ok INTEGER,
        seconds REAL,
        error TEXT,
        content TEXT,
        attachments TEXT
    );
    CREATE INDEX calls_of ON calls (session, id);
    CREATE TABLE usage (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        at REAL NOT NULL,
        round INTEGER NOT NULL,
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
    CREATE TABLE pieces (
        number INTEGER PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL
    );
    """,
)
"""What makes each version of the file from the one before, the first from nothing.

`messages.place` is a message's place in its conversation, unless it is `dropped`. `calls.message` is the last
message there was when the call began, and `summaries.upto` the last one that is summed up: `number`s both.
`pieces` are what a model has said since the last message was kept, in the order that it came: few and soon
gone, and written so often that they have no index.
"""

_BUSY_SECONDS: Final = 10.0
_LARGEST: Final = 2**63 - 1

Values = Mapping[str, object]


def connect(path: Path, *, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Open the file, made or brought up to date if need be. Raises `ConfigError`; what is not ours, or is of
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
    for beside in ("", "-wal", "-shm"):  # SQLite makes the others like the first
        with suppress(FileNotFoundError):
            if os.stat(f"{path}{beside}").st_mode & 0o077:
                os.chmod(f"{path}{beside}", 0o600)
    for pragma in (
        "auto_vacuum = INCREMENTAL",  # the file can shrink; only heeded before there is a table
        "foreign_keys = ON",
        "secure_delete = ON",
        # what is committed outlives our process, whatever ends it; a power failure may cost the last of it
        "synchronous = NORMAL",
    ):
        connection.execute(f"PRAGMA {pragma}")
    _write_ahead(connection)
    if _pragma(connection, "user_version") < len(migrations):
        with transaction(connection):  # another process may have been at the same thing
            for version in range(_pragma(connection, "user_version"), len(migrations)):
                for statement in _statements(migrations[version]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")


def _check(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    """Raises for a file that is another program's, or from a later version of ours."""
    with transaction(connection, "DEFERRED"):  # all as of one moment: another process may be making it
        version, application = _pragma(connection, "user_version"), _pragma(connection, "application_id")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application not in (0, APPLICATION) or (application == 0 and (tables or version)):
        raise ConfigError(
            f"{path} is a database of another program", hint="It was left as it is. Move it away."
        )
    if version > len(migrations):
        hint = "Update mcphost. The file was left as it is."
        raise ConfigError(f"{path} was written by a newer mcphost (version {version})", hint=hint)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite does not wait where another process is at the same thing, so this does."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one after the other; each ends a line."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    with closing(connection.execute(f"PRAGMA {name}")) as found:
        return int(found.fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Generator[None]:
    """All or nothing of what is done in the block; it is in the file when the block ends."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends one by itself where the disk is full
            connection.execute("ROLLBACK")
        raise


def storable(values: Values) -> dict[str, object]:
    """`values` as SQLite can take them: half characters are replaced, and numbers have at most 63 bits."""
    return {name: _storable(value) for name, value in values.items()}


def _storable(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    return max(-_LARGEST, min(value, _LARGEST)) if isinstance(value, int) else value


@contextmanager
def translated(path: Path) -> Generator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as exc:
        reason, hint = _reason(exc)
        raise ConfigError(f"the sessions in {path} cannot be used: {reason}", hint=hint) from exc
    except OSError as exc:
        hint = "Sessions are kept there; see that it can be written."
        raise ConfigError(f"{path} cannot be opened: {exc.strerror}", hint=hint) from exc


def _reason(exc: sqlite3.Error) -> tuple[str, str]:
    """What is wrong, and what to do."""
    match getattr(exc, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            hint = "It was left as it is. Move it away to begin anew."
            return f"the file is damaged, or no database ({exc})", hint
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another program holds the file", "Close it, and try again."
        case sqlite3.SQLITE_FULL:
            return "the disk is full", "Make room, and try again."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return "the file cannot be written", "See who owns it and its folder, and whether the disk can."
        case _:
            return str(exc), "`mcphost sessions list` shows whether others can still be read."
