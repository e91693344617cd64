"""A file's entries in the words of the file, for whoever has to judge them. No variable is expanded.

No variable of the user's is in it, so everything is shown, except for what looks like a key or a password and
could be nothing else: one run of letters and digits, which hides no command. Every character shows: what a
terminal would act on or hide is written as an escape.
"""

import re
import shlex
from collections.abc import Mapping

from mcphost.documents import as_list, as_object
from mcphost.redact import redact_args, redact_value
from mcphost.spellings import spell
from mcphost.text import json_text

_TOKEN = re.compile(r"(?:Bearer )?[\w.+/=~-]+")

_TOLD = (
    "env env_file cwd inherit_env registryUrl headers env_http_headers bearer_token_env_var auth builtin "
    "approve trust autoApprove trust_annotations"
).split()
"""Beside the command and the address: what decides where a program looks and what it gets, and what the user
would no longer be asked about."""


def server_lines(entry: object) -> tuple[str, ...]:
    """What an entry runs or reaches and with what, a line each: the command as a shell would take it, URLs,
    then `env NAME=value`, `headers Name: value`, `cwd …` and so on."""
    values = spell(as_object(entry) or {}).values
    words = [word for key in ("command", "args") for word in _items(values.get(key))]
    masked = [_plain(word, shown) for word, shown in zip(words, redact_args(words), strict=True)]
    lines = [" ".join(map(shlex.quote, masked))] if words else []
    lines += [_text(values[key]) for key in ("http_url", "url") if key in values]
    for key in _TOLD:
        lines += _lines(key, values.get(key), ": " if key == "headers" else "=")
    return tuple(map(visible, lines))


def model_lines(section: object) -> tuple[str, ...]:
    """What a `model` section says, a line each, such as `base_url https://…`."""
    given = as_object({"name": section} if isinstance(section, str) else section) or {}
    return tuple(visible(line) for key, value in given.items() for line in _lines(key, value, "="))


def visible(text: str) -> str:
    """`text` on one line, with escapes (`\\x1b`, `\\u202e`) for what does not print."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def _lines(key: str, value: object, sign: str) -> list[str]:
    pairs: Mapping[str, object] | None = as_object(value)
    if pairs is not None:
        texts = {name: _text(item) for name, item in pairs.items()}
        return [
            f"{key} {name}{sign}{_plain(text, redact_value(text, name=name))}" for name, text in texts.items()
        ]
    return [f"{key} {item}" for item in _items(value)]


def _items(value: object) -> list[str]:
    items = as_list(value)
    if items is None:
        return [] if value is None else [_text(value)]
    return [_text(item) for item in items]


def _plain(text: str, masked: str) -> str:
    """`masked` where `text` can hide nothing but a secret."""
    return masked if _TOKEN.fullmatch(text) else text


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)
