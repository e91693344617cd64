"""Files of a working folder that were confirmed."""

import os
from pathlib import Path

import pytest

from mcphost import paths, trust

CONTENT = b'{"mcpServers": {"a": {"command": "./server"}}}'


def test_a_file_is_trusted_once_it_was_confirmed(tmp_path: Path):
    path = tmp_path / "servers.json"
    digest = trust.digest(path, CONTENT)
    assert not trust.is_trusted(digest)
    trust.remember(digest, path)
    trust.remember(digest, path)
    assert trust.is_trusted(digest)


def test_another_content_or_another_folder_is_another_file(tmp_path: Path):
    path = tmp_path / "a" / "servers.json"
    trust.remember(trust.digest(path, CONTENT), path)
    assert not trust.is_trusted(trust.digest(path, CONTENT + b" "))
    assert not trust.is_trusted(trust.digest(tmp_path / "b" / "servers.json", CONTENT))


def test_the_same_place_by_another_way_is_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    digests = {
        trust.digest(path, CONTENT)
        for path in (Path("real/s.json"), tmp_path / "real" / "s.json", tmp_path / "link" / "s.json")
    }
    assert len(digests) == 1


def test_confirmations_are_private_and_whole_files(tmp_path: Path):
    path = tmp_path / "servers.json"
    digest = trust.digest(path, CONTENT)
    trust.remember(digest, path)
    folder = trust.folder()
    assert [file.name for file in folder.iterdir()] == [digest]
    assert (folder / digest).read_text("utf-8") == f"{path}\n"
    if os.name == "posix":
        assert (folder / digest).stat().st_mode & 0o077 == 0
        assert folder.stat().st_mode & 0o077 == 0


def test_a_confirmation_that_cannot_be_kept_raises_and_leaves_nothing(
    tmp_path: Path,
):
    path = tmp_path / "servers.json"
    digest = trust.digest(path, CONTENT)
    (trust.folder() / digest).mkdir(parents=True)
    with pytest.raises(OSError):
        trust.remember(digest, path)
    assert [file.name for file in trust.folder().iterdir()] == [digest]
    assert not trust.is_trusted(digest)


def test_a_folder_that_is_a_file_trusts_nothing(tmp_path: Path):
    trust.folder().parent.mkdir(parents=True)
    trust.folder().write_text("")
    assert not trust.is_trusted("0" * 64)
    with pytest.raises(OSError):
        trust.remember("0" * 64, tmp_path / "servers.json")


def test_confirmations_lie_in_the_users_data_folder():
    assert trust.folder() == paths.data_folder() / "trusted"
