"""Another host's server entries in our own spelling, for a file of ours. What cannot come along is told."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcphost.documents import as_list, as_number, as_object, fold, kind, suggestion
from mcphost.fields import listed_pairs
from mcphost.server_entry import BUILTINS
from mcphost.spellings import KNOWN_KEYS, SPELLINGS, TYPES, looks_like_server, spell
from mcphost.variables import workspace_of

_TRANSLATED: Final = frozenset(
    "name http_url disabled trust disabledAutoApproveTools timeout_ms start_timeout_ms bearer_token_env_var "
    "env_http_headers".split()
)
"""What is said by other keys in our spelling."""

_MILLISECONDS_FROM: Final = 10_000
_INPUT = re.compile(r"\$\{input:([^{}]+)\}")
_WORKSPACE = re.compile(r"\$\{workspace(?:Folder|Root)\}")


@dataclass(frozen=True, slots=True)
class Move:
    """From where to where entries are carried: the folders of the two files."""

    source: Path
    target: Path
    home: Path


@dataclass(frozen=True, slots=True)
class Carried:
    """An entry in our spelling. `lost` says what could not come along; `inputs` are the ids of what it asks
    its user for. `problem` says why there is no entry at all."""

    entry: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    lost: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    problem: str | None = None


def carried(name: str, value: object, move: Move) -> Carried:
    """The entry of the server `name` in any host's spelling, in ours. Raises nothing."""
    given = as_object(value)
    if given is None:
        return Carried(problem=f"it is {kind(value)}, not an object")
    spelled = spell(given)
    lost = [f"{key} means nothing here{suggestion(key, KNOWN_KEYS)}" for key in spelled.unknown]
    entry = _in_our_words(spelled.values, lost)
    if not looks_like_server(entry):
        return Carried(lost=tuple(lost), problem="it has neither a command nor a url")
    if entry.get("type") == "builtin":
        part = entry.get("builtin") or name.rpartition("/")[2]
        if part not in BUILTINS:
            return Carried(problem="it is a part of the other program, which no other can run")
        entry["builtin"] = part
    entry = _at_the_other_place(entry, move, lost)
    texts = [text for item in entry.values() for text in _texts(item)]
    inputs = dict.fromkeys(found for text in texts for found in _INPUT.findall(text))
    ordered = {key: entry[key] for key in SPELLINGS if key in entry}
    return Carried(ordered, tuple(lost), tuple(inputs))


def _in_our_words(values: Mapping[str, object], lost: list[str]) -> dict[str, object]:
    entry = {key: value for key, value in values.items() if key not in _TRANSLATED}
    _say_how_it_is_reached(entry, values, lost)
    _say_what_is_asked(entry, values)
    for key in ("timeout", "start_timeout"):
        if (seconds := _seconds(values.get(key), values.get(f"{key}_ms"))) is not None:
            entry[key] = seconds
    if values.get("enabled") in (False, "false") or values.get("disabled") in (True, "true"):
        entry["enabled"] = False
    else:
        entry.pop("enabled", None)
    if entry.get("include") in ("*", ["*"]):
        del entry["include"]
    return {key: value for key, value in entry.items() if value not in ({}, []) or key == "roots"}


def _say_how_it_is_reached(entry: dict[str, object], values: Mapping[str, object], lost: list[str]) -> None:
    given = values.get("type")
    kept = TYPES.get(fold(given)) if isinstance(given, str) else None
    if given is not None and kept is None:
        shown = repr(given) if isinstance(given, str) else kind(given)
        lost.append(f"its type {shown} means nothing here")
    if "http_url" in values:
        entry["url"], kept = values["http_url"], "http"
    entry.pop("type", None)
    if kept in ("http", "sse", "builtin") or (kept == "stdio" and "url" in entry):
        entry["type"] = kept
    if words := as_list(values.get("command")):
        entry["command"], entry["args"] = words[0], words[1:] + (as_list(values.get("args")) or [])
    for key, separator in (("env", "="), ("headers", ":")):
        if as_object(entry.get(key)) is None and key in entry:
            entry[key] = listed_pairs(entry[key], separator) or entry[key]
    headers = dict(as_object(entry.get("headers")) or {})
    variables = as_object(values.get("env_http_headers")) or {}
    headers |= {name: f"${{{variable}}}" for name, variable in variables.items()}
    if bearer := values.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{bearer}}}"
    if headers:
        entry["headers"] = headers


def _say_what_is_asked(entry: dict[str, object], values: Mapping[str, object]) -> None:
    """Our `approve`, where another host's keys come to the same."""
    freed, asked = values.get("autoApprove"), as_list(values.get("disabledAutoApproveTools"))
    entry.pop("autoApprove", None)
    if "approve" in entry:
        return
    if values.get("trust") in (True, "true") or freed is True:
        entry["approve"] = "never"
    elif isinstance(freed, str) or as_list(freed):
        entry["autoApprove"] = freed
    elif asked:
        entry["approve"] = asked


def _seconds(given: object, milliseconds: object) -> int | float | None:
    number = as_number(given)
    if (exact := as_number(milliseconds)) is not None:
        number = exact / 1000
    elif number is not None and number >= _MILLISECONDS_FROM:
        number = number / 1000
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _at_the_other_place(entry: dict[str, object], move: Move, lost: list[str]) -> dict[str, object]:
    """What is relative to the file that an entry stood in, relative to it no longer."""
    if move.source == move.target:
        return entry
    for key in ("cwd", "env_file"):
        if isinstance(path := entry.get(key), str) and not path.startswith(("~", "$")):
            entry[key] = str(move.source / path)
    if roots := as_list(entry.get("roots")):
        entry["roots"] = [_absolute(root, move.source) for root in roots]
    workspace = workspace_of(move.source)
    uses_it = any(_WORKSPACE.search(text) for item in entry.values() for text in _texts(item))
    if not uses_it or workspace == workspace_of(move.target):
        return entry
    if workspace == move.home:
        lost.append("${workspaceFolder} is the folder of the file here, and not of an open project")
        return entry
    place = str(workspace).replace("\\", "\\\\")
    return {key: _changed(item, lambda text: _WORKSPACE.sub(place, text)) for key, item in entry.items()}


def _absolute(root: object, folder: Path) -> object:
    if not isinstance(root, str) or root.startswith(("~", "$")) or "://" in root:
        return root
    return str(folder / root)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    items: Any = (as_object(value) or {}).values() if as_list(value) is None else as_list(value)
    return [text for item in items for text in _texts(item)]


def _changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if (members := as_object(value)) is not None:
        return {key: _changed(item, change) for key, item in members.items()}
    items = as_list(value)
    return value if items is None else [_changed(item, change) for item in items]
