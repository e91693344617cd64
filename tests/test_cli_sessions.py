"""`mcphost sessions`, as its users run it."""

import json
import stat
from pathlib import Path

import pytest

from mcphost.store import Store

from .program import Program
from .talks import raw


@pytest.fixture
def program(tmp_path: Path, own_home: Path) -> Program:
    return Program(tmp_path, HOME=str(own_home))


def kept(*texts: str) -> str:
    """The id of a session in the user's own store."""
    with Store() as store:
        session = store.create(model="m")
        call = {"id": "c1", "type": "function", "function": {"name": "tickets", "arguments": '{"to":"BJP"}'}}
        messages = [{"role": "user", "content": text} for text in texts]
        calling = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"}
        answer = {"role": "tool", "tool_call_id": "c1", "content": "```\n<b>seats</b>"}
        session.sync([*messages, calling, answer])
        return session.id


def test_sessions_are_listed_shown_and_searched(program: Program):
    assert "no sessions yet" in program("sessions", "list").err
    first, second = kept("苏州到北京\x1b[2J"), kept("weather")
    runs = program.together(
        ["sessions", "list"],
        ["sessions", "list", "--output", "json", "--limit", "1"],
        ["sessions", "show", first],
        ["sessions", "search", "苏州"],
        ["sessions", "search", "nothing like it"],
        ["sessions", "show", "nope"],
    )
    listed, as_json, shown, found, missing, unknown = runs
    assert [line.split()[0] for line in listed.out.splitlines()] == [second, first]
    assert [each["id"] for each in as_json.json] == [second]
    assert "苏州到北京" in shown.out and "\x1b" not in shown.out and "result of tickets" in shown.out
    assert (found.code, found.out.split()[0]) == (0, first)
    assert (missing.code, missing.err) == (1, "No session has that.\n")
    assert (unknown.code, unknown.error) == (2, "error: there is no session 'nope'")


def test_sessions_are_exported(program: Program):
    session_id = kept("<script>alert(1)</script>")
    page, markdown, data = program.together(
        ["sessions", "export", session_id, "--format", "html", "-o", "page.html"],
        ["sessions", "export", session_id],
        ["sessions", "export", session_id, "--format", "json"],
    )
    assert page.code == 0
    text = (program.folder / "page.html").read_text(encoding="utf-8")
    assert "<script>" not in text and "&lt;script&gt;" in text and "<details" in text
    assert stat.S_IMODE((program.folder / "page.html").stat().st_mode) == 0o600
    assert "# <script>" in markdown.out and "````" in markdown.out
    assert data.json["messages"][0]["content"] == "<script>alert(1)</script>"
    assert json.loads(data.out)["usage"]["prompt_tokens"] == 0


def test_sessions_are_deleted_only_when_that_is_meant(program: Program):
    first, second = kept("a"), kept("b")
    assert program("sessions", "delete").code == 2
    refused = program("sessions", "delete", first)
    assert (refused.code, refused.error) == (2, "error: nothing was deleted: nobody can be asked")
    with program.terminal("sessions", "delete", first) as terminal:
        terminal.expect("Delete 1 for good? [y/N]")
        terminal.type("\n")
        assert terminal.finish() == 0
        assert "Nothing was deleted." in terminal.output
    assert program("sessions", "delete", first, "--yes").code == 0
    assert [each["id"] for each in program("sessions", "list", "--output", "json").json] == [second]
    for age, told in (("1h", "There is nothing to delete.\n"), ("0d", "Deleted 1.\n")):
        assert program("sessions", "delete", "--older-than", age, "--yes").err == told
    wrong = program("sessions", "delete", "--older-than", "3 moons", "--yes")
    assert (wrong.code, "write 30d, 12h or 8w" in wrong.err) == (2, True)


def test_old_sessions_are_deleted_with_those_that_are_named(program: Program):
    old, named, recent = kept("a"), kept("b"), kept("c")
    with Store() as store, raw(store.path) as file:
        file.execute("UPDATE sessions SET updated = updated - 40 * 86400 WHERE id = ?", (old,))
    assert program("sessions", "delete", named, "--older-than", "30d", "--yes").err == "Deleted 2.\n"
    assert [each["id"] for each in program("sessions", "list", "--output", "json").json] == [recent]


def test_long_results_are_cut_where_they_are_shown_and_whole_where_they_are_exported(program: Program):
    with Store() as store:
        session = store.create()
        call = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        calling = {"role": "assistant", "content": "", "tool_calls": [call]}
        session.sync([calling, {"role": "tool", "tool_call_id": "c1", "content": "word " * 2000}])
    shown, exported = program.together(["sessions", "show", session.id], ["sessions", "export", session.id])
    assert "characters left out" in shown.out and len(shown.out) < 3000
    assert "word " * 2000 in exported.out


def test_a_damaged_file_is_told(program: Program, own_home: Path):
    kept("a")
    (path,) = own_home.rglob("sessions.db")
    path.write_bytes(b"no database" * 100)
    ran = program("sessions", "list")
    assert ran.code == 2
    assert "damaged" in ran.error and "Traceback" not in ran.err
