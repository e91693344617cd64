"""Changes to JSON as it is written by hand."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.jsonc import JsoncError, KeyPath, parse
from mcphost.jsonc_edit import put, remove

ENTRY = {"command": "uvx", "args": ["a", "b"]}

COMMENTED = """\
// mine
{
  "mcpServers": {
    // trains
    "12306": {"command": "uvx", "args": ["12306-mcp"]},  // by uv
    /* maps */ "amap": {
      "command": "npx" // node
    }
    // the end
  },
  "model": "deepseek/deepseek-chat", // cheap
}
"""


def test_a_member_comes_last_and_all_else_stays():
    assert put(COMMENTED, ("mcpServers", "new"), ENTRY) == COMMENTED.replace(
        '"npx" // node\n    }\n',
        '"npx" // node\n    },\n    "new": {\n      "command": "uvx",\n      "args": ["a", "b"]\n    }\n',
    )


def test_a_member_is_replaced_where_it_stands():
    assert put(COMMENTED, ("mcpServers", "12306"), ENTRY) == COMMENTED.replace(
        '{"command": "uvx", "args": ["12306-mcp"]}', '{"command": "uvx", "args": ["a", "b"]}'
    )
    assert put(COMMENTED, ("model",), {"name": "x"}) == COMMENTED.replace(
        '"deepseek/deepseek-chat"', '{\n    "name": "x"\n  }'
    )


def test_a_member_goes_with_its_comma_and_its_lines():
    assert remove(COMMENTED, ("mcpServers", "12306")) == COMMENTED.replace(
        '"12306": {"command": "uvx", "args": ["12306-mcp"]},  // by uv', "// by uv"
    )
    assert remove(COMMENTED, ("mcpServers", "amap")) == COMMENTED.replace(
        '    /* maps */ "amap": {\n      "command": "npx" // node\n    }\n', "    /* maps */\n"
    ).replace('"12306-mcp"]},', '"12306-mcp"]}')
    assert remove(COMMENTED, ("model",)) == COMMENTED.replace(
        '"model": "deepseek/deepseek-chat", // cheap', "// cheap"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "s": {\n    "new": 1\n  }\n}'),
        ("{\n}\n", '{\n  "s": {\n    "new": 1\n  }\n}\n'),
        ("null", '{\n  "s": {\n    "new": 1\n  }\n}'),
        ("{\n\t// none yet\n}", '{\n\t// none yet\n  "s": {\n    "new": 1\n  }\n}'),
        ('{"s": {}}', '{"s": {"new": 1}}'),
        ('{"s": null}', '{"s": {"new": 1}}'),
        ('{"s": {/* none */}}', '{"s": {/* none */ "new": 1}}'),
        ('{ "s": { "a": 2 } }', '{ "s": { "a": 2, "new": 1 } }'),
        ('{"s": {"a": 2, }}', '{"s": {"a": 2, "new": 1, }}'),
        ('{"s": {"a": 2 /* two */}}', '{"s": {"a": 2, /* two */ "new": 1}}'),
        ('{"t": 1}', '{"t": 1, "s": {"new": 1}}'),
        ('{\n\t"s": {\n\t\t"a": 2\n\t}\n}', '{\n\t"s": {\n\t\t"a": 2,\n\t\t"new": 1\n\t}\n}'),
        ('{\r\n "s": {\r\n  "a": 2,\r\n }\r\n}', '{\r\n "s": {\r\n  "a": 2,\r\n  "new": 1,\r\n }\r\n}'),
        ('{\r "s": {}\r}', '{\r "s": {\r  "new": 1\r }\r}'),
        ('\ufeff{\n   "s": {}\n}', '\ufeff{\n   "s": {\n      "new": 1\n   }\n}'),
        ('{"s": {\n  "a": 2}}', '{"s": {\n  "a": 2,\n  "new": 1\n}}'),
        ('{"s": {"a": 2,\n "b": 3\n}}', '{"s": {"a": 2,\n "b": 3,\n "new": 1\n}}'),
        ('{"s": {\n "a": 2 // two\n}}', '{"s": {\n "a": 2, // two\n "new": 1\n}}'),
        ('{"s": {"a": 2 /* 2\n */}}', '{"s": {"a": 2,\n  "new": 1\n/* 2\n */}}'),
    ],
)
def test_what_is_added_is_laid_out_as_the_rest_is(before: str, after: str):
    assert put(before, ("s", "new"), 1) == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{"a": 1}', ("a",), "{}"),
        ('{\n  "a": 1\n}\n', ("a",), "{}\n"),
        ('{\n  "a": 1, // one\n}', ("a",), "{\n  // one\n}"),
        ('{"a": 1, "b": 2}', ("a",), '{"b": 2}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{ "a": 1, "b": 2 }', ("b",), '{ "a": 1 }'),
        ('{"a": 1, "b": 2, "a": 3}', ("a",), '{"b": 2}'),
        ('{\n  "a": 1,\n  "b": 2\n}', ("b",), '{\n  "a": 1\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n}', ("b",), '{\n  "a": 1,\n}'),
        ('{\n  "a": 1\n  , "b": 2\n}', ("b",), '{\n  "a": 1\n}'),
        ('{\n  "a": 1\n  , "b": 2\n}', ("a",), '{\n  "b": 2\n}'),
        ('{"a": 1 /* one */, "b": 2}', ("a",), '{/* one */ "b": 2}'),
        ("[1, 2, 3]", (1,), "[1, 3]"),
        ('[\n  {"name": "a"},\n  {"name": "b"}\n]', (0,), '[\n  {"name": "b"}\n]'),
    ],
)
def test_what_is_removed_leaves_no_trace(before: str, path: KeyPath, after: str):
    assert remove(before, path) == after


def test_items_of_an_array():
    assert put('[{"name": "a"}]', (1,), {"name": "b"}) == '[{"name": "a"}, {"name": "b"}]'
    assert put('[\n  {"name": "a"}\n]', (1,), {"name": "b"}) == '[\n  {"name": "a"},\n  {"name": "b"}\n]'
    assert put("[]", (0,), 1) == "[\n  1\n]"
    assert put("[1, 2]", (0,), 3) == "[3, 2]"


def test_what_is_too_long_for_a_line_gets_more():
    text = '{\n  "a": {"command": "x"}\n}'
    longer = put(text, ("b",), {"command": "y" * 100})
    assert longer == text[:-2] + ',\n  "b": {\n    "command": "' + "y" * 100 + '"\n  }\n}'
    words = ["word" * 20, "word" * 20]
    assert put(text, ("b",), {"args": words}).count("\n") == 8


@pytest.mark.parametrize("path", [("a", "b"), ("list", 3), ("list", "x"), ("a", 0)])
def test_a_path_that_leads_nowhere_is_refused(path: KeyPath):
    text = '{"a": 1, "list": [1]}'
    with pytest.raises(LookupError):
        put(text, path, 1)
    with pytest.raises(LookupError):
        remove(text, path)


@pytest.mark.parametrize("edit", [lambda text: put(text, ("a",), 1), lambda text: remove(text, ("a",))])
def test_text_that_is_not_json_is_not_touched(edit: Callable[[str], str]):
    with pytest.raises(JsoncError):
        edit('{"a": 1,, }')


# whatever the text


class Written:
    """A value written by hand: its text, and each comment in it with the path that it is inside of."""

    def __init__(self, value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.comments: list[tuple[str, KeyPath]] = []
        self._draw = draw
        self.text = self._space(()) + self._value(value, ()) + self._space(())

    def _value(self, value: Any, path: KeyPath) -> str:
        if isinstance(value, dict):
            parts = [
                self._space(path)
                + _json(key)
                + self._space((*path, key))
                + ":"
                + self._space((*path, key))
                + self._value(item, (*path, key))
                + self._space(path)
                for key, item in value.items()
            ]
            return self._bracketed("{", parts, "}", path)
        if isinstance(value, list):
            parts = [
                self._space(path) + self._value(item, (*path, place)) + self._space(path)
                for place, item in enumerate(value)
            ]
            return self._bracketed("[", parts, "]", path)
        return _json(value)

    def _bracketed(self, opening: str, parts: list[str], closing: str, path: KeyPath) -> str:
        trailing = "," + self._space(path) if parts and self._draw(st.booleans()) else ""
        return opening + (",".join(parts) or self._space(path)) + trailing + closing

    def _space(self, path: KeyPath) -> str:
        text = ""
        for kind in self._draw(
            st.lists(st.sampled_from(["", " ", "\n", "\n  ", "\t", "//", "/*"]), max_size=3)
        ):
            if kind in ("//", "/*"):
                name = f"c{len(self.comments)}c"
                self.comments.append((name, path))
                kind = f"// {name}\n" if kind == "//" else f"/* {name}, {{ */"
            text += kind
        return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


KEYS = st.sampled_from(["a", "b", "mcpServers", "中文", "//", '"{', ""])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "// no", '"}', "\\", "🚄"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.lists(VALUES, max_size=3) | st.dictionaries(KEYS, VALUES, max_size=3)


def paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    """Every place in a value that can be changed, and one more in each object and array."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*path, key))
        found.append((*path, "added"))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            found += paths(item, (*path, place))
        found.append((*path, len(value)))
    return found


