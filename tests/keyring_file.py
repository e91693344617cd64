"""A keyring that is a file, for tests: the one that $KEYRING_FILE names."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringError, PasswordDeleteError


class FileKeyring(KeyringBackend):
    """Takes passwords of up to 2,500 bytes, as Windows does."""

    priority = 5  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > 2500:
            raise KeyringError("too long")
        self._write({**self._all(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        left = self._all()
        if left.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("there is none")
        self._write(left)

    def _all(self) -> dict[str, str]:
        path = Path(os.environ["KEYRING_FILE"])
        return json.loads(path.read_text()) if path.exists() else {}

    def _write(self, passwords: dict[str, str]) -> None:
        Path(os.environ["KEYRING_FILE"]).write_text(json.dumps(passwords))
