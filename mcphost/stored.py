"""One conversation on disk: what it holds, and what is added to it while it goes on."""

import json
import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mcphost import history, session_rows
from mcphost.context import Summary, sent
from mcphost.database import storable, transaction, translated
from mcphost.errors import ConfigError
from mcphost.events import Event, Reasoning, Round, Text
from mcphost.jsontext import as_list, as_object
from mcphost.messages import Message, Usage
from mcphost.noted import statements
from mcphost.session_rows import Row
from mcphost.text import one_line

_CALL: Final = (
    "id",
    "name",
    "server",
    "tool",
    "arguments",
    "ok",
    "seconds",
    "error",
    "attachments",
    "at",
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one request took: `round` is its number in its turn, and 0 outside of any."""

    at: float
    round: int
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class _State:
    """A session as its object knows it: what the file has, unless another process has gone on with it."""

    id: str
    revision: int
    rows: tuple[Row, ...]


class Session:
    """One conversation, as it is on disk. A `Store` makes them.

    `messages` is all that counts of it, and can be sent as it is: what was cut off in the middle is mended.
    When another process has gone on with the same session, what comes here is kept in a copy from then on:
    `id` is that one's, and `branched_from` the other's.

    Methods raise `ConfigError` when the file cannot be used or the session was deleted, `McphostError` for a
    message that is no JSON, and have then done nothing.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, session_id: str) -> None:
        self._connection = connection
        self._path = path
        self._state: _State = _State(session_id, 0, ())
        self.branched_from: str | None = None
        with translated(path), transaction(connection, "DEFERRED"):
            self.title, self.model, self.folder, self.created, _ = self._about()
            self._state = self._loaded(session_id)
            messages = session_rows.conversation(connection, session_id, self._state.rows)
        self.messages: list[Message] = history.mend(messages)

    def _about(self) -> tuple[str, str, str, float, int]:
        """Title, model, folder, when it was made, and its revision. Raises `ConfigError` if it is gone."""
        found = self._rows("SELECT title, model, folder, created, revision FROM sessions WHERE id = :session")
        if not found:
            hint = "`mcphost sessions list` shows the others."
            raise ConfigError(f"the session {self.id} was deleted", hint=hint)
        return found[0]

    def _loaded(self, session_id: str) -> _State:
        ((revision,),) = session_rows.rows(
            self._connection, "SELECT revision FROM sessions WHERE id = :session", session=session_id
        )
        return _State(session_id, revision, session_rows.kept(self._connection, session_id))

    # what there is

    @property
    def id(self) -> str:
        return self._state.id

    @property
    def context(self) -> list[Message]:
        """What is to be sent: the latest summary in the place of what it sums up."""
        return history.mend(sent(self.messages, self.summary))

    @property
    def summary(self) -> Summary | None:
        """The latest summary of what is still there, after the number of messages that it sums up."""
        places = {row.number: place for place, row in enumerate(self._state.rows, 1)}
        found = self._read("SELECT upto, text FROM summaries WHERE session = :session ORDER BY number DESC")
        return next(((places[upto], text) for upto, text in found if upto in places), None)

    @property
    def usage(self) -> Usage:
        """All tokens so far."""
        return sum((spent.usage for spent in self.requests), Usage())

    @property
    def requests(self) -> list[Spent]:
        """What each request took, in order. Where `round` is 1, a turn begins."""
        found = self._read(
            "SELECT at, round, model, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens"
            " FROM usage WHERE session = :session ORDER BY number"
        )
        return [Spent(at, n, model, Usage(*tokens)) for at, n, model, *tokens in found]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """All calls so far, as they ended: `id`, `name`, `server`, `tool`, `arguments`, `ok`, `seconds`,
        `error`, `attachments` (paths), `at`. Those that have not ended have an `ok` of None."""
        found = self._read(f"SELECT {', '.join(_CALL)} FROM calls WHERE session = :session ORDER BY number")
        made = [dict(zip(_CALL, row, strict=True)) for row in found]
        return [
            {
                **call,
                "arguments": None if call["arguments"] is None else json.loads(call["arguments"]),
                "attachments": json.loads(call["attachments"] or "[]"),
                "ok": None if call["ok"] is None else bool(call["ok"]),
            }
            for call in made
        ]

    # what comes

    def sync(self, messages: Sequence[Message]) -> None:
        """Keep the conversation as it is now: what is new is added, and what is no longer part of it is kept
        as dropped. The first words of the user become the title.

        To be called before `note`, with all there is: what has not changed costs next to nothing.
        """
        old = self._state.rows
        head = _alike(old, messages)
        if head == len(old) == len(messages):
            self.messages = list(messages)
            return
        tail = _alike(old[head:][::-1], messages[head:][::-1])
        title = self.title or _title_of(messages)
        with self._writing():
            rows = self._state.rows
            after = len(rows) - tail
            session_rows.drop(self._connection, rows[head:after])
            if tail and len(rows) != len(messages):
                self._do(
                    "UPDATE messages SET place = place + :shift"
                    " WHERE session = :session AND NOT dropped AND place >= :after",
                    shift=len(messages) - len(rows),
                    after=after,
                )
            added = [self._add(place, messages[place]) for place in range(head, len(messages) - tail)]
            self._settle(row.message for row in added)
            self._do("UPDATE sessions SET title = :title WHERE id = :session", title=title)
            self._state = replace(self._state, rows=(*rows[:head], *added, *rows[after:]))
        self.title = title
        self.messages = list(messages)

    def _settle(self, added: Iterable[Message]) -> None:
        """What a model was saying is said, or was given up: then it is kept as dropped."""
        messages = list(added)
        for partial in session_rows.unfinished(self._connection, self.id):
            if not any(_holds(message, partial) for message in messages):
                self._add(0, partial, dropped=True)
        self._do("DELETE FROM pieces WHERE session = :session")

    def note(self, event: Event) -> None:
        """Keep what happens in a turn: text and reasoning as they come, calls and their results, usage."""
        todo = list(statements(event, model=self.model))
        if todo:
            with self._writing(counted=not isinstance(event, Round | Text | Reasoning)):
                last = self._state.rows[-1].number if self._state.rows else 0
                for query, values in todo:
                    self._do(query, **values, message=last)

    def compact(self, summary: str, upto: int) -> None:
        """From now on `context` has `summary` in the place of the first `upto` messages (one at least); all
        are kept."""
        self.sync(self.messages)
        with self._writing():
            self._do(
                "INSERT INTO summaries (session, at, upto, text) VALUES (:session, :at, :upto, :text)",
                at=time.time(),
                upto=self._state.rows[max(upto, 1) - 1].number,
                text=summary,
            )

    def rename(self, title: str) -> None:
        """Another title."""
        self._set("title", one_line(title, session_rows.TITLE))

    def use(self, model: str) -> None:
        """Another model from now on."""
        if model != self.model:
            self._set("model", model)

    def _set(self, name: str, value: str) -> None:
        with self._writing():
            self._do(f"UPDATE sessions SET {name} = :value WHERE id = :session", value=value)
        setattr(self, name, value)

    def fork(self) -> "Session":
        """A new session with all that this one holds, which goes its own way."""
        self.sync(self.messages)
        with translated(self._path), transaction(self._connection):
            new = session_rows.copied(self._connection, self.id, self._state.rows)
        return Session(self._connection, self._path, new)

    @contextmanager
    def _writing(self, *, counted: bool = True) -> Generator[None]:
        """A transaction on the session as it is known here; on a copy, where another process changed it.

        What is not `counted` is no change to others: the pieces of a text, which then write a page each.
        """
        before = self._state
        try:
            with translated(self._path), transaction(self._connection):
                *_, revision = self._about()
                if revision != before.revision:
                    self._state = self._loaded(session_rows.copied(self._connection, before.id, before.rows))
                yield
                if counted:
                    self._do(
                        "UPDATE sessions SET revision = revision + 1, updated = :now WHERE id = :session",
                        now=time.time(),
                    )
        except BaseException:
            self._state = before
            raise
        if self._state.id != before.id:
            self.branched_from = before.id
        self._state = replace(self._state, revision=self._state.revision + counted)

    def _add(self, place: int, message: Message, *, dropped: bool = False) -> Row:
        return session_rows.add(self._connection, self.id, place, message, dropped=dropped)

    def _do(self, query: str, **values: object) -> None:
        self._connection.execute(query, storable({**values, "session": self.id}))

    def _rows(self, query: str, **values: object) -> list[Any]:
        return session_rows.rows(self._connection, query, session=self.id, **values)

    def _read(self, query: str) -> list[Any]:
        with translated(self._path):
            return self._rows(query)


def _alike(rows: Sequence[Row], messages: Sequence[Message]) -> int:
    """How many of the first messages are as they are kept."""
    count = 0
    for row, message in zip(rows, messages, strict=False):
        if row.message != message:
            break
        count += 1
    return count


def _holds(message: Message, partial: Message) -> bool:
    """Whether a message has what a model was saying."""
    if text := partial["content"].strip():
        return text in text_of(message)
    return partial["reasoning_content"].strip() in str(message.get("reasoning_content", ""))


def text_of(message: Message) -> str:
    """The words of a message: its text, and what its calls are given."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else []
    for part in as_list(content) or []:
        entry = as_object(part) or {}
        parts += [entry["text"]] if isinstance(entry.get("text"), str) else []
    for call in as_list(message.get("tool_calls")) or []:
        function = as_object((as_object(call) or {}).get("function")) or {}
        parts.append(f"{function.get('name', '')} {function.get('arguments', '')}")
    return "\n".join(parts)


def _title_of(messages: Sequence[Message]) -> str:
    said = next((text_of(message) for message in messages if message.get("role") == "user"), "")
    return one_line(said, session_rows.TITLE)
