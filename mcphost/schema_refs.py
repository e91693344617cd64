"""Where the references of a JSON Schema document lead. Nothing is ever fetched.

Base URIs, embedded resources (`$id`) and anchors are as JSON Schema core sections 8.2 and 9 have them; in
drafts 3 and 4 the keyword is `id`, up to draft 7 a fragment in it is what an anchor is later.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urldefrag, urljoin

from mcphost.jsontext import as_list, as_object
from mcphost.schema_values import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS, Schema

MAPS = SCHEMA_MAPS | {"dependencies", "$defs", "definitions"}
LISTS = SCHEMA_LISTS | {"items"}
SINGLES = SCHEMAS | {"additionalItems", "unevaluatedItems", "unevaluatedProperties"}
"""The keywords that hold schemas in any draft, by how they hold them."""

_MOST_INDEXED = 100_000
_LONGEST_REFERENCE = 4_000
_DRAFT = re.compile(r"draft[-/](?:0([3467])\b|(2019)-09|(2020)-12)")


def draft_of(schema: Schema) -> int:
    """The draft that `$schema` names: 3, 4, 6, 7, 2019 or 2020; 2020 where it names none that we know."""
    named = schema.get("$schema")
    found = _DRAFT.search(named) if isinstance(named, str) else None
    return int(next(filter(None, found.groups()))) if found else 2020


@dataclass(frozen=True, slots=True)
class Scope:
    """The resource that a schema belongs to: what its references are relative to."""

    uri: str
    root: Schema


@dataclass(frozen=True, slots=True)
class Target:
    schema: Schema | bool
    scope: Scope


class Document:
    """A whole schema, as the place where references are looked up."""

    def __init__(self, schema: Schema) -> None:
        self.draft = draft_of(schema)
        self.scope = self.enter(schema, Scope("", schema))
        self.root = schema
        self._resources: dict[str, Scope] | None = None
        self._anchors: dict[tuple[str, str], Target] = {}

    def enter(self, schema: Schema, scope: Scope) -> Scope:
        """The scope inside `schema`, which stands in `scope`: its own if it has an id."""
        named = self._id(schema)
        if not named or named.startswith("#"):
            return scope
        try:
            uri = urldefrag(urljoin(scope.uri, named)).url
        except ValueError:
            return scope
        return Scope(uri, schema)

    def find(self, reference: object, scope: Scope) -> Target | None:
        """What `reference`, written in `scope`, leads to; None where that is not in this document."""
        if not isinstance(reference, str) or len(reference) > _LONGEST_REFERENCE:
            return None
        uri, _, fragment = reference.partition("#")
        if uri:
            try:
                uri = urldefrag(urljoin(scope.uri, uri)).url
            except ValueError:
                return None
            if uri != scope.uri:
                found = self._indexed().get(uri)
                if found is None:
                    return None
                scope = found
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            self._indexed()
            return self._anchors.get((scope.uri, fragment))
        return self._point(fragment, scope)

    def _point(self, pointer: str, scope: Scope) -> Target | None:
        """Follow a JSON pointer (RFC 6901) from the root of `scope`."""
        here: object = scope.root
        for part in pointer.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            members, items = as_object(here), as_list(here)
            if members is not None and part in members:
                here = members[part]
            elif items is not None and part.isdecimal() and len(part) < 9 and int(part) < len(items):
                here = items[int(part)]
            else:
                return None
            inner = as_object(here)
            if inner is not None:
                scope = self.enter(inner, scope)
        schema = here if isinstance(here, bool) else as_object(here)
        return None if schema is None else Target(schema, scope)

    def _id(self, schema: Schema) -> str | None:
        if self.draft < 2019 and isinstance(schema.get("$ref"), str):
            return None  # up to draft 7 a reference's siblings do not count
        named = schema.get("id" if self.draft < 6 else "$id")
        return named if isinstance(named, str) else None

    def _indexed(self) -> dict[str, Scope]:
        """Every embedded resource by URI. Fills `_anchors` too. Made when first needed."""
        if self._resources is not None:
            return self._resources
        self._resources = {self.scope.uri: self.scope}
        waiting: list[tuple[Schema, Scope]] = [(self.root, Scope("", self.root))]
        for _ in range(_MOST_INDEXED):
            if not waiting:
                break
            schema, scope = waiting.pop()
            scope = self.enter(schema, scope)
            self._resources.setdefault(scope.uri, scope)
            for anchor in self._names(schema):
                self._anchors.setdefault((scope.uri, anchor), Target(schema, scope))
            waiting.extend((inner, scope) for inner in _inner(schema))
        return self._resources

    def _names(self, schema: Schema) -> Iterator[str]:
        named = self._id(schema)
        if self.draft < 2019 and named and named.startswith("#"):
            yield named[1:]
        if self.draft >= 2019:
            for keyword in ("$anchor", "$dynamicAnchor"):
                anchor = schema.get(keyword)
                if isinstance(anchor, str):
                    yield anchor


def _inner(schema: Schema) -> Iterator[Schema]:
    """The schemas directly inside `schema`; a property that is called like a keyword is none."""
    for keyword, value in schema.items():
        found: list[object] = []
        if keyword in MAPS:
            found = list((as_object(value) or {}).values())
        elif keyword in LISTS:
            found = as_list(value) or []
        if keyword in SINGLES:
            found = [*found, value]
        yield from filter(None, map(as_object, found))
