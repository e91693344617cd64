"""The user's own programs, which have the terminal for a while: the editor, the pager."""

import os
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from mcphost.terminal.output import note

_NOT_FOUND: Final = 127
"""What a shell says when there is no such program."""

Alone = Callable[[Callable[[], int]], Awaitable[int]]
"""Lets something have the terminal, and gives what it gives."""


async def edited(text: str, alone: Alone) -> str | None:
    """`text` as it comes out of the user's editor, None where that failed."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    async with _scratch(text, ".md") as path:
        if await alone(lambda: subprocess.run(["sh", "-c", f'{editor} "$1"', "sh", str(path)]).returncode):
            return None
        return (await path.read_text(encoding="utf-8", errors="replace")).removesuffix("\n")


async def paged(text: str, alone: Alone) -> None:
    """Show a long text in the user's pager."""
    pager = os.environ.get("PAGER") or "less -FRX"
    async with _scratch(text, ".txt") as path:
        command = ["sh", "-c", f'{pager} < "$1"', "sh", str(path)]
        if await alone(lambda: subprocess.run(command).returncode) == _NOT_FOUND:
            note(text)


@asynccontextmanager
async def _scratch(text: str, suffix: str) -> AsyncGenerator[anyio.Path]:
    """A file of the user's own with `text` in it, for as long as it is used."""
    async with anyio.NamedTemporaryFile("w", suffix=suffix, encoding="utf-8", delete=False) as file:
        await file.write(text)
    path = anyio.Path(str(file.name))
    try:
        yield path
    finally:
        await path.unlink(missing_ok=True)
