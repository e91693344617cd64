"""Who may call: keys, and what each is allowed."""

import hashlib
import hmac
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcphost import files
from mcphost.documents import Place, as_list, as_number, as_object, kind, suggestion
from mcphost.errors import ConfigError
from mcphost.jsonc import KeyPath

logger = logging.getLogger(__name__)

_FIELDS: Final = ("key", "sha256", "servers", "requests_per_minute", "tokens_per_minute")
_LOOK_AGAIN: Final = 1.0
"""Seconds after which a file of keys is looked at again."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, by the `name` of the key. `servers`: whose tools they may use, None for all. `requests` and
    `tokens`: at most so many a minute, None for any number."""

    name: str
    servers: frozenset[str] | None = None
    requests: float | None = None
    tokens: float | None = None


ANYONE = Caller("anyone")
"""Whoever calls a backend that has no keys."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key by the SHA-256 of its text, and who has it."""

    digest: bytes = field(repr=False)
    caller: Caller

    @classmethod
    def of(cls, text: str, caller: Caller) -> "Key":
        return cls(_digest(text), caller)


class Keys:
    """The keys that are taken. Without any, everybody is.

    Those of `file` come to `keys`. It is read again when it has changed; while it cannot be read, the keys
    that it held stay. Raises `ConfigError` when it cannot be read at first.
    """

    def __init__(self, keys: Sequence[Key] = (), *, file: Path | None = None) -> None:
        self._own = tuple(keys)
        self._file = file
        self._looked = time.monotonic()
        self._stamp = _stamp(file)
        self._read = () if file is None else read(file)

    def __bool__(self) -> bool:
        return self._file is not None or bool(self._own)

    def caller(self, presented: str | None) -> Caller | None:
        """Who has the key that is presented, None where nobody has. Takes the same time for each."""
        if not self:
            return ANYONE
        self._look()
        digest = _digest(presented or "")
        found: Caller | None = None
        for key in (*self._own, *self._read):
            if hmac.compare_digest(key.digest, digest):
                found = key.caller
        return found

    def _look(self) -> None:
        """Read the file again if it has changed."""
        now = time.monotonic()
        if self._file is None or now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._read = read(self._file)
        except ConfigError as exc:
            logger.warning("the keys stay as they were: %s", exc)


def read(path: Path) -> tuple[Key, ...]:
    """The keys of a file: `{"name": "key"}`, or in the key's place an object with `key` or `sha256` (hex),
    and what its owner is allowed: `servers`, `requests_per_minute`, `tokens_per_minute`. Raises
    `ConfigError`."""
    document = files.document(path, files.content(path))
    place = Place(str(path), path.parent, document.lines)
    entries = as_object(document.value)
    if not entries:
        raise place.error((), "holds no keys", hint='Write {"name of the caller": "the key"}.')
    keys = tuple(_key(name, value, place) for name, value in entries.items())
    if len({key.digest for key in keys}) < len(keys):
        raise place.error((), "has one key twice; each caller needs one of their own")
    return keys


def _key(name: str, value: object, place: Place) -> Key:
    given = {"key": value} if isinstance(value, str) else as_object(value)
    if given is None:
        raise place.error((name,), f"must be a key, or an object with one, not {kind(value)}")
    for field_name in given:
        if field_name not in _FIELDS:
            raise place.error((name, field_name), f"is not known{suggestion(field_name, _FIELDS)}")
    caller = Caller(
        name,
        servers=_servers(given, (name, "servers"), place),
        requests=_rate(given, (name, "requests_per_minute"), place),
        tokens=_rate(given, (name, "tokens_per_minute"), place),
    )
    return Key(_given_digest(given, (name,), place), caller)


def _given_digest(given: Mapping[str, object], path: KeyPath, place: Place) -> bytes:
    text, digest = given.get("key"), given.get("sha256")
    if isinstance(text, str) and text.strip() and digest is None:
        return _digest(text.strip())
    if isinstance(digest, str) and re.fullmatch(r"[0-9a-fA-F]{64}", digest) and text is None:
        return bytes.fromhex(digest)
    raise place.error(path, "needs either a key, or its sha256 as 64 hexadecimal digits")


def _servers(given: Mapping[str, object], path: KeyPath, place: Place) -> frozenset[str] | None:
    value = given.get("servers")
    if value is None:
        return None
    names = as_list(value)
    if names is None or not all(isinstance(name, str) for name in names):
        raise place.error(path, "must be a list of servers' names")
    return frozenset(map(str, names))


def _rate(given: Mapping[str, object], path: KeyPath, place: Place) -> float | None:
    value = given.get(str(path[-1]))
    if value is None:
        return None
    number = as_number(value)
    if number is None or number <= 0:
        raise place.error(path, f"must be a number above 0, not {kind(value)}")
    return number


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file does."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
