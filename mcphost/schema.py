"""From a tool's `inputSchema` to the `parameters` of a function that a model endpoint takes. Pure.

Three passes: `schema_clean` makes a finite, well-formed schema without references, `schema_merge` one object
of its root, `schema_adapt` what the dialect's validator takes.

The result may accept more than the original, never less of what matters: an argument object that is valid
under the original, and whose properties are all declared by the root or by a branch that it satisfies, is
valid under the result. So whoever sends arguments to the server checks them against the original.
"""

import re
from itertools import islice
from typing import Any

from mcphost.dialect import SchemaRules
from mcphost.jsontext import as_list, as_object, well_formed
from mcphost.schema_adapt import Adapter
from mcphost.schema_clean import Cleaner
from mcphost.schema_keywords import known_types
from mcphost.schema_merge import one_object
from mcphost.schema_refs import Document
from mcphost.schema_values import MAX_NODES, Budget, Patterns, Schema, TooBigError, is_text

_DEEPEST = 24
_ATTEMPTS = ((_DEEPEST, 2), *((depth, 1) for depth in (_DEEPEST, 16, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1, 0)))
"""Levels kept, and how often a recursive schema occurs within itself: the first that fits is taken."""

_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]|\n")
_WORD_END = re.compile(r"[，；、：]|(?=\s)")

_OF_THE_ROOT = 3
"""The objects and arrays of `parameters` that are not in a property: itself, `properties` and `required`."""

_MOST_NAMES = 4_000
_MOST_NAME_CHARS = 100_000


def convert(input_schema: object, rules: SchemaRules) -> dict[str, Any]:
    """The `parameters` for a tool's `inputSchema` (MCP specification, server/tools), by a dialect's `rules`.

    Whatever came in, comes out as `{"type": "object", "properties": {…}}`, with `required` where anything
    says what is; of a plain schema the properties are untouched. At most 5,000 objects and arrays: a schema
    that inlines to more keeps its outer levels, and below them types only. Raises nothing, keeps nothing of
    its input, fetches nothing.
    """
    schema = as_object(input_schema)
    if schema is None:
        return {"type": "object", "properties": {}}
    document, patterns = Document(schema), Patterns()
    levels = _DEEPEST + 1
    for depth, repeats in _ATTEMPTS:
        if depth >= levels:
            continue  # it would come to the same
        cleaner = Cleaner(document, budget=Budget(), patterns=patterns, depth=depth, repeats=repeats)
        try:
            return _converted(cleaner.clean(), rules)
        except TooBigError:
            levels = cleaner.levels if repeats == 1 else levels
    return _names_only(schema)


def shorten(description: object, limit: int | None) -> str:
    """A tool's description in at most `limit` characters (None: any number), "" where it has none.

    Cut after a sentence or, where none ends in the second half of the room, after a word; "…" says so.
    """
    if not isinstance(description, str):
        return ""
    text = well_formed(description)
    if limit is None or len(text) <= limit:
        return text
    if limit < 1:
        return ""
    room = text[: limit - 1]
    for end in (_SENTENCE_END, _WORD_END):
        places = [found.end() for found in end.finditer(room, len(room) // 2)]
        if places:
            return room[: places[-1]].rstrip() + "…"
    return room + "…"


def _converted(clean: Schema, rules: SchemaRules) -> Schema:
    properties, required = one_object(clean, Budget())
    adapter = Adapter(rules, Budget(MAX_NODES - _OF_THE_ROOT))
    room = (rules.max_depth or 4 * _DEEPEST) - 1
    out: Schema = {
        "type": "object",
        "properties": {name: adapter.adapt(inner, room) for name, inner in properties.items()},
    }
    return out if required is None else out | {"required": required}


def _names_only(schema: Schema) -> Schema:
    """The first properties of a root that has too many to say more of them than their type."""
    properties: Schema = {}
    chars = 0
    for name, inner in islice((as_object(schema.get("properties")) or {}).items(), _MOST_NAMES):
        chars += len(name)
        if chars > _MOST_NAME_CHARS:
            break
        if is_text(name):
            types = known_types((as_object(inner) or {}).get("type"))
            simple = isinstance(types, str) and types not in ("array", "null")
            properties[name] = {"type": types} if simple else {}
    names = [name for name in as_list(schema.get("required")) or () if isinstance(name, str)]
    required = [name for name in dict.fromkeys(names) if name in properties]
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})
