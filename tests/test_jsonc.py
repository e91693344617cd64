"""JSON as it is written by hand."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.jsonc import JsoncError, dotted, parse

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("// one\n{/* two */ 'x': 1}".replace("'", '"'), {"x": 1}),
        ('{"x": 1} // at the end', {"x": 1}),
        ("[1, 2, /* three */]", [1, 2]),
        ('{"x": [1,], "y": {"z": 2,},}', {"x": [1], "y": {"z": 2}}),
        ('\ufeff{"x": 1}', {"x": 1}),
        ("/**/[]/***/", []),
        ("  3.5e2\n", 350.0),
        ('{"": null}', {"": None}),
        (r'"\ud83d\ude84 \u4e2d \/ \n"', "🚄 中 / \n"),
        ('"中文"', "中文"),
        ("\r\n[\r1\r\n]\t", [1]),
    ],
)
def test_comments_trailing_commas_and_a_bom_are_allowed(text: str, value: object):
    assert parse(text).value == value


@pytest.mark.parametrize(
    "url",
    ["https://mcp.amap.com/sse?key=1", "http://a//b", "https://x/* no comment */", "a // b", "/* x"],
)
def test_what_looks_like_a_comment_in_a_string_is_text(url: str):
    assert parse(json.dumps({"url": url, "more": [url]})).value == {"url": url, "more": [url]}


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "nothing in it"),
        ("  // only a comment\n", 2, 1, "nothing in it"),
        ("{\n", 2, 1, "ends before the { of line 1 is closed"),
        ('{"a": [1, 2\n', 2, 1, "ends before the [ of line 1 is closed"),
        ('{\n  "a": 1\n  "b": 2\n}', 2, 9, "comma is missing"),
        ('["a" "b"]', 1, 5, "comma is missing"),
        ('{"a": 1,, "b": 2}', 1, 9, "comma with nothing before it"),
        ("[,]", 1, 2, "comma with nothing before it"),
        ('{"a" 1}', 1, 6, "colon belongs after a key"),
        ('{"npx", "-y"}', 1, 7, "colon belongs after a key"),
        ('{"a": }', 1, 7, "value is missing before the }"),
        ('{"a": [1, 2}', 1, 12, "} cannot close the [ of line 1"),
        ('{"a": 1]', 1, 8, "] cannot close the { of line 1"),
        ("{a: 1}", 1, 2, 'a key stands in double quotes: "a"'),
        ("{'a': 1}", 1, 2, "strings stand in double quotes"),
        ("{“a”: 1}", 1, 2, 'a different character from the plain "'),
        ('{"a"：1}', 1, 5, "a different character from the plain :"),
        ('{"a": 1，"b": 2}', 1, 8, "a different character from the plain ,"),
        ('{"a": hello}', 1, 7, "string stands in double quotes"),
        ('{"a": True}', 1, 7, "write true"),
        ('{"a": None}', 1, 7, "write null"),
        ('{"a": undefined}', 1, 7, "write null"),
        ('{"a": NaN}', 1, 7, "no number that JSON has"),
        ('{"a": -Infinity}', 1, 7, "no number that JSON has"),
        ('{"a": 01}', 1, 7, "no number that JSON has"),
        ('{"a": +1}', 1, 7, "no number that JSON has"),
        ('{"a": .5}', 1, 7, "no number that JSON has"),
        ('{"a": 0x1F}', 1, 7, "no number that JSON has"),
        ('{"a": 1.}', 1, 7, "no number that JSON has"),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "no number that JSON has"),
        ('{"a": 1e999}', 1, 7, "too large"),
        ('{"a": "b\n"}', 1, 7, "no closing quote on its line"),
        ('{"a": "b', 1, 7, "no closing quote on its line"),
        ('{"a": "\t"}', 1, 8, "bare control character U+0009"),
        (r'{"a": "C:\Users"}', 1, 10, "write two for a backslash itself"),
        (r'{"a": "\u12"}', 1, 8, "four hexadecimal digits"),
        (r'{"a": "\ud83d"}', 1, 8, "half of a surrogate pair"),
        (r'{"a": "\ude00\ud83d"}', 1, 8, "half of a surrogate pair"),
        ('{"a": 1 # x\n}', 1, 9, "comments begin with //"),
        ('# x\n{"a": 1}', 1, 1, "comments begin with //"),
        ('{"a": 1 /x}', 1, 9, "comments begin with //"),
        ('{"a": 1 /* x}', 1, 9, "has no */"),
        ('{"a":\u00a01}', 1, 6, "invisible character U+00A0"),
        ("{} {}", 1, 4, "follows the end"),
        ("[1]]", 1, 4, "follows the end"),
        ("[" * 500, 1, 102, "levels deep"),
        ('\ufeff{"a"}', 1, 5, "colon belongs after a key, not }"),
        ('{\r\n"a": 1,\r\n"b" 2}', 3, 5, "colon belongs after a key"),
        ("mcpServers:\n  a:\n", 1, 1, "string stands in double quotes"),
    ],
)
def test_trouble_is_told_by_line_column_and_words(text: str, line: int, column: int, words: str):
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert words in caught.value.reason
    assert (caught.value.line, caught.value.column) == (line, column)


def test_trouble_never_quotes_a_value():
    for text in ('{"key": "sk-secret" "x"}', '{"key": "sk-secret\n"}', '["sk-secret" 1]', r'["sk-secret\q"]'):
        with pytest.raises(JsoncError) as caught:
            parse(text)
        assert "secret" not in str(caught.value)


def test_keys_and_items_know_their_line():
    lines = parse('{\n"a": {\n  "b": [1,\n 2]}, // x\n"c": 3}').lines
    assert lines[("a",)] == 2
    assert lines[("a", "b")] == 3
    assert lines[("a", "b", 0)] == 3
    assert lines[("a", "b", 1)] == 4
    assert lines[("c",)] == 5


def test_of_two_equal_keys_the_last_counts_and_both_lines_are_told():
    document = parse('{"s": {"a": 1,\n"b": 2,\n"a": 3}}')
    assert document.value == {"s": {"a": 3, "b": 2}}
    assert document.repeated == ("s.a (lines 1 and 3)",)
    assert parse('{"a": {"x": 1}, "b": {"x": 1}}').repeated == ()


def test_a_path_reads_as_people_write_it():
    assert dotted(("mcpServers", "a", "args", 0)) == "mcpServers.a.args[0]"
    assert dotted(()) == ""


@given(JSON, st.sampled_from([None, 1]))
@settings(max_examples=100, deadline=None)
def test_any_json_reads_as_json_does(value: Any, indent: int | None):
    for ascii_only in (True, False):
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        assert parse(text).value == json.loads(text)


@given(st.text(st.sampled_from('{}[]",:/*\\ntrue1-e.\n ud8F#\ufeff') | st.characters(), max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_refused(text: str):
    try:
        value = parse(text).value
    except JsoncError as exc:
        assert exc.line >= 1 and exc.column >= 1
    else:
        json.dumps(value)
