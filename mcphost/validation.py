"""Checking values against a JSON Schema that a stranger wrote.

Guarded, because the schema comes from a server: nothing is ever fetched, no regular expression of the
schema is run (one can take hours), and the work is bounded. What cannot be checked so is let through.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for  # pyright: ignore[reportUnknownVariableType]
from referencing import Registry

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
"""A keyword's rule, as `jsonschema` calls it: (validator, the keyword's value, instance, schema)."""

STEPS = 100_000
"""Keywords evaluated for one value, at most: below half a second of work."""


class Unusable(Exception):
    """The schema cannot be used to check this value, or any. The message says why."""


class SchemaCheck:
    """A schema, ready to check values by its own `$schema`, by 2020-12 where it names no known one.

    Not evaluated: `format`, `pattern`, `patternProperties`; nor, as they depend on it, `additionalProperties`
    beside a `patternProperties`, and `unevaluatedProperties` in a schema with one anywhere.
    Raises `Unusable` where the schema itself is wrong.
    """

    def __init__(self, schema: object) -> None:
        self._steps = 0
        try:
            self._validator = self._prepare(schema)
        except Unusable:
            raise
        except Exception as exc:  # boundary: a schema may break the validator in any way
            raise Unusable(_why(exc)) from exc

    def errors(self, value: Any, *, limit: int) -> list[ValidationError]:
        """The first `limit` errors, none for a valid value. Raises `Unusable`."""
        self._steps = 0
        try:
            return list(islice(self._validator.iter_errors(value), limit))
        except Unusable:
            raise
        except Exception as exc:  # boundary: as above; a remote `$ref` shows only here
            raise Unusable(_why(exc)) from exc

    def _prepare(self, schema: object) -> Validator:
        if not isinstance(schema, dict | bool):
            raise Unusable("it is neither an object nor a boolean")
        base = _named(cast("Any", schema)) or Draft202012Validator
        cast("Any", base).check_schema(schema, format_checker=None)
        rules = _rules(base, json.dumps(schema))
        guarded = cast("Any", extend)(base, {name: self._counted(rule) for name, rule in rules.items()})
        return guarded(_undirected(schema), registry=cast("Any", Registry)())

    def _counted(self, rule: Keyword) -> Keyword:
        def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
            self._steps += 1
            if self._steps > STEPS:
                raise Unusable("checking takes too long")
            return rule(validator, value, instance, schema) or ()

        return run


def _named(schema: Any) -> type[Validator] | None:
    """The draft that a schema's own `$schema` names, None where it names none, or one that is not known."""
    named = cast("dict[str, object]", schema).get("$schema") if isinstance(schema, dict) else None
    return validator_for({"$schema": named}, default=cast("Any", None)) if isinstance(named, str) else None


def _rules(base: type[Validator], schema_text: str) -> dict[str, Keyword]:
    rules = dict(cast("Mapping[str, Keyword]", base.VALIDATORS))
    for name in ("format", "pattern", "patternProperties"):
        rules[name] = _anything
    if '"patternProperties"' in schema_text:
        rules["unevaluatedProperties"] = _anything
    rules["additionalProperties"] = _unless_patterns(rules["additionalProperties"])
    rules["uniqueItems"] = _unique_items
    return rules


def _anything(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
    return ()


def _unless_patterns(rule: Keyword) -> Keyword:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError] | None:
        return () if schema.get("patternProperties") else rule(validator, value, instance, schema)

    return run


def _unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
    """Linear, where the library's own compares every two items. It misses that 1 equals 1.0."""
    if value is True and isinstance(instance, list):
        items = cast("list[object]", instance)
        if len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
            yield ValidationError("items are not unique")


def _undirected(node: Any) -> Any:
    """A copy without the known `$schema`s: at each of them `jsonschema` would go back to its own rules."""
    match node:
        case dict():
            members = cast("dict[str, Any]", node).items()
            directed = _named(node) is not None
            return {key: _undirected(value) for key, value in members if not (directed and key == "$schema")}
        case list():
            return [_undirected(item) for item in cast("list[Any]", node)]
        case _:
            return node


def _why(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it refers to itself without end"
    line = str(exc).strip().partition("\n")[0]
    return f"{type(exc).__name__}: {line}"[:200]
