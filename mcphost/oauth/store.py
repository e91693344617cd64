"""Logins: what the authorization of each server has left us with, kept for the next run.

The secrets go into the system's keyring where there is one that works (`pip install mcphost[keyring]`), else
into a file that only its owner can read. The rest is no secret, and always in a file: a file a login.
"""

import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import anyio
import anyio.to_thread

from mcphost import paths
from mcphost.oauth import vault

_LOCK_SECONDS: Final = 60.0
_LOCK_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Login:
    """One server's login. The dicts are as OAuth has them.

    `server` and `url` are the server's. `client` is who we are to the authorization server `issuer` (RFC
    7591, client information), `metadata` how that describes itself (RFC 8414), `tokens` its last answer (RFC
    6749, section 5.1; empty when there is none that holds), good until `expires_at` (seconds since 1970, None
    if unknown), and for `resource` (RFC 8707). `wanted` are scopes that the server has missed since.
    """

    server: str
    url: str
    issuer: str = ""
    resource: str | None = None
    client: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    tokens: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    expires_at: float | None = None
    wanted: tuple[str, ...] = ()

    @property
    def token(self) -> str | None:
        return self.tokens.get("access_token")

    @property
    def refresh_token(self) -> str | None:
        return self.tokens.get("refresh_token")

    @property
    def scopes(self) -> tuple[str, ...]:
        """What the tokens were granted for."""
        return tuple(str(self.tokens.get("scope") or "").split())

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and time.time() >= self.expires_at


class Logins:
    """All logins of a user. Each belongs to a server's name and URL: under another name the same URL may be
    logged in as somebody else, and another URL never gets the tokens of this one.

    What cannot be read is no login; what cannot be written raises `OSError`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or paths.data_folder() / "logins"

    async def load(self, server: str, url: str) -> Login | None:
        return await anyio.to_thread.run_sync(self._load, self._path(server, url))

    async def save(self, login: Login) -> None:
        """Keep a login in place of the one that its server has."""
        await anyio.to_thread.run_sync(self._save, login)

    async def delete(self, login: Login) -> None:
        await anyio.to_thread.run_sync(self._delete, login)

    async def all(self) -> list[Login]:
        """Every login, by the names of the servers."""
        found = [
            await anyio.to_thread.run_sync(self._load, path) for path in sorted(self._folder.glob("*.json"))
        ]
        return [login for login in found if login is not None]

    @asynccontextmanager
    async def alone(self, server: str, url: str) -> AsyncGenerator[None]:
        """Keep other processes from changing a server's login. One that never ends is not waited for."""
        try:
            self._make_folder()
            path = self._path(server, url).with_suffix(".lock")
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # nothing is kept here, by nobody
            yield
            return
        try:
            with anyio.move_on_after(_LOCK_SECONDS):
                while not _locked(descriptor):  # noqa: ASYNC110 (who has it is another process)
                    await anyio.sleep(_LOCK_PAUSE)
            yield
        finally:
            os.close(descriptor)

    def _path(self, server: str, url: str) -> Path:
        digest = sha256(f"{server}\0{url}".encode(errors="surrogatepass")).hexdigest()
        return self._folder / f"{paths.file_name(server)}-{digest[:16]}.json"

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _load(self, path: Path) -> Login | None:
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            secrets: Any = data.pop("secrets")
            if secrets == "keyring":
                secrets = json.loads(vault.read(path.stem) or "{}")
            data["client"] |= secrets.get("client", {})
            data["tokens"] = dict(secrets.get("tokens", {}))
            data["wanted"] = tuple(map(str, data["wanted"]))
            data["expires_at"] = None if data["expires_at"] is None else float(data["expires_at"])
            login = Login(**data)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):  # nothing that we wrote
            return None
        return login if path == self._path(login.server, login.url) else None

    def _save(self, login: Login) -> None:
        self._make_folder()
        path = self._path(login.server, login.url)
        client, hidden = _parted(login.client)
        secrets = {"client": hidden, "tokens": dict(login.tokens)}
        kept = "keyring" if vault.write(path.stem, json.dumps(secrets)) else secrets
        content = {**asdict(replace(login, client=client, tokens={})), "secrets": kept}
        del content["tokens"]
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._folder, prefix=".new-", delete=False
        ) as scratch:
            try:
                json.dump(content, scratch, indent=1)
                scratch.close()
                os.replace(scratch.name, path)
            except BaseException:
                os.unlink(scratch.name)
                raise

    def _delete(self, login: Login) -> None:
        path = self._path(login.server, login.url)
        vault.erase(path.stem)
        with suppress(FileNotFoundError):
            path.unlink()


def _parted(client: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of a client's registration may be seen, and what not."""
    secret = {"client_secret", "registration_access_token"}
    hidden = {key: value for key, value in client.items() if key in secret}
    return {key: value for key, value in client.items() if key not in secret}, hidden


def _locked(descriptor: int) -> bool:
    """Take a lock on a file, which its closing gives back; False where another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as exc:  # Windows has no error of its own for it; and not every filesystem can lock
        return sys.platform != "win32" or exc.errno != 13
    return True
