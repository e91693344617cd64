"""What a server may ask the user for: forms of a few kinds of fields, and pages to visit. Pure.

A form is described by an object schema with flat properties only (MCP specification, client/elicitation).
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from mcphost.documents import as_number
from mcphost.endpoints import is_loopback
from mcphost.jsontext import as_list, as_object

Kind = Literal["text", "number", "integer", "yes or no", "choice", "choices"]

Value = str | int | float | bool

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EMAIL: Final = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_YES: Final = frozenset({"y", "yes", "true", "1", "是"})
_NO: Final = frozenset({"n", "no", "false", "0", "否"})


class Unusable(Exception):
    """A form that breaks the specification; the message is for the server."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form. `choices` are pairs of a value and what it is called; `least` and `most` bound a
    number, a text's length, or how many of the choices are taken. `pattern` is for showing only: a regular
    expression of a stranger's can take hours. A `default` that does not fit the field is None."""

    name: str
    kind: Kind
    title: str
    description: str
    required: bool
    default: Any = None
    choices: tuple[tuple[Value, str], ...] = ()
    least: float | None = None
    most: float | None = None
    format: str | None = None
    pattern: str | None = None


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """The fields of a form. Raises `Unusable` for a schema that is none of a form."""
    properties = as_object(schema.get("properties"))
    if schema.get("type", "object") != "object" or properties is None:
        raise Unusable("requestedSchema must be an object with properties")
    required = as_list(schema.get("required")) or []
    return [_field(name, as_object(entry), name in required) for name, entry in properties.items()]


def _field(name: str, entry: Mapping[str, Any] | None, required: bool) -> Field:
    if entry is None:
        raise Unusable(f"the field {name!r} is not described by an object")
    entry = _without_null(entry)
    items = as_object(entry.get("items")) or {}
    choices = _choices(items if entry.get("type") == "array" else entry)
    kind, least, most = _kind(name, entry.get("type"), bool(choices))
    field = Field(
        name,
        kind,
        _text(entry.get("title")) or name,
        _text(entry.get("description")),
        required,
        entry.get("default"),
        choices,
        as_number(entry.get(least)),
        as_number(entry.get(most)),
        _text(entry.get("format")) or None,
        _text(entry.get("pattern")) or None,
    )
    return field if problem(field, field.default) is None else replace(field, default=None)


