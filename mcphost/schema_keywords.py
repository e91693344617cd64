"""The keywords of one schema: which of them say something, in the words of draft 2020-12, well formed."""

from collections.abc import Callable
from typing import Any

from mcphost.jsontext import as_list, as_object
from mcphost.schema_values import (
    ANNOTATIONS,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMAS,
    UNSAYABLE,
    Budget,
    Patterns,
    Schema,
    is_number,
    is_text,
    json_value,
    readable,
    unique,
)

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

_OTHER_TYPE_NAMES = {
    "int": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "bool": "boolean",
    "dict": "object",
    "list": "array",
}
"""What servers write for a type, when no validator has told them."""

_SINCE = {
    "const": 6,
    "contains": 6,
    "propertyNames": 6,
    "examples": 6,
    "if": 7,
    "then": 7,
    "else": 7,
    "dependentRequired": 2019,
    "dependentSchemas": 2019,
    "minContains": 2019,
    "maxContains": 2019,
    "prefixItems": 2020,
}
"""The draft that a keyword came with. In an older one it says nothing."""

_LEFT_OUT = frozenset(
    # definitions have been inlined; a discriminator and an order name what may have changed its place
    "definitions discriminator propertyOrdering contentSchema dependencies additionalItems "
    "extends disallow divisibleBy".split()
)
_LOOSENED = frozenset({"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"})
"""Left out too, but these constrain: what they depend on does not survive inlining."""

_COUNTS = frozenset(
    "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split()
)
_BOUNDS = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum".split())
_FLAGS = frozenset("uniqueItems deprecated readOnly writeOnly nullable".split())
_TEXTS = frozenset("title description".split())
_WORDS = frozenset("format contentEncoding contentMediaType".split())


def known_types(value: object) -> str | list[str] | None:
    """A `type` keyword's value as JSON Schema has it; None where it allows any type or none that is known."""
    many = as_list(value)
    names = [_type_name(name) for name in ([value] if many is None else many)]
    known = list(dict.fromkeys(name for name in names if name))
    if not known or None in names:
        return None
    return known[0] if many is None else known


def _type_name(name: object) -> str | None:
    if not isinstance(name, str):
        return None
    name = name if len(name) > 10 else name.lower()
    name = _OTHER_TYPE_NAMES.get(name, name)
    return name if name in TYPES else None


