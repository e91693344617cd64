"""Configuration files on disk: found, read with errors that say where, and changed whole or not at all."""

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcphost import jsonc
from mcphost.errors import ConfigError
from mcphost.variables import home_folder

HERE: Final = ("servers.json", ".mcp.json", ".vscode/mcp.json")
"""The files of a working folder that are looked for, in this order."""

_LARGEST: Final = 16 * 1024 * 1024
_ATTEMPTS: Final = 5
_OWN: Final = 0o600
_SHARED: Final = 0o666


@dataclass(frozen=True, slots=True)
class Found:
    """A config file. `stranger`: it was only found in the working folder, and has to be confirmed."""

    path: Path
    stranger: bool


def find(*, environ: Mapping[str, str], cwd: Path, home_config: Path) -> Found | None:
    """The config file when none is named: $MCPHOST_CONFIG, whether or not it is there; else one of the
    working folder's; else the user's own, which is no stranger wherever it is found."""
    if named := named_file(environ, cwd):
        return Found(named, stranger=False)
    own = os.path.realpath(home_config)
    if path := file_of(cwd):
        return Found(path, stranger=os.path.realpath(path) != own)
    return Found(home_config, stranger=False) if os.path.isfile(home_config) else None


def named_file(environ: Mapping[str, str], cwd: Path) -> Path | None:
    """The file that $MCPHOST_CONFIG names."""
    named = environ.get("MCPHOST_CONFIG", "").strip()
    if not named:
        return None
    return cwd / (home_folder(environ) / named[2:] if named.startswith("~/") else Path(named))


def file_of(folder: Path) -> Path | None:
    """The config file of a working folder."""
    return next((folder / name for name in HERE if os.path.isfile(folder / name)), None)


def content(path: Path) -> bytes:
    """What is in a file. Raises `ConfigError`."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file", hint="Name another with -c FILE.") from None
    except IsADirectoryError:
        hint = f"Name a file in it: -c {path / 'servers.json'}."
        raise ConfigError(f"{path}: is a folder, not a file", hint=hint) from None
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{path}: cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    if len(data) > _LARGEST:
        raise ConfigError(f"{path}: is larger than any servers.json ({_LARGEST // 1024**2} MiB)")
    return data


def text(path: Path, data: bytes) -> str:
    """`data`, the content of `path`, as text; a BOM stays. Raises `ConfigError`."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        what = "is UTF-16" if wide else f"is not UTF-8: byte {exc.start + 1} is no part of a character"
        raise ConfigError(f"{path}: {what}", hint="Save it as UTF-8.") from None


def document(path: Path, data: bytes) -> jsonc.Document:
    """`data`, the content of `path`, as JSON. Raises `ConfigError`."""
    try:
        return jsonc.parse(text(path, data))
    except jsonc.JsoncError as exc:
        hint = "mcphost reads JSON, not TOML or YAML." if path.suffix in (".toml", ".yaml", ".yml") else None
        raise ConfigError(f"{path}:{exc.line}:{exc.column}: not JSON: {exc.reason}", hint=hint) from None


@dataclass(frozen=True, slots=True)
class Change:
    """What a file held `before` (None: it was not there) and holds `after`."""

    before: bytes | None
    after: bytes


def rewrite(path: Path, edit: Callable[[bytes | None], bytes], *, private: bool) -> Change:
    """Give a file the content that `edit` makes of what it holds (None: it is not there yet).

    The file is there whole at any moment, before or after; one that changes meanwhile is edited anew, so
    `edit` may be called several times. Links are followed; mode and, where possible, owner are kept. A new
    file is the user's alone if `private`. Raises `ConfigError`, and what `edit` raises.
    """
    place = Path(os.path.realpath(path))
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
        with _alone_in(place.parent):
            for _ in range(_ATTEMPTS):
                before = content(place) if os.path.lexists(place) else None
                after = edit(before)
                if after == before or _replaced(place, before, after, _OWN if private else _SHARED):
                    return Change(before, after)
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        hint = "Nothing was changed. Name another file with -c FILE."
        raise ConfigError(f"{path}: cannot be written: {reason}", hint=hint) from exc
    raise ConfigError(f"{path}: something else keeps changing it", hint="Nothing was changed. Try again.")


def _replaced(place: Path, before: bytes | None, after: bytes, mode: int) -> bool:
    """Put `after` in the place of `before`; False, and nothing done, where that is no longer there."""
    scratch = place.with_name(f".{place.name}.{os.getpid()}.new")
    with suppress(FileNotFoundError):  # of a process of our number that was killed
        scratch.unlink()
    try:
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            if before is not None:
                _alike(scratch, os.stat(place))
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        if (content(place) if os.path.lexists(place) else None) != before:
            return False
        os.replace(scratch, place)
    finally:
        with suppress(FileNotFoundError):
            scratch.unlink()
    _settle(place.parent)
    return True


def _alike(path: Path, status: os.stat_result) -> None:
    """Give a file another's mode, and its owner where we may."""
    if sys.platform != "win32":
        with suppress(PermissionError):
            os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, status.st_mode & 0o7777)


def _settle(folder: Path) -> None:
    """Have the names in a folder written to the disk."""
    if sys.platform != "win32":
        with suppress(OSError):  # not every filesystem can
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Keep other mcphosts from changing files of a folder at the same time."""
    if sys.platform == "win32":
        yield
        return
    import fcntl  # there is none on Windows

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not every filesystem can
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
