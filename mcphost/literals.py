"""Secrets that stand in a server's entry as they are, in place of a variable that would hold them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mcphost.documents import as_list, as_object, fold
from mcphost.redact import redact_args, redact_url, redact_value
from mcphost.spellings import spell

_VARIABLE: Final = re.compile(
    r"(?:\b(?i:Bearer|Basic|Token)\s+)?(?:\$\{(?:(?!:-)[^{}])*(?::-)?\}|\$[A-Z_][A-Z0-9_]+)"
)
"""One without a default, and the word before it that says what kind of credential it is."""

_OF_AUTH: Final = frozenset("clientsecret privatekey privatekeypem assertion idtoken idclientsecret".split())
"""In `auth`, where `@` and the name of a file may stand in place of each."""


def literal_secrets(entry: object) -> tuple[str, ...]:
    """Where in an entry secrets are written out: `env API_KEY`, `headers Authorization`, `url`, `args[2]`."""
    return tuple(_found(spell(as_object(entry) or {}).values))


def _found(entry: Mapping[str, object]) -> Iterator[str]:
    for key in ("env", "headers"):
        for name, value in (as_object(entry.get(key)) or {}).items():
            if isinstance(value, str) and _is_literal(value, name):
                yield f"{key} {name}"
    for name, value in (as_object(entry.get("auth")) or {}).items():
        if (
            fold(name) in _OF_AUTH
            and isinstance(value, str)
            and _without_variables(value.lstrip("@")) == value
        ):
            yield f"auth {name}"
    args = as_list(entry.get("args")) or ()
    words = [_without_variables(word) if isinstance(word, str) else "" for word in args]
    for place, (word, masked) in enumerate(zip(words, redact_args(words), strict=True)):
        if word and word != masked:
            yield f"args[{place}]"
    for key in ("url", "http_url"):
        if isinstance(url := entry.get(key), str):
            bare = _without_variables(url)
            if bare != redact_url(bare):
                yield key


def _is_literal(value: str, name: str) -> bool:
    bare = _without_variables(value)
    return redact_value(bare, name=name) != bare


def _without_variables(text: str) -> str:
    return _VARIABLE.sub("", text)
