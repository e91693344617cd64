"""Sessions on disk: real files, other processes, and kills."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcphost import database
from mcphost.errors import ConfigError, McphostError
from mcphost.events import Call, Result, Round, RoundUsage, Text
from mcphost.messages import Message, ToolResult, Usage
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


def made(store: Store, *messages: Message, **options: str) -> Session:
    session = store.create(**options)
    session.sync(messages)
    return session


def result(call_id: str, content: str, *, ok: bool = True) -> Result:
    return Result(ToolResult(call_id, "tickets", ok, content, error=None if ok else content, seconds=0.5))


def test_a_conversation_comes_back_as_it_was(store: Store, path: Path):
    session = made(store, *WHOLE, model="deepseek/x", folder="/somewhere")
    with Store(path) as again:
        found = again.resume(session.id)
    assert found.messages == WHOLE
    assert (found.title, found.model, found.folder) == (ASKED["content"], "deepseek/x", "/somewhere")


def test_only_its_owner_can_read_it(store: Store, path: Path):
    made(store, ASKED)
    for file in (path, *path.parent.glob("sessions.db-*")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_session_is_found_by_any_beginning_of_its_id(store: Store):
    session = made(store, ASKED)
    assert store.resume(session.id[:-1]).id == session.id
    assert store.latest().id == session.id
    with pytest.raises(ConfigError, match="there is no session '%'"):
        store.resume("%")
    with pytest.raises(ConfigError, match="there is no session ''"):
        store.resume("")
    made(store, ASKED)
    with pytest.raises(ConfigError, match="several sessions begin with"):
        store.resume(session.id[:6])


def test_the_latest_is_the_one_last_used(store: Store):
    first, second = made(store, ASKED, folder="/a"), made(store, ASKED, folder="/b")
    first.sync(WHOLE)
    assert store.latest().id == first.id
    assert store.latest(folder="/b").id == second.id
    with pytest.raises(ConfigError, match="no session to continue"):
        store.latest(folder="/c")


def test_a_changed_tail_replaces_the_old_one_which_is_kept(store: Store, path: Path):
    session = made(store, *WHOLE)
    other = {"role": "assistant", "content": "No."}
    session.sync([*WHOLE[:-1], other])
    assert store.resume(session.id).messages == [*WHOLE[:-1], other]
    with sqlite3.connect(path) as raw:
        (kept,) = raw.execute("SELECT json FROM messages WHERE dropped").fetchone()
    assert json.loads(kept) == ANSWERED


def test_undo_drops_what_the_user_said_last_and_all_after_it(store: Store):
    session = made(store, *WHOLE, {"role": "user", "content": "And back?"}, ANSWERED)
    assert session.undo()
    assert session.messages == store.resume(session.id).messages == WHOLE
    assert session.undo()
    assert not session.undo()


def test_what_was_shown_of_a_turn_survives_its_end(store: Store):
    session = made(store, ASKED)
    session.note(Round(1))
    session.note(Text("Let me "))
    session.note(Text("see."))
    again = store.resume(session.id)
    assert again.messages == [ASKED, {"role": "assistant", "content": "Let me see."}]
    session.note(Round(2))
    assert store.resume(session.id).messages == [ASKED]


def test_results_that_came_before_the_end_are_there_and_the_others_are_cancelled(store: Store):
    session = made(store, ASKED, CALLING)
    session.note(Call("c1", "tickets", "12306", "get", {"to": "BJP"}))
    session.note(Call("c2", "date", "12306", "date", {}))
    session.note(result("c1", "G1 has seats"))
    messages = store.resume(session.id).messages
    assert messages[:3] == [ASKED, CALLING, RESULTS[0]]
    assert messages[3]["tool_call_id"] == "c2"
    assert "cancelled" in messages[3]["content"]


def test_calls_and_usage_add_up(store: Store):
    session = made(store, ASKED, model="m")
    session.note(Call("c1", "tickets", "12306", "get", {"to": "BJP"}))
    session.note(result("c1", "no seats", ok=False))
    session.note(Call("c2", "date", None, None, None))
    session.note(RoundUsage(1, Usage(10, 5, 2, 1)))
    session.note(RoundUsage(2, Usage(20, 5)))
    again = store.resume(session.id)
    assert again.usage == Usage(30, 10, 2, 1)
    calls = [{key: value for key, value in call.items() if key != "at"} for call in again.calls]
    assert calls[0] == {
        "id": "c1",
        "name": "tickets",
        "server": "12306",
        "tool": "get",
        "arguments": {"to": "BJP"},
        "ok": False,
        "seconds": 0.5,
        "error": "no seats",
    }
    assert (calls[1]["ok"], calls[1]["arguments"]) == (None, None)


def test_a_summary_stands_for_what_it_sums_up_and_nothing_is_lost(store: Store):
    system = {"role": "system", "content": "Be brief."}
    later = [{"role": "user", "content": "And back?"}, ANSWERED]
    session = made(store, system, *WHOLE, *later)
    session.compact("They asked for tickets.", len(WHOLE) + 1)
    again = store.resume(session.id)
    assert again.messages == [system, *WHOLE, *later]
    assert again.context[0] == system
    assert "They asked for tickets." in again.context[1]["content"]
    assert again.context[2:] == later
    again.sync([*again.messages, ASKED])
    assert again.context[2:] == [*later, ASKED]


def test_two_that_go_on_with_one_session_part_ways_and_lose_nothing(store: Store, path: Path):
    session = made(store, *WHOLE)
    with Store(path) as elsewhere:
        other = elsewhere.resume(session.id)
        other.sync([*WHOLE, ASKED])
        session.sync([*WHOLE, {"role": "user", "content": "mine"}])
    assert session.id != other.id
    assert store.resume(other.id).messages == [*WHOLE, ASKED]
    assert store.resume(session.id).messages[-1]["content"] == "mine"


def test_deleted_sessions_leave_nothing(store: Store, path: Path):
    session, kept = made(store, *WHOLE), made(store, ASKED)
    session.note(RoundUsage(1, Usage(1, 1)))
    store.delete([session.id])
    assert [listed.id for listed in store.list()] == [kept.id]
    with sqlite3.connect(path) as raw:
        for table in ("messages", "usage", "texts"):
            (left,) = raw.execute(f"SELECT count(*) FROM {table} WHERE session = ?", (session.id,)).fetchone()
            assert left == 0
    with pytest.raises(McphostError, match="was deleted"):
        session.sync([ASKED, ANSWERED, ASKED])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("高铁票", True),
        ("苏州", True),
        ("北京 高铁", True),
        ("BJP", True),
        ("bjp tickets", True),
        ("G1", True),
        ("100%", False),
        ('""', False),
        ("上海", False),
        ("", False),
        ("AND OR NOT", False),
    ],
)
def test_search_finds_words_of_any_script(store: Store, words: str, found: bool):
    session = made(store, *WHOLE)
    made(store, {"role": "user", "content": "something else"})
    hits = store.search(words)
    assert [hit.session.id for hit in hits] == ([session.id] if found else [])


def test_the_snippet_shows_the_words_around(store: Store):
    made(store, {"role": "user", "content": "前" * 500 + "高铁票" + "后" * 500})
    (hit,) = store.search("高铁票")
    assert hit.snippet.startswith("…前") and hit.snippet.endswith("后…") and "高铁票" in hit.snippet


# what is not as it should be


def test_a_later_version_is_refused_and_left_as_it_is(path: Path):
    Store(path).__exit__(None, None, None)
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(McphostError, match="newer mcphost"):
        Store(path)
    assert path.read_bytes() == before


def test_an_older_version_is_brought_up_to_date(path: Path):
    with Store(path) as store:
        session = made(store, *WHOLE)
    later = [*database.MIGRATIONS, "ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'"]
    connection = database.connect(path, migrations=later)
    assert connection.execute("SELECT id, mood FROM sessions").fetchall() == [(session.id, "calm")]
    connection.close()
    with pytest.raises(McphostError, match="newer mcphost"):
        Store(path)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(McphostError, match="damaged, or no database"):
        Store(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(path: Path):
    path.parent.mkdir()
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE theirs (x)")
    with pytest.raises(McphostError, match="of another program"):
        Store(path)


def test_a_folder_in_its_place_is_told(path: Path):
    path.mkdir(parents=True)
    with pytest.raises(McphostError, match="cannot be opened"):
        Store(path)


# killed


CHILD = """
import sys
from pathlib import Path
from mcphost.events import Call, Result, Text
from mcphost.messages import ToolResult
from mcphost.store import Store
store = Store(Path(sys.argv[1]))
session = store.create()
messages = []
print(session.id, flush=True)
for n in range(100000):
    messages.append({"role": "user", "content": f"message {n}"})
    session.sync(messages)
    session.note(Call(f"c{n}", "t", None, None, {}))
    session.note(Result(ToolResult(f"c{n}", "t", True, f"result {n}")))
    session.note(Text(f"word {n} "))
    print(n, flush=True)
