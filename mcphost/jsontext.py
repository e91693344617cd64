"""JSON as this package reads and writes it: stricter than Python's, and always valid Unicode.

Python's `json` lets through what no other JSON reader takes: NaN and the infinities, numbers that overflow
to one, keys given twice. And a string may hold half of a surrogate pair, which cannot be sent as UTF-8.
"""

import json
import math
import re
from typing import Any, NoReturn, cast


class NotJson(ValueError):
    """The text is not JSON. `position`: where reading stopped. `at_end`: only more text was missing."""

    def __init__(self, reason: str, *, position: int | None = None, at_end: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.at_end = at_end


def well_formed(text: str) -> str:
    """`text` with split surrogate pairs joined, and what is left of lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def as_object(value: object) -> dict[str, Any] | None:
    """`value` itself where it is an object, as `json` reads them, else None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any] | None:
    """`value` itself where it is an array, as `json` reads them, else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dumps(value: object) -> str:
    """Compact JSON in valid Unicode, non-ASCII characters as they are. ValueError for NaN and infinities."""
    return well_formed(_encode(value))


_HALF = re.compile("[\ud800-\udfff]")


def exact(value: object, *, indent: int | None = None) -> str:
    """JSON from which Python reads `value` again as it was, half characters and NaN included; encodable, with
    other characters as they are. TypeError, ValueError or RecursionError for what cannot be written so."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def same(one: object, other: object) -> bool:
    """Equality of JSON values: unlike Python's, 1, 1.0 and true are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _no_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"the number {text[:40]} is too large")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        for key, given in pairs:
            if not same(value[key], given):
                raise NotJson(f"the key {dumps(key[:40])} is given twice, with different values")
    return value


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique, strict=strict
    )


_STRICT = _decoder(strict=True)
_LENIENT = _decoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r]*")


def decode(text: str, start: int = 0, *, control_characters: bool = False) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where the next one could begin (white space skipped).

    `control_characters`: take raw newlines and the like inside strings. Raises NotJson, whatever the reason.
    """
    position = _space(text, start)
    try:
        value, end = (_LENIENT if control_characters else _STRICT).raw_decode(text, position)
    except json.JSONDecodeError as exc:
        raise NotJson(exc.msg, position=exc.pos, at_end=_at_end(text, exc)) from exc
    except NotJson:
        raise
    except ValueError as exc:  # an integer of more digits than Python converts
        raise NotJson("a number is too long") from exc
    except RecursionError as exc:
        raise NotJson("it is nested too deeply") from exc
    return value, _space(text, end)


def _at_end(text: str, exc: json.JSONDecodeError) -> bool:
    """Whether more text could have mended it: all is well up to the end, or to a cut string or word."""
    rest = text[exc.pos : exc.pos + 8].rstrip()
    begun = any(word.startswith(rest) for word in ("true", "false", "null", "-"))
    return begun or exc.msg.startswith("Unterminated string")


def _space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def loads(text: str) -> Any:
    """The one JSON value that `text` holds. Raises NotJson."""
    value, end = decode(text)
    if end < len(text):
        raise NotJson("there is more text after the JSON value", position=end)
    return value
