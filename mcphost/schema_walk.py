"""One step down into a schema, for the passes that rebuild one from the bottom up."""

from collections.abc import Callable
from typing import Any

from mcphost.jsontext import as_list, as_object
from mcphost.schema_values import NEVER, SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS, Budget, Schema

Visit = Callable[[Any], Schema]

_SINGLES = frozenset({"items", "contains", "propertyNames"})
_CONDITIONAL = ("if", "then", "else")


def rebuild(schema: Schema, visit: Visit, budget: Budget) -> Schema:
    """`schema` with `visit` of every subschema in its place.

    A visit may loosen. That loosens the whole in most places and would narrow it in some: there the
    keyword goes (`not`, `if`, `maxContains`), or takes a looser form (`oneOf` becomes `anyOf`).
    """
    out: Schema = {}
    for keyword, value in schema.items():
        if keyword in SCHEMA_MAPS:
            out[keyword] = {name: visit(inner) for name, inner in value.items()}
        elif keyword in _SINGLES or (keyword == "additionalProperties" and as_object(value) is not None):
            out[keyword] = visit(value)
        elif keyword in ("prefixItems", "allOf"):
            out[keyword] = [visit(inner) for inner in value]
        elif keyword in ("anyOf", "oneOf"):
            _add_union(out, keyword, value, visit, budget)
        elif keyword == "not":
            _add_negation(out, value, visit, budget)
        elif keyword not in _CONDITIONAL:
            out[keyword] = value
    _add_conditional(out, schema, visit, budget)
    return _without_impossible(out, schema, budget)


def children(schema: Schema) -> bool:
    """Whether any keyword of `schema` holds a schema."""
    return any(
        keyword in SCHEMA_MAPS | SCHEMA_LISTS
        or (keyword in SCHEMAS and (keyword != "additionalProperties" or as_object(value) is not None))
        for keyword, value in schema.items()
    )


def size(value: object) -> int:
    """The objects and arrays in `value`, itself among them."""
    members, items = as_object(value), as_list(value)
    if members is not None:
        return 1 + sum(map(size, members.values()))
    return 0 if items is None else 1 + sum(map(size, items))


def _add_union(out: Schema, keyword: str, branches: list[Any], visit: Visit, budget: Budget) -> None:
    before = budget.losses
    possible = [branch for branch in map(visit, branches) if branch != NEVER]
    if not possible:
        budget.lose()
        return
    if keyword == "oneOf" and budget.losses > before:  # two loosened branches might both take a value
        keyword = "anyOf"
    if keyword in out:
        budget.lose()
    out.setdefault(keyword, possible)


def _add_negation(out: Schema, negated: Any, visit: Visit, budget: Budget) -> None:
    before = budget.losses
    visited = visit(negated)
    if budget.losses == before and visited != NEVER:
        out["not"] = visited


def _add_conditional(out: Schema, schema: Schema, visit: Visit, budget: Budget) -> None:
    """`then` and `else` mean nothing without an `if`."""
    if "if" not in schema:
        return
    before = budget.losses
    condition = visit(schema["if"])
    if budget.losses > before:
        return
    outcomes = {keyword: visit(schema[keyword]) for keyword in ("then", "else") if keyword in schema}
    if outcomes:
        out["if"] = condition
        out.update(outcomes)


def _without_impossible(out: Schema, schema: Schema, budget: Budget) -> Schema:
    """Say in a plainer way what `NEVER` says in a property, in `items` or in `additionalProperties`."""
    named = out.get("properties")
    if named is not None and NEVER in named.values():
        budget.lose()
        required = out.get("required", ())
        out["properties"] = {
            name: {} if inner == NEVER else inner
            for name, inner in named.items()
            if inner != NEVER or name in required
        }
    if out.get("items") == NEVER:
        length = len(out.get("prefixItems", ()))
        out["items"] = {}
        out["maxItems"] = min(length, out.get("maxItems", length))
    if out.get("additionalProperties") == NEVER:
        out["additionalProperties"] = False
    if "maxContains" in out and schema.get("contains") != out.get("contains"):
        budget.lose()
        del out["maxContains"]
    return out
