"""What servers write to stderr, and which of them speak only the old handshake."""

import time
from pathlib import Path

import pytest

from mcphost.specs import ServerSpec
from mcphost.transport import process
from mcphost.transport.process import StderrLog
from mcphost.verdicts import Verdicts


def test_the_last_lines_that_say_something_are_kept():
    log = StderrLog(None, lines=3)
    for part in (b"one\ntw", b"o\r\n\nthree\n", b"fo\xffur\nfive"):
        log.write(part)
    assert log.tail(3) == ["three", "fo�ur", "five"]


def test_everything_is_in_the_file_and_its_owner_alone_can_read_it(tmp_path: Path):
    path = tmp_path / "logs" / "server.log"
    log = StderrLog(path)
    log.write(b"one\n")
    log.close()
    again = StderrLog(path)
    again.write(b"two\n")
    again.close()
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o077 == 0


def test_a_full_file_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "LOG_BYTES", 100)
    log = StderrLog(tmp_path / "server.log")
    for _ in range(3):
        log.write(b"x" * 60 + b"\n")
    log.close()
    assert (tmp_path / "server.log").stat().st_size == 61
    assert (tmp_path / "server.old").stat().st_size == 122


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    log = StderrLog(tmp_path / "taken" / "server.log")
    log.write(b"one\n")
    assert log.tail() == ["one"]


def test_a_verdict_holds_for_this_configuration_only(tmp_path: Path):
    verdicts = Verdicts(tmp_path / "handshake.json")
    spec = ServerSpec(name="old", command="old-server")
    assert not verdicts.is_legacy(spec)
    verdicts.remember_legacy(spec)
    assert Verdicts(tmp_path / "handshake.json").is_legacy(spec)
    assert not verdicts.is_legacy(spec.model_copy(update={"args": ("--new",)}))
    assert verdicts.is_legacy(spec.model_copy(update={"name": "renamed"}))


def test_a_verdict_is_forgotten_after_a_month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    verdicts = Verdicts(tmp_path / "handshake.json")
    spec = ServerSpec(name="old", command="old-server")
    verdicts.remember_legacy(spec)
    later = time.time() + 31 * 24 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert not verdicts.is_legacy(spec)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": "y"}', "\x00"])
def test_a_spoilt_cache_is_no_verdict(tmp_path: Path, content: str):
    path = tmp_path / "handshake.json"
    path.write_text(content)
    spec = ServerSpec(name="old", command="old-server")
    assert not Verdicts(path).is_legacy(spec)
    Verdicts(path).remember_legacy(spec)
    assert Verdicts(path).is_legacy(spec)


def test_nothing_secret_is_in_the_cache(tmp_path: Path):
    path = tmp_path / "handshake.json"
    Verdicts(path).remember_legacy(ServerSpec(name="old", command="x", env={"API_KEY": "sk-1"}))
    assert "sk-1" not in path.read_text()


def test_a_verdict_can_be_forgotten(tmp_path: Path):
    verdicts = Verdicts(tmp_path / "handshake.json")
    old, other = ServerSpec(name="old", command="old-server"), ServerSpec(name="other", command="other")
    verdicts.remember_legacy(old)
    verdicts.remember_legacy(other)
    verdicts.forget(old)
    assert not verdicts.is_legacy(old)
    assert verdicts.is_legacy(other)
