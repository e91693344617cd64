"""Models that run on this machine, for those who have not said which to use."""

import http.client
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

from mcphost.errors import ConfigError
from mcphost.terminal.output import note
from mcphost.text import one_line

_SECONDS: Final = 1.0
_LARGEST: Final = 1_000_000
_SHOWN: Final = 9


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model server may answer. `prefix` goes before its models' names in `-m`."""

    base_url: str
    prefix: str = ""


def running(places: Sequence[Place]) -> list[str]:
    """The models of the servers that answer, as `-m` takes them. Waits a second at most."""
    if not places:
        return []
    with ThreadPoolExecutor(len(places)) as pool:
        return [name for names in pool.map(_models, places) for name in names]


def _models(place: Place) -> list[str]:
    parts = urlsplit(place.base_url)
    if parts.scheme != "http" or not parts.hostname:
        return []
    # http.client goes through no proxy, which is right here, and is loaded in no time
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=_SECONDS)
    try:
        connection.request("GET", f"{parts.path}/models", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        data: Any = json.loads(answer.read(_LARGEST)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return []
    finally:
        connection.close()
    listed: Any = cast("dict[str, Any]", data).get("data") if isinstance(data, dict) else None
    items = cast("list[Any]", listed) if isinstance(listed, list) else []
    names = [cast("dict[str, Any]", item).get("id") for item in items if isinstance(item, dict)]
    return [place.prefix + name for name in names if isinstance(name, str) and _can_talk(name)]


def _can_talk(name: str) -> bool:
    return bool(name.strip()) and "embed" not in name.lower()


def choose(names: Sequence[str]) -> str | None:
    """Ask the user for one of `names`; None for none."""
    shown = names[:_SHOWN]
    note("No model is configured, but there is one on this machine:" if len(names) == 1 else _SEVERAL)
    for number, name in enumerate(shown, 1):
        note(f"  {number}  {one_line(name, 200)}")
    which = "Use it?" if len(shown) == 1 else f"Use which, 1 to {len(shown)}?"
    sys.stderr.write(f"{which} [1, or n for none] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:  # Ctrl-D
        note("")
        return None
    answer = answer.strip().lower() or "1"
    if answer in ("y", "yes", "是"):
        answer = "1"
    if not answer.isdecimal() or not 1 <= int(answer) <= len(shown):
        return None
    chosen = shown[int(answer) - 1]
    note(f"Using {one_line(chosen, 200)}. To have it always: export MCPHOST_MODEL={one_line(chosen, 200)}")
    return chosen


_SEVERAL = "No model is configured, but there are some on this machine:"


def mentioned(error: ConfigError, names: Sequence[str]) -> ConfigError:
    """`error`, with a hint that begins with what runs here."""
    if not names:
        return error
    others = f" (or {', '.join(one_line(name, 80) for name in names[1:4])})" if len(names) > 1 else ""
    local = f"There is one on this machine: -m {one_line(names[0], 80)}{others}.\n"
    return ConfigError(error.message, hint=local + (error.hint or ""))
