"""All sessions of a user: finding, listing, searching and deleting them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcphost.errors import ConfigError, McphostError
from mcphost.events import Call, Text
from mcphost.store import Store

from .talks import ANSWERED, ASKED, WHOLE, made, result, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


def test_a_session_is_found_by_any_beginning_of_its_id_or_of_what_follows_the_day(store: Store):
    session = made(store, ASKED)
    for beginning in (session.id, session.id[:-1], session.id[7:], session.id[7:].upper()):
        assert store.resume(beginning).id == session.id
    assert store.latest().id == session.id


@pytest.mark.parametrize("wrong", ["%", "_", "", "-", "nope", "\\"])
def test_what_is_no_beginning_of_an_id_finds_nothing(store: Store, wrong: str):
    made(store, ASKED)
    with pytest.raises(ConfigError, match="there is no session"):
        store.resume(wrong)


def test_several_sessions_that_begin_alike_are_named(store: Store):
    first, second = made(store, ASKED), made(store, ASKED)
    with pytest.raises(ConfigError, match="several sessions begin with") as caught:
        store.resume(first.id[:6])
    assert first.id in str(caught.value.hint) and second.id in str(caught.value.hint)


def test_ids_sort_as_they_were_made_and_are_never_the_same(store: Store):
    ids = [store.create().id for _ in range(50)]
    assert ids == sorted(set(ids))
    assert all(len(each) == 11 for each in ids)


def test_the_latest_is_the_one_last_used(store: Store):
    first, second = made(store, ASKED, folder="/a"), made(store, ASKED, folder="/b")
    first.sync(WHOLE)
    assert store.latest().id == first.id
    assert store.latest(folder="/b").id == second.id
    with pytest.raises(ConfigError, match="no session to continue"):
        store.latest(folder="/c")


def test_lists_say_what_a_session_is(store: Store):
    session = made(store, *WHOLE, model="m", folder="/a\udcff")
    (listed,) = store.list()
    assert (listed.id, listed.title, listed.model, listed.messages) == (session.id, ASKED["content"], "m", 5)
    assert store.list(folder="/a\udcff") == [listed]
    assert store.list(limit=0) == []


# searching


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("高铁票", True),
        ("苏州", True),
        ("票", True),
        ("北京 高铁", True),
        ("北京 seats", True),
        ("BJP", True),
        ("bjp tickets", True),
        ("G1", True),
        ('"to":', True),
        ("100%", False),
        ("_", False),
        ('""', False),
        ("上海", False),
        ("苏州 上海", False),
        ("", False),
        ("AND OR NOT", False),
        ("role", False),
        ("unknown", False),
    ],
)
def test_search_finds_words_of_any_script(store: Store, words: str, found: bool):
    session = made(store, *WHOLE)
    made(store, *said("something else"))
    hits = store.search(words)
    assert [hit.session.id for hit in hits] == ([session.id] if found else [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Поезд", "поезд"),
        ("поезд", "ПОЕЗД"),
        ("École", "éCOLE"),
        ("Straße", "straße"),
        ('a"b\\c\td', '"b\\c'),
    ],
)
def test_search_knows_the_cases_of_all_letters(store: Store, text: str, words: str):
    made(store, *said(text))
    assert len(store.search(words)) == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
@example("ſ")
@example("İ ŉ")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_said_is_found(store: Store, text: str):
    session = made(store, *said(text))
    hits = store.search(text)
    assert session.id in [hit.session.id for hit in hits] or not text.split()
    store.delete([session.id])


def test_search_finds_titles_too_but_neither_system_prompts_nor_what_was_dropped(store: Store):
    session = made(store, {"role": "system", "content": "prompted"}, *said("asked", "undone"))
    session.rename("About trains")
    session.sync(session.messages[:-1])
    assert [len(store.search(words)) for words in ("TRAINS asked", "prompted", "undone")] == [1, 0, 0]


def test_search_gives_the_last_used_first_and_only_so_many(store: Store):
    sessions = [made(store, *said(f"word {n}")) for n in range(4)]
    hits = store.search("word", limit=3)
    assert [hit.session.id for hit in hits] == [session.id for session in sessions[:0:-1]]


def test_the_snippet_shows_the_words_around(store: Store):
    made(store, *said("高铁", "前" * 500 + "票 高铁\n票" + "后" * 500))
    (hit,) = store.search("高铁 票")
    assert hit.snippet.startswith("…前") and hit.snippet.endswith("后…") and "票 高铁 票" in hit.snippet


# deleting


def test_deleted_sessions_leave_nothing_not_even_bytes(store: Store, path: Path):
    kept = made(store, ASKED)
    session = made(store, *WHOLE, *said("MYSECRET " * 500))
    session.note(Call("c9", "tickets", "s", "t", {"key": "MYSECRET"}))
    session.note(result("c9", "MYSECRET"))
    session.note(Text("MYSECRET"))
    session.sync([*session.messages, {"role": "assistant", "content": "MYSECRET"}])
    session.note(Text("MYSECRET"))
    store.delete([session.id])
    assert [listed.id for listed in store.list()] == [kept.id]
    files = list(path.parent.iterdir())
    assert not [file for file in files if b"MYSECRET" in file.read_bytes()]
    store.close()
    assert b"MYSECRET" not in path.read_bytes()


def test_a_session_that_was_deleted_meanwhile_says_so(store: Store):
    session = made(store, *WHOLE)
    store.delete([session.id])
    for _ in range(2):
        with pytest.raises(McphostError, match="was deleted"):
            session.sync([ASKED, ANSWERED])
    with pytest.raises(McphostError, match="was deleted"):
        session.note(Text("x"))


def test_the_file_shrinks_with_what_is_deleted(store: Store, path: Path):
    session = made(store, *said("x" * 1_000_000))
    store.delete([session.id])
    assert path.stat().st_size < 200_000
