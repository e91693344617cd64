"""Where logins are kept, and from whom."""

import json
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcphost.oauth.store import Login, Logins

pytestmark = pytest.mark.anyio

LOGIN = Login(
    "safe",
    "https://safe.example/mcp",
    issuer="https://login.example",
    resource="https://safe.example/mcp",
    client={
        "client_id": "c",
        "client_secret": "client-secret",
        "redirect_uris": ["http://127.0.0.1:1/callback"],
    },
    metadata={"token_endpoint": "https://login.example/token"},
    tokens={"access_token": "access", "refresh_token": "refresh", "scope": "a b"},
    expires_at=2e9,
    wanted=("x",),
)


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Keyring":
    """A keyring that works, as long as the test runs."""
    core: Any = pytest.importorskip("keyring").core
    path = tmp_path / "keyring.json"
    monkeypatch.setenv("KEYRING_FILE", str(path))
    monkeypatch.setattr(core, "_keyring_backend", core.load_keyring("tests.keyring_file.FileKeyring"))
    return Keyring(path)


@dataclass(frozen=True)
class Keyring:
    path: Path

    @property
    def content(self) -> str:
        return self.path.read_text()

    def become(self, content: str) -> None:
        self.path.write_text(content)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


async def test_a_login_comes_back_as_it_was(tmp_path: Path):
    await Logins(tmp_path).save(LOGIN)
    assert await Logins(tmp_path).load(LOGIN.server, LOGIN.url) == LOGIN
    assert await Logins(tmp_path).all() == [LOGIN]


async def test_only_its_owner_can_read_it(tmp_path: Path):
    folder = tmp_path / "logins"
    await Logins(folder).save(LOGIN)
    [path] = files(folder)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    path.chmod(0o644)  # as a backup may bring it back
    await Logins(folder).save(LOGIN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("other", LOGIN.url),
        (LOGIN.server, "https://safe.example/mcp/"),
        (LOGIN.server, "https://other.example/mcp"),
        ("sa\0fe", LOGIN.url),
    ],
)
async def test_it_is_for_one_name_and_address(tmp_path: Path, name: str, url: str):
    await Logins(tmp_path).save(LOGIN)
    assert await Logins(tmp_path).load(name, url) is None


async def test_a_file_that_was_renamed_is_for_nobody(tmp_path: Path):
    logins = Logins(tmp_path)
    await logins.save(LOGIN)
    await logins.save(replace(LOGIN, server="other"))
    ours, other = (next(path for path in files(tmp_path) if name in path.name) for name in ("safe", "other"))
    ours.replace(other)
    assert await logins.load("other", LOGIN.url) is None


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "null", '{"secrets": 1}', "\udcff", '{"server": 1, "secrets": {}}']
)
async def test_what_we_did_not_write_is_no_login(tmp_path: Path, content: str):
    logins = Logins(tmp_path)
    await logins.save(LOGIN)
    files(tmp_path)[0].write_bytes(content.encode(errors="surrogateescape"))
    assert await logins.load(LOGIN.server, LOGIN.url) is None
    assert await logins.all() == []


async def test_a_login_is_deleted_once_and_again(tmp_path: Path):
    logins = Logins(tmp_path)
    await logins.save(LOGIN)
    for _ in range(2):
        await logins.delete(LOGIN)
        assert await logins.load(LOGIN.server, LOGIN.url) is None


async def test_secrets_are_not_in_a_repr():
    assert "access" not in repr(LOGIN) and "secret" not in repr(LOGIN)


async def test_secrets_go_into_the_keyring_where_there_is_one(tmp_path: Path, keyring: Keyring):
    folder = tmp_path / "logins"
    await Logins(folder).save(LOGIN)
    seen = files(folder)[0].read_text()
    assert not [secret for secret in ('"access"', 'refresh"', "client-secret") if secret in seen]
    kept = keyring.content
    assert "access" in kept and "refresh" in kept and "client-secret" in kept
    assert await Logins(folder).load(LOGIN.server, LOGIN.url) == LOGIN
    await Logins(folder).delete(LOGIN)
    assert json.loads(keyring.content) == {}


async def test_what_is_too_long_for_the_keyring_goes_into_the_file(tmp_path: Path, keyring: Keyring):
    logins = Logins(tmp_path / "logins")
    await logins.save(LOGIN)
    long = replace(LOGIN, tokens={"access_token": "a" * 3000})
    await logins.save(long)
    assert await logins.load(LOGIN.server, LOGIN.url) == long
    assert json.loads(keyring.content) == {}


async def test_a_login_whose_secrets_are_gone_is_without_tokens(tmp_path: Path, keyring: Keyring):
    logins = Logins(tmp_path / "logins")
    await logins.save(LOGIN)
    keyring.become("{}")
    login = await logins.load(LOGIN.server, LOGIN.url)
    assert login is not None and login.token is None and login.issuer == LOGIN.issuer


async def test_a_keyring_that_fails_is_told_once_it_matters(
    tmp_path: Path, keyring: Keyring, caplog: pytest.LogCaptureFixture
):
    logins = Logins(tmp_path / "logins")
    await logins.save(LOGIN)
    keyring.become("broken")
    login = await logins.load(LOGIN.server, LOGIN.url)
    assert login is not None and login.token is None
    assert "the system's keyring cannot be read" in caplog.text
    await logins.save(LOGIN)
    assert await logins.load(LOGIN.server, LOGIN.url) == LOGIN


async def test_one_at_a_time_changes_a_login(tmp_path: Path):
    """Two objects are to a lock as two processes are."""
    order: list[str] = []
    inside = anyio.Event()

    async def first() -> None:
        async with Logins(tmp_path).alone("safe", LOGIN.url):
            inside.set()
            await anyio.wait_all_tasks_blocked()
            order.append("first")

    async with anyio.create_task_group() as tg:
        tg.start_soon(first)
        await inside.wait()
        async with Logins(tmp_path).alone("safe", LOGIN.url):
            order.append("second")
    assert order == ["first", "second"]


async def test_a_folder_that_cannot_be_written_keeps_nobody_waiting(tmp_path: Path):
    (tmp_path / "logins").write_text("in the way")
    async with Logins(tmp_path / "logins").alone("safe", LOGIN.url):
        pass
    with pytest.raises(OSError):
        await Logins(tmp_path / "logins").save(LOGIN)
    assert await Logins(tmp_path / "logins").load("safe", LOGIN.url) is None
