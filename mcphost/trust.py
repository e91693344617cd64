"""Which files of a working folder their user has confirmed.

A `servers.json` that was only found could come with a stranger's repository, and runs commands. What is
confirmed is its content at its place: the same text in another folder may start other programs, such as its
own `./server.py`.
"""

import os
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from mcphost import paths


def folder() -> Path:
    """Where confirmations are kept: a file each, named by its digest."""
    return paths.data_folder() / "trusted"


def digest(path: Path, content: bytes) -> str:
    """What `content` at `path` is known by."""
    place = os.fsencode(os.path.realpath(path))
    return sha256(sha256(place).digest() + content).hexdigest()


def is_trusted(digest: str) -> bool:
    """Whether the file of this digest was confirmed. What cannot be read was not."""
    return os.path.isfile(folder() / digest)


def remember(digest: str, path: Path) -> None:
    """Confirms a digest, from now on. `path` is noted for people who look. Raises `OSError`."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    with NamedTemporaryFile("wb", dir=place, prefix=".new-", delete=False) as scratch:
        try:
            scratch.write(os.fsencode(os.path.realpath(path)) + b"\n")
            scratch.close()
            os.replace(scratch.name, place / digest)
        except BaseException:
            os.unlink(scratch.name)
            raise


def follow(path: Path, before: bytes | None, after: bytes) -> bool:
    """Confirms what we ourselves have made of a file, if it had been confirmed or was not there before.

    Whether it is confirmed now. Raises `OSError`.
    """
    known = before is None or is_trusted(digest(path, before))
    if known:
        remember(digest(path, after), path)
    return known
