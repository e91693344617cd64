"""What a value that misses its schema can only have been meant to be.

Models write `"5"` for 5, `110000` for `"110000"`, `"[1,2]"` for [1,2], and null for what they leave out.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from jsonschema import ValidationError

from mcphost.jsontext import NotJson, loads, same
from mcphost.text import json_text

_EXACT = 2**53
"""Below this every whole number is the same as an integer and as a double."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: the value at `path` becomes `value`, or goes with its key when `remove` is set."""

    path: tuple[str | int, ...]
    value: Any = None
    remove: bool = False


def edits(error: ValidationError) -> list[Edit]:
    """The changes that mend one error, where there is only one way; none where there is none or several."""
    path = tuple(error.absolute_path)
    if not path and not error.context:
        return []
    if error.instance is None and _is_declared_property(error):
        return [Edit(path, remove=True)]
    match error.validator:
        case "type":
            meant = _of_types(error.instance, cast("object", error.validator_value))
        case "enum":
            meant = _of_members(error.instance, error.validator_value)
        case "const":
            meant = _of_members(error.instance, [error.validator_value])
        case "anyOf" | "oneOf":
            return _of_branches(error)
        case _:
            meant = []
    return [Edit(path, meant[0])] if len(meant) == 1 and path else []


def apply(value: Any, changes: Iterable[Edit]) -> Any:
    """A copy of `value` with `changes` made, each path at most once."""
    root = deepcopy(value)
    done: set[tuple[str | int, ...]] = set()
    for edit in changes:
        if any(edit.path[:end] in done for end in range(len(edit.path) + 1)):
            continue
        done.add(edit.path)
        parent = root
        for step in edit.path[:-1]:
            parent = parent[step]
        if edit.remove:
            del parent[edit.path[-1]]
        else:
            parent[edit.path[-1]] = edit.value
    return root


def _is_declared_property(error: ValidationError) -> bool:
    """Whether the error's place is a member that a `properties` names, and no key of an open map."""
    path, steps = error.absolute_path, list(error.absolute_schema_path)
    return bool(path) and ("properties", path[-1]) in pairwise(steps)


def _of_branches(error: ValidationError) -> list[Edit]:
    """The changes that satisfy one branch, where the branches that can be satisfied want the same ones."""
    branches: dict[object, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(next(iter(inner.relative_schema_path), None), []).append(inner)
    found: list[list[Edit]] = []
    for inner_errors in branches.values():
        changes = [edits(inner) for inner in inner_errors]
        flat = [edit for group in changes for edit in group]
        if all(changes) and flat not in found:
            found.append(flat)
        if len(found) > 1:
            return []
    return found[0] if found else []


def _of_types(value: object, wanted: object) -> list[object]:
    """The distinct values that `value` may stand for among these types."""
    names = cast("Sequence[object]", wanted) if isinstance(wanted, list | tuple) else [wanted]
    found: list[object] = []
    for name in dict.fromkeys(names):
        for meant in _of_type(value, name):
            if not any(same(meant, other) for other in found):
                found.append(meant)
    return found


def _of_type(value: object, name: object) -> list[object]:
    match name, value:
        case "string", int() if not isinstance(value, bool):
            return [str(value)]
        case "integer", float():
            return _whole(value)
        case "integer", str():
            return [whole for number in _json(value, int, float) for whole in _whole(number)]
        case "number", str():
            return [(_whole(number) or [number])[0] for number in _json(value, int, float)]
        case "boolean", str() if value.strip().lower() in ("true", "false"):
            return [value.strip().lower() == "true"]
        case "array", str():
            return _json(value, list)
        case "object", str():
            return _json(value, dict)
        case "null", str() if value.strip() == "null":
            return [None]
        case _:
            return []


def _whole(number: Any) -> list[object]:
    if isinstance(number, int):
        return [number]
    return [int(number)] if number.is_integer() and abs(number) < _EXACT else []


def _json(text: str, *types: type) -> list[Any]:
    try:
        value = loads(text)
    except NotJson:
        return []
    return [value] if isinstance(value, types) and not isinstance(value, bool) else []


def _of_members(value: object, members: object) -> list[object]:
    """The members of an `enum` that are written as `value` is, quotes aside."""
    if not isinstance(members, list) or isinstance(value, list | dict):
        return []
    written = _written(value)
    return [member for member in cast("list[object]", members) if _written(member) == written]


def _written(value: object) -> str:
    return value.strip() if isinstance(value, str) else json_text(value)
