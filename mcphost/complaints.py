"""Why arguments do not fit, in words from which a model or a person can mend them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from jsonschema import ValidationError

from mcphost.jsonc import dotted
from mcphost.text import json_text, shortened

_READ = 100
_SHOWN = 8
_BRANCHES = 4
_VALUE = 80
_DESCRIPTION = 120

_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "divisibleBy": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
    "uniqueItems": "items that all differ",
    "const": "{}",
}


def explain(errors: Iterable[ValidationError]) -> str:
    """One line: what is missing, by name, and what is wrong, by path, with what was expected there."""
    complaints: dict[str, None] = {}
    for error in islice(_without_repeated(errors), _READ):
        complaints.update(dict.fromkeys(_complaints(error)))
    ordered = sorted(complaints, key=lambda complaint: not complaint.startswith("missing"))
    more = f"; and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return "; ".join(ordered[:_SHOWN]) + more


def _without_repeated(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """`required` gives an error for each name, and a complaint on one of them tells them all."""
    told: set[tuple[str | int, ...]] = set()
    for error in errors:
        if error.validator == "required":
            place = (*error.absolute_path, *error.absolute_schema_path)
            if place in told:
                continue
            told.add(place)
        yield error


def _complaints(error: ValidationError) -> list[str]:
    where = dotted(tuple(error.absolute_path))
    match error.validator:
        case "required" if isinstance(error.validator_value, list):
            return [f"missing: {_member(where, name, error.schema)}" for name in _absent(error)]
        case "required":
            return [f"missing: {where}"]
        case "additionalProperties" | "unevaluatedProperties" if error.validator_value is False:
            return [_at(where, _unknown(error))]
        case "anyOf" | "oneOf" if error.context and not _on_the_spot(error.context):
            inner = dict.fromkeys(one for each in error.context[:_BRANCHES] for one in _complaints(each))
            return [" or ".join(list(inner)[:_BRANCHES])]
        case _:
            return [_at(where, _mismatch(error))]


def _absent(error: ValidationError) -> list[str]:
    names = cast("list[str]", error.validator_value)
    return [str(name) for name in names if name not in cast("dict[str, object]", error.instance)]


def _unknown(error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, dict) else {}
    known = cast("dict[str, object]", schema.get("properties") or {})
    given = cast("dict[str, object]", error.instance)
    names = ", ".join(shortened(name, _VALUE) for name in given if name not in known)
    taken = ", ".join(known)
    return f"unknown: {names[:200]}" + (f" (known: {taken[:400]})" if taken else "")


def _mismatch(error: ValidationError) -> str:
    return f"expected {_expected(error)}, got {shortened(json_text(error.instance), _VALUE)}"


def _expected(error: ValidationError) -> str:
    value = cast("Any", error.validator_value)
    match error.validator:
        case "type":
            return _types(value)
        case "enum":
            return _choice(value)
        case "anyOf" | "oneOf" if error.context and _on_the_spot(error.context):
            return " or ".join(dict.fromkeys(_expected(inner) for inner in error.context))
        case "oneOf" if not error.context:
            return "exactly one of the forms allowed, and it fits several"
        case "dependentRequired" | "dependencies":
            return f"the members that others need: {shortened(json_text(value), _VALUE)}"
        case name if name in _BOUNDS:
            return _BOUNDS[str(name)].format(shortened(json_text(value), _VALUE))
        case name:
            return f"what its `{name}` allows" if name else "nothing"


def _on_the_spot(context: Sequence[ValidationError]) -> bool:
    """Whether every branch fails for what the value is, not for something inside it."""
    return all(not inner.relative_path and inner.validator in ("type", "enum", "const") for inner in context)


def _types(value: object) -> str:
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    return " or ".join(str(name) for name in names)


def _choice(value: object) -> str:
    members = cast("list[object]", value) if isinstance(value, list) else [value]
    shown = ", ".join(shortened(json_text(member), _VALUE) for member in members[:20])
    return ("one of " if len(members) > 1 else "") + shown + (", …" if len(members) > 20 else "")


def _member(where: str, name: str, schema: object) -> str:
    """`city (string: the city's name)`, as far as the schema says it."""
    properties: Any = cast("dict[str, Any]", schema).get("properties") if isinstance(schema, dict) else None
    declared = cast("dict[str, Any]", properties).get(name) if isinstance(properties, dict) else None
    path = f"{where}.{name}" if where else name
    if not isinstance(declared, dict):
        return path
    described = cast("dict[str, Any]", declared)
    kind = _choice(described["enum"]) if described.get("enum") else _types(described.get("type") or "")
    description = described.get("description")
    words = " ".join(description.split()) if isinstance(description, str) else ""
    about = ": ".join(part for part in (kind, shortened(words, _DESCRIPTION)) if part)
    return f"{path} ({about})" if about else path


def _at(where: str, what: str) -> str:
    return f"{where}: {what}" if where else what