"""


def test_nothing_that_was_shown_is_lost_when_the_process_is_killed(path: Path):
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        session_id = child.stdout.readline().strip()
        shown = [int(child.stdout.readline()) for _ in range(50)]
        os.kill(child.pid, signal.SIGKILL)
        shown += [int(line) for line in child.stdout.read().splitlines()]
    with Store(path) as store:
        session = store.resume(session_id)
        said = [message["content"] for message in session.messages if message["role"] == "user"]
        assert said[: len(shown)] == [f"message {n}" for n in shown]
        assert sum(call["ok"] is True for call in session.calls) >= len(shown)
        assert len(said) > len(shown) or session.messages[-1]["content"] == f"word {shown[-1]} "


def test_two_processes_write_at_once(path: Path):
    with Store(path) as store:
        children = [
            subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for child in children:
            assert child.stdout is not None
            for _ in range(30):
                assert child.stdout.readline()
        session = made(store, *WHOLE)
        for child in children:
            child.kill()
            child.communicate()
        assert store.resume(session.id).messages == WHOLE
        assert len(store.list()) == 3


# any edits


TEXTS = st.lists(st.text(max_size=5), max_size=6)


@given(st.lists(TEXTS, min_size=1, max_size=6))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_conversation_becomes_is_what_is_kept(store: Store, versions: list[list[str]]):
    session = store.create()
    for version in versions:
        messages: list[Message] = [{"role": "user", "content": text} for text in version]
        session.sync(messages)
        assert store.resume(session.id).messages == messages
    raw: Any = session._connection  # pyright: ignore[reportPrivateUsage]
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
