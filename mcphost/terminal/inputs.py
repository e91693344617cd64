"""What a command is given to work on: a prompt, arguments, what is piped in, a file that a flag names."""

import os
import select
import stat
import sys
from pathlib import Path
from typing import Any, cast

from mcphost import jsontext
from mcphost.errors import ConfigError
from mcphost.terminal.output import note

_PATIENCE_SECONDS = 2.0
"""How long a pipe may stay silent before the user is told what is being waited for."""


def prompt_and_attachment(prompt: str | None) -> tuple[str, str]:
    """The prompt, and what was piped in beside it ("" for nothing). Raises `ConfigError` without a prompt."""
    if prompt is not None and prompt != "-":
        if not prompt.strip():
            raise ConfigError("the prompt is empty", hint=_PROMPT)
        return prompt, read_stdin().strip("\r\n") if _is_piped() else ""
    if prompt is None and sys.stdin.isatty():
        raise ConfigError("there is no prompt", hint=_PROMPT)
    text = read_stdin()
    if not text.strip():
        raise ConfigError("there is no prompt: standard input is empty", hint=_PROMPT)
    return text.strip("\r\n"), ""


_PROMPT = 'Give one, mcphost run "…", or pipe it in.'


def read_stdin() -> str:
    """All of standard input. Says so when it waits for a pipe in which nothing comes."""
    if _is_piped() and not select.select([sys.stdin], [], [], _PATIENCE_SECONDS)[0]:
        note("waiting for standard input to end; with nothing to pipe in, add </dev/null", style="dim")
    return sys.stdin.buffer.read().decode("utf-8", "replace").removeprefix("\ufeff")


def _is_piped() -> bool:
    """Whether something was piped or redirected in: a terminal, a socket and /dev/null are no text."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def text_or_file(flag: str, value: str | None) -> str | None:
    """The text of a flag that takes one, or `@` and the name of a file with it. Raises `ConfigError`."""
    if value is None or not value.startswith("@"):
        return value
    path = value[1:]
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{flag}: {path} is not UTF-8", hint="Save it as UTF-8.") from None
    except (OSError, RuntimeError, ValueError) as exc:
        reason = (exc.strerror if isinstance(exc, OSError) else None) or exc
        raise ConfigError(f"{flag}: {path or '@'} cannot be read: {reason}", hint=_AT) from None


_AT = "After @ comes the name of a file; a text that begins with @ has to be put into one."


def arguments_of(text: str) -> dict[str, Any]:
    """The JSON object typed as arguments; nothing is none. Raises `ConfigError`."""
    if not text.strip():
        return {}
    try:
        value = jsontext.loads(text)
    except jsontext.NotJson as exc:
        where = "" if exc.position is None else f" at character {exc.position + 1}"
        raise ConfigError(f"the arguments are not JSON{where}: {exc.reason}", hint=_OBJECT) from exc
    if not isinstance(value, dict):
        raise ConfigError(f"the arguments must be a JSON object, not {text.strip()[:40]}", hint=_OBJECT)
    return cast("dict[str, Any]", value)


_OBJECT = """A shell wants quotes around it, '{"city": "Suzhou"}'; `-` reads it from standard input."""
