"""Changes to JSON as people write it, in its text: what is not changed stays as it stands.

Comments, order, indentation, line endings, trailing commas and a BOM are kept. Paths are those of `jsonc`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mcphost import jsonc
from mcphost.documents import as_list, as_object
from mcphost.jsonc import KeyPath

_TRIVIA = re.compile(r"[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"/]+', re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*(?:(?!\*/)[^\r\n])*\*/)*(?://[^\r\n]*)?")
_BLANK: Final = " \t"
_WIDTH: Final = 100
"""What is on one line stays there as long as it is no longer than this."""


def put(text: str, path: KeyPath, value: object) -> str:
    """`text` with `value` at `path`: in the place of what is there, or as a new last member or item.

    Objects on the way that are missing, or null, are made. Of equal keys the last is changed, as it is the
    one that counts. Raises `JsoncError` for text that is not JSON, `LookupError` where the path goes through
    a plain value, or past the end of an array.
    """
    nodes = _nodes(text)
    depth = next(depth for depth in range(len(path), -1, -1) if path[:depth] in nodes)
    node, rest = nodes[path[:depth]], path[depth:]
    for key in reversed(rest[1:]):
        value = {key: value}
    style = _Style.of(text, nodes)
    if not rest:
        return style.replaced(node, nodes.get(path[:-1]), value)
    key = rest[0]
    if node.opening == "{" and isinstance(key, str):
        return style.added(node, f"{_plain(key)}: ", value)
    if node.opening == "[" and key == len(node.children):
        return style.added(node, "", value)
    if text[node.start : node.end] == "null":
        return style.replaced(node, nodes.get(path[: depth - 1]), {key: value})
    raise LookupError(jsonc.dotted(path))


def remove(text: str, path: KeyPath) -> str:
    """`text` without the member or item at `path`; a key that stands there several times goes altogether.

    Raises `JsoncError` for text that is not JSON, `LookupError` where nothing is at the path.
    """
    nodes = _nodes(text)
    if not path or path not in nodes:
        raise LookupError(jsonc.dotted(path))
    while node := nodes.get(path):
        text = _without(text, nodes[path[:-1]], node)
        if isinstance(path[-1], int):
            break
        nodes = _nodes(text)
    return text


@dataclass(slots=True)
class _Node:
    """A value in the text, `[start, end)`; `opening` is its bracket, "" for a plain one.

    `begin` is where the member begins, at its key, or the item. `comma` is where the comma after it is.
    `children` are in the order of the text.
    """

    begin: int
    start: int
    end: int
    opening: str = ""
    comma: int | None = None
    children: "list[_Node]" = field(default_factory=list["_Node"])


def _nodes(text: str) -> dict[KeyPath, _Node]:
    """Every value of `text` by its path. Raises `JsoncError`."""
    jsonc.parse(text)
    nodes: dict[KeyPath, _Node] = {}
    _read(_tokens(text), None, (), nodes)
    return nodes


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while True:
        while trivia := _TRIVIA.match(text, at):
            at = trivia.end()
        token = _TOKEN.match(text, at)
        if token is None:
            return
        yield token
        at = token.end()


def _read(
    tokens: Iterator[re.Match[str]],
    begin: int | None,
    path: KeyPath,
    nodes: dict[KeyPath, _Node],
    token: re.Match[str] | None = None,
) -> _Node:
    """Reads the value at hand, of text that is known to be JSON."""
    token = token or next(tokens)
    node = nodes[path] = _Node(token.start() if begin is None else begin, token.start(), token.end())
    if token[0] not in "{[":
        return node
    node.opening = token[0]
    token = next(tokens)
    while token[0] not in "}]":
        if node.opening == "{":
            begin, key = token.start(), json.loads(token[0])
            next(tokens)  # the colon
            child = _read(tokens, begin, (*path, key), nodes)
        else:
            child = _read(tokens, None, (*path, len(node.children)), nodes, token)
        node.children.append(child)
        token = next(tokens)
        if token[0] == ",":
            child.comma = token.start()
            token = next(tokens)
    node.end = token.end()
    return node


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is laid out, and changes to it in that way. `unit` is one step of indentation."""

    text: str
    newline: str
    unit: str

    @classmethod
    def of(cls, text: str, nodes: dict[KeyPath, _Node]) -> "_Style":
        newline = re.search(r"\r\n|\n|\r", text)
        steps = (
            (_indent(text, child.begin), _indent(text, node.start))
            for node in nodes.values()
            for child in node.children
            if _begins_line(text, child.begin)
        )
        deeper = (inner[len(outer) :] for inner, outer in steps if inner.startswith(outer) and inner != outer)
        return cls(text, newline[0] if newline else "\n", next(deeper, "  "))

    def added(self, holder: _Node, label: str, value: object) -> str:
        """The text with one more member (`label` is its key and colon) or item in `holder`."""
        if not holder.children:
            return self._into_empty(holder, label, value)
        last = holder.children[-1]
        if _is_on_one_line(self.text, holder):
            end = holder.start + len(self.text[holder.start : holder.end - 1].rstrip(_BLANK))
            return self._after(last, end, " " + label + _inline(value), self.text[end:])
        own_line = _begins_line(self.text, last.begin)
        indent = _indent(self.text, last.begin) if own_line else _indent(self.text, holder.start) + self.unit
        new = self.newline + self._line(label, value, indent, like=last)
        rest = _REST_OF_LINE.match(self.text, last.end if last.comma is None else last.comma + 1)
        end = len(self.text[: rest.end() if rest else last.end].rstrip(_BLANK))
        after = self.text[end:].lstrip(_BLANK)
        if not after.startswith(("\r", "\n")):
            after = self.newline + _indent(self.text, holder.start) + after
        return self._after(last, end, new, after)

    def _after(self, last: _Node, end: int, new: str, after: str) -> str:
        """The text up to `end`, then `new` as what follows `last`, then `after`. A comma that is there behind
        the last one is the style of the text."""
        comma, own = (",", "") if last.comma is None else ("", ",")
        return self.text[: last.end] + comma + self.text[last.end : end] + new + own + after

    def _into_empty(self, holder: _Node, label: str, value: object) -> str:
        start, end = holder.start + 1, holder.end - 1
        inner = self.text[start:end].rstrip(" \t\r\n")
        whole = self.text.strip("\ufeff \t\r\n")
        if not re.search(r"[\r\n]", whole) and whole != self.text[holder.start : holder.end]:
            return (
                self.text[:start] + inner + (" " if inner else "") + label + _inline(value) + self.text[end:]
            )
        indent = _indent(self.text, holder.start)
        new = self._line(label, value, indent + self.unit, like=None)
        return f"{self.text[:start]}{inner}{self.newline}{new}{self.newline}{indent}{self.text[end:]}"

    def replaced(self, node: _Node, holder: _Node | None, value: object) -> str:
        """The text with `value` in the place of a node, a member or item of `holder`."""
        if holder is not None and _is_on_one_line(self.text, holder):
            new = _inline(value)
        else:
            lead = node.start - node.begin
            new = self._fitting(value, _indent(self.text, node.begin), like=node, lead=lead)
        return self.text[: node.start] + new + self.text[node.end :]

    def _line(self, label: str, value: object, indent: str, *, like: _Node | None) -> str:
        return indent + label + self._fitting(value, indent, like=like, lead=len(label))

    def _fitting(self, value: object, indent: str, *, like: _Node | None, lead: int) -> str:
        """`value` on one line where `like` is an object or array on one, and there is room."""
        if like is not None and like.opening and like.children and _is_on_one_line(self.text, like):
            line = _inline(value)
            if len(indent) + lead + len(line) <= _WIDTH:
                return line
        return self._pretty(value, indent)

    def _pretty(self, value: object, indent: str) -> str:
        inner = indent + self.unit
        if members := as_object(value):
            lines = [f"{inner}{_plain(key)}: {self._pretty(item, inner)}" for key, item in members.items()]
            return self._bracketed("{", lines, "}", indent)
        if items := as_list(value):
            line = _inline(value)
            flat = not any(as_object(item) or as_list(item) for item in items)
            if not flat or len(inner) + len(line) > _WIDTH:
                return self._bracketed(
                    "[", [inner + self._pretty(item, inner) for item in items], "]", indent
                )
            return line
        return _inline(value)

    def _bracketed(self, opening: str, lines: list[str], closing: str, indent: str) -> str:
        return self.newline.join([opening, f",{self.newline}".join(lines), indent + closing])


