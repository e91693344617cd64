"""The rows of one session. Everything here is done inside a transaction of the caller's."""

import copy
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcphost.database import storable
from mcphost.errors import McphostError
from mcphost.jsontext import as_list, as_object, exact
from mcphost.messages import Message
from mcphost.text import one_line

TITLE: Final = 80
"""Characters that a title may have."""

_DIGITS: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""Those that nobody takes for one another, in the order that they sort in."""

_CALL = "at, id, name, server, tool, arguments, ok, seconds, error, content, attachments"


@dataclass(frozen=True, slots=True)
class Row:
    """A message that is kept, under its number. `message` is a copy that nobody else has."""

    number: int
    message: Message


def rows(connection: sqlite3.Connection, query: str, **values: object) -> list[Any]:
    """All rows of a query."""
    return connection.execute(query, storable(values)).fetchall()


def new_session(connection: sqlite3.Connection, *, title: str, model: str, folder: str) -> str:
    """The row of a new session. Its id is the day and the time of the day, such as `261201-k3f7`: ids sort as
    they were made."""
    at = time.time()
    while True:
        values = {"id": _id(at), "at": at, "title": one_line(title, TITLE), "model": model, "folder": folder}
        try:
            connection.execute(
                "INSERT INTO sessions (id, created, updated, title, model, folder)"
                " VALUES (:id, :at, :at, :title, :model, :folder)",
                storable(values),
            )
        except sqlite3.IntegrityError:  # one was made in the same tenth of a second
            at += 0.1
            continue
        return str(values["id"])


def _id(at: float) -> str:
    day = time.localtime(at)
    tenths = ((day.tm_hour * 60 + day.tm_min) * 60 + day.tm_sec) * 10 + int(at % 1 * 10)
    digits = ""
    for _ in range(4):
        tenths, digit = divmod(tenths, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return f"{time.strftime('%y%m%d', day)}-{digits}"


def kept(connection: sqlite3.Connection, session: str) -> tuple[Row, ...]:
    """The messages that count, in their order."""
    found = rows(
        connection,
        "SELECT number, json FROM messages WHERE session = :session AND NOT dropped ORDER BY place, number",
        session=session,
    )
    return tuple(Row(number, json.loads(text)) for number, text in found)


def add(
    connection: sqlite3.Connection, session: str, place: int, message: Message, *, dropped: bool = False
) -> Row:
    """One more message. Raises `McphostError` where JSON cannot hold it."""
    try:
        text = exact(message)
    except (TypeError, ValueError, RecursionError) as exc:
        raise McphostError(f"a message cannot be kept: {exc}") from exc
    number = connection.execute(
        "INSERT INTO messages (session, place, at, json, dropped)"
        " VALUES (:session, :place, :at, :json, :dropped)",
        {
            "session": session,
            "place": place,
            "at": time.time(),
            "json": text,
            "dropped": dropped,
        },
    ).lastrowid
    assert number is not None
    return Row(number, copy.deepcopy(message))


def drop(connection: sqlite3.Connection, dropped: Sequence[Row]) -> None:
    """Messages that no longer count. They stay in the file."""
    numbers = [(row.number,) for row in dropped]
    connection.executemany("UPDATE messages SET dropped = 1 WHERE number = ?", numbers)


def conversation(connection: sqlite3.Connection, session: str, messages: Sequence[Row]) -> list[Message]:
    """The messages of rows, and what had come of the next ones when their process ended: results of the last
    round, or what the model was saying. They are the caller's own."""
    found = _answered(connection, session, messages)
    said = unfinished(connection, session)
    if text := "\n\n".join(message["content"] for message in said if message["content"]):
        found.append({"role": "assistant", "content": text})
        thoughts = [message["reasoning_content"] for message in said if "reasoning_content" in message]
        found[-1] |= {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    return found


def _answered(connection: sqlite3.Connection, session: str, kept: Sequence[Row]) -> list[Message]:
    """The messages of rows, and after the last that calls also the results which were not yet messages."""
    messages = copy.deepcopy([row.message for row in kept])
    last = next((n for n in range(len(kept) - 1, -1, -1) if messages[n].get("tool_calls")), None)
    if last is None:
        return messages
    answered = {message.get("tool_call_id") for message in messages[last:]}
    missing: list[Message] = []
    for call in as_list(messages[last]["tool_calls"]) or []:
        call_id = (as_object(call) or {}).get("id")
        if not isinstance(call_id, str) or call_id in answered:
            continue
        ended = rows(
            connection,
            "SELECT content FROM calls WHERE session = :session AND id = :id AND message >= :message"
            " AND content IS NOT NULL ORDER BY number DESC LIMIT 1",
            session=session,
            id=call_id,
            message=kept[last].number,
        )
        missing += [{"role": "tool", "tool_call_id": call_id, "content": content} for (content,) in ended]
    return [*messages[: last + 1], *missing, *messages[last + 1 :]]


def unfinished(connection: sqlite3.Connection, session: str) -> list[Message]:
    """What a model has said since the last message was kept: an assistant message for each round."""
    pieces = rows(
        connection,
        "SELECT kind, text FROM pieces WHERE session = :session ORDER BY number",
        session=session,
    )
    return list(_joined(pieces))


def _joined(pieces: Sequence[tuple[str, str]]) -> Iterator[Message]:
    said = {"text": "", "reasoning": ""}
    for kind, text in [*pieces, ("round", "")]:
        if kind != "round":
            said[kind] += text
            continue
        if any(said.values()):
            message: Message = {"role": "assistant", "content": said["text"]}
            yield message | ({"reasoning_content": said["reasoning"]} if said["reasoning"] else {})
        said = {"text": "", "reasoning": ""}


def copied(connection: sqlite3.Connection, session: str, messages: Sequence[Row]) -> str:
    """The id of a new session with these messages of another, their calls and summaries. What requests took
    stays with the old one, which had them."""
    ((title, model, folder),) = rows(
        connection, "SELECT title, model, folder FROM sessions WHERE id = :session", session=session
    )
    new = new_session(connection, title=title, model=model, folder=folder)
    for place, row in enumerate(messages):
        number = add(connection, new, place, row.message).number
        values = {"new": new, "number": number, "old": session, "was": row.number}
        connection.execute(
            f"INSERT INTO calls (session, message, {_CALL}) SELECT :new, :number, {_CALL} FROM calls"
            " WHERE session = :old AND message = :was ORDER BY number",
            values,
        )
        connection.execute(
            "INSERT INTO summaries (session, upto, at, text) SELECT :new, :number, at, text FROM summaries"
            " WHERE session = :old AND upto = :was ORDER BY number",
            values,
        )
    return new
