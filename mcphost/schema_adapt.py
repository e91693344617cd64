"""The last pass over a tool's schema: from a well-formed schema to what one dialect's validator takes.

Works on what `schema_merge` makes: no references, no `allOf`. What a dialect cannot say is left out.
"""

import math
from typing import Any, cast

from mcphost.dialect import SchemaRules
from mcphost.jsontext import as_list, as_object
from mcphost.schema_keywords import TYPES
from mcphost.schema_merge import meet
from mcphost.schema_refs import SINGLES
from mcphost.schema_values import ANNOTATIONS, Budget, Schema, is_number, unique
from mcphost.schema_walk import children, rebuild, size

_OF_TYPE = {
    **dict.fromkeys(
        ("minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType"), ("string",)
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), ("number", "integer")
    ),
    **dict.fromkeys(
        "items prefixItems minItems maxItems uniqueItems contains minContains maxContains".split(), ("array",)
    ),
    **dict.fromkeys(
        (
            "properties required additionalProperties patternProperties propertyNames minProperties "
            "maxProperties dependentRequired dependentSchemas"
        ).split(),
        ("object",),
    ),
    "format": ("string", "number", "integer"),
}
"""The types that a keyword constrains; it says nothing about values of others."""

_TELLING = frozenset("type enum const anyOf oneOf properties additionalProperties items prefixItems".split())
"""Keywords from which even a reader that wants a type learns one."""

_MOST_SPREAD = 500
"""The objects and arrays that moving constraints into the branches of a union may add."""


def takes(rules: SchemaRules, keyword: str) -> bool:
    """Whether `keyword` may stand in a schema."""
    flags = {
        "oneOf": rules.one_of,
        "const": rules.const,
        "additionalProperties": rules.additional_properties,
        "nullable": rules.null == "nullable" or rules.keywords is None,
        "propertyOrdering": False,
    }
    allowed = rules.keywords is None or keyword in rules.keywords
    return allowed and keyword not in rules.refused and flags.get(keyword, True)


