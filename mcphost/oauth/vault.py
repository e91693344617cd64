"""The system's keyring, where there is one that works."""

import logging
from typing import Any, Final

_SERVICE: Final = "mcphost"

logger = logging.getLogger(__name__)


def read(key: str) -> str | None:
    """What is kept under a key; None where there is nothing, or no keyring."""
    keyring = _keyring()
    if keyring is None:
        return None
    try:
        return keyring.get_password(_SERVICE, key)
    except Exception as exc:  # noqa: BLE001 (boundary: a keyring may be locked, and fails as it likes)
        logger.warning("the system's keyring cannot be read: %s", type(exc).__name__)
        return None


def write(key: str, secret: str) -> bool:
    """Keep a secret. False where that cannot be done."""
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(_SERVICE, key, secret)
    except Exception as exc:  # noqa: BLE001 (boundary: as above; some take only so many bytes)
        logger.info("the system's keyring takes no login: %s", type(exc).__name__)
        erase(key)
        return False
    return True


def erase(key: str) -> None:
    """Forget what is kept under a key, if anything is."""
    keyring = _keyring()
    if keyring is None:
        return
    try:
        keyring.delete_password(_SERVICE, key)
    except Exception as exc:  # noqa: BLE001 (boundary: as above; most raise where there is nothing)
        logger.debug("nothing was deleted from the keyring: %s", type(exc).__name__)


def _keyring() -> Any:
    """The keyring to use, None where there is none but stand-ins for one."""
    try:
        import keyring  # an extra, and slow: only who keeps secrets in one needs it

        backend: Any = keyring.get_keyring()
        return backend if backend.priority >= 1 else None
    except Exception as exc:  # noqa: BLE001 (boundary: not installed, or broken in any way)
        logger.debug("there is no keyring: %s", type(exc).__name__)
        return None
