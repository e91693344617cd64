"""What the passes over a tool's schema share: limits, and what of a JSON value can be sent at all.

A schema comes from a server that may be wrong or hostile, so nothing here trusts its size, depth or types.
"""

import json
import math
import re
import warnings
from dataclasses import dataclass
from typing import Any, Final

from mcphost.jsontext import as_list, as_object, well_formed

Schema = dict[str, Any]

MAX_NODES = 5_000
MAX_CHARS = 400_000
"""What one tool may grow to. 3 kB of references can say 2**30 leaves, so what comes out is bounded."""

_VALUE_NODES = 2_000
_VALUE_CHARS = 50_000
_VALUE_DEPTH = 24
_SCALAR_CHARS = 8
_TEXT_CHARS = 20_000
_PATTERN_CHARS = 8_000
_INTEGER_BITS = 1_000

NEVER: Final[Schema] = {"not": {}}
"""The schema `false` as an object, the only form of it between the passes."""

SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMAS = frozenset(
    {"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"}
)
"""The keywords that hold schemas between the passes: by name, in a list, or one."""

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that tell and refuse nothing."""

UNSAYABLE: Final = object()
"""In place of a value that JSON cannot carry, or that is too large or too deep to be worth carrying."""


class TooBigError(Exception):
    """A conversion went over its `Budget`; it is tried again with less depth."""


@dataclass(slots=True)
class Budget:
    """How much a pass may still produce, and how often it had to loosen something (`losses`).

    Loosening is harmless in most places and narrows in a few (below `not`, say): whoever builds such a
    place compares `losses` before and after.
    """

    nodes: int = MAX_NODES
    chars: int = MAX_CHARS
    losses: int = 0

    def spend(self, nodes: int = 1, chars: int = 0) -> None:
        self.nodes -= nodes
        self.chars -= chars
        if self.nodes < 0 or self.chars < 0:
            raise TooBigError

    def require(self, nodes: int) -> None:
        """Give up at once where so many more are known to come."""
        if nodes > self.nodes:
            raise TooBigError

    def lose(self) -> None:
        self.losses += 1


def is_text(value: object) -> bool:
    """Whether `value` is a string that UTF-8 can carry (no lone surrogates)."""
    return isinstance(value, str) and well_formed(value) == value


def readable(text: str) -> str:
    """`text` for a model to read: at most 20,000 characters, valid Unicode."""
    return well_formed(text[:_TEXT_CHARS])


def is_number(value: object) -> bool:
    """Whether `value` is a number that JSON can carry. `True` is none."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return value.bit_length() <= _INTEGER_BITS
    return isinstance(value, float) and math.isfinite(value)


def json_value(value: object, budget: Budget) -> object:
    """A copy of `value`, or `UNSAYABLE`. What it takes comes out of `budget`."""
    own = Budget(_VALUE_NODES, _VALUE_CHARS)
    try:
        copy = _copy(value, own, 0)
    except TooBigError:
        budget.spend(50)
        return UNSAYABLE
    budget.spend(_VALUE_NODES - own.nodes, _VALUE_CHARS - own.chars)
    return copy


def _copy(value: object, budget: Budget, depth: int) -> object:
    items, members = as_list(value), as_object(value)
    if items is not None or members is not None:
        budget.spend(1)
        if depth >= _VALUE_DEPTH:
            return UNSAYABLE
    if items is not None:
        copies = [_copy(item, budget, depth + 1) for item in items]
        return UNSAYABLE if any(item is UNSAYABLE for item in copies) else copies
    if members is not None:
        pairs = {key: _copy(member, budget, depth + 1) for key, member in members.items() if is_text(key)}
        budget.spend(0, sum(map(len, pairs)))
        unsayable = len(pairs) < len(members) or any(member is UNSAYABLE for member in pairs.values())
        return UNSAYABLE if unsayable else pairs
    budget.spend(0, _SCALAR_CHARS + (len(value) if isinstance(value, str) else 0))
    if value is None or isinstance(value, bool) or is_number(value) or is_text(value):
        return value
    return UNSAYABLE


def fingerprint(value: object) -> str:
    """Equal for values that JSON Schema holds equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def unique(values: list[Any]) -> list[Any]:
    """`values` without repetitions, in order."""
    return list({fingerprint(value): value for value in reversed(values)}.values())[::-1]


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COMMON_ESCAPES = frozenset("dDwWsSbBnrtfvxu")


class Patterns:
    """Which regular expressions the engines behind the endpoints agree on.

    OpenAI's is Python's, DeepSeek's is Rust's (zed-industries/zed#64386: it refuses a whole request for
    one `\\0`), servers write JavaScript's. Compiling takes time, so only so much is looked at.
    """

    def __init__(self) -> None:
        self._chars = _PATTERN_CHARS
        self._known: dict[str, bool] = {}

    def portable(self, pattern: str) -> bool:
        if pattern not in self._known:
            self._chars -= len(pattern)
            self._known[pattern] = self._chars >= 0 and is_text(pattern) and _portable(pattern)
        return self._known[pattern]


def _portable(pattern: str) -> bool:
    if "(?P" in pattern or any(
        escaped.isalnum() and escaped not in _COMMON_ESCAPES for escaped in _ESCAPE.findall(pattern)
    ):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a FutureWarning about nested sets is the server's business
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
