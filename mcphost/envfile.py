"""Files of `NAME=value` lines, as VS Code's `envFile` and Docker's `--env-file` take them."""

import re
from pathlib import Path
from typing import Final

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"""(?:"((?:\\.|[^"\\])*)"|'([^']*)')\s*(?:#.*)?""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
_MEANINGS: Final = {"n": "\n", "r": "\r", "t": "\t"}


class EnvFileError(ValueError):
    """Why a file cannot be used. Says the line, never what stands in it."""


def read(path: Path) -> dict[str, str]:
    """The variables of a file. Comments and blank lines are passed over; nothing is expanded.

    Raises `EnvFileError`.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise EnvFileError("is not there") from None
    except UnicodeDecodeError:
        raise EnvFileError("is not UTF-8 text") from None
    except (OSError, ValueError) as exc:
        raise EnvFileError(f"cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    return parse(text)


def parse(text: str) -> dict[str, str]:
    """`text` as variables. Raises `EnvFileError` for a line that is none."""
    variables: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r\n?|\n", text), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None or "\0" in line:
            raise EnvFileError(f"line {number} is not NAME=value")
        variables[found[1]] = _value(found[2])
    return variables


def _value(text: str) -> str:
    """Double quotes allow escapes, single quotes none; bare text ends at a ` #` comment."""
    quoted = _QUOTED.fullmatch(text)
    if quoted is None:
        return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip()
    if quoted[2] is not None:
        return quoted[2]
    return _ESCAPE.sub(lambda found: _MEANINGS.get(found[1], found[1]), quoted[1])
