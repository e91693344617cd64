"""Where a conversation is kept, and the one that goes on: `--continue`, `--resume`, `--no-save`."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from mcphost.errors import ConfigError, McphostError
from mcphost.store import Store
from mcphost.stored import Session
from mcphost.terminal.output import is_interactive, note
from mcphost.text import one_line, printable

_OFFERED = 15


@dataclass(frozen=True, slots=True)
class Keeping:
    """What the flags say. `resume` is an id, "" where it is to be asked for, None to begin anew."""

    save: bool = True
    go_on: bool = False
    resume: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a conversation is kept, None for nowhere, and the one that goes on."""

    store: Store | None = None
    session: Session | None = None


@contextmanager
def kept(keeping: Keeping) -> Generator[Kept]:
    """Open what the flags ask for. Raises `McphostError` for a session that cannot be taken up; where only
    nothing can be kept, that is told."""
    wanted = keeping.go_on or keeping.resume is not None
    try:
        store = Store() if keeping.save or wanted else None
    except McphostError as exc:
        if wanted:
            raise
        note(f"warning: this conversation is not kept: {printable(exc.message)}", style="yellow")
        store = None
    if store is None:
        yield Kept()
        return
    with store:
        session = _session(store, keeping) if wanted else None
        yield Kept(store if keeping.save else None, session)


def _session(store: Store, keeping: Keeping) -> Session:
    if keeping.resume:
        return store.resume(keeping.resume)
    if keeping.go_on and keeping.resume is None:
        return store.latest(folder=os.getcwd())
    found = store.list(limit=_OFFERED)
    if not found:
        raise ConfigError("there is no session to resume", hint="Begin one: `mcphost chat`.")
    if not is_interactive():
        raise ConfigError("--resume needs an id here", hint="`mcphost sessions list` shows them.")
    for number, each in enumerate(found, 1):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.updated))
        note(f"{number:>3}. {when}  {one_line(each.title, 60)} ({each.messages} messages)")
    try:
        typed = input("Which one? ").strip()
    except EOFError:
        typed = ""
    if not typed:
        raise ConfigError(
            "no session was chosen", hint="mcphost chat --resume ID, or --continue for the last."
        )
    if typed.isdecimal() and 0 < int(typed) <= len(found):
        return store.resume(found[int(typed) - 1].id)
    return store.resume(typed)