class Adapter:
    """Adapts the schemas of one tool to a dialect's `rules`."""

    def __init__(self, rules: SchemaRules, budget: Budget) -> None:
        self._rules = rules
        self._budget = budget
        self._one_type = rules.null != "type"
        self._lone = rules.lone_union or self._one_type

    def adapt(self, schema: Schema, room: int) -> Schema:
        """`schema` as the dialect takes it. `room`: levels that are left, its own among them."""
        schema = self._words(self._types(self._union(schema)))
        unnamed = [name for name in schema.get("required", ()) if name not in schema.get("properties", ())]
        if unnamed:
            properties: Schema = schema.get("properties", {}) | {name: Schema() for name in unnamed}
            schema = schema | {"properties": properties}
        if room <= 1 and (children(schema) or schema.get("type") == "array"):
            schema = self._edge(schema)
        if "array" in _names(schema.get("type")) and "items" not in schema:
            schema = schema | {"items": Schema()}
        self._budget.spend(*_cost(schema))
        out = rebuild(schema, lambda inner: self.adapt(inner, room - 1), self._budget)
        return self._any(out)

    def _takes(self, keyword: str) -> bool:
        return takes(self._rules, keyword)

    def _union(self, schema: Schema) -> Schema:
        """One union a schema, spelled `anyOf` unless the dialect takes `oneOf`, and alone if it must be."""
        crowded = self._lone and bool(schema.keys() - ANNOTATIONS - {"oneOf"})
        if "oneOf" in schema and (crowded or not self._takes("oneOf")):
            self._budget.lose()
            schema = {"anyOf" if k == "oneOf" else k: v for k, v in schema.items() if k != "anyOf"}
        if "anyOf" not in schema or not self._lone:
            return schema
        told, rest = _parted({k: v for k, v in schema.items() if k != "anyOf"})
        branches: list[Schema] = schema["anyOf"]
        if rest and size(rest) * len(branches) > _MOST_SPREAD:
            self._budget.lose()
            return told | rest
        flat: list[Schema] = []
        for branch in branches:
            both = meet(branch, rest, self._budget) if rest else branch
            if both is not None:
                both = self._types(self._union(both))
                flat.extend(both["anyOf"] if both.keys() == {"anyOf"} else [both])
        return self._spelled(flat, told) if flat else told | rest

    def _spelled(self, branches: list[Schema], told: Schema) -> Schema:
        """The union of `branches`, each of one type, with the null among them as the dialect spells it."""
        some, null = branches, dict[str, Any]()
        if self._rules.null == "nullable":
            some = [branch for branch in branches if branch.get("type") != "null"]
            null = {"nullable": True} if 0 < len(some) < len(branches) else {}
        twice = told.keys() - {"title", "description"}
        some = unique([{k: v for k, v in branch.items() if k not in twice} for branch in some])
        if len(some) == 1:
            return some[0] | told | null
        return told | ({"anyOf": some} | null if some else {"type": "null"})

    def _types(self, schema: Schema) -> Schema:
        """One type a schema, where the dialect wants that, and beside it only what constrains that type."""
        if "const" in schema and not self._takes("const"):
            constant = [schema["const"]]
            schema = {k: v for k, v in schema.items() if k not in ("const", "enum")} | {"enum": constant}
        if not (self._one_type or self._rules.typed) or "anyOf" in schema:
            return schema
        names = self._type_names(schema)
        if not names:
            return schema
        told, rest = _parted(schema)
        several = [name for name in names if not (name == "integer" and "number" in names)]
        branches = [branch for name in several for branch in self._only(rest, name)]
        if not branches:
            self._budget.lose()
            branches = [{"type": name} for name in several]
        return self._spelled(branches, told)

    def _type_names(self, schema: Schema) -> list[str]:
        """The types a value may have; none where it may be any and that needs no saying."""
        if "type" in schema:
            return _names(schema["type"])
        if "enum" in schema:
            whole = all(_is(value, "integer") or not _is(value, "number") for value in schema["enum"])
            names = [name for name in TYPES if any(_is(value, name) for value in schema["enum"])]
            return [name for name in names if name != "number" or not whole]
        constrained = {name for k in schema if k != "format" for name in _OF_TYPE.get(k, ())}
        if not constrained or not self._rules.typed:
            return []
        return sorted(TYPES, key=lambda name: name not in constrained)

    def _only(self, schema: Schema, name: str) -> list[Schema]:
        """`schema` for values of type `name`, as a union: empty where it takes none, else mostly one."""
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values is not None:
            values = [value for value in values if _is(value, name)]
            if not values:
                return []
        out: Schema = {"type": name}
        for keyword, value in schema.items():
            if keyword == "enum":
                if name in ("object", "array"):
                    self._budget.lose()
                elif name != "null":
                    out[keyword] = values
            elif keyword != "type" and name in _OF_TYPE.get(keyword, TYPES):
                out[keyword] = value
        members: list[Any] = out.get("enum", [])
        if not self._rules.string_enums or "" not in members or len(members) == 1:
            return [out]
        return [
            out | {"enum": [member for member in members if member != ""]},
            {"type": name, "maxLength": 0},
        ]

    def _words(self, schema: Schema) -> Schema:
        """Only keywords and values that the dialect takes, others in the nearest form that it does."""
        schema = self._bounds(self._tuple(schema))
        out = {k: v for k, v in schema.items() if self._takes(k) and self._sayable(k, v, schema)}
        if schema.keys() - out.keys() - ANNOTATIONS - {"format"}:
            self._budget.lose()
        if "patternProperties" in schema and "patternProperties" not in out:
            out.pop("additionalProperties", None)  # it would cover what the patterns did
        return out

    def _sayable(self, keyword: str, value: Any, schema: Schema) -> bool:
        if keyword == "type" and value == "null":
            return self._rules.null != "nullable"
        if keyword == "format" and self._rules.formats is not None:
            return isinstance(name := schema.get("type"), str) and value in self._rules.formats.get(name, ())
        if keyword == "enum" and self._rules.string_enums:
            return schema.get("type") == "string" and all(
                isinstance(member, str) and member for member in value
            )
        return True

    def _tuple(self, schema: Schema) -> Schema:
        """A tuple as an array of what may stand anywhere in it."""
        if "prefixItems" not in schema or self._takes("prefixItems"):
            return schema
        self._budget.lose()
        prefix, rest = schema["prefixItems"], schema.get("items", {})
        longest = schema.get("maxItems", len(prefix) + 1)
        kinds = unique([*prefix, rest][:longest])
        vague = not kinds or {} in kinds
        items: Schema = {} if vague else kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        return {k: v for k, v in schema.items() if k != "prefixItems"} | {"items": items}

    def _bounds(self, schema: Schema) -> Schema:
        """Exclusive bounds as inclusive ones: exact for integers, a little looser for other numbers."""
        for exclusive, bound, step in (
            ("exclusiveMinimum", "minimum", 1),
            ("exclusiveMaximum", "maximum", -1),
        ):
            if exclusive in schema and not self._takes(exclusive):
                limit = schema[exclusive]
                if schema.get("type") == "integer":
                    limit = (math.floor(limit) if step > 0 else math.ceil(limit)) + step
                closest = max if step > 0 else min
                schema = schema | {bound: closest(limit, schema.get(bound, limit))}
        return schema

    def _edge(self, schema: Schema) -> Schema:
        """`schema` without what is inside it, at the deepest level that the dialect takes."""
        self._budget.lose()
        name = schema.get("type")
        simple = isinstance(name, str) and name != "array"
        return {
            k: v for k, v in schema.items() if k in ANNOTATIONS or k == "nullable" or (k == "type" and simple)
        }

    def _any(self, schema: Schema) -> Schema:
        """Types for a schema that names none, where that is an error (ggml-org/llama.cpp#19716)."""
        plain = {k for k, v in schema.items() if v is not True}
        if not schema or not self._rules.any_type or plain & _TELLING:
            return schema
        self._budget.spend(2)
        types = [name for name in TYPES if name != "integer"]
        return schema | {"type": types, "items": schema.get("items", {})}


def _parted(schema: Schema) -> tuple[Schema, Schema]:
    """The annotations of `schema`, and the rest."""
    told = {k: v for k, v in schema.items() if k in ANNOTATIONS}
    return told, {k: v for k, v in schema.items() if k not in ANNOTATIONS}


def _names(types: Any) -> list[str]:
    """The value of a `type` keyword as a list."""
    if isinstance(types, str):
        return [types]
    return list(types or ())


def _is(value: object, name: str) -> bool:
    """Whether a JSON value is of the type `name`."""
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "integer":
            return is_number(value) and float(cast("float", value)).is_integer()
        case _:
            return is_number(value)


def _cost(schema: Schema) -> tuple[int, int]:
    """What `schema` adds to the whole, its subschemas aside: objects and arrays, and characters."""
    scalars: list[Any] = [*schema, *schema.values()]
    containers = 1
    for keyword, value in schema.items():
        members, items = as_object(value), as_list(value)
        if keyword not in SINGLES and (members is not None or items is not None):
            containers += 1
            scalars += members or items or ()
    return containers, sum(len(item) if isinstance(item, str) else 8 for item in scalars)
