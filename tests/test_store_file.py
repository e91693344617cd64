"""The file of sessions: what is refused, what is brought up to date, other processes, and kills."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcphost import database
from mcphost.errors import ConfigError
from mcphost.store import Store

from .talks import ASKED, WHOLE, made, raw, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_its_owner_can_read_it(path: Path):
    with Store(path) as store:
        made(store, ASKED)
        assert {mode(file) for file in (path, *path.parent.glob("sessions.db-*"))} == {0o600}
    assert mode(path.parent) == 0o700


def test_a_file_and_a_folder_that_others_could_read_are_closed_to_them(own_home: Path):
    with Store() as store:
        path = store.path
    path.chmod(0o644)
    path.parent.chmod(0o755)
    with Store() as store:
        made(store, ASKED)
        assert {mode(file) for file in (path, *path.parent.glob("sessions.db-*"))} == {0o600}
    assert mode(path.parent) == 0o700
    assert path.is_relative_to(own_home)


# other versions


FIRST = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, created REAL NOT NULL, updated REAL NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0, title TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
    folder TEXT NOT NULL DEFAULT '');
CREATE TABLE messages (number INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, place INTEGER NOT NULL, at REAL NOT NULL,
    json TEXT NOT NULL, dropped INTEGER NOT NULL DEFAULT 0);
CREATE INDEX messages_of ON messages (session, dropped, place);
CREATE TABLE calls (number INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, message INTEGER NOT NULL, at REAL NOT NULL,
    id TEXT NOT NULL, name TEXT NOT NULL, server TEXT, tool TEXT, arguments TEXT, ok INTEGER, seconds REAL,
    error TEXT, content TEXT, attachments TEXT);
CREATE INDEX calls_of ON calls (session, id);
CREATE TABLE usage (number INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, at REAL NOT NULL, round INTEGER NOT NULL,
    model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL);
CREATE INDEX usage_of ON usage (session);
CREATE TABLE summaries (number INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, at REAL NOT NULL, upto INTEGER NOT NULL,
    text TEXT NOT NULL);
CREATE INDEX summaries_of ON summaries (session);
CREATE TABLE pieces (number INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, kind TEXT NOT NULL, text TEXT NOT NULL);
PRAGMA application_id = 1835233384;
PRAGMA user_version = 1;
INSERT INTO sessions VALUES ('261201-k3f7', 1000.5, 2000.5, 3, 'Trains', 'm', '/a');
INSERT INTO messages VALUES (1, '261201-k3f7', 0, 1001, '{"role": "user", "content": "高铁"}', 0);
INSERT INTO messages VALUES (2, '261201-k3f7', 1, 1001, '{"role": "assistant", "content": "undone"}', 1);
INSERT INTO messages VALUES (3, '261201-k3f7', 1, 1002, '{"role": "assistant", "content": "G1"}', 0);
INSERT INTO calls VALUES (1, '261201-k3f7', 1, 1001, 'c1', 'x', 's', 't', '{}', 1, 0.5, NULL, 'r', NULL);
INSERT INTO usage VALUES (1, '261201-k3f7', 1001, 1, 'm', 10, 5, 2, 1);
INSERT INTO summaries VALUES (1, '261201-k3f7', 1001, 1, 'short');
INSERT INTO pieces VALUES (1, '261201-k3f7', 'text', 'And');
"""
"""A file of the first version, as it will be found on disks for ever."""


def test_a_file_of_the_first_version_is_read_whole(path: Path):
    path.parent.mkdir()
    with raw(path) as file:
        file.executescript(FIRST)
    with Store(path) as store:
        session = store.resume("k3f7")
        assert [message["content"] for message in session.messages] == ["高铁", "G1", "And"]
        assert (session.title, session.model, session.folder, session.created) == (
            "Trains",
            "m",
            "/a",
            1000.5,
        )
        assert session.summary == (1, "short")
        assert ([call["id"] for call in session.calls], session.usage.prompt_tokens) == (["c1"], 10)
        session.sync([*session.messages, *said("more")])
        assert store.resume("k3f7").messages[-1]["content"] == "more"


def schema(path: Path) -> dict[str, str]:
    with raw(path) as file:
        found = file.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: "".join(sql.split()) for name, sql in found}


def test_a_new_file_is_what_a_file_of_the_first_version_becomes(path: Path, tmp_path: Path):
    old = tmp_path / "old.db"
    with raw(old) as file:
        file.executescript(FIRST)
    for each in (old, path):
        Store(each).close()
    assert schema(path) == schema(old)


LATER = """
ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
CREATE TRIGGER noticed AFTER UPDATE OF mood ON sessions BEGIN
    UPDATE sessions SET title = 'one; two' WHERE id = NEW.id;
    UPDATE sessions SET model = NEW.mood WHERE id = NEW.id;
END;
"""


def test_an_older_version_is_brought_up_to_date_and_an_older_program_then_refuses_it(path: Path):
    with Store(path) as store:
        session = made(store, *WHOLE)
    connection = database.connect(path, migrations=[*database.MIGRATIONS, LATER])
    connection.execute("UPDATE sessions SET mood = 'glad'")
    found = connection.execute("SELECT id, mood, title, model FROM sessions").fetchall()
    assert found == [(session.id, "glad", "one; two", "glad")]
    connection.close()
    with pytest.raises(ConfigError, match="newer mcphost"):
        Store(path)


