"""What a model's argument text is taken to mean, and what a schema makes of it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.arguments import MAX_DEPTH, check, parse

from .work import counted

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "null", " null ", "{}", '""', '"null"', '"{}"', "{}{}", "\ufeff"]
)
def test_nothing_means_no_arguments(text: str) -> None:
    parsed = parse(text)
    assert (parsed.value, parsed.problem) == ({}, None)
    assert json.loads(parsed.text) == {}


@pytest.mark.parametrize(
    "text", ['{"a":1}', ' {"a": 1}\n', '{\n  "a": 1\n}', '{"a":1,"a":1}', '{"a": 1, "b": "中"}']
)
def test_an_object_stays_in_the_history_as_it_was_written(text: str) -> None:
    parsed = parse(text)
    assert parsed.text == text
    assert parsed.value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"\\"{\\\\\\"a\\\\\\": 1}\\""', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```{"a": 1}```', {"a": 1}),
        ('```JSON {"a": 1}', {"a": 1}),
        ("```\nnull\n```", {}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}),
        ('{"a": ", }", "b": "\\",]",}', {"a": ", }", "b": '",]'}),
        ('{"a": 1}{"a": 1}', {"a": 1}),
        ('{"a": 1}\n{"a":1}\n{"a": 1}', {"a": 1}),
        ('{}{"a": 1}', {"a": 1}),
        ('{"a": 1}{}', {"a": 1}),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('\ufeff{"a": 1}', {"a": 1}),
    ],
)
def test_what_can_mean_one_object_only_is_that_object(text: str, value: dict[str, Any]) -> None:
    parsed = parse(text)
    assert (parsed.value, parsed.problem) == (value, None)
    assert json.loads(parsed.text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": ', "cut short"),
        ('{"a": "x', "cut short"),
        ('{"a": "x\\', "cut short"),
        ('{"a": tru', "cut short"),
        ('{"a": 1', "cut short"),
        ('{"a": 1,', "cut short"),
        ('{"a"', "cut short"),
        ("{", "cut short"),
        ('```json\n{"a": [1', "cut short"),
        ('"{\\"a\\": ', "cut short"),
        ("[1, 2]", "a list"),
        ('[{"a": 1}]', "a list"),
        ("5", "a number"),
        ("1.5", "a number"),
        ("true", "true"),
        ('"hello"', "a string"),
        ('"[1]"', "a string"),
        ('{"a": 1}{"a": 2}', "several objects"),
        ('{"a": 1}{"a": true}', "several objects"),
        ('{"a": 1}{"a": 1.0}', "several objects"),
        ('{"a": 1}[1]', "a list"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "9" * 5000 + "}", "too long"),
        ('{"a": 1}}', "not valid JSON"),
        ("{a: 1}", "not valid JSON"),
        ("city=Paris", "not valid JSON"),
    ],
)
def test_anything_else_is_a_problem_that_quotes_what_was_sent(text: str, reason: str) -> None:
    parsed = parse(text)
    assert (parsed.value, parsed.text) == (None, "{}")
    assert parsed.problem is not None
    assert reason in parsed.problem
    assert text[:100] in parsed.problem


def test_a_long_text_is_quoted_by_its_ends() -> None:
    problem = parse('{"a": "' + "x" * 100_000 + "end").problem
    assert problem is not None
    assert len(problem) < 700
    assert problem.startswith("The arguments are cut short after 100010 characters")
    assert problem.endswith("xend")


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        json.dumps('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1)),
        "```" * 50_000,
        '"' * 50_000,
        '{"a": "' + '\\"' * 100_000,
        ", " * 100_000 + "}",
        "{" + "," * 100_000,
        "\\" * 100_000,
    ],
    ids=lambda text: text[:6],
)
def test_hostile_texts_are_problems_and_cost_little(text: str) -> None:
    assert parse(text).problem is not None


def test_values_as_deep_as_is_allowed_are_read() -> None:
    assert parse('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH).problem is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "\\ud83d\\ude00"}', "\U0001f600"),
        ('{"a": "\ud83d\ude00"}', "\U0001f600"),
        ('{"a": "x\\ud83d"}', "x\ufffd"),
        ('{"a": "x\udc00"}', "x\ufffd"),
    ],
)
def test_values_are_valid_unicode(text: str, value: str) -> None:
    parsed = parse(text)
    assert parsed.value == {"a": value}
    assert json.loads(parsed.text) == {"a": value}
    parsed.text.encode()


@settings(max_examples=150)
@given(OBJECTS)
def test_every_object_is_read_however_it_was_wrapped(value: dict[str, Any]) -> None:
    written = json.dumps(value)
    for text in (written, json.dumps(written), f"```json\n{written}\n```", written + written):
        parsed = parse(text)
        assert (parsed.value, parsed.problem) == (value, None)


@settings(max_examples=150)
@given(
    st.text()
    | OBJECTS.map(json.dumps).flatmap(lambda text: st.integers(0, len(text)).map(lambda n: text[:n]))
)
def test_the_text_for_the_history_always_parses_to_an_object(text: str) -> None:
    parsed = parse(text)
    assert json.loads(parsed.text) == (parsed.value or {})
    assert (parsed.value is None) == (parsed.problem is not None)


INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def settled(of: object, **arguments: Any) -> dict[str, Any]:
    result = check(of).settle(arguments)
    assert result.problem is None
    return result.arguments


def problem(of: object, **arguments: Any) -> str:
    result = check(of).settle(arguments)
    assert result.problem is not None
    assert result.arguments is arguments or result.arguments == arguments
    return result.problem


@pytest.mark.parametrize(
    ("property_schema", "given_value", "meant"),
    [
        (INTEGER, "5", 5),
        (INTEGER, " -5 ", -5),
        (INTEGER, "5.0", 5),
        (INTEGER, "12345678901234567890", 12345678901234567890),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "1e3", 1000),
        (STRING, 110000, "110000"),
        (STRING, -1, "-1"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "False", False),
        ({"type": "array"}, "[1,2]", [1, 2]),
        ({"type": "array", "items": INTEGER}, '["1", 2]', [1, 2]),
        ({"type": "array", "items": INTEGER}, ["1", 2], [1, 2]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        (schema(a=INTEGER), '{"a": "1"}', {"a": 1}),
        (schema(a=schema(b=INTEGER)), {"a": {"b": "1"}}, {"a": {"b": 1}}),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "boolean"]}, "true", True),
        ({"type": ["integer", "number"]}, "5", 5),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "5", 5),
        ({"oneOf": [INTEGER, {"type": "array"}]}, "[5]", [5]),
        ({"anyOf": [False, INTEGER]}, "5", 5),
        ({"anyOf": [schema("a", a=INTEGER), {"type": "array"}]}, {"a": "5"}, {"a": 5}),
        ({"allOf": [INTEGER]}, "5", 5),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", "2"]}, 2, "2"),
        ({"enum": ["G", "D"]}, " G", "G"),
        ({"const": 7}, "7", 7),
        ({"type": "string", "enum": ["1", "2"]}, 2, "2"),
        ({"$ref": "#/$defs/n"}, "5", 5),
    ],
)
def test_a_value_that_can_mean_one_thing_becomes_that(
    property_schema: Any, given_value: Any, meant: Any
) -> None:
    of = schema(x=property_schema) | {"$defs": {"n": INTEGER}}
    value = settled(of, x=given_value)["x"]
    assert (value, type(value)) == (meant, type(meant))


@pytest.mark.parametrize(
    ("property_schema", "given_value"),
    [
        (INTEGER, "five"),
        (INTEGER, "5.5"),
        (INTEGER, "05"),
        (INTEGER, "٥"),
        (INTEGER, ""),
        (INTEGER, True),
        (INTEGER, "true"),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "Infinity"),
        (STRING, 1.10),
        (STRING, True),
        (STRING, ["a"]),
        (STRING, {"a": 1}),
        ({"type": "boolean"}, 1),
        ({"type": "boolean"}, "yes"),
        ({"type": "array"}, "a, b"),
        ({"type": "array"}, 5),
        ({"type": "object"}, "[1]"),
        ({"anyOf": [{"type": "array"}, {"type": "object"}]}, "5"),
        ({"anyOf": [schema(a=INTEGER), schema(a={"type": "boolean"})]}, {"a": "x"}),
        ({"enum": ["celsius", "fahrenheit"]}, "C"),
        ({"minimum": 5}, 4),
    ],
)
def test_a_value_that_cannot_is_a_problem(property_schema: Any, given_value: Any) -> None:
    assert problem(schema(x=property_schema), x=given_value).startswith(("x: ", "x."))


def test_two_readings_are_none() -> None:
    either = {"anyOf": [INTEGER, {"enum": ["5 "]}]}
    assert problem(schema(x=either), x="5") == 'x: expected integer or "5 ", got "5"'


def test_null_for_an_optional_property_is_left_out() -> None:
    assert settled(schema("a", a=INTEGER, b=STRING, c={"enum": ["x"]}), a=1, b=None, c=None) == {"a": 1}
    assert settled(schema(a=schema(b=STRING)), a={"b": None}) == {"a": {}}
    assert settled(schema(a={"anyOf": [INTEGER, STRING]}), a=None) == {}


def test_null_stays_where_it_is_allowed_or_not_a_property() -> None:
    assert settled(schema(a={"type": ["string", "null"]}), a=None) == {"a": None}
    assert (
        problem({"type": "object", "additionalProperties": STRING}, a=None) == "a: expected string, got null"
    )
    assert (
        problem(schema(a={"type": "array", "items": STRING}), a=[None]) == "a[0]: expected string, got null"
    )


def test_null_for_a_required_property_is_missing() -> None:
    assert problem(schema("a", a=INTEGER), a=None) == "missing: a (integer)"


def test_missing_properties_are_named_and_described() -> None:
    of = schema("city", "days", "unit", city=STRING | {"description": "the city's  name"}, days=INTEGER)
    assert problem(of) == "missing: city (string: the city's name); missing: days (integer); missing: unit"
    assert problem(schema(at=schema("lat", lat={"type": "number"})), at={}) == "missing: at.lat (number)"


def test_problems_name_the_path_and_what_was_expected() -> None:
    of = schema(
        "n", items={"type": "array", "items": schema(n=INTEGER)}, unit={"enum": ["c", "f"]}, n=INTEGER
    )
    said = problem(of, items=[{"n": 1}, {"n": "x"}], unit="k")
    assert said == (
        'missing: n (integer); items[1].n: expected integer, got "x"; unit: expected one of "c", "f", got "k"'
    )


@pytest.mark.parametrize(
    ("of", "arguments", "said"),
    [
        (schema(a=INTEGER) | {"additionalProperties": False}, {"b": 1}, "unknown: b (known: a)"),
        (schema(a={"minimum": 3}), {"a": 1}, "a: expected at least 3, got 1"),
        (schema(a={"maxLength": 2}), {"a": "xyz"}, 'a: expected at most 2 characters, got "xyz"'),
        (schema(a={"uniqueItems": True}), {"a": [1, 1]}, "a: expected items that all differ, got [1,1]"),
        (schema(a={"anyOf": [INTEGER, STRING]}), {"a": []}, "a: expected integer or string, got []"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "missing: a or missing: b"),
        (schema(a={"oneOf": [INTEGER, {"type": "number"}]}), {"a": 1}, "a: expected exactly one"),
        (schema(a={"not": {}}), {"a": 1}, "a: expected what its `not` allows, got 1"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "expected the members that others need"),
        (False, {}, "expected nothing, got {}"),
    ],
)
def test_what_each_rule_says(of: Any, arguments: dict[str, Any], said: str) -> None:
    assert problem(of, **arguments).startswith(said)


def test_problems_are_bounded() -> None:
    said = problem(schema(a={"type": "array", "items": INTEGER}), a=["x" * 1000] * 500)
    assert said.endswith("more")
    assert len(said) < 2000


@pytest.mark.parametrize("of", [None, {}, True, {"$schema": "urn:unknown"}, {"type": "object"}])
def test_a_schema_that_says_nothing_lets_everything_through(of: Any) -> None:
    checker = check(of)
    arguments = {"a": None}
    assert checker.settle(arguments).arguments is arguments
    assert checker.warning is None


@pytest.mark.parametrize(
    "of",
    [
        [],
        "x",
        {"$schema": 5},
        {"type": "objekt"},
        {"type": "object", "properties": {"a": {"type": "integer", "required": True}}},
        {"type": "object", "required": None},
        {"properties": {"a": {"$ref": "https://schemas.invalid/a.json"}}},
        {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
        {"$ref": "#"},
    ],
)
def test_a_schema_that_cannot_be_used_warns_and_lets_everything_through(of: Any) -> None:
    checker = check(of)
    arguments = {"a": "5"}
    assert checker.settle(arguments).arguments is arguments
    assert checker.warning
    assert checker.settle(arguments).arguments is arguments


def test_patterns_and_formats_are_not_evaluated() -> None:
    evil = {"pattern": "^(a+)+$", "format": "date"}
    assert settled(schema(a=evil), a="a" * 60 + "!")
    assert settled(schema(a={"type": "string", "pattern": "("}), a="x")
    assert settled({"patternProperties": {"^(a+)+$": INTEGER}}, **{"a" * 60 + "!": "x"})


def test_patterns_stay_off_behind_a_reference_to_the_root() -> None:
    of = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"again": {"$ref": "#"}, "a": {"pattern": "^(a+)+$"}, "n": INTEGER},
    }
    evil = "a" * 60 + "!"
    assert settled(of, again={"again": {"a": evil, "n": "5"}}) == {"again": {"again": {"a": evil, "n": 5}}}


@pytest.mark.parametrize("others", ["additionalProperties", "unevaluatedProperties"])
def test_properties_that_a_pattern_may_allow_are_not_refused(others: str) -> None:
    of = {"type": "object", "properties": {"a": INTEGER}, "patternProperties": {"^x-": {}}, others: False}
    assert settled(of, **{"a": "1", "x-b": 2}) == {"a": 1, "x-b": 2}


def test_the_schema_says_which_draft_it_follows() -> None:
    items = {"type": "array", "items": [INTEGER, STRING]}
    of = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": items}}
    assert settled(of, a=["1", 2]) == {"a": [1, "2"]}
    exclusive = {"type": "integer", "minimum": 1, "exclusiveMinimum": True}
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": exclusive}}
    assert problem(draft4, a=1) == "a: expected at least 1, got 1"


def test_schemas_that_multiply_are_given_up() -> None:
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    checker = check({"$ref": "#/$defs/d0", "$defs": steps | {"d40": {"type": "object"}}})
    assert checker.settle({}).problem is None
    assert checker.warning == "checking takes too long"


def test_arguments_given_in_code_may_hold_anything() -> None:
    assert problem(schema("a", a=STRING), a=math.nan) == "a: expected string, got null"
    assert problem(schema("a", a={"enum": ["x"]}), a=object())


def test_input_is_never_changed() -> None:
    arguments = {"a": {"b": "5"}, "c": None}
    assert settled(schema(a=schema(b=INTEGER), c=STRING), **arguments) == {"a": {"b": 5}}
    assert arguments == {"a": {"b": "5"}, "c": None}


@settings(max_examples=100)
@given(OBJECTS)
def test_valid_arguments_come_back_as_the_same_object(value: dict[str, Any]) -> None:
    anything = {"type": ["object", "array", "string", "number", "boolean", "null"]}
    assert check({"type": "object", "additionalProperties": anything}).settle(value).arguments is value


def test_the_schemas_of_real_servers_can_be_used(shared: Any) -> None:
    for file in sorted((shared / "corpus").glob("*.json")):
        listing = json.loads(file.read_text(encoding="utf-8"))
        for tool in listing.get("tools") or listing["result"]["tools"]:
            of = tool["inputSchema"]
            checker = check(of)
            outcome = checker.settle({})
            assert checker.warning is None
            for name in of.get("required") or ():
                assert f"missing: {name}" in (outcome.problem or ""), (file.name, tool["name"])


DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ({"$schema": DRAFT_4, "properties": {"a": {"enum": [[n] for n in range(20_000)]}}}, 1),
        ({"properties": {f"p{n}": {"type": "string"} for n in range(20_000)}}, 1),
        ({"properties": {"a": {"items": {"enum": [[n] for n in range(5_000)]}}}}, [[9]] * 5_000),
        ({"anyOf": [{"type": "string"}] * 1_000}, ["x" * 1_000] * 1_000),
        ({"properties": {"a": {"items": {"items": {"type": ["null"]}}}}}, [[1] * 1_000] * 1_000),
        (
            {
                "$defs": {
                    f"d{n}": {"$ref": f"#/$defs/d{n + 1}", "$dynamicRef": f"#/$defs/d{n + 1}"}
                    for n in range(30)
                }
                | {"d30": {}},
                "unevaluatedProperties": False,
                "$ref": "#/$defs/d0",
            },
            1,
        ),
    ],
    ids="enum properties items messages values unevaluated".split(),
)
def test_no_schema_makes_checking_unbounded(of: dict[str, Any], value: object) -> None:
    with counted() as work:
        checker = check(of)
        checker.settle({"a": value})
    assert work.calls < 4_000_000
    assert checker.warning in (None, "checking takes too long")


@pytest.mark.parametrize("draft", [DRAFT_4, "http://json-schema.org/draft-07/schema#", None])
def test_a_large_schema_that_is_plain_is_used(draft: str | None) -> None:
    properties = {
        f"p{n}": {"type": "string", "description": "x" * 200, "enum": ["a", "b"]} for n in range(500)
    }
    of = {"type": "object", "properties": properties} | ({"$schema": draft} if draft else {})
    assert check(of).warning is None
    assert problem(of, p1="c") == 'p1: expected one of "a", "b", got "c"'


def test_references_to_many_resources_are_looked_up_in_one_index() -> None:
    """Without it every reference would search the whole schema again."""
    resources = {f"d{n}": {"$id": f"https://example.com/{n}", "type": "string"} for n in range(200)}
    properties = {f"p{n}": {"$ref": f"https://example.com/{n}"} for n in range(200)}
    with counted() as work:
        checker = check({"$defs": resources, "properties": properties})
        checker.settle({f"p{n}": "x" for n in range(200)})
    assert checker.warning is None
    assert work.calls < 1_000_000


def test_what_many_names_lack_is_told_once() -> None:
    names = [f"p{n}" for n in range(2_000)]
    assert problem({"required": names}).endswith("missing: p7; and 1992 more")


@pytest.mark.parametrize("depth", [50, 100, 150, 200, 300, 400, 1_000, 5_000])
def test_a_deep_schema_is_used_or_given_up(depth: int) -> None:
    of: dict[str, Any] = {"type": "string"}
    value: Any = "x"
    for _ in range(depth):
        of, value = {"properties": {"a": of}}, {"a": value}
    settled = check(of).settle({"a": value})
    assert settled.arguments == {"a": value} or settled.problem is not None


@pytest.mark.parametrize("depth", range(20, 101, 8))
def test_deep_arguments_are_checked_or_passed_on(depth: int) -> None:
    of = {"properties": {"a": {"$ref": "#"}, "b": {"type": "integer"}}}
    value: dict[str, Any] = {"b": 1}
    for _ in range(depth):
        value = {"a": value}
    checker = check(of)
    assert checker.settle(value).problem is None
    assert (checker.warning is None) is (depth < 60)