def at(value: Any, path: KeyPath) -> Any:
    for key in path:
        value = value[key]
    return value


def exists(value: Any, path: KeyPath) -> bool:
    holder = at(value, path[:-1])
    return path[-1] != len(holder) if isinstance(holder, list) else path[-1] in holder


def survivors(written: Written, path: KeyPath) -> list[str]:
    """The comments that are not inside of what is at a path."""
    return [name for name, inside in written.comments if inside[: len(path)] != path]


def comments(text: str, among: list[str]) -> list[str]:
    return [name for name in re.findall(r"c\d+c", text) if name in among]


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_text_with_something_put_into_it_is_that_and_loses_no_comment(data: st.DataObject):
    value = data.draw(DOCUMENTS)
    written = Written(value, data.draw)
    assert parse(written.text).value == value
    path, new = data.draw(st.sampled_from(paths(value))), data.draw(VALUES)
    expected = deepcopy(value)
    holder, key = at(expected, path[:-1]), path[-1]
    is_new = key == len(holder) if isinstance(holder, list) else key not in holder
    if isinstance(holder, list) and is_new:
        holder.append(new)
    else:
        holder[key] = new
    text = put(written.text, path, new)
    assert parse(text).value == expected
    outside = survivors(written, path)
    assert comments(text, outside) == outside
    if is_new:
        assert parse(remove(text, path)).value == value


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_text_with_something_removed_is_without_it_and_loses_no_comment(data: st.DataObject):
    value = data.draw(DOCUMENTS.filter(bool))
    written = Written(value, data.draw)
    path = data.draw(st.sampled_from([path for path in paths(value) if exists(value, path)]))
    expected = deepcopy(value)
    del at(expected, path[:-1])[path[-1]]
    text = remove(written.text, path)
    assert parse(text).value == expected
    outside = survivors(written, path)
    assert comments(text, outside) == outside
