"""From a server's and a tool's name to the one name that the model sees, and back by lookup.

The default scheme, `cherry`, gives the names that Cherry Studio 1.3.7 to 1.6 gave, so that prompts and
conversations written against it go on working. That program is JavaScript: white space is what its
`trim` takes, and lengths, cuts and replaced characters count UTF-16 code units.
"""

import hashlib
import json
import re
import struct
from collections.abc import Container, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

Scheme = Literal["cherry", "mcp", "plain"]

_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""ECMA-262's WhiteSpace and LineTerminator. `str.strip()` takes U+0085 and U+001C too, and leaves U+FEFF."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_RUN = re.compile(r"[_-]{2,}")
_LIMIT = 63
_MCP_LIMIT = 64
_SHORTEST_DIGEST, _LONGEST_DIGEST = 6, 32


class ToolKey(NamedTuple):
    """One tool of one server, by raw names. `prefix` is the server's own literal prefix, None without one."""

    server: str
    tool: str
    prefix: str | None = None


def public_name(server: str, tool: str, *, scheme: str = "cherry", prefix: str | None = None) -> str:
    """The name of one tool when no other has the same; it matches `^[A-Za-z][A-Za-z0-9_-]{0,63}$`.

    A `prefix` stands in place of whatever the scheme puts before the tool's name, "" for nothing.
    Raises ValueError for a scheme that is none of `cherry`, `mcp` and `plain`.
    """
    if scheme not in get_args(Scheme):
        raise ValueError(f"no naming scheme {scheme!r}; there are {', '.join(get_args(Scheme))}")
    if prefix is not None:
        return _lettered(_safe(prefix + tool))[:_LIMIT]
    if scheme == "mcp":
        return f"mcp__{_safe(server)}__{_safe(tool)}"[:_MCP_LIMIT]
    if scheme == "plain":
        return _without_tail(_lettered(_safe(_trimmed(tool)))[:_LIMIT])
    return _cherry(server, tool)


class Names:
    """The public names of every tool a host has ever listed, each name with one tool for good.

    Every tool has a row of names it would take: the scheme's own, then that with `_` and six hex digits
    of a digest of the tool, then with seven, and so on. It takes the first that no other tool has got
    to. A name that two come to is given to neither, and a name that a tool moved on from is given to no
    other and still leads to it. So the names depend on the set of tools alone, not on the order or the
    batches in which servers listed them, even where a tool is named to look like another's second choice.

    `reserved` are a caller's own tools: those names are never given, and `lookup` leaves them alone.
    """

    def __init__(self, scheme: str, *, reserved: Iterable[str] = ()) -> None:
        public_name("", "", scheme=scheme)
        self.scheme = scheme
        self.reserved = frozenset(reserved)
        self._holders: dict[str, ToolKey | None] = dict.fromkeys(self.reserved)
        """Who came to a name; None once nobody may have it."""
        self._rows: dict[ToolKey, Iterator[str]] = {}
        self._current: dict[ToolKey, str] = {}
        self._given: dict[str, ToolKey] = {}
        self._by_raw_name: dict[str, dict[str, ToolKey]] = {}

    def assign(self, tools: Iterable[ToolKey]) -> dict[ToolKey, str]:
        """The names of `tools` from now on. Tools seen earlier may have got another, by a new collision."""
        keys = list(dict.fromkeys(tools))
        moving = {key: None for key in keys if key not in self._rows}
        for key in keys:
            self._by_raw_name.setdefault(key.tool, {})[key.server] = key
        for key in moving:
            self._rows[key] = _row(key, self.scheme)
        moved = dict(moving)
        while moving:
            key, _ = moving.popitem()
            name = self._current[key] = next(self._rows[key])
            if name not in self._holders:
                self._holders[name] = key
                continue
            other, self._holders[name] = self._holders[name], None
            moving[key] = None
            if other:
                moving[other] = moved[other] = None
        self._given |= {self._current[key]: key for key in moved}
        return {key: self._current[key] for key in keys}

    def lookup(self, name: str) -> ToolKey | None:
        """The tool of a public name, of an old public name, or of a raw name that only one server has had.

        None for anything else, a reserved name among it.
        """
        if name in self.reserved:
            return None
        if key := self._given.get(name):
            return key
        servers = self._by_raw_name.get(name, {})
        return next(iter(servers.values())) if len(servers) == 1 else None

    def spare(self, key: ToolKey, avoid: Container[str]) -> str:
        """A name for `key` where its own cannot be used: of those it would take, the first that no tool ever
        had and that is not in `avoid`. It is the same each time, and not given for good."""
        return next(
            name for name in _row(key, self.scheme) if name not in self._holders and name not in avoid
        )


def _cherry(server: str, tool: str) -> str:
    head, name = _units(_trimmed(server))[:7], _units(_trimmed(tool))
    if head not in name:
        name = f"{head}-{name}"
    return _without_tail(_RUN.sub("_", _lettered(_safe(name)))[:_LIMIT])


def _trimmed(name: str) -> str:
    return name.strip(_JS_SPACE).replace("-", "_")


def _units(text: str) -> str:
    """`text` as one character for each UTF-16 code unit."""
    if text.isascii():
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data)))


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", _units(text))


def _lettered(name: str) -> str:
    """`name` with a letter at its start. Only for names that are `_safe`, where letters are ASCII's."""
    return name if name[:1].isalpha() else f"tool-{name}"


def _without_tail(name: str) -> str:
    return name[:-1] if name.endswith(("_", "-")) else name


def _row(key: ToolKey, scheme: str) -> Iterator[str]:
    """The names that `key` would take, the best first, without end."""
    base = public_name(key.server, key.tool, scheme=scheme, prefix=key.prefix)
    yield base
    limit = _MCP_LIMIT if scheme == "mcp" and key.prefix is None else _LIMIT
    digest = hashlib.sha256(f"{key.server}\0{key.tool}".encode("utf-8", "surrogatepass")).hexdigest()
    for length in range(_SHORTEST_DIGEST, _LONGEST_DIGEST + 1):
        yield _suffixed(base, digest[:length], limit)
    # Two tools with one digest (the same tool under another prefix, a NUL in a name), or so many tools named
    # like suffixed ones that every length is taken: the whole key and a counter tell them apart.
    counter = 0
    while True:
        counter += 1
        whole = json.dumps([*key, counter], ensure_ascii=False)
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        yield _suffixed(base, digest[:_LONGEST_DIGEST], limit)


def _suffixed(base: str, digest: str, limit: int) -> str:
    return f"{base[: limit - 1 - len(digest)]}_{digest}"