class KeywordCleaner:
    """Cleans the keywords of one schema, its subschemas left as they came."""

    def __init__(self, *, draft: int, budget: Budget, patterns: Patterns) -> None:
        self._draft = draft
        self._budget = budget
        self._patterns = patterns
        self._rules: dict[str, Callable[[Any], Any]] = {
            "type": _type,
            "enum": self._enum,
            "required": self._names,
            "pattern": self._pattern,
            "examples": self._examples,
            "multipleOf": _positive,
            "dependentRequired": self._dependents,
            **dict.fromkeys(_COUNTS, _count),
            **dict.fromkeys(_BOUNDS, _bound),
            **dict.fromkeys(_FLAGS, _flag),
            **dict.fromkeys(_TEXTS, self._text),
            **dict.fromkeys(_WORDS, self._word),
            **dict.fromkeys(SCHEMA_MAPS, self._map),
            **dict.fromkeys(SCHEMA_LISTS, self._list),
            **dict.fromkeys(SCHEMAS, _schema),
        }

    def clean(self, schema: Schema) -> Schema:
        out: Schema = {}
        for keyword, value in _modern(schema, self._draft).items():
            if keyword in _LOOSENED:
                self._budget.lose()
            elif keyword.startswith("$") or keyword in _LEFT_OUT or not is_text(keyword):
                continue
            else:
                cleaned = self._rules.get(keyword, self._other)(value)
                if cleaned is not UNSAYABLE:
                    out[keyword] = cleaned
                    self._budget.spend(0, len(keyword))
                elif keyword not in ANNOTATIONS:
                    self._budget.lose()
        self._reopen(out, schema)
        return out

    def _other(self, value: object) -> object:
        return json_value(value, self._budget)

    def _text(self, value: object) -> object:
        if not isinstance(value, str):
            return UNSAYABLE
        text = readable(value)
        self._budget.spend(0, len(text))
        return text

    def _word(self, value: object) -> object:
        return json_value(value, self._budget) if isinstance(value, str) else UNSAYABLE

    def _pattern(self, value: object) -> object:
        if not isinstance(value, str):
            return UNSAYABLE
        self._budget.spend(1, len(value))
        return value if self._patterns.portable(value) else UNSAYABLE

    def _examples(self, value: object) -> object:
        return UNSAYABLE if as_list(value) is None else json_value(value, self._budget)

    def _enum(self, value: object) -> object:
        """No argument is NaN or infinite, so nothing is lost with them."""
        members = [item for item in as_list(value) or () if not isinstance(item, float) or is_number(item)]
        copies = as_list(json_value(members, self._budget))
        return unique(copies) if copies else UNSAYABLE

    def _names(self, value: object) -> object:
        items = as_list(value)
        if items is None:
            return UNSAYABLE
        names: dict[str, None] = {}
        for item in items:
            self._budget.spend(0, 1 + len(item) if isinstance(item, str) else 1)
            if is_text(item):
                names[item] = None
        return list(names) if names or not items else UNSAYABLE

    def _dependents(self, value: object) -> object:
        out: Schema = {}
        for name, names in (as_object(value) or {}).items():
            self._budget.spend(1, len(name))
            cleaned = self._names(names)
            if is_text(name) and cleaned is not UNSAYABLE:
                out[name] = cleaned
        return out or UNSAYABLE

    def _map(self, value: object) -> object:
        members = as_object(value)
        if members is None:
            return UNSAYABLE
        self._budget.require(len(members))
        self._budget.spend(1, sum(map(len, members)))
        return {name: inner for name, inner in members.items() if is_text(name)}

    def _list(self, value: object) -> object:
        items = as_list(value) or ()
        self._budget.require(len(items))
        return items or UNSAYABLE

    def _reopen(self, out: Schema, schema: Schema) -> None:
        """`additionalProperties` covers what no other keyword names: it goes where a name was left out."""
        named = out.pop("patternProperties", {})
        patterns = {name: inner for name, inner in named.items() if self._patterns.portable(name)}
        if patterns:
            out["patternProperties"] = patterns
        for keyword in ("properties", "patternProperties"):
            if len(out.get(keyword, ())) < len(as_object(schema.get(keyword)) or ()):
                self._budget.lose()
                out.pop("additionalProperties", None)


def _modern(schema: Schema, draft: int) -> Schema:
    """`schema` in the words of 2020-12: tuples, exclusive bounds and dependencies of older drafts."""
    out = {keyword: value for keyword, value in schema.items() if draft >= _SINCE.get(keyword, 0)}
    if as_list(out.get("items")) is not None:
        out.setdefault("prefixItems", out["items"])
        out["items"] = out.get("additionalItems", True)
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if draft < 6 or isinstance(out.get(exclusive), bool):
            excluded = out.pop(exclusive, False)
            if excluded and limit in out:
                out[exclusive] = out.pop(limit)
    dependencies = as_object(out.get("dependencies")) if draft < 2019 else None
    if dependencies:
        lists = {name: value for name, value in dependencies.items() if as_list(value) is not None}
        out["dependentRequired"] = lists
        out["dependentSchemas"] = {name: value for name, value in dependencies.items() if name not in lists}
    if draft < 6:
        out.pop("id", None)
    return out


def _type(value: object) -> object:
    types = known_types(value)
    return UNSAYABLE if types is None else types


def _positive(value: Any) -> object:
    return value if is_number(value) and value > 0 else UNSAYABLE


def _count(value: Any) -> object:
    """A bound on a length, as an integer; 3.0 is one."""
    if not is_number(value) or not 0 <= value < 2**63 or value != int(value):
        return UNSAYABLE
    return int(value)


def _bound(value: object) -> object:
    return value if is_number(value) else UNSAYABLE


def _flag(value: object) -> object:
    return value if isinstance(value, bool) else UNSAYABLE


def _schema(value: object) -> object:
    return value if isinstance(value, bool) or as_object(value) is not None else UNSAYABLE