def _without_null(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An entry that may also be null, as what else it may be: older servers describe optional fields so."""
    given = entry.get("type")
    types = [each for each in as_list(given) or [given] if each != "null"]
    options = [as_object(each) or {} for each in as_list(entry.get("anyOf")) or []]
    others = [each for each in options if each.get("type") != "null"]
    if len(others) == 1 and len(options) == 2:
        return {**others[0], **{key: value for key, value in entry.items() if key != "anyOf"}}
    return {**entry, "type": types[0]} if len(types) == 1 else entry


def _kind(name: str, given: object, has_choices: bool) -> tuple[Kind, str, str]:
    """What a field is, and the keywords that bound it."""
    match given:
        case "array" if has_choices:
            return "choices", "minItems", "maxItems"
        case "array":
            raise Unusable(f"the list {name!r} names no choices")
        case _ if has_choices:
            return "choice", "", ""
        case "number":
            return "number", "minimum", "maximum"
        case "integer":
            return "integer", "minimum", "maximum"
        case "boolean":
            return "yes or no", "", ""
        case "string":
            return "text", "minLength", "maxLength"
        case _:
            raise Unusable(f"the field {name!r} is of no type that a form can have: {given!r}")


def _choices(entry: Mapping[str, Any]) -> tuple[tuple[Value, str], ...]:
    """An `enum`, with its older `enumNames`, or the `const`s of `oneOf` and `anyOf` with their titles."""
    if values := as_list(entry.get("enum")):
        names = as_list(entry.get("enumNames")) or []
        names += values[len(names) :]
        pairs = list(zip(values, names, strict=False))
    else:
        options = [as_object(each) or {} for each in as_list(entry.get("oneOf") or entry.get("anyOf")) or []]
        pairs = [
            (each["const"], _text(each.get("title")) or each["const"]) for each in options if "const" in each
        ]
    return tuple((value, str(name)) for value, name in pairs if isinstance(value, Value))


def with_defaults(fields: Sequence[Field], content: Mapping[str, Any]) -> dict[str, Any]:
    """A form as filled in, what is absent in it by its default, where the field has a fitting one."""
    filled = {key: value for key, value in content.items() if value is not None}
    for each in fields:
        if each.name not in filled and each.default is not None:
            filled[each.name] = each.default
    return filled


def check(fields: Sequence[Field], content: Mapping[str, Any]) -> str | None:
    """What is wrong with a form as filled in, None for nothing."""
    known = {each.name: each for each in fields}
    for name in content:
        if name not in known:
            return f"there is no field {name!r}"
    for each in fields:
        if each.name not in content:
            if each.required:
                return f"{each.name} is missing"
        elif (wrong := problem(each, content[each.name])) is not None:
            return f"{each.name} {wrong}"
    return None


def problem(field: Field, value: object) -> str | None:
    """Why `value` is none for the field, None where it is one."""
    match field.kind:
        case "text":
            return _text_problem(field, value)
        case "number" | "integer":
            number = as_number(value)
            whole = isinstance(number, int) or (number is not None and number.is_integer())
            if field.kind == "integer" and not whole:
                return "must be a whole number"
            if number is None or (isinstance(number, float) and not math.isfinite(number)):
                return "must be a number"
            return _bounds(field, number, "")
        case "yes or no":
            return None if isinstance(value, bool) else "must be yes or no"
        case "choice":
            return None if _is_choice(field, value) else f"must be one of {_known(field)}"
        case "choices":
            taken = as_list(value)
            if taken is None or not all(_is_choice(field, each) for each in taken):
                return f"must be some of {_known(field)}"
            return _bounds(field, len(taken), " of them")


def _is_choice(field: Field, value: object) -> bool:
    return any(
        value == known and isinstance(value, bool) is isinstance(known, bool) for known, _ in field.choices
    )


def _known(field: Field) -> str:
    return ", ".join(str(choice) for choice, _ in field.choices)


def _text_problem(field: Field, value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    match field.format:
        case "email" if not _EMAIL.fullmatch(value):
            return "must be an e-mail address"
        case "uri" if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S+$", value):
            return "must be a URI"
        case "date" if not (_DATE.fullmatch(value) and _parses(date.fromisoformat, value)):
            return "must be a date such as 2026-11-30"
        case "date-time" if not (_DATE_TIME.fullmatch(value) and _parses(datetime.fromisoformat, value)):
            return "must be a date and time such as 2026-11-30T08:00:00Z"
        case _:
            return _bounds(field, len(value), " characters")


def _bounds(field: Field, number: float, unit: str) -> str | None:
    if field.least is not None and number < field.least:
        return f"must be at least {field.least}{unit}"
    if field.most is not None and number > field.most:
        return f"must be at most {field.most}{unit}"
    return None


def _parses(read: Any, value: str) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


def typed(field: Field, line: str) -> Any:
    """The value that a typed line means for a field. Raises `ValueError` with what is wrong with it."""
    line = line.strip()
    value: Any = line
    match field.kind:
        case "number" | "integer":
            value = _number(line)
        case "yes or no":
            value = True if line.lower() in _YES else False if line.lower() in _NO else None
        case "choice":
            value = _chosen(field, line)
        case "choices":
            value = _several(field, line)
        case "text":
            pass
    if (wrong := problem(field, value)) is not None:
        raise ValueError(wrong)
    return value


def _number(typed: str) -> int | float | None:
    """A whole number as it is, however long."""
    try:
        return int(typed)
    except ValueError:
        pass
    try:
        number = float(typed)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number


def _several(field: Field, typed: str) -> list[Value | None]:
    """The choices of a list with commas or, where none has a space in it, spaces; each once."""
    parts = [part.strip() for part in re.split("[,，、]", typed)]
    if any(part and _chosen(field, part) is None for part in parts):
        parts = re.split(r"[,，、\s]+", typed)
    return list(dict.fromkeys(_chosen(field, part) for part in parts if part))


def _chosen(field: Field, typed: str) -> Value | None:
    """The choice of a number from 1, a value, or what a value is called."""
    typed = typed.strip()
    if typed.isdecimal() and 1 <= int(typed) <= len(field.choices):
        return field.choices[int(typed) - 1][0]
    folded = typed.casefold()
    names = ((value, (str(value).casefold(), name.casefold())) for value, name in field.choices)
    return next((value for value, known in names if folded in known), None)


def url_problem(url: object) -> str | None:
    """Why a page is not shown to the user at all, None where it may be: only https, or a page of this very
    machine, and nothing in the address that is there to mislead."""
    if not isinstance(url, str) or not url:
        return "there is no url"
    if any(char.isspace() or not char.isprintable() for char in url) or "\\" in url:
        return "its url holds characters that no url has"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "its url cannot be read"
    if parts.scheme not in ("http", "https") or not host:
        return "its url is no web address"
    if "@" in parts.netloc:
        return "its url has a user's name before the host's"
    if "%" in host:
        return "its url hides its host behind escapes"
    if parts.scheme == "http" and not is_loopback(url):
        return "its url is not https"
    return None


def shown_host(url: str) -> str:
    """The host of a page, with nothing in it that looks like something else: parts that are not ASCII in
    punycode, as browsers look them up."""
    host = unicodedata.normalize("NFKC", urlsplit(url).hostname or "").lower()
    parts = host.replace("。", ".").split(".")  # a dot to browsers (UTS 46)
    return ".".join(part if part.isascii() else f"xn--{part.encode('punycode').decode()}" for part in parts)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
