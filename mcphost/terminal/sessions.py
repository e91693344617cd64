"""`mcphost sessions`: the conversations that are kept on disk."""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

from mcphost.errors import ConfigError
from mcphost.store import Listed, Store
from mcphost.stored import Session
from mcphost.terminal import configure
from mcphost.terminal.output import is_interactive, note, styled, write, write_json
from mcphost.terminal.width import cut
from mcphost.text import printable
from mcphost.transcript import Format, Transcript

Output = Literal["table", "json"]

_SHOWN: Final = 2000
"""Characters of a call or a result that `show` has; `export` has all."""


def listed(limit: int, output: Output) -> int:
    """The sessions that were last used."""
    with Store() as store:
        found = store.list(limit=limit)
    if output == "json":
        write_json([_as_json(each) for each in found], indent=1)
        return 0
    for each in found:
        _write_line(each)
    if not found:
        note("There are no sessions yet.")
    return 0


def search(words: str, output: Output) -> int:
    """The sessions that hold all the words. Exit code 1 where there is none, as `grep` has it."""
    with Store() as store:
        hits = store.search(words)
    if output == "json":
        write_json([{**_as_json(hit.session), "snippet": hit.snippet} for hit in hits], indent=1)
    else:
        for hit in hits:
            _write_line(hit.session)
            write(f"  {printable(hit.snippet)}")
        if not hits:
            note("No session has that.")
    return 0 if hits else 1


def show(session_id: str) -> int:
    """A conversation, to read; long results are cut."""
    with Store() as store:
        write(transcript(store.resume(session_id)).as_text("md", limit=_SHOWN), end="")
    return 0


def export(session_id: str, form: Format, file: Path | None) -> int:
    """A whole conversation in a file, or on stdout."""
    with Store() as store:
        text = transcript(store.resume(session_id)).as_text(form)
    if file is None:
        write(printable(text) if sys.stdout.isatty() else text, end="")
        return 0
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as exc:
        raise ConfigError(f"{file} cannot be written: {exc.strerror}", hint="Name another file.") from exc
    note(f"Saved as {file}.")
    return 0


def delete(session_ids: Sequence[str], older_than: float | None, *, yes: bool) -> int:
    """Remove sessions for good: the named ones, and those that were not used for so many seconds."""
    with Store() as store:
        doomed = {found.id: found for found in map(store.find, session_ids)}
        if older_than is not None:
            since = time.time() - older_than
            doomed |= {each.id: each for each in store.list(limit=-1) if each.updated < since}
        if not doomed:
            note("There is nothing to delete.")
            return 0
        if not yes:
            for each in doomed.values():
                _write_line(each)
            if not is_interactive():
                raise ConfigError("nothing was deleted: nobody can be asked", hint="--yes deletes them.")
            if not configure.yes(f"Delete {len(doomed)} for good?"):
                note("Nothing was deleted.")
                return 0
        store.delete(doomed)
        note(f"Deleted {len(doomed)}.")
    return 0


def transcript(session: Session) -> Transcript:
    """A session, to be exported."""
    return Transcript(
        session.id,
        session.title,
        session.model,
        session.created,
        session.messages,
        session.calls,
        session.usage,
    )


def _as_json(listed: Listed) -> dict[str, Any]:
    return asdict(listed)


def _write_line(listed: Listed) -> None:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(listed.updated))
    name = styled(listed.id, "cyan", sys.stdout)
    rest = f"  {when}  {listed.messages:>4} messages  {printable(listed.title)}"
    width = shutil.get_terminal_size().columns - len(listed.id)
    write(name + (cut(rest, width) if sys.stdout.isatty() else rest))
