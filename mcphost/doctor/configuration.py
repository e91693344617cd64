"""The files of a configuration: what is in them, who may read and change them."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from mcphost import files, paths, trust
from mcphost.config import Config, ServerSpec
from mcphost.doctor.findings import Finding
from mcphost.endpoints import is_loopback
from mcphost.errors import ConfigError
from mcphost.literals import literal_secrets
from mcphost.masking import secrets_of
from mcphost.server_edit import Sheet


def about_files(config: Config) -> Iterator[Finding]:
    """What can be said of a configuration's files without starting anything."""
    for path in config.files:
        count = sum(spec.source == path for spec in config.servers.values())
        yield Finding("ok", "1 server" if count == 1 else f"{count or 'no'} servers", str(path))
        yield from _about_access(path)
    for warning in config.warnings:
        where, colon, what = warning.partition(": ")
        yield Finding("warning", what, where) if colon else Finding("warning", warning, "configuration")
    for spec in config.servers.values():
        if spec.enabled:
            yield from _about_address(spec)
    if not any(spec.enabled for spec in config.servers.values()):
        hint = "`mcphost add` puts one in, `mcphost import` those of another program."
        where = ", ".join(map(str, config.files)) or "configuration"
        yield Finding("warning", "no server is enabled, so there are no tools", where, hint)


def _about_access(path: Path) -> Iterator[Finding]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if sys.platform == "win32" or not stat.S_ISREG(mode):
        return
    if mode & stat.S_IWOTH:
        what = "everybody on this machine can change it, and so have programs started as you"
        yield Finding("warning", what, str(path), f"chmod o-w {path}")
    servers = Sheet.of(path, files.content(path)).servers
    for name, entry in servers.items():
        literal = ", ".join(literal_secrets(entry.value))
        if not literal:
            continue
        if mode & stat.S_IROTH and _is_open(path.parent):
            what = f"{literal}: written out, and everybody on this machine can read the file"
            yield Finding("warning", what, str(path), f"chmod 600 {path}, or {_VARIABLE}", name)
        elif repository := _repository(path):
            what = f"{literal}: written out, and the file lies in a Git repository"
            yield Finding("note", what, str(path), f"Let Git ignore it, or {_VARIABLE} ({repository})", name)


_VARIABLE = "write ${NAME} and have the secret in your environment."


def _is_open(folder: Path) -> bool:
    """Whether everybody can get to what is in a folder."""
    return all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.resolve().parents))


def _repository(path: Path) -> Path | None:
    return next((folder for folder in path.resolve().parents if (folder / ".git").exists()), None)


def _about_address(spec: ServerSpec) -> Iterator[Finding]:
    url = spec.url or ""
    if url.startswith("http:") and not is_loopback(url) and secrets_of(spec):
        what = "its key goes over the network for everybody to read: the address begins with http://"
        yield Finding("warning", what, urlsplit(url).netloc.rpartition("@")[2], "Use https://.", spec.name)


def about_folders() -> Iterator[Finding]:
    """The folders that we keep things in."""
    for what, folder in (
        ("sessions, results and confirmations", paths.data_folder()),
        ("what servers write to stderr", paths.log_folder()),
        ("what was found out about servers", paths.cache_folder()),
    ):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            yield Finding("warning", f"{what} cannot be kept: it cannot be written", str(there), _WRITABLE)
    for folder in (paths.user_config().parent, trust.folder(), paths.data_folder()):
        if sys.platform != "win32" and folder.is_dir() and folder.stat().st_mode & stat.S_IWOTH:
            what = "everybody on this machine can put files in it that mcphost believes"
            yield Finding("warning", what, str(folder), f"chmod o-w {folder}")


_WRITABLE = "Make it a folder that you may write."


def unreadable(error: ConfigError) -> Finding:
    """A configuration that cannot be used."""
    return Finding("error", error.message, "configuration", error.hint, code=ConfigError.exit_code)
