"""A configuration document: its values narrowed to what they are, and where in it something is wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from mcphost.errors import ConfigError
from mcphost.jsonc import KeyPath, dotted


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document came from: the file as its user wrote it, and the line of each key where known."""

    name: str
    folder: Path
    lines: Mapping[KeyPath, int] = field(default_factory=dict[KeyPath, int])

    def at(self, path: KeyPath = ()) -> str:
        """`servers.json:12`, by the nearest key whose line is known."""
        for end in range(len(path), 0, -1):
            if line := self.lines.get(path[:end]):
                return f"{self.name}:{line}"
        return self.name

    def error(self, path: KeyPath, reason: str, *, hint: str | None = None) -> ConfigError:
        key = f"{dotted(path)}: " if path else ""
        return ConfigError(f"{self.at(path)}: {key}{reason}", hint=hint)


def as_object(value: object) -> dict[str, object] | None:
    """`value` as a dict with text keys, None when it is no object."""
    if not isinstance(value, Mapping):
        return None
    return {str(key): item for key, item in cast("Mapping[object, object]", value).items()}


def as_list(value: object) -> list[object] | None:
    """`value` as a list, None when it is none."""
    return list(cast("Iterable[object]", value)) if isinstance(value, list | tuple) else None


def as_number(value: object) -> int | float | None:
    """`value` when it is a number; true and false are none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def kind(value: object) -> str:
    """What a JSON value is, for messages. The value itself may be a secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a string" if value.strip() else "an empty string"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def fold(key: str) -> str:
    """A key without its style: `env_file`, `envFile`, `env-file` and `ENV_FILE` are one."""
    return key.replace("_", "").replace("-", "").lower()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `word` is probably a slip for."""
    folded = {fold(name): name for name in known}
    swapped = [name for name in folded if sorted(name) == sorted(fold(word))]
    found = swapped or get_close_matches(fold(word), folded, n=1, cutoff=0.75)
    return folded[found[0]] if found else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing."""
    name = nearest(word, known)
    return f" (did you mean {name}?)" if name else ""
