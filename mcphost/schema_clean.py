"""The first pass over a tool's schema: whatever came in, a finite, well-formed one without references.

What it returns is of draft 2020-12, holds dicts wherever schemas stand (`true` is `{}`, `false` is `NEVER`),
only values that JSON can carry, and only keywords that mean something in the schema's own draft. It accepts
at least what the original does.
"""

from mcphost.jsontext import as_object
from mcphost.schema_keywords import KeywordCleaner, known_types
from mcphost.schema_refs import Document, Scope
from mcphost.schema_values import ANNOTATIONS, NEVER, Budget, Patterns, Schema
from mcphost.schema_walk import rebuild

_MOST_ANCESTORS = 60
_MOST_HOPS = 16


class Cleaner:
    """Cleans one tool's schema.

    `depth`: levels of schemas inside one another; a schema that would be deeper becomes its type alone.
    `repeats`: how often a schema may occur within itself before it does. A document and its patterns may be
    handed to several.
    """

    def __init__(
        self, document: Document, *, budget: Budget, patterns: Patterns, depth: int, repeats: int
    ) -> None:
        self.levels = 0
        """The depth of the deepest schema seen."""
        self._document = document
        self._budget = budget
        self._depth = depth
        self._repeats = repeats
        self._shallow = KeywordCleaner(draft=document.draft, budget=budget, patterns=patterns)

    def clean(self) -> Schema:
        root = self._document.root
        return self._clean(root, Scope("", root), ())

    def _clean(self, raw: object, scope: Scope, ancestors: tuple[int, ...], depth: int = 0) -> Schema:
        self._budget.spend()
        self.levels = max(self.levels, depth)
        if isinstance(raw, bool):
            return {} if raw else dict(NEVER)
        schema = as_object(raw)
        if schema is None:
            self._budget.lose()
            return {}
        if (
            depth > self._depth
            or len(ancestors) >= _MOST_ANCESTORS
            or ancestors.count(id(schema)) >= self._repeats
        ):
            self._budget.lose()
            return self._outline(schema, scope)
        ancestors = (*ancestors, id(schema))
        scope = self._document.enter(schema, scope)
        if not isinstance(schema.get("$ref"), str):
            return self._keywords(schema, scope, ancestors, depth)
        siblings = {
            keyword: value
            for keyword, value in schema.items()
            if keyword != "$ref" and (self._document.draft >= 2019 or keyword in ANNOTATIONS)
        }
        target = self._target(schema["$ref"], scope, ancestors, depth)
        return _joined(target, self._keywords(siblings, scope, ancestors, depth))

    def _target(self, reference: str, scope: Scope, ancestors: tuple[int, ...], depth: int) -> Schema:
        found = self._document.find(reference, scope)
        if found is None:  # elsewhere or nowhere
            self._budget.lose()
            return {}
        return self._clean(found.schema, found.scope, ancestors, depth)

    def _outline(self, schema: Schema, scope: Scope) -> Schema:
        """The type that `schema` has, and nothing else of it."""
        for _ in range(_MOST_HOPS):
            scope = self._document.enter(schema, scope)
            reference = schema.get("$ref")
            if "type" in schema and (self._document.draft >= 2019 or not isinstance(reference, str)):
                types = known_types(schema["type"])
                return {} if types is None else {"type": types}
            found = self._document.find(reference, scope)
            target = as_object(found.schema) if found else None
            if found is None or target is None:
                break
            schema, scope = target, found.scope
        return {}

    def _keywords(self, schema: Schema, scope: Scope, ancestors: tuple[int, ...], depth: int) -> Schema:
        shallow = self._shallow.clean(schema)
        return rebuild(shallow, lambda inner: self._clean(inner, scope, ancestors, depth + 1), self._budget)


def _joined(target: Schema, siblings: Schema) -> Schema:
    """What a reference and the keywords beside it say together."""
    if siblings.keys() <= ANNOTATIONS:
        return target | siblings
    return siblings | {"allOf": [*siblings.get("allOf", ()), target]}
