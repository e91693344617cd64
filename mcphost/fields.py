"""Reads the fields of one server entry. What is wrong is noted, never raised: the other servers start."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final

from mcphost.documents import as_list, as_number, as_object, kind
from mcphost.variables import Missing, Scope, expand, expand_home, expand_shell_style

_MILLISECONDS_FROM: Final = 10_000
_LONGEST: Final = 30 * 24 * 3600


@dataclass(slots=True)
class Fields:
    """The values of one entry, in our own spelling.

    Readers return None (or what is empty) for what is absent, and for what is wrong, which `problem` then
    tells by the entry's own words for its keys, `written`. With `lenient`, for a server that will not be
    started, variables may be unset.
    """

    values: Mapping[str, object]
    scope: Scope
    lenient: bool = False
    written: Mapping[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])
    _problems: dict[str, str | None] = field(default_factory=dict[str, str | None])
    _missing: dict[Missing, list[str]] = field(default_factory=dict[Missing, list[str]])

    def label(self, key: str) -> str:
        """A key as the entry spells it."""
        return self.written.get(key, key)

    def within(self, values: Mapping[str, object], written: Mapping[str, str]) -> "Fields":
        """The fields of an object in the entry. What is wrong with them is wrong with the entry."""
        return replace(self, values=values, written=written)

    def complain(self, problem: str, hint: str | None = None) -> None:
        self._problems[problem] = hint

    def problem(self) -> tuple[str | None, str | None]:
        """All that is wrong in one text, and the first hint on it."""
        missing = {
            f"{what.what} (used in {_joined(labels)})": what.hint for what, labels in self._missing.items()
        }
        problems = self._problems | missing
        hints = [hint for hint in problems.values() if hint]
        return "; ".join(problems) or None, hints[0] if hints else None

    def expanded(self, text: str, label: str) -> str:
        """`text` with its variables; those without a value are noted as used in `label`."""
        result, missing = expand(text, self.scope)
        for variable in () if self.lenient else missing:
            labels = self._missing.setdefault(variable, [])
            if label not in labels:
                labels.append(label)
        if "\0" in result or not _is_encodable(result):
            self.complain(f"{label} holds a character that cannot be passed on (NUL, or half of one)")
        return result

    def text(self, key: str, *, home: bool = False) -> str | None:
        """A string with its variables expanded and without white space around it; with `home`, `~` too."""
        value = self.values.get(key)
        if isinstance(value, PurePath):
            value = str(value)
        if value is None:
            return None
        if not isinstance(value, str):
            return self._wrong(self.label(key), "must be a string", value)
        text = self.expanded(value, self.label(key)).strip()
        return expand_home(text, self.scope) if home else text

    def flag(self, key: str) -> bool | None:
        match self.values.get(key):
            case None:
                return None
            case bool() as value:
                return value
            case "true":
                return True
            case "false":
                return False
            case value:
                return self._wrong(self.label(key), "must be true or false", value)

    def words(self, key: str) -> tuple[str, ...]:
        """A list of arguments, expanded. Numbers, true and false become the text they are written as."""
        value, label = self.values.get(key), self.label(key)
        items = as_list(value)
        if value is None or items is None:
            hint = 'One item a word: ["-y", "some-package"].' if isinstance(value, str) else None
            return () if value is None else self._wrong(label, "must be a list of strings", value, hint) or ()
        texts = [_as_text(item) for item in items]
        for index, text in enumerate(texts):
            if text is None:
                self._wrong(f"{label}[{index}]", "must be a string", items[index])
        placed = [(text, f"{label}[{index}]") for index, text in enumerate(texts) if text is not None]
        return tuple(expand_home(self.expanded(text, place), self.scope) for text, place in placed)

    def globs(self, key: str) -> tuple[str, ...]:
        """Names with `*`, `?` and `[…]` in them; a single string is a list of one."""
        value, label = self.values.get(key), self.label(key)
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else as_list(value)
        if items is None:
            return self._wrong(label, "must be a list of names", value) or ()
        names: list[str] = []
        for index, item in enumerate(items):
            name = _named(item)
            if name is None:
                self._wrong(f"{label}[{index}]", "must be a name or a pattern", item)
            elif name.count("[") and "]" not in name[name.index("[") + 2 :]:
                self.complain(
                    f"{key}[{index}]: {name!r} has a [ that is not closed", "Write [[] for a [ itself."
                )
            else:
                names.append(name)
        return tuple(names)

    def pairs(self, key: str, separator: str) -> dict[str, str]:
        """An object of strings, expanded; a list of `name{separator}value`, or of {name, value}, is one too.

        Numbers, true and false become text, null leaves the name out. Secrets stay out of what is noted.
        """
        value, label = self.values.get(key), self.label(key)
        if value is None:
            return {}
        items = listed_pairs(value, separator) if as_object(value) is None else as_object(value)
        if items is None:
            self._wrong(label, f'must be an object of strings, or a list of "name{separator}value"', value)
            return {}
        result: dict[str, str] = {}
        for name, item in items.items():
            text = _as_text(item)
            if text is not None:
                text = expand_shell_style(text, self.scope.environ)
                result[name] = self.expanded(text, f"{label}.{name}")
            elif item is not None:
                self._wrong(f"{label}.{name}", "must be a string", item)
        return result

    def seconds(self, key: str) -> float | None:
        """A time. 10,000 or more is taken as milliseconds, as many hosts have it; 0 as not set."""
        given = self._time(f"{key}_ms")
        if given is not None:
            return given / 1000
        seconds = self._time(key)
        if seconds is None or seconds < _MILLISECONDS_FROM:
            return seconds
        taken = f"{self.label(key)} {seconds:g} is taken as milliseconds, {seconds / 1000:g} s"
        self.warnings.append(f"{taken}; {key}_ms would say so")
        return seconds / 1000

    def _time(self, key: str) -> float | None:
        value, label = self.values.get(key), self.label(key)
        number = _parsed(value) if isinstance(value, str) else as_number(value)
        if value is None or number is None:
            return None if value is None else self._wrong(label, "must be a number", value)
        if number == 0:
            self.warnings.append(f"{label} 0 is taken as not set")
            return None
        if not 0 < number <= _LONGEST * 1000:
            return self.complain(f"{label} must be above 0 and at most {_LONGEST} seconds")
        return float(number)

    def _wrong(self, label: str, rule: str, value: object, hint: str | None = None) -> None:
        given = "" if kind(value) in rule else f", not {kind(value)}"
        self.complain(f"{label} {rule}{given}", hint)


def _as_text(value: object) -> str | None:
    match value:
        case str() | PurePath():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() < 1024:
            return str(value)
        case float() if math.isfinite(value):
            return str(value)
        case _:
            return None


def _named(item: object) -> str | None:
    """The name in an item of a list: itself, or Codex's `{"name": …}`."""
    entry = as_object(item)
    name = item if entry is None else entry.get("name")
    return name.strip() if isinstance(name, str) and name.strip() else None


def listed_pairs(value: object, separator: str) -> dict[str, object] | None:
    """`["Name: value"]`, `[{"name": …, "value": …}]` or lines of text, as an object; None when it is none."""
    items = value.splitlines() if isinstance(value, str) else as_list(value)
    pairs: dict[str, object] = {}
    for item in items if items is not None else [None]:
        entry = as_object(item)
        if entry is not None and "value" in entry and (name := entry.get("name", entry.get("key"))):
            pairs[str(name)] = entry["value"]
        elif isinstance(item, str) and separator in item:
            name, _, text = item.partition(separator)
            pairs[name.strip()] = text.strip()
        elif not isinstance(item, str) or item.strip():
            return None
    return pairs


def _parsed(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _joined(labels: list[str]) -> str:
    return " and ".join(labels) if len(labels) < 3 else f"{', '.join(labels[:2])} and {len(labels) - 2} more"
