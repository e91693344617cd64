"""A tool's arguments from the text of a question, by the names, types and descriptions of its parameters.

A required parameter for which the text has no value is reported, not made up.
"""

import re
from dataclasses import dataclass
from typing import Any

from mcphost.demo import phrases
from mcphost.demo.extract import Material, Schema, find, meaning, nearby, places, rest
from mcphost.demo.toolbox import Function
from mcphost.demo.turn import read_json
from mcphost.jsontext import as_list, as_object

_OPTION = re.compile(r"(\d+)\s*[:：=为]?\s*([一-鿿]{2,4}|[a-z]{3,})")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?![\w.])")
_NO = re.compile(r"不|别|\bno\b|\bnot\b|\bfalse\b", re.I)


@dataclass(frozen=True, slots=True)
class Filled:
    """One dict of arguments for each call to make, and the required parameters that are still missing."""

    calls: tuple[dict[str, Any], ...]
    missing: tuple[str, ...] = ()


def wants_points(function: Function) -> list[str]:
    """The required parameters of a tool that hold coordinates."""
    return [n for n in function.required if meaning(n, function.properties.get(n, {})) == "point"]


def _explicit(name: str, text: str) -> str | None:
    """A value that was typed with its parameter's name: city=北京, city: "北京"."""
    match = re.search(
        rf"(?<![\w]){re.escape(name)}\s*[=:：]\s*(?:\"([^\"]*)\"|“([^”]*)”|([^\s,，;；]+))", text
    )
    return next((group for group in match.groups() if group is not None), None) if match else None


def _typed(value: str, schema: Schema) -> Any:
    """A value said outright, as the type that the schema asks for."""
    if schema.get("type") in ("string", None):
        return value
    parsed = read_json(value)
    return value if parsed is None else parsed


def _option(schema: Schema, text: str) -> str | None:
    """For a description such as "0 直线，1 驾车": the number whose label the text has."""
    options = _OPTION.findall(str(schema.get("description") or ""))
    return next((value for value, label in options if label in text), None)


def _string(name: str, schema: Schema, material: Material, *, needed: bool) -> str | None:
    """Its value. What is not needed is left out unless the text says it plainly."""
    kind = meaning(name, schema)
    if needed:
        return find(kind, schema, material)
    match kind:
        case "":
            return _option(schema, material.text)
        case "text":
            return nearby(material.text)
        case "city":
            return next(iter(material.cities or phrases.cities(material.text)), None)
        case "place" | "station":
            return None
        case _:
            return find(kind, schema, material)


def _number(material: Material, *, whole: bool) -> int | float | None:
    match = _NUMBER.search(material.text)
    if match is None:
        return None
    material.text = material.text[: match.start()] + " " + material.text[match.end() :]
    value = float(match[0])
    return int(value) if whole or value.is_integer() else value


def _items(material: Material) -> list[str] | None:
    pieces = re.split(r"[、,，]|\band\b|和", rest(material.text))
    return material.quoted or [piece.strip() for piece in pieces if piece.strip()] or None


def _value(name: str, schema: Schema, material: Material, *, needed: bool) -> Any:
    if (said := _explicit(name, material.text)) is not None:
        return _typed(said, schema)
    if choices := as_list(schema.get("enum")):
        return next((choice for choice in choices if str(choice).lower() in material.text.lower()), None)
    match schema.get("type"):
        case "string" | None:
            return _string(name, schema, material, needed=needed)
        case "boolean" if needed:
            return not _NO.search(material.text)
        case "integer" | "number" if needed:
            return _number(material, whole=schema["type"] == "integer")
        case "array" if needed:
            return _items(material)
        case _:
            return None


def _given_object(text: str) -> dict[str, Any] | None:
    """Arguments that were typed as a JSON object."""
    start, end = text.find("{"), text.rfind("}")
    return as_object(read_json(text[start : end + 1])) if 0 <= start < end else None


def fill(function: Function, material: Material) -> Filled:
    """The arguments for `function`. Several cities make several calls where a call takes one."""
    if (given := _given_object(material.text)) is not None:
        return Filled((given,), tuple(name for name in function.required if name not in given))
    text = material.text
    optional = [name for name in function.properties if name not in function.required]
    arguments: dict[str, Any] = {}
    for name in (*function.required, *optional):
        needed = name in function.required
        value = _value(name, function.properties.get(name, {}), material, needed=needed)
        if value is not None and (needed or value not in arguments.values()):
            arguments[name] = value
    missing = tuple(name for name in function.required if name not in arguments)
    return Filled(_one_each(function, arguments, text), missing)


def _one_each(function: Function, arguments: dict[str, Any], text: str) -> tuple[dict[str, Any], ...]:
    """A call for each city or place of the question, where the one required parameter takes one of them."""
    if len(function.required) != 1 or function.required[0] not in arguments:
        return (arguments,)
    name = function.required[0]
    finders = {"city": phrases.cities, "place": places}
    finder = finders.get(meaning(name, function.properties.get(name, {})))
    found = finder(text) if finder and "|" not in str(arguments[name]) else []
    return tuple({**arguments, name: one} for one in found) if len(found) > 1 else (arguments,)
