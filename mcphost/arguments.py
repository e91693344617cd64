"""A call's arguments: from the text a model wrote to the object a tool's own schema accepts.

What can only mean one thing is taken to mean it. Anything else is a problem, in words that let the model
mend its call.
"""

import re
from dataclasses import dataclass
from typing import Any, cast

from mcphost.coercion import apply, edits
from mcphost.complaints import explain
from mcphost.documents import kind
from mcphost.jsontext import NotJson, as_object, decode, dumps, loads, same, well_formed
from mcphost.validation import SchemaCheck, Unusable

MAX_DEPTH = 100
"""Objects and arrays inside one another, at most: deeper ones break the JSON readers of some servers."""

_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)
_LANGUAGE = re.compile(r'[A-Za-z]+(?=[\s{\["])')
_NESTED_STRINGS = 3
_QUOTED = 400
_PASSES = 4
"""A mended value can show further errors, such as those inside an object that came as a string."""
_ERRORS = 1000


@dataclass(frozen=True, slots=True)
class Parsed:
    """The arguments of a call as read.

    `value` is None exactly when there is a `problem`, sentences for the model that quote what it sent.
    `text` is for the history and always parses to an object: what the model wrote where that does, else
    the JSON of `value`, else "{}".
    """

    value: dict[str, Any] | None
    text: str
    problem: str | None = None


def parse(text: str) -> Parsed:
    """Read a model's argument text. Raises nothing.

    Besides a JSON object these are taken: nothing at all and null (no arguments), a JSON string that holds
    the object, a code fence around it, commas after a last member, raw newlines inside strings, a byte order
    mark, and the same object given several times over, with empty ones between.
    """
    text = well_formed(text)
    try:
        value, as_it_stands = _plain(text), True
        if value is None:
            value, as_it_stands = _read(text), False
        _check_depth(text, value)
        if "\\u" in text:  # an escape can hold half a surrogate pair
            written = dumps(value)
            sound = cast("dict[str, Any]", loads(written))
            value, as_it_stands = sound, as_it_stands and sound == value
        return Parsed(value, text if as_it_stands else dumps(value))
    except NotJson as exc:
        reason = _reason(exc, text)
    except RecursionError:
        reason = "are nested too deeply"
    return Parsed(None, "{}", f"The arguments {reason}. What was sent: {_quoted(text)}")


def _plain(text: str) -> dict[str, Any] | None:
    """The object that `text` is without any leniency, None where it is none."""
    try:
        return as_object(loads(text))
    except NotJson:
        return None


def _read(text: str, strings: int = 0) -> dict[str, Any]:
    """The object that `text` means; `strings` is how many JSON strings it was unwrapped from."""
    text = text.strip().lstrip("\ufeff").strip()
    if not text:
        return {}
    if text.startswith("```"):
        return _read(_unfenced(text), strings)
    values = [value for value in _values(text) if value != {}] or [{}]
    first = values[0]
    if isinstance(first, str) and len(values) == 1:
        return _read_string(first, strings)
    if first is None and len(values) == 1:
        return {}
    for value in values:
        if not isinstance(value, dict):
            raise _Unclear(f"are {kind(value)}, and an object is expected")
    if not all(same(value, first) for value in values):
        raise _Unclear("are several objects that differ, and one is expected")
    return cast("dict[str, Any]", first)


def _read_string(text: str, strings: int) -> dict[str, Any]:
    looks_meant = text.strip()[:1] in ("", "{", "`", '"') or text.strip() == "null"
    if looks_meant and strings < _NESTED_STRINGS:
        return _read(text, strings + 1)
    raise _Unclear("are a string, and an object is expected")


def _values(text: str) -> list[Any]:
    """Every JSON value of `text`, one after the other, read as strictly as works."""
    try:
        return _sequence(text)
    except NotJson as strict:
        without_commas = _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", text)
        for candidate in (text, without_commas):
            try:
                return _sequence(candidate, control_characters=True)
            except NotJson:
                continue
        raise strict


def _sequence(text: str, *, control_characters: bool = False) -> list[Any]:
    values: list[Any] = []
    position = 0
    while position < len(text):
        value, position = decode(text, position, control_characters=control_characters)
        values.append(value)
    return values


def _unfenced(text: str) -> str:
    inner = text.removeprefix("```").removesuffix("```").strip()
    language = _LANGUAGE.match(inner)
    return inner[language.end() :] if language else inner


class _Unclear(NotJson):
    """Readable, and not one object. The reason completes "The arguments …"."""


def _check_depth(text: str, value: object) -> None:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise _Unclear(f"are nested more than {MAX_DEPTH} levels deep")


def _children(node: object) -> list[object]:
    match node:
        case dict():
            return list(cast("dict[str, object]", node).values())
        case list():
            return cast("list[object]", node)
        case _:
            return []


def _reason(exc: NotJson, text: str) -> str:
    if isinstance(exc, _Unclear):
        return exc.reason
    if exc.at_end:
        return f"are cut short after {len(text)} characters"
    where = "" if exc.position is None else f" at character {exc.position + 1}"
    return f"are not valid JSON: {exc.reason}{where}"


def _quoted(text: str) -> str:
    if len(text) <= _QUOTED:
        return text
    return f"{text[: _QUOTED - 100]} … ({len(text)} characters in all) … {text[-100:]}"


@dataclass(frozen=True, slots=True)
class Settled:
    """Arguments as they are to be sent, or the `problem` that keeps them from being sent.

    With a problem, `arguments` are those that came in.
    """

    arguments: dict[str, Any]
    problem: str | None = None


class Checker:
    """Settles the arguments of one tool. Made by `check`.

    `warning` says why arguments pass unchecked, None while they are checked.
    """

    def __init__(self, schema: SchemaCheck | None, warning: str | None = None) -> None:
        self._schema = schema
        self.warning = warning

    def settle(self, arguments: dict[str, Any]) -> Settled:
        """Check `arguments` and mend what can only mean one thing. Valid ones come back as the same object.

        The problem lists what is missing and, by path, what was expected elsewhere. Never raises.
        """
        if self._schema is None:
            return Settled(arguments)
        try:
            return _settle(arguments, self._schema)
        except Unusable as exc:
            self._schema, self.warning = None, str(exc)
        except RecursionError:
            self._schema, self.warning = None, "the arguments are nested too deeply to be checked"
        return Settled(arguments)


def check(schema: object) -> Checker:
    """A checker for a tool's `inputSchema`, by the rules of the schema's own `$schema`.

    None stands for no schema at all. A schema that cannot be used lets everything through.
    """
    try:
        return Checker(None if schema is None else SchemaCheck(schema))
    except Unusable as exc:
        return Checker(None, str(exc))


def _settle(arguments: dict[str, Any], schema: SchemaCheck) -> Settled:
    value = arguments
    for _ in range(_PASSES):
        errors = schema.errors(value, limit=_ERRORS)
        if not errors:
            return Settled(value)
        changes = [edit for error in errors for edit in edits(error)]
        if not changes:
            break
        value = apply(value, changes)
    else:
        errors = schema.errors(value, limit=_ERRORS)
    return Settled(arguments, explain(errors)) if errors else Settled(value)