def _without(text: str, holder: _Node, node: _Node) -> str:
    place = next(index for index, child in enumerate(holder.children) if child is node)
    before = holder.children[place - 1] if place else None
    cuts = [(node.begin, node.end)]
    if node.comma is not None:
        cuts.append((node.comma, node.comma + 1))
    elif before is not None and before.comma is not None:
        cuts.insert(0, (before.comma, before.comma + 1))
    if len(cuts) > 1 and not text[cuts[0][1] : cuts[1][0]].strip():
        cuts = [(cuts[0][0], cuts[1][1])]
    end = holder.end - 1
    for cut in reversed(cuts):
        start, stop = _with_space(text, *cut)
        text, end = text[:start] + text[stop:], end - (stop - start)
    inner = text[holder.start + 1 : end]
    return text if inner.strip() else text[: holder.start + 1] + text[end:]


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """What goes with a part of a text that is taken out: the rest of its lines where nothing else is there,
    or the blanks after it."""
    left = len(text[:start].rstrip(_BLANK))
    right = len(text) - len(text[end:].lstrip(_BLANK))
    starts_line = left == 0 or text[left - 1] in "\r\n"
    if newline := re.compile(r"\r\n|\n|\r").match(text, right):
        return (left, newline.end()) if starts_line else (left, right)
    return (start, right) if left < start or text[start - 1] in "{[" else (start, end)


def _begins_line(text: str, at: int) -> bool:
    before = text[:at].rstrip(_BLANK)
    return before == "" or before[-1] in "\r\n\ufeff"


def _indent(text: str, at: int) -> str:
    """The blanks that the line of a place begins with."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line = text[start:at].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(_BLANK))]


def _is_on_one_line(text: str, node: _Node) -> bool:
    return not re.search(r"[\r\n]", text[node.start : node.end])


def _inline(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
