"""Configuration files that are changed: whole or not at all, and without losing what others write."""

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcphost import trust
from mcphost.errors import ConfigError
from mcphost.files import Change, rewrite


def to(text: str) -> Callable[[bytes | None], bytes]:
    return lambda before: text.encode()


def test_a_new_file_is_the_users_alone_where_it_is_private(tmp_path: Path):
    own, shared = tmp_path / "own" / "servers.json", tmp_path / "project" / "servers.json"
    assert rewrite(own, to("{}"), private=True) == Change(None, b"{}")
    rewrite(shared, to("{}"), private=False)
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert stat.S_IMODE(own.parent.stat().st_mode) == 0o700
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o666 & ~umask
    assert [path.name for path in own.parent.iterdir()] == ["servers.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int):
    path = tmp_path / "servers.json"
    path.write_text("{}")
    path.chmod(mode)
    assert rewrite(path, to("[]"), private=True) == Change(b"{}", b"[]")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_links_are_followed_also_to_what_is_not_there_yet(tmp_path: Path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "servers.json"
    link.symlink_to("real/servers.json")
    for text in ("{}", "[]"):
        rewrite(link, to(text), private=False)
        assert link.is_symlink() and (tmp_path / "real" / "servers.json").read_text() == text


def test_a_file_that_changes_meanwhile_is_edited_anew(tmp_path: Path):
    path = tmp_path / "servers.json"
    path.write_bytes(b"one")
    seen: list[bytes | None] = []

    def edit(before: bytes | None) -> bytes:
        seen.append(before)
        if len(seen) == 1:
            path.write_bytes(b"two")  # an editor saves
        return (before or b"") + b"!"

    assert rewrite(path, edit, private=False) == Change(b"two", b"two!")
    assert (seen, path.read_bytes()) == ([b"one", b"two"], b"two!")


def test_a_file_that_never_stops_changing_is_left_alone(tmp_path: Path):
    path = tmp_path / "servers.json"
    path.write_bytes(b"1")

    def edit(before: bytes | None) -> bytes:
        path.write_bytes(path.read_bytes() + b"1")
        return b"ours"

    with pytest.raises(ConfigError, match="keeps changing it"):
        rewrite(path, edit, private=False)
    assert set(path.read_bytes()) == set(b"1")
    assert list(tmp_path.iterdir()) == [path]


def test_edits_at_the_same_time_all_take_effect(tmp_path: Path):
    path = tmp_path / "servers.json"

    def add(number: int) -> None:
        rewrite(path, lambda before: (before or b"") + b"%d\n" % number, private=False)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert sorted(map(int, path.read_bytes().split())) == list(range(40))


def test_an_edit_that_fails_changes_nothing(tmp_path: Path):
    path = tmp_path / "servers.json"
    path.write_bytes(b"{}")

    def edit(before: bytes | None) -> bytes:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        rewrite(path, edit, private=False)
    assert path.read_bytes() == b"{}"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["file/servers.json", "folder"])
def test_what_cannot_be_written_says_so(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError) as caught:
        rewrite(tmp_path / name, to("{}"), private=False)
    assert str(tmp_path / name) in caught.value.message


def test_what_we_make_of_a_file_is_confirmed_only_if_it_was(tmp_path: Path):
    path = tmp_path / "servers.json"
    assert trust.follow(path, None, b"one")
    assert trust.is_trusted(trust.digest(path, b"one"))
    assert trust.follow(path, b"one", b"two")
    assert trust.is_trusted(trust.digest(path, b"two"))
    assert not trust.follow(path, b"a stranger's", b"a stranger's and ours")
    assert not trust.is_trusted(trust.digest(path, b"a stranger's and ours"))
