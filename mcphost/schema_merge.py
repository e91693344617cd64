"""Schemas that all must hold, as one: `allOf` out of the way, and a tool's root as a single object.

Works on what `schema_clean` makes. Where two constraints have no common form the second is left out:
looser, and the caller's own check against the original still holds.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mcphost.schema_values import ANNOTATIONS, NEVER, SCHEMA_MAPS, Budget, Schema, fingerprint, unique
from mcphost.schema_walk import rebuild

_BUNDLES = (
    ("prefixItems", "items"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
"""Keywords that mean something together only: one schema's are taken as a whole."""

_HIGHER = frozenset(
    "minimum exclusiveMinimum minLength minItems minProperties uniqueItems".split()  # true is over false
)
_LOWER = frozenset("maximum exclusiveMaximum maxLength maxItems maxProperties".split())


def merged(schema: Schema, budget: Budget) -> Schema:
    """`schema` without `allOf` at any depth."""
    out = rebuild(schema, lambda inner: merged(inner, budget), budget)
    members = out.pop("allOf", ())
    # all at once, as the names may be many
    required = dict.fromkeys(name for each in (out, *members) for name in each.get("required", ()))
    for member in members:
        both = meet(out, {k: v for k, v in member.items() if k != "required"}, budget)
        if both is None:
            budget.lose()
        else:
            out = both
    return out | {"required": list(required)} if required else out


def meet(first: Schema, second: Schema, budget: Budget) -> Schema | None:
    """What both accept, or a little more; None where nothing can be both. Of annotations, the first's stand.

    A little more: `additionalProperties` sees the properties of both, which it did not before.
    """
    if NEVER in (first, second):
        return None
    out = dict(first)
    left_out = _left_out(first, second, budget)
    for keyword, value in second.items():
        if keyword in left_out:
            continue
        if keyword not in out:
            out[keyword] = value
        elif out[keyword] != value and keyword not in ANNOTATIONS:
            both = _both(keyword, out[keyword], value, budget)
            if both is None:
                return None
            out[keyword] = both
    return out


def _left_out(first: Schema, second: Schema, budget: Budget) -> set[str]:
    """The keywords of `second` that cannot stand beside those of `first`."""
    out: set[str] = set()
    for bundle in _BUNDLES:
        mine, other = ({k: schema[k] for k in bundle if k in schema} for schema in (first, second))
        if mine and other and mine != other and (bundle[0] in mine or bundle[0] in other):
            out.update(other)
            budget.lose()
    if any(schema.get("additionalProperties", {}) not in (True, {}) for schema in (first, second)):
        budget.lose()
    return out


def _both(keyword: str, mine: Any, other: Any, budget: Budget) -> Any:
    """One value of `keyword` for two; None for a contradiction."""
    if keyword == "type":
        return _common_types(mine, other)
    if keyword == "enum":
        others = set(map(fingerprint, other))
        return [value for value in mine if fingerprint(value) in others] or None
    if keyword == "const":
        return mine if fingerprint(mine) == fingerprint(other) else None
    if keyword == "required":
        return list(dict.fromkeys([*mine, *other]))
    if keyword in _HIGHER:
        return max(mine, other)
    if keyword in _LOWER:
        return min(mine, other)
    if keyword in SCHEMA_MAPS:
        return _by_name(mine, other, lambda one, two: _met(one, two, budget))
    if keyword == "dependentRequired":
        return _by_name(mine, other, lambda one, two: list(dict.fromkeys([*one, *two])))
    if keyword == "additionalProperties" and isinstance(mine, bool):
        return other if mine else False
    if keyword == "additionalProperties" and isinstance(other, bool):
        return mine if other else False
    if keyword in ("items", "additionalProperties", "propertyNames"):
        return _met(mine, other, budget)
    budget.lose()
    return mine


def _met(mine: Schema, other: Schema, budget: Budget) -> Schema:
    """`meet` where a contradiction is no reason to refuse the whole: mine stands."""
    both = meet(mine, other, budget)
    if both is None:
        budget.lose()
    return mine if both is None else both


def _by_name(mine: Schema, other: Schema, join: Callable[[Any, Any], Any]) -> Schema:
    both = {name: join(value, other[name]) if name in other else value for name, value in mine.items()}
    return both | {name: value for name, value in other.items() if name not in mine}


def _common_types(mine: Any, other: Any) -> str | list[str] | None:
    mine, other = ([types] if isinstance(types, str) else list(types) for types in (mine, other))
    common = [name for name in mine if name in other or (name == "integer" and "number" in other)]
    common += [name for name in other if name == "integer" and name not in mine and "number" in mine]
    return common[0] if len(common) == 1 else common or None


@dataclass(slots=True)
class _Shape:
    """What a schema says about an object's properties. `required` is None where it does not say.

    `sure`: schemas that hold for a property whichever branch an object takes; `maybe`: those of branches.
    """

    sure: dict[str, list[Schema]] = field(default_factory=dict[str, list[Schema]])
    maybe: dict[str, list[Schema]] = field(default_factory=dict[str, list[Schema]])
    required: dict[str, None] | None = None

    def add(self, other: "_Shape", *, surely: bool) -> None:
        for name, schemas in other.sure.items():
            (self.sure if surely else self.maybe).setdefault(name, []).extend(schemas)
        for name, schemas in other.maybe.items():
            self.maybe.setdefault(name, []).extend(schemas)

    def require(self, names: Iterable[str]) -> None:
        self.required = self.required or {}
        self.required.update(dict.fromkeys(names))


def one_object(schema: Schema, budget: Budget) -> tuple[dict[str, Schema], list[str] | None]:
    """The properties of a tool's arguments and the names that are required, every branch taken into account.

    A property that the root declares keeps the root's schema; one that only branches declare takes what
    any of them would.
    """
    shape = _shape(schema)
    properties: dict[str, Schema] = {}
    for name, schemas in shape.sure.items():
        together = schemas[0]
        for other in schemas[1:]:
            both = meet(merged(together, budget), merged(other, budget), budget)
            together = {"anyOf": [together, other]} if both is None else both
        properties[name] = merged(together, budget)
    for name, schemas in shape.maybe.items():
        if name not in properties:
            different = unique(schemas)
            properties[name] = merged(different[0] if len(different) == 1 else {"anyOf": different}, budget)
    for name in shape.required or ():
        properties.setdefault(name, {})
    return properties, None if shape.required is None else list(shape.required)


def _shape(schema: Schema) -> _Shape:
    shape = _Shape()
    if "required" in schema:
        shape.require(schema["required"])
    for name, inner in schema.get("properties", {}).items():
        shape.sure[name] = [inner]
    for member in map(_shape, schema.get("allOf", ())):
        shape.add(member, surely=True)
        if member.required is not None:
            shape.require(member.required)
    outcomes = [schema.get("then", {}), schema.get("else", {})] if "if" in schema else []
    for branches in (schema.get("anyOf", []), schema.get("oneOf", []), outcomes):
        shapes = [_shape(branch) for branch in branches]
        for branch in shapes:
            shape.add(branch, surely=False)
        if shapes:
            first, *others = (dict.fromkeys(branch.required or ()) for branch in shapes)
            shared = [name for name in first if all(name in names for names in others)]
            if shared:
                shape.require(shared)
    for branch in schema.get("dependentSchemas", {}).values():
        shape.add(_shape(branch), surely=False)
    return shape