def test_a_step_that_fails_leaves_the_file_as_it_was(path: Path):
    with Store(path) as store:
        session = made(store, *WHOLE)
    with pytest.raises(ConfigError, match="no such table: missing"):
        database.connect(path, migrations=[*database.MIGRATIONS, LATER, "DELETE FROM missing"])
    with Store(path) as store:
        assert store.resume(session.id).messages == WHOLE


def test_a_later_version_is_refused_and_left_as_it_is(path: Path):
    Store(path).close()
    with raw(path) as file:
        file.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="newer mcphost") as caught:
        Store(path)
    assert "Update mcphost" in str(caught.value.hint)
    assert path.read_bytes() == before


# what is none of ours


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes):
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="damaged, or no database"):
        Store(path)
    assert (path.read_bytes(), mode(path)) == (content, 0o644)


def test_a_damaged_file_is_told(path: Path):
    with Store(path) as store:
        session = made(store, *said("x" * 50_000))
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with Store(path) as store, pytest.raises(ConfigError, match="damaged"):
        store.resume(session.id)


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path):
    path.parent.mkdir()
    with raw(path) as file:
        file.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="of another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_in_its_place_is_told(path: Path):
    path.mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be opened"):
        Store(path)


def test_a_file_in_the_place_of_its_folder_is_told(path: Path):
    path.parent.write_text("")
    with pytest.raises(ConfigError, match="cannot be opened"):
        Store(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_is_told(path: Path):
    path.parent.mkdir(mode=0o500)
    with pytest.raises(ConfigError, match="Permission denied"):
        Store(path)


# other processes


def child(code: str, path: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


WRITER = """
import sys
from pathlib import Path
from mcphost.events import Call, Reasoning, Result, Text
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
    session.note(Reasoning(f"thought {n}"))
    session.note(Text(f"word {n} "))
    print(n, flush=True)
"""


@pytest.mark.parametrize("count", [1, 60])
def test_nothing_that_was_shown_is_lost_when_the_process_is_killed(path: Path, count: int):
    with child(WRITER, path) as process:
        assert process.stdout is not None
        session_id = process.stdout.readline().strip()
        shown = [int(process.stdout.readline()) for _ in range(count)]
        os.kill(process.pid, signal.SIGKILL)
        shown += [int(line) for line in process.stdout.read().splitlines()]
    with Store(path) as store:
        session = store.resume(session_id)
        asked = [message["content"] for message in session.messages if message["role"] == "user"]
        assert asked[: len(shown)] == [f"message {n}" for n in shown]
        assert sum(call["ok"] is True for call in session.calls) >= len(shown)
        last = {
            "role": "assistant",
            "content": f"word {shown[-1]} ",
            "reasoning_content": f"thought {shown[-1]}",
        }
        assert len(asked) > len(shown) or session.messages[-1] == last


TALKER = """
import sys
from pathlib import Path
from mcphost.events import Text
from mcphost.store import Store
with Store(Path(sys.argv[1])) as store:
    session = store.latest()
    print(len(session.messages), flush=True)
    for line in sys.stdin:
        session.sync([*session.messages, {"role": "user", "content": line.strip()}])
        session.note(Text("Answering."))
        print(session.id, session.branched_from, flush=True)
"""


def test_two_processes_may_go_on_with_the_same_session(path: Path):
    with Store(path) as store:
        original = made(store, *WHOLE).id
    with child(TALKER, path) as one, child(TALKER, path) as two:

        def say(process: subprocess.Popen[str], text: str) -> list[str]:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(f"{text}\n")
            process.stdin.flush()
            return process.stdout.readline().split()

        for process in (one, two):
            assert process.stdout is not None and process.stdout.readline() == "5\n"
        assert say(one, "first of one") == [original, "None"]
        copy, branched_from = say(two, "first of two")
        assert branched_from == original != copy
        assert say(one, "second of one") == [original, "None"]
        assert say(two, "second of two") == [copy, original]
        for process in (one, two):
            process.kill()
    with Store(path) as store:
        for session_id, name in ((original, "one"), (copy, "two")):
            texts = [message["content"] for message in store.resume(session_id).messages[5:]]
            assert texts == [f"first of {name}", f"second of {name}", "Answering."]


def test_several_processes_write_at_once(path: Path):
    with Store(path) as store:
        children = [child(WRITER, path) for _ in range(2)]
        for process in children:
            assert process.stdout is not None
            for _ in range(30):
                assert process.stdout.readline()
        session = made(store, *WHOLE)
        for process in children:
            process.kill()
            process.communicate()
        assert store.resume(session.id).messages == WHOLE
        assert len(store.list()) == 3


MAKER = """
import sys
from pathlib import Path
from mcphost.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(Path(sys.argv[1])) as store:
    store.create()
"""


def test_several_processes_make_the_file_at_once(path: Path):
    children = [child(MAKER, path) for _ in range(4)]
    for process in children:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in children:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in children:
        process.communicate()
    assert [process.returncode for process in children] == [0, 0, 0, 0]
    with Store(path) as store:
        assert len(store.list()) == 4
