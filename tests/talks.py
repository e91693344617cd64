"""Conversations for tests of what is kept of them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mcphost.events import Result
from mcphost.messages import Message, ToolResult
from mcphost.store import Store
from mcphost.stored import Session

ASKED: Message = {"role": "user", "content": "苏州到北京的高铁票还有没", "unknown": {"kept": [1, None]}}
CALLING: Message = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "tickets", "arguments": '{"to": "BJP"}'}},
        {"id": "c2", "type": "function", "function": {"name": "date", "arguments": "{}"}},
    ],
}
RESULTS: list[Message] = [
    {"role": "tool", "tool_call_id": "c1", "content": "G1 has seats"},
    {"role": "tool", "tool_call_id": "c2", "content": "Monday"},
]
ANSWERED: Message = {"role": "assistant", "content": "Yes, on G1."}
WHOLE = [ASKED, CALLING, *RESULTS, ANSWERED]


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file itself, for what a `Store` does not do."""
    connection = sqlite3.connect(path)
    with closing(connection), connection:
        yield connection


def said(*texts: str) -> list[Message]:
    """Messages of the user's."""
    return [{"role": "user", "content": text} for text in texts]


def made(store: Store, *messages: Message, **options: str) -> Session:
    """A new session with these messages."""
    session = store.create(**options)
    session.sync(messages)
    return session


def result(call_id: str, content: str, *, ok: bool = True, **others: Any) -> Result:
    return Result(
        ToolResult(call_id, "tickets", ok, content, error=None if ok else content, seconds=0.5, **others)
    )
