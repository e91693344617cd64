"""The servers.json that a command changes, and what is said about it."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcphost import files, trust
from mcphost.documents import nearest
from mcphost.errors import ConfigError
from mcphost.paths import user_config
from mcphost.server_edit import Sheet
from mcphost.terminal.output import note

Where = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Target:
    """A file to change. `private`: it is the user's own, and nobody else's when it is made."""

    path: Path
    private: bool

    @property
    def shown(self) -> str:
        return shown(self.path)

    def sheet(self) -> Sheet:
        """The file as it is now. Raises `ConfigError`."""
        there = os.path.lexists(os.path.realpath(self.path))
        return Sheet.of(self.path, files.content(self.path) if there else None)

    def change(self, edit: Callable[[Sheet], str]) -> None:
        """Give the file the text that `edit` makes of it. Raises `ConfigError`, and then nothing has changed.

        A file of the working folder stays confirmed, if it was; one that we make is.
        """
        change = files.rewrite(
            self.path, lambda data: edit(Sheet.of(self.path, data)).encode(), private=self.private
        )
        if self.private:
            return
        try:
            confirmed = trust.follow(self.path, change.before, change.after)
        except OSError as exc:
            note(f"warning: this cannot be remembered: {exc.strerror}", style="yellow")
            return
        if not confirmed and self.path == files.file_of(Path.cwd()):
            note(f"{self.shown} was not confirmed yet: you are asked about it when it is first used.")


def target(config: Path | None, scope: Where | None) -> Target:
    """The file that is named, or that of a scope; else the one that $MCPHOST_CONFIG names, or the user's own.

    A working folder has one file: where there is one, `project` is that one.
    """
    if config is not None:
        return Target(config, private=os.path.realpath(config) == os.path.realpath(user_config()))
    if scope == "project":
        return Target(files.file_of(Path.cwd()) or Path.cwd() / files.HERE[0], private=False)
    if scope is None and (named := files.named_file(os.environ, Path.cwd())):
        return Target(named, private=os.path.realpath(named) == os.path.realpath(user_config()))
    return Target(user_config(), private=True)


def holding(name: str, config: Path | None, scope: Where | None) -> Target:
    """The file that has a server of this name: among those that are named or, without any, the one that is
    read in this folder and then the user's own. Raises `ConfigError` where none has."""
    if config is not None or scope is not None:
        targets = [target(config, scope)]
    else:
        found = files.find(environ=os.environ, cwd=Path.cwd(), home_config=user_config())
        targets = ([] if found is None else [target(found.path, None)]) + [target(None, "user")]
    names: list[str] = []
    looked: list[Target] = []
    for each in targets:
        if not os.path.isfile(each.path):
            continue
        servers = each.sheet().servers
        if name in servers:
            return each
        names += servers
        looked.append(each)
    if not looked:
        raise ConfigError(f"{targets[-1].shown}: there is no such file", hint="Name another with -c FILE.")
    places = " nor in ".join(dict.fromkeys(each.shown for each in looked))
    near = nearest(name, names)
    hint = f"Did you mean {near}?" if near else f"There is {', '.join(dict.fromkeys(names)) or 'none'}."
    raise ConfigError(f"no server is called {name!r} in {places}", hint=hint)


def tell_what_is_read(changed: Target) -> None:
    """Say so where another file than the one just changed is read in this folder."""
    found = files.find(environ=os.environ, cwd=Path.cwd(), home_config=user_config())
    if found is None or os.path.realpath(found.path) != os.path.realpath(changed.path):
        instead = f"{shown(found.path)} is read" if found else "none is read"
        note(f"note: in this folder {instead}; name this file with -c {changed.shown}", style="yellow")


def tell_others(name: str, changed: Target) -> None:
    """Say so where the user's own file has a server of that name too."""
    own = target(None, "user")
    if os.path.realpath(own.path) != os.path.realpath(changed.path) and os.path.isfile(own.path):
        with suppress(ConfigError):
            if name in own.sheet().servers:
                note(f"note: {own.shown} has one of that name too", style="yellow")


def shown(path: Path) -> str:
    """A path as short as it can be typed: from this folder, or from home."""
    starts = {".": Path.cwd(), "~": Path.home()}
    shorter = [
        f"{start}/{path.relative_to(folder)}"
        for start, folder in starts.items()
        if path.is_relative_to(folder)
    ]
    return min([str(path), *shorter], key=len)
