"""Checking values against a JSON Schema that a stranger wrote.

Guarded, because the schema comes from a server: nothing is ever fetched, no regular expression of the
schema is run (one can take hours), and the work is bounded. What cannot be checked so is let through.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for  # pyright: ignore[reportUnknownVariableType]
from jsonschema_specifications import (  # pyright: ignore[reportMissingTypeStubs]
    REGISTRY as SPECIFICATIONS,  # pyright: ignore[reportUnknownVariableType]
)
from referencing import Registry
from referencing.jsonschema import specification_with  # pyright: ignore[reportUnknownVariableType]

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
"""A keyword's rule, as `jsonschema` calls it: (validator, the keyword's value, instance, schema)."""

WORK = 400_000
"""What checking one value may cost, a keyword 4 and a member or an item 1: below half a second. Checking the
schema itself may cost twice that, once."""
_KEYWORD = 4
_DEEPEST = 120
"""Keywords evaluated inside one another, at most. Python's own limit must not be met: inside the look-up of
a reference, which is compiled code, that is no `RecursionError` but a panic, which no boundary catches."""
_CHARS = 16
"""Characters of a string that cost as much as a member."""
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


class Unusable(Exception):
    """The schema cannot be used to check this value, or any. The message says why."""


class SchemaCheck:
    """A schema, ready to check values by its own `$schema`, by 2020-12 where it names no known one.

    Not evaluated: `format`, `pattern`, `patternProperties`; nor, as they depend on it, `additionalProperties`
    beside a `patternProperties`, and `unevaluatedProperties` in a schema with one anywhere.
    Raises `Unusable` where the schema itself is wrong, or too large for that to be known.
    """

    def __init__(self, schema: object) -> None:
        self._work, self._most, self._depth = 0, 2 * WORK, 0
        self._size = 0
        try:
            self._validator = self._prepare(schema)
        except Unusable:
            raise
        except Exception as exc:  # boundary: a schema may break the validator in any way
            raise Unusable(_why(exc)) from exc

    def errors(self, value: Any, *, limit: int) -> list[ValidationError]:
        """The first `limit` errors, none for a valid value. Raises `Unusable`."""
        self._work, self._most, self._depth = 0, WORK, 0
        try:
            return list(islice(self._validator.iter_errors(value), limit))
        except Unusable:
            raise
        except Exception as exc:  # boundary: as above; a remote `$ref` shows only here
            raise Unusable(_why(exc)) from exc

    def _prepare(self, schema: Any) -> Validator:
        if not isinstance(schema, dict | bool):
            raise Unusable("it is neither an object nor a boolean")
        base = _named(cast("Any", schema)) or Draft202012Validator
        metaschema = cast("Any", base).META_SCHEMA
        for error in self._guarded(base, _undirected(metaschema), _metaschemas()).iter_errors(
            cast("Any", schema)
        ):
            raise Unusable(_why(error))
        self._size = _weight(cast("Any", schema))
        bare = _undirected(schema)
        return self._guarded(base, bare, _registry([_resource(bare, metaschema["$schema"])]))

    def _guarded(self, base: type[Validator], schema: Any, registry: Any) -> Validator:
        rules = _rules(base, json.dumps(schema))
        guarded = cast("Any", extend)(base, {name: self._counted(name, rule) for name, rule in rules.items()})
        return guarded(schema, registry=registry)

    def _counted(self, name: str, rule: Keyword) -> Keyword:
        def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
            self._spend(self._cost(name, value, instance))
            self._depth += 1
            try:
                yield from self._told(name, rule(validator, value, instance, schema) or (), value, instance)
            finally:
                self._depth -= 1

        return run

    def _told(
        self, name: str, errors: Iterable[ValidationError], value: Any, instance: Any
    ) -> Iterator[ValidationError]:
        """`errors`, paid for."""
        for error in errors:
            own = not isinstance(error.validator, str)  # else it comes from a rule that this one called
            if own and name not in ("required", "dependentRequired"):  # all others quote both
                self._spend(_weight(value) + _weight(instance))
            yield error

    def _cost(self, name: str, value: Any, instance: Any) -> int:
        """What a rule does by itself; the rules that it calls count on their own."""
        cost = _KEYWORD + _length(value) + _length(instance)
        if name in ("enum", "const", "dependentRequired", "dependencies") and _length(instance):
            return cost + _weight(value)
        if name == "uniqueItems":
            return cost + _weight(instance)
        if name in _DYNAMIC:
            return cost + _KEYWORD * self._size
        if name in _UNEVALUATED:  # each member is looked for in a list of what the other rules reached
            return cost + _length(instance) * (self._work // 100)
        return cost + (len(value) if name == "$ref" else 0)

    def _spend(self, cost: int) -> None:
        self._work += cost
        if self._work > self._most:
            raise Unusable("checking takes too long")
        if self._depth > _DEEPEST:
            raise Unusable("it refers to itself without end, or is nested too deeply")


@cache
def _metaschemas() -> Any:
    """The metaschemas of all drafts, such as guarded rules can go through."""
    known = cast("Any", SPECIFICATIONS)
    schemas = [known[uri].contents for uri in known]
    return _registry(_resource(_undirected(each), each["$schema"]) for each in schemas)


def _resource(schema: Any, draft: str) -> Any:
    return cast("Any", specification_with(draft)).create_resource(schema)


def _registry(resources: Iterable[Any]) -> Any:
    """Where references are looked up. Crawled at once: else that is done again at every reference."""
    named = [(resource.id() or "", resource) for resource in resources]
    return cast("Any", Registry)().with_resources(named).crawl()


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
    """A copy without the known `$schema`s: at each of them `jsonschema` would go back to its own rules.

    `unevaluated…` comes last in it: what it goes through uncounted has been counted by then.
    """
    match node:
        case dict():
            members = cast("dict[str, Any]", node)
            directed = _named(node) is not None
            keys = [key for key in members if key not in _UNEVALUATED and not (directed and key == "$schema")]
            keys += [key for key in _UNEVALUATED if key in members]
            return {key: _undirected(members[key]) for key in keys}
        case list():
            return [_undirected(item) for item in cast("list[Any]", node)]
        case _:
            return node


def _length(value: object) -> int:
    return len(cast("list[object]", value)) if isinstance(value, list | dict) else 0


def _weight(value: object) -> int:
    """The size of a JSON value: all that is in it, strings by their length."""
    match value:
        case dict():
            return 1 + sum(map(_weight, cast("dict[str, object]", value).values()))
        case list():
            return 1 + sum(map(_weight, cast("list[object]", value)))
        case str():
            return 1 + len(value) // _CHARS
        case _:
            return 1


def _why(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    line = (exc.message if isinstance(exc, ValidationError) else str(exc)).strip().partition("\n")[0]
    return f"{type(exc).__name__}: {line}"[:200]
