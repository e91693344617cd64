"""server-filesystem in a folder of its own."""

from pathlib import Path

import pytest

from . import real_servers
from .commandline import CommandLine

pytestmark = pytest.mark.interop


@pytest.fixture
def folder(mcphost: CommandLine, tmp_path: Path) -> Path:
    """The folder that the server may touch."""
    folder = tmp_path / "allowed"
    folder.mkdir()
    mcphost.configure(files=real_servers.filesystem(folder))
    return folder


def test_a_file_is_written_read_and_listed(mcphost: CommandLine, folder: Path):
    path, content = str(folder / "票.txt"), "苏州 → 北京\n二等座\n"
    mcphost.call("files/write_file", path=path, content=content)
    assert (folder / "票.txt").read_text(encoding="utf-8") == content
    (folder / "sub").mkdir()
    assert mcphost.call("files/read_text_file", path=path).out == content + "\n"
    listed = mcphost.call("files/list_directory", path=str(folder)).out.splitlines()
    assert sorted(listed) == ["[DIR] sub", "[FILE] 票.txt"]


def test_a_file_is_edited(mcphost: CommandLine, folder: Path):
    (folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    edits = [{"oldText": "two", "newText": "three"}]
    mcphost.call("files/edit_file", path=str(folder / "a.txt"), edits=edits)
    assert (folder / "a.txt").read_text(encoding="utf-8") == "one\nthree\n"


def test_a_picture_is_read_as_an_attachment(mcphost: CommandLine, folder: Path):
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    (folder / "a.png").write_bytes(picture)
    done = mcphost.call("files/read_media_file", "--output", "json", path=str(folder / "a.png"))
    (attachment,) = done.data["attachments"]
    assert Path(attachment["path"]).read_bytes() == picture


def test_a_long_file_comes_whole(mcphost: CommandLine, folder: Path):
    text = "".join(f"line {number} 中文\n" for number in range(100_000))
    (folder / "long.txt").write_text(text, encoding="utf-8")
    done = mcphost.call("files/read_text_file", "--output", "json", path=str(folder / "long.txt"))
    assert done.data["result"]["content"][0]["text"] == text
    (attachment,) = done.data["attachments"]  # what is too long for a model is saved whole
    assert Path(attachment["path"]).read_text(encoding="utf-8") == text
    assert len(done.data["content"]) <= 100_000


@pytest.mark.parametrize(
    ("tool", "more"),
    [("list_directory", {}), ("read_text_file", {}), ("write_file", {"content": "x"})],
)
def test_what_lies_outside_the_folder_is_an_error_of_the_tool(
    mcphost: CommandLine, folder: Path, tool: str, more: dict[str, str]
):
    outside = folder.parent / "outside"
    done = mcphost.call(f"files/{tool}", path=str(outside), **more, code=5)
    assert "Access denied" in done.err
    assert not outside.exists()
