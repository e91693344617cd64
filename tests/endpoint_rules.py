"""What the endpoints' validators refuse, written down apart from the code that satisfies them."""

import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from mcphost.dialect import DIALECTS, SchemaRules

DIFFERENT_RULES: list[SchemaRules] = []
for _dialect in DIALECTS.values():
    if _dialect.schema not in DIFFERENT_RULES:
        DIFFERENT_RULES.append(_dialect.schema)

SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas")
SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SCHEMAS = ("items", "contains", "propertyNames", "not", "if", "then", "else", "additionalProperties")
TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
BANNED = {"$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "$anchor", "$dynamicAnchor", "$id"}
ANNOTATIONS = {"title", "description", "default", "examples", "nullable"}
OF_TYPE = {
    "properties": "object",
    "required": "object",
    "minProperties": "object",
    "maxProperties": "object",
    "items": "array",
    "minItems": "array",
    "maxItems": "array",
}


def subschemas(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword in SCHEMA_MAPS:
        yield from schema.get(keyword, {}).values()
    for keyword in SCHEMA_LISTS:
        yield from schema.get(keyword, [])
    for keyword in SCHEMAS:
        if keyword in schema and not (
            keyword == "additionalProperties" and isinstance(schema[keyword], bool)
        ):
            yield schema[keyword]


def every(schema: Any, level: int = 1) -> Iterator[tuple[Any, int]]:
    yield schema, level
    if isinstance(schema, dict):
        for inner in subschemas(schema):
            yield from every(inner, level + 1)


def containers(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(containers, value.values()))
    return 1 + sum(map(containers, value)) if isinstance(value, list) else 0


def problems(parameters: Any, rules: SchemaRules) -> list[str]:
    """Why an endpoint with these rules would refuse `parameters`; nothing where it would not."""
    count = containers(parameters)
    try:
        json.dumps(parameters, allow_nan=False, ensure_ascii=False).encode()
        if count < 1_000:  # slow
            Draft202012Validator.check_schema(parameters)
    except (ValueError, SchemaError) as exc:
        return [f"not valid: {exc}"[:300]]
    found: list[str] = []
    if set(parameters) - {"required"} != {"type", "properties"} or parameters["type"] != "object":
        found.append(f"root is {parameters}"[:300])
    if count > 5_000:
        found.append(f"{count} objects and arrays")
    for schema, level in every(parameters):
        if not isinstance(schema, dict):
            found.append(f"a schema is {schema!r}")
            continue
        found += [f"{problem} in {json.dumps(schema)[:200]}" for problem in _problems(schema, rules)]
        if rules.max_depth is not None and level > rules.max_depth:
            found.append(f"level {level}")
    return found


def _problems(schema: dict[str, Any], rules: SchemaRules) -> Iterator[str]:
    yield from _anywhere(schema)
    yield from _by_keyword(schema, rules)
    yield from _by_type(schema, rules)


def names_of(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types or ())


def _anywhere(schema: dict[str, Any]) -> Iterator[str]:
    types = names_of(schema.get("type"))
    if BANNED & set(schema):
        yield "a reference or definition"
    if "allOf" in schema:
        yield "allOf"
    if any(name not in schema.get("properties", {}) for name in schema.get("required", [])):
        yield "a required name without property"
    if "array" in types and not isinstance(schema.get("items"), dict):
        yield "an array without items"
    if schema.get("enum") == [] or not set(types) <= TYPES:
        yield "empty enum or unknown type"


def _by_keyword(schema: dict[str, Any], rules: SchemaRules) -> Iterator[str]:
    keywords = set(schema)
    if rules.keywords is not None and not keywords <= rules.keywords:
        yield f"keywords {keywords - rules.keywords}"
    taken = {"oneOf": rules.one_of, "const": rules.const, "additionalProperties": rules.additional_properties}
    if keywords & (rules.refused | {keyword for keyword, allowed in taken.items() if not allowed}):
        yield "a refused keyword"
    if rules.lone_union and "anyOf" in keywords and keywords - ANNOTATIONS - {"anyOf"}:
        yield "constraints beside anyOf"
    telling = {"type", "anyOf", "enum", "const", "properties", "items", "additionalProperties"}
    if rules.any_type and schema and not keywords & telling:
        yield "no type"


def _by_type(schema: dict[str, Any], rules: SchemaRules) -> Iterator[str]:
    types = names_of(schema.get("type"))
    if rules.null != "type" and isinstance(schema.get("type"), list):
        yield "an array of types"
    if rules.null == "nullable" and "null" in types:
        yield "a null type"
    if rules.null != "type" and "enum" in schema and not types:
        yield "an enum without type"
    if rules.typed and any(kind not in types for keyword, kind in OF_TYPE.items() if keyword in schema):
        yield "a constraint of another type"
    if rules.string_enums and "enum" in schema:
        if types != ["string"] or not all(isinstance(member, str) and member for member in schema["enum"]):
            yield "an enum of other things than strings"
    if rules.formats is not None and "format" in schema:
        if not any(schema["format"] in rules.formats.get(name, ()) for name in types):
            yield "a format"


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with `nullable`, which is OpenAPI's, as JSON Schema has it."""
    out: dict[str, Any] = dict(schema)
    for keyword in SCHEMA_MAPS:
        if keyword in out:
            out[keyword] = {name: plain(inner) for name, inner in out[keyword].items()}
    for keyword in SCHEMA_LISTS:
        if keyword in out:
            out[keyword] = [plain(inner) for inner in out[keyword]]
    for keyword in SCHEMAS:
        if isinstance(out.get(keyword), dict):
            out[keyword] = plain(out[keyword])
    return {"anyOf": [out, {"type": "null"}]} if out.pop("nullable", False) is True else out
