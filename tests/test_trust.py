"""Files of a working folder that were confirmed."""

import os
from pathlib import Path

import pytest

from mcphost import paths, trust

CONTENT = b'{"mcpServers": {"a": {"command": "./server"}}}'


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"MCPHOST_DATA_DIR": str(tmp_path / "data")}


def test_a_file_is_trusted_once_it_was_confirmed(tmp_path: Path, environ: dict[str, str]):
    path = tmp_path / "servers.json"
    digest = trust.digest(path, CONTENT)
    assert not trust.is_trusted(digest, environ=environ)
    trust.remember(digest, path, environ=environ)
    trust.remember(digest, path, environ=environ)
    assert trust.is_trusted(digest, environ=environ)


def test_another_content_or_another_folder_is_another_file(tmp_path: Path, environ: dict[str, str]):
    path = tmp_path / "a" / "servers.json"
    trust.remember(trust.digest(path, CONTENT), path, environ=environ)
    assert not trust.is_trusted(trust.digest(path, CONTENT + b" "), environ=environ)
    assert not trust.is_trusted(trust.digest(tmp_path / "b" / "servers.json", CONTENT), environ=environ)


def test_the_same_place_by_another_way_is_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    digests = {
        trust.digest(path, CONTENT)
        for path in (Path("real/s.json"), tmp_path / "real" / "s.json", tmp_path / "link" / "s.json")
    }
    assert len(digests) == 1


def test_confirmations_are_private_and_whole_files(tmp_path: Path, environ: dict[str, str]):
    path = tmp_path / "servers.json"
    digest = trust.digest(path, CONTENT)
    trust.remember(digest, path, environ=environ)
    folder = trust.folder(environ)
    assert [file.name for file in folder.iterdir()] == [digest]
    assert (folder / digest).read_text("utf-8") == f"{path}\n"
    if os.name == "posix":
        assert (folder / digest).stat().st_mode & 0o077 == 0
        assert folder.stat().st_mode & 0o077 == 0


def test_a_confirmation_that_cannot_be_kept_raises_and_leaves_nothing(
    tmp_path: Path, environ: dict[str, str]
):
    path = tmp_path / "servers.json"
    digest = trust.digest(path, CONTENT)
    (trust.folder(environ) / digest).mkdir(parents=True)
    with pytest.raises(OSError):
        trust.remember(digest, path, environ=environ)
    assert [file.name for file in trust.folder(environ).iterdir()] == [digest]
    assert not trust.is_trusted(digest, environ=environ)


def test_a_folder_that_is_a_file_trusts_nothing(tmp_path: Path):
    (tmp_path / "data").write_text("")
    environ = {"MCPHOST_DATA_DIR": str(tmp_path / "data")}
    assert not trust.is_trusted("0" * 64, environ=environ)
    with pytest.raises(OSError):
        trust.remember("0" * 64, tmp_path / "servers.json", environ=environ)


def test_confirmations_lie_in_the_users_data_folder():
    assert trust.folder({}) == paths.data_folder() / "trusted"
