"""One session: what is added to it, and what comes back."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcphost.errors import ConfigError, McphostError
from mcphost.events import Call, Progress, Reasoning, Round, RoundUsage, Text
from mcphost.messages import Attachment, Message, Usage
from mcphost.store import Store

from .talks import ANSWERED, ASKED, CALLING, RESULTS, WHOLE, made, raw, result, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


def dropped(path: Path) -> list[Message]:
    """What is kept but no longer counts."""
    with raw(path) as file:
        found = file.execute("SELECT json FROM messages WHERE dropped ORDER BY number").fetchall()
    return [json.loads(text) for (text,) in found]


def rows(path: Path) -> int:
    with raw(path) as file:
        return file.execute("SELECT count(*) FROM messages").fetchone()[0]


def test_a_conversation_comes_back_as_it_was(store: Store, path: Path):
    session = made(store, *WHOLE, model="deepseek/x", folder="/somewhere")
    with Store(path) as again:
        found = again.resume(session.id)
        assert found.messages == found.context == WHOLE
    assert (found.title, found.model, found.folder) == (ASKED["content"], "deepseek/x", "/somewhere")


@pytest.mark.parametrize(
    "content",
    [
        "half \ud83d of a character",
        "nul \0 and \x1b[2J",
        "\u2028",
        10**400,
        1e308,
        [],
        [{"type": "image_url"}],
        None,
    ],
)
def test_every_message_comes_back_exactly(store: Store, content: Any):
    session = made(store, {"role": "user", "content": content})
    again = store.resume(session.id)
    assert again.messages == session.messages
    again.sync(again.messages)
    assert again.id == session.id


def test_a_message_that_is_no_json_is_refused_and_changes_nothing(store: Store):
    session = made(store, *WHOLE)
    with pytest.raises(McphostError, match="a message cannot be kept"):
        session.sync([*WHOLE, *said("fine"), {"role": "user", "content": b"bytes"}])
    assert session.messages == store.resume(session.id).messages == WHOLE
    session.sync([*WHOLE, ASKED])
    assert store.resume(session.id).messages == [*WHOLE, ASKED]


def test_the_title_is_what_the_user_said_first_unless_it_is_given(store: Store):
    session = made(store, {"role": "system", "content": "Be brief."})
    assert session.title == ""
    session.sync([*session.messages, *said("first\nwords " + "x" * 200)])
    assert session.title.startswith("first words x") and len(session.title) == 80
    session.rename("Another\x1b[2J one")
    session.sync(said("later"))
    assert store.resume(session.id).title == session.title == "Another one"


# the conversation as it is now


def test_a_changed_tail_replaces_the_old_one_which_is_kept(store: Store, path: Path):
    session = made(store, *WHOLE)
    other = {"role": "assistant", "content": "No."}
    session.sync([*WHOLE[:-1], other])
    assert store.resume(session.id).messages == [*WHOLE[:-1], other]
    assert dropped(path) == [ANSWERED]


def test_what_was_undone_is_kept_as_dropped(store: Store, path: Path):
    session = made(store, *WHOLE)
    session.sync([])
    assert store.resume(session.id).messages == []
    assert dropped(path) == WHOLE


def test_a_message_that_changes_in_place_is_noticed(store: Store):
    messages = said("one", "two")
    session = made(store, *messages)
    messages[0]["content"] = "changed"
    session.sync(messages)
    assert store.resume(session.id).messages == messages


def test_a_new_first_message_leaves_the_others_where_they_are(store: Store, path: Path):
    session = made(store, *WHOLE)
    session.sync([{"role": "system", "content": "Be brief."}, *WHOLE])
    session.sync([{"role": "system", "content": "Be long."}, *WHOLE])
    session.sync([*session.messages, ASKED])
    assert store.resume(session.id).messages == session.messages
    assert rows(path) == len(WHOLE) + 3


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system"]), "content": st.sampled_from(["a", "b", "", "字"])}
)


@given(st.lists(st.lists(MESSAGE, max_size=6), min_size=1, max_size=6), st.randoms())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_conversation_becomes_is_what_is_kept(
    store: Store, path: Path, versions: list[list[Message]], random: Any
):
    session = store.create()
    ever: list[Message] = []
    for version in versions:
        spliced = (
            session.messages[: random.randint(0, 6)] + version + session.messages[random.randint(0, 6) :]
        )
        session.sync(spliced)
        ever += version
        if random.random() < 0.5:
            session = store.resume(session.id)
        assert session.messages == store.resume(session.id).messages == spliced
    with raw(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        texts = file.execute("SELECT json FROM messages WHERE session = ?", (session.id,)).fetchall()
    assert all(message in [json.loads(text) for (text,) in texts] for message in ever)


# turns that did not end


def test_what_a_model_was_saying_survives_its_end(store: Store):
    session = made(store, ASKED)
    for event in (
        Round(1),
        Reasoning("hm"),
        Reasoning("m"),
        Text("Let me "),
        Text("see\ud83d"),
        Text("\ude00."),
    ):
        session.note(event)
    partial = {"role": "assistant", "content": "Let me see\ufffd\ufffd.", "reasoning_content": "hmm"}
    assert store.resume(session.id).messages == [ASKED, partial]


def test_text_of_rounds_that_never_became_messages_is_not_lost(store: Store):
    session = made(store, ASKED)
    for event in (Round(1), Text("First."), Round(2), Round(3), Text("Second.")):
        session.note(event)
    assert store.resume(session.id).messages[1:] == [{"role": "assistant", "content": "First.\n\nSecond."}]


def test_reasoning_alone_is_no_message_yet(store: Store, path: Path):
    session = made(store, ASKED)
    session.note(Reasoning("hm"))
    assert store.resume(session.id).messages == [ASKED]
    session.sync(WHOLE)
    assert dropped(path) == [{"role": "assistant", "content": "", "reasoning_content": "hm"}]


def test_text_that_became_a_message_is_there_once_and_what_was_given_up_is_dropped(store: Store, path: Path):
    session = made(store, ASKED)
    session.note(Text("Yes, "))
    session.note(Text("on G1."))
    session.sync([ASKED, ANSWERED])
    assert (store.resume(session.id).messages, dropped(path)) == ([ASKED, ANSWERED], [])
    session.note(Text("And by the"))
    session.sync([ASKED, ANSWERED, *said("stop")])
    assert store.resume(session.id).messages == [ASKED, ANSWERED, *said("stop")]
    assert dropped(path) == [{"role": "assistant", "content": "And by the"}]


def test_what_was_taken_up_again_goes_on(store: Store, path: Path):
    session = made(store, ASKED)
    session.note(Text("Let me"))
    again = store.resume(session.id)
    again.sync([*again.messages, *said("go on")])
    expected = [ASKED, {"role": "assistant", "content": "Let me"}, *said("go on")]
    assert store.resume(session.id).messages == expected
    assert dropped(path) == []


def test_results_that_came_before_the_end_are_there_and_the_others_are_cancelled(store: Store):
    session = made(store, ASKED, CALLING)
    session.note(Call("c1", "tickets", "12306", "get", {"to": "BJP"}))
    session.note(Call("c2", "date", "12306", "date", {}))
    session.note(result("c1", "G1 has seats"))
    messages = store.resume(session.id).messages
    assert messages[:3] == [ASKED, CALLING, RESULTS[0]]
    assert messages[3]["tool_call_id"] == "c2"
    assert "cancelled" in messages[3]["content"]


def test_an_undone_attempt_does_not_answer_the_calls_of_the_next(store: Store):
    session = made(store, ASKED, CALLING)
    session.note(Call("c1", "tickets", "12306", "get", {"to": "BJP"}))
    session.note(result("c1", "old"))
    session.sync([ASKED])
    session.sync([ASKED, CALLING])
    assert "cancelled" in store.resume(session.id).messages[2]["content"]


# calls, usage, summaries


def test_calls_and_usage_add_up(store: Store, tmp_path: Path):
    session = made(store, ASKED, model="m")
    session.note(Call("c1", "tickets", "12306", "get", {"to": "BJP", "odd": float("nan")}))
    picture = Attachment("image", "image/png", b"", "[image]", path=tmp_path / "1.png")
    session.note(Progress("c1", 1))
    session.note(result("c1", "no seats", ok=False, attachments=(picture,)))
    session.note(Call("c2", "date", None, None, None))
    session.note(RoundUsage(1, Usage(10, 5, 2, 1)))
    session.use("other")
    session.note(RoundUsage(2, Usage(20, 5)))
    again = store.resume(session.id)
    assert (again.usage, again.model) == (Usage(30, 10, 2, 1), "other")
    assert [(spent.round, spent.model, spent.usage.prompt_tokens) for spent in again.requests] == [
        (1, "m", 10),
        (2, "other", 20),
    ]
    calls = [{key: value for key, value in call.items() if key != "at"} for call in again.calls]
    assert calls[0] == {
        "id": "c1",
        "name": "tickets",
        "server": "12306",
        "tool": "get",
        "arguments": {"to": "BJP", "odd": None},
        "ok": False,
        "seconds": 0.5,
        "error": "no seats",
        "attachments": [str(tmp_path / "1.png")],
    }
    assert (calls[1]["ok"], calls[1]["arguments"], calls[1]["attachments"]) == (None, None, [])


def test_a_call_that_was_refused_before_it_began_is_a_call_of_its_own(store: Store):
    session = made(store, ASKED)
    session.note(Call("c1", "tickets", "12306", "get", {}))
    session.note(result("c1", "G1"))
    session.note(result("c1", "not again", ok=False, arguments={"to": "BJP"}))
    assert [(call["ok"], call["error"], call["arguments"]) for call in session.calls] == [
        (True, None, {}),
        (False, "not again", {"to": "BJP"}),
    ]


def test_numbers_too_large_for_the_file_are_no_trouble(store: Store):
    session = made(store, ASKED)
    session.note(RoundUsage(1, Usage(10**30, 1)))
    assert session.usage.prompt_tokens == 2**63 - 1


def test_a_summary_stands_for_what_it_sums_up_and_nothing_is_lost(store: Store):
    system = {"role": "system", "content": "Be brief."}
    later = [*said("And back?"), ANSWERED]
    session = made(store, system, *WHOLE, *later)
    session.compact("They asked for tickets.", len(WHOLE) + 1)
    again = store.resume(session.id)
    assert again.messages == [system, *WHOLE, *later]
    assert again.summary == (len(WHOLE) + 1, "They asked for tickets.")
    assert again.context[0] == system
    assert "They asked for tickets." in again.context[1]["content"]
    assert again.context[2:] == later
    again.sync([*again.messages, ASKED])
    assert again.context[2:] == [*later, ASKED]


def test_a_summary_counts_as_long_as_what_it_sums_up_is_there(store: Store):
    session = made(store, *said(*"abcdef"))
    session.compact("first", 2)
    session.compact("second", 4)
    session.sync([{"role": "system", "content": "new"}, *session.messages])
    assert session.summary == (5, "second")
    session.sync(session.messages[:5])
    assert session.summary == (5, "second")
    session.sync(session.messages[:4])
    assert session.summary == store.resume(session.id).summary == (3, "first")
    session.sync([])
    assert session.summary is None


def test_a_summary_may_follow_right_after_a_session_that_had_to_be_mended(store: Store):
    session = store.resume(made(store, ASKED, CALLING).id)
    session.compact("all", len(session.messages))
    assert store.resume(session.id).summary == (4, "all")


# two at a time


def test_two_that_go_on_with_one_session_part_ways_and_lose_nothing(store: Store, path: Path):
    session = made(store, *WHOLE)
    session.note(Call("c9", "tickets", "12306", "get", {}))
    session.compact("summed up", 4)
    with Store(path) as elsewhere:
        other = elsewhere.resume(session.id)
        other.sync([*WHOLE, ASKED])
        session.note(result("c9", "mine"))
        session.sync([*WHOLE, *said("mine")])
        other.sync([*WHOLE, ASKED, ANSWERED])
    assert (session.branched_from, other.branched_from) == (other.id, None)
    mine, theirs = store.resume(session.id), store.resume(other.id)
    assert theirs.messages == [*WHOLE, ASKED, ANSWERED]
    assert mine.messages == [*WHOLE, *said("mine")]
    assert mine.summary == theirs.summary == (4, "summed up")
    assert [call["ok"] for call in mine.calls] == [True]
    assert [call["ok"] for call in theirs.calls] == [None]


def test_what_a_model_says_is_not_mixed_with_what_another_says(store: Store, path: Path):
    session = made(store, ASKED)
    with Store(path) as elsewhere:
        other = elsewhere.resume(session.id)
        other.sync([ASKED, ANSWERED])
        session.note(Text("mine"))
        other.note(Text("theirs"))
    assert store.resume(session.id).messages[-1]["content"] == "mine"
    assert store.resume(other.id).messages[-1]["content"] == "theirs"


def test_a_call_that_begins_a_copy_belongs_to_what_is_said_there(store: Store, path: Path):
    session = made(store, ASKED, CALLING)
    with Store(path) as elsewhere:
        elsewhere.resume(session.id).sync([ASKED])
    session.note(Call("c1", "tickets", "12306", "get", {"to": "BJP"}))
    session.note(result("c1", "G1 has seats"))
    assert store.resume(session.id).messages[:3] == [ASKED, CALLING, RESULTS[0]]


def test_a_fork_goes_its_own_way(store: Store):
    session = made(store, *WHOLE, model="m", folder="/a")
    session.note(Call("c9", "tickets", "12306", "get", {}))
    session.note(RoundUsage(1, Usage(10, 5)))
    session.compact("summed up", 4)
    fork = session.fork()
    fork.sync([*WHOLE, ASKED])
    assert store.resume(session.id).messages == WHOLE
    assert (fork.title, fork.model, fork.folder, fork.summary) == (session.title, "m", "/a", (4, "summed up"))
    assert ([call["id"] for call in fork.calls], fork.usage) == (["c9"], Usage())


# a disk that fails


def test_a_full_disk_is_told_and_what_was_kept_stays(store: Store, path: Path):
    session = made(store, *WHOLE)
    connection: sqlite3.Connection = session._connection  # pyright: ignore[reportPrivateUsage]
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(ConfigError, match="the disk is full"):
        session.sync([*WHOLE, *said("x" * 100_000)])
    assert store.resume(session.id).messages == WHOLE
    connection.execute("PRAGMA max_page_count = 100000")
    session.sync([*WHOLE, *said("x" * 100_000)])
    assert store.resume(session.id).messages == session.messages


def test_a_file_that_another_program_holds_is_told_and_can_be_used_afterwards(store: Store, path: Path):
    session = made(store, *WHOLE)
    connection: sqlite3.Connection = session._connection  # pyright: ignore[reportPrivateUsage]
    connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ConfigError, match="another program holds the file"):
        session.sync([*WHOLE, ASKED])
    other.execute("ROLLBACK")
    other.close()
    session.sync([*WHOLE, ASKED])
    assert store.resume(session.id).messages == [*WHOLE, ASKED]
