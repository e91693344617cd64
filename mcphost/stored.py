"""One conversation on disk: what it holds, and what is added to it while it goes on."""

import json
import secrets
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mcphost import history
from mcphost.database import transaction, translated
from mcphost.errors import ConfigError
from mcphost.events import Call, Event, Result, Round, RoundUsage, Text
from mcphost.jsontext import as_list, as_object
from mcphost.messages import Message, Usage
from mcphost.text import one_line

_LETTERS: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""Those that nobody takes for one another."""
_TITLE: Final = 80


def insert(connection: sqlite3.Connection, *, title: str, model: str, folder: str) -> str:
    """Inside a transaction: the row of a new session. Its id: the day, and four letters of its own."""
    now = time.time()
    while True:
        made = "".join(secrets.choice(_LETTERS) for _ in range(4))
        session_id = f"{time.strftime('%y%m%d', time.localtime(now))}-{made}"
        try:
            connection.execute(
                "INSERT INTO sessions (id, created, updated, title, model, folder) VALUES (?, ?, ?, ?, ?, ?)",
                (session_id, now, now, one_line(title, _TITLE), model, folder),
            )
        except sqlite3.IntegrityError:
            continue
        return session_id


class Session:
    """One conversation, as it is on disk. A `Store` makes them.

    `messages` is all that counts of it, valid at any moment: what was cut off in the middle is mended. When
    another process has gone on with the same session, what comes here goes on in a new one: `id` changes.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, session_id: str) -> None:
        self._connection = connection
        self._path = path
        self.id = session_id
        self._load()

    def _load(self) -> None:
        with translated(self._path), transaction(self._connection):
            row = self._row(
                "SELECT title, model, folder, created, revision, writing FROM sessions WHERE id = ?"
            )
            self.title, self.model, self.folder, self.created, self._revision, writing = row
            stored = self._rows(
                "SELECT number, json FROM messages WHERE session = ? AND NOT dropped ORDER BY number"
            )
            self._kept: list[tuple[int, str]] = [(number, text) for number, text in stored]
            summary = self._rows(
                "SELECT upto, text FROM summaries WHERE session = ? ORDER BY number DESC LIMIT 1"
            )
            self._summary: tuple[int, str] | None = summary[0] if summary else None
            messages = self._answered([json.loads(text) for _, text in self._kept])
        if writing:  # what a model had said when the process ended
            messages.append({"role": "assistant", "content": writing})
        self.messages: list[Message] = history.mend(messages)

    def _answered(self, messages: list[Message]) -> list[Message]:
        """Messages with the results of a last round whose calls had ended before the messages were kept."""
        answered = {message.get("tool_call_id") for message in messages if message.get("role") == "tool"}
        last = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].get("tool_calls")), None)
        if last is None:
            return messages
        missing: list[Message] = []
        for call in as_list(messages[last]["tool_calls"]) or []:
            call_id = (as_object(call) or {}).get("id")
            rows = self._rows(
                "SELECT content FROM calls WHERE session = ? AND id = ? AND content IS NOT NULL"
                " ORDER BY number DESC LIMIT 1",
                call_id,
            )
            if rows and call_id not in answered:
                missing.append({"role": "tool", "tool_call_id": call_id, "content": rows[0][0]})
        return [*messages[: last + 1], *missing, *messages[last + 1 :]]

    @property
    def context(self) -> list[Message]:
        """What is to be sent: the latest summary in the place of what it sums up."""
        if self._summary is None:
            return list(self.messages)
        upto, text = self._summary
        system = [message for message in self.messages[:1] if message.get("role") == "system"]
        kept = sum(number <= upto for number, _ in self._kept)
        said: Message = {"role": "user", "content": f"What was said before, in short:\n{text}"}
        return history.mend([*system, said, *self.messages[kept:]])

    @property
    def usage(self) -> Usage:
        """All tokens so far."""
        (row,) = self._read(
            "SELECT total(prompt_tokens), total(completion_tokens), total(cached_tokens),"
            " total(reasoning_tokens) FROM usage WHERE session = ?"
        )
        return Usage(*(int(value) for value in row))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """All calls so far, as they ended: `id`, `name`, `server`, `tool`, `arguments`, `ok`, `seconds`,
        `error`, `at`. Those that have not ended have an `ok` of None."""
        keys = ("id", "name", "server", "tool", "arguments", "ok", "seconds", "error", "at")
        rows = self._read(f"SELECT {', '.join(keys)} FROM calls WHERE session = ? ORDER BY number")
        made = [dict(zip(keys, row, strict=True)) for row in rows]
        return [
            {
                **call,
                "arguments": None if call["arguments"] is None else json.loads(call["arguments"]),
                "ok": None if call["ok"] is None else bool(call["ok"]),
            }
            for call in made
        ]

    def rename(self, title: str) -> None:
        self.title = one_line(title, _TITLE)
        with translated(self._path), transaction(self._connection):
            self._do("UPDATE sessions SET title = ? WHERE id = ?", self.title)

    def sync(self, messages: Sequence[Message]) -> None:
        """Keep the conversation as it is now: new messages are added, and what is no longer part of it is
        kept as dropped. The first words of the user become the title."""
        texts = [json.dumps(message, ensure_ascii=False) for message in messages]
        common = 0
        while common < min(len(texts), len(self._kept)) and texts[common] == self._kept[common][1]:
            common += 1
        if common == len(texts) == len(self._kept):
            self.messages = list(messages)
            return
        with translated(self._path), transaction(self._connection):
            (revision,) = self._row("SELECT revision FROM sessions WHERE id = ?")
            if revision != self._revision:
                self.id = insert(self._connection, title=self.title, model=self.model, folder=self.folder)
                self._revision, self._kept, common = 0, [], 0
            for number, _ in self._kept[common:]:
                self._connection.execute("UPDATE messages SET dropped = 1 WHERE number = ?", (number,))
            added = [(self._add(text, messages[n]), text) for n, text in enumerate(texts) if n >= common]
            self.title = self.title or _title_of(messages)
            self._do(
                "UPDATE sessions SET revision = revision + 1, writing = '', updated = ?, title = ?"
                " WHERE id = ?",
                time.time(),
                self.title,
            )
        self._revision += 1
        self._kept = [*self._kept[:common], *added]
        self.messages = list(messages)

    def _add(self, text: str, message: Message) -> int:
        number = self._connection.execute(
            "INSERT INTO messages (session, at, json) VALUES (?, ?, ?)", (self.id, time.time(), text)
        ).lastrowid
        assert number is not None
        if words := text_of(message):
            self._connection.execute("INSERT INTO texts (text, session) VALUES (?, ?)", (words, self.id))
        return number

    def note(self, event: Event) -> None:
        """Keep what happens in a turn: text as it comes, calls and their results, usage."""
        match event:
            case Text(text):
                self._change("UPDATE sessions SET writing = writing || ? WHERE id = ?", text)
            case Round():
                self._change("UPDATE sessions SET writing = '' WHERE id = ?")
            case Call(call_id, name, server, tool, arguments):
                given = (
                    None
                    if arguments is None
                    else json.dumps(dict(arguments), ensure_ascii=False, default=str)
                )
                self._change(
                    "INSERT INTO calls (at, id, name, server, tool, arguments, session)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    time.time(),
                    call_id,
                    name,
                    server,
                    tool,
                    given,
                )
            case Result(result):
                self._change(
                    "UPDATE calls SET ok = ?, seconds = ?, error = ?, content = ? WHERE number ="
                    " (SELECT max(number) FROM calls WHERE id = ? AND session = ?)",
                    result.ok,
                    result.seconds,
                    result.error,
                    result.content,
                    result.call_id,
                )
            case RoundUsage(_, usage):
                self._change(
                    "INSERT INTO usage (at, model, prompt_tokens, completion_tokens, cached_tokens,"
                    " reasoning_tokens, session) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    time.time(),
                    self.model,
                    usage.prompt_tokens,
                    usage.completion_tokens,
                    usage.cached_tokens,
                    usage.reasoning_tokens,
                )
            case _:
                pass

    def compact(self, summary: str, upto: int) -> None:
        """From now on `context` has `summary` in the place of the first `upto` messages; all are kept."""
        number = self._kept[upto - 1][0]
        self._change(
            "INSERT INTO summaries (at, upto, text, session) VALUES (?, ?, ?, ?)",
            time.time(),
            number,
            summary,
        )
        self._summary = (number, summary)

    def undo(self) -> bool:
        """Drop the last thing that the user said, and all after it. Whether there was one."""
        said = [n for n, message in enumerate(self.messages) if message.get("role") == "user"]
        if said:
            self.sync(self.messages[: said[-1]])
        return bool(said)

    def _change(self, query: str, *values: object) -> None:
        with translated(self._path), transaction(self._connection):
            self._do(query, *values)

    def _do(self, query: str, *values: object) -> None:
        """`query` with `values`, and this session's id for the last of its places."""
        self._connection.execute(query, (*values, self.id))

    def _rows(self, query: str, *values: object) -> list[Any]:
        """`query` with this session's id for the first of its places."""
        with closing(self._connection.execute(query, (self.id, *values))) as found:
            return found.fetchall()

    def _row(self, query: str) -> Any:
        rows = self._rows(query)
        if not rows:
            raise ConfigError(
                f"the session {self.id} was deleted", hint="`mcphost sessions list` shows the others."
            )
        return rows[0]

    def _read(self, query: str) -> list[Any]:
        with translated(self._path):
            return self._rows(query)


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
    return one_line(said, _TITLE)
