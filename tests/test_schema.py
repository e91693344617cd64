import json
import pickle
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mcphost.dialect import DIALECTS, SchemaRules
from mcphost.schema import convert, shorten
from tests.endpoint_rules import DIFFERENT_RULES, containers, problems
from tests.schema_samples import COUNT, DRAFT_4, DRAFT_7, KEYWORDS, NODE, ODD, TEXT, VALID, arguments, nested

SHARED = Path(__file__).resolve().parents[2] / "shared"
OPENAI = DIALECTS["openai"].schema
GEMINI = DIALECTS["gemini"].schema
MOONSHOT = DIALECTS["moonshot"].schema
MISTRAL = DIALECTS["mistral"].schema
LOCAL = DIALECTS["local"].schema
EMPTY = {"type": "object", "properties": {}}


def converted(schema: Any, rules: SchemaRules = OPENAI) -> Any:
    """What becomes of one property's schema."""
    return convert(arguments(p=schema), rules)["properties"]["p"]


@pytest.mark.skipif(not (SHARED / "trace").exists(), reason="the recorded conversation is not here")
def test_the_tools_of_the_recorded_conversation_convert_exactly() -> None:
    sent = json.loads((SHARED / "trace" / "request1.json").read_text())["tools"]
    parameters = [tool["function"]["parameters"] for tool in sent]
    listed = [
        tool
        for server in ("12306-mcp", "amap-maps", "dummy-server")
        for tool in json.loads((SHARED / "trace" / f"{server}.server.json").read_text())["tools"]
    ]
    assert len(listed) == len(parameters)
    for tool in listed:
        wanted = [
            t["function"]["parameters"] for t in sent if t["function"]["description"] == tool["description"]
        ]
        assert [json.dumps(convert(tool["inputSchema"], DIALECTS["deepseek"].schema))] == [
            json.dumps(schema) for schema in wanted
        ]


def test_a_plain_schema_loses_only_what_stands_around_it() -> None:
    properties = {
        "a": {
            "type": "string",
            "description": "An a",
            "title": "A",
            "default": "",
            "format": "uri",
            "x-note": 1,
        },
        "b": {
            "type": "object",
            "properties": {"c": {"type": "array", "items": COUNT, "minItems": 1}},
            "required": [],
            "additionalProperties": False,
        },
        "d": {"type": "number", "minimum": 0, "exclusiveMaximum": 1.5, "examples": [1]},
        "e": {"anyOf": [{"enum": ["x", "y"]}, {"type": "null"}], "deprecated": True},
        "f": {"oneOf": [{"const": 1}, {"not": {"type": "integer"}}]},
    }
    around = {"$schema": DRAFT_7, "title": "T", "description": "D", "additionalProperties": False, "$id": "x"}
    schema = {**around, "type": "object", "properties": properties, "required": ["b", "a"]}
    assert convert(schema, OPENAI) == {"type": "object", "properties": properties, "required": ["b", "a"]}


@pytest.mark.parametrize(
    "schema", [{"type": "object", "properties": {"a": TEXT}}, {"properties": {"a": TEXT}}]
)
def test_absent_required_stays_absent(schema: dict[str, Any]) -> None:
    assert convert(schema, OPENAI) == {"type": "object", "properties": {"a": TEXT}}
    assert convert({**schema, "required": []}, OPENAI)["required"] == []


@pytest.mark.parametrize("rules", [OPENAI, GEMINI, MOONSHOT, LOCAL])
@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"$schema": DRAFT_7},
        {"type": "object"},
        {"type": "object", "properties": None, "required": None},
        {"type": "object", "properties": []},
        {"type": "array", "items": TEXT},
        True,
        False,
        "object",
        [],
        {"$ref": "#"},
    ],
)
def test_what_declares_nothing_takes_no_arguments(schema: Any, rules: SchemaRules) -> None:
    assert convert(schema, rules) == EMPTY


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        # arrays
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"type": "array", "items": None}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        (
            {"type": "array", "prefixItems": [TEXT]},
            {"type": "array", "prefixItems": [TEXT], "items": {}},
        ),
        (
            {"type": "array", "items": [TEXT, COUNT]},
            {"type": "array", "prefixItems": [TEXT, COUNT], "items": {}},
        ),
        (
            {"type": "array", "prefixItems": [TEXT], "items": False},
            {"type": "array", "prefixItems": [TEXT], "items": {}, "maxItems": 1},
        ),
        # required
        ({"type": "string", "required": True}, TEXT),
        ({"type": "object", "required": None}, {"type": "object"}),
        ({"required": ["x", "x", 3]}, {"required": ["x"], "properties": {"x": {}}}),
        # booleans and objects without keywords
        (True, {}),
        ({"type": "object"}, {"type": "object"}),
        ({"additionalProperties": True}, {"additionalProperties": True}),
        ({"properties": {"x": False, "y": True}}, {"properties": {"y": {}}}),
        ({"anyOf": [False, TEXT]}, {"anyOf": [TEXT]}),
        # keywords that are wrong
        ({"type": "string", "enum": []}, TEXT),
        ({"type": "string", "anyOf": []}, TEXT),
        ({"type": "string", "description": ["a"], "title": None}, TEXT),
        ({"type": "number", "minimum": float("nan"), "default": float("inf")}, {"type": "number"}),
        ({"enum": ["a", float("nan"), "a"]}, {"enum": ["a"]}),
        ({"enum": [1, True, 1.0]}, {"enum": [1, True]}),
        ({"type": "string", "minLength": -1, "maxLength": 3.0}, {"type": "string", "maxLength": 3}),
        ({"type": "string", "pattern": "["}, TEXT),
        ({"type": "string", "pattern": r"^[^/\0]+$"}, TEXT),
        ({"type": "string", "pattern": r"^\d{4}-\w+$"}, {"type": "string", "pattern": r"^\d{4}-\w+$"}),
        (
            {"properties": {"\ud800": TEXT, "x": TEXT}, "additionalProperties": False},
            {"properties": {"x": TEXT}},
        ),
        ({"patternProperties": {"[": TEXT}, "additionalProperties": False}, {}),
        # names of types
        ({"type": "any", "description": "d"}, {"description": "d"}),
        ({"type": "int"}, COUNT),
        ({"type": ["str", "null", "str"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "file"]}, {}),
        ({"type": []}, {}),
        # older drafts
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        # what has no place any more
        (
            {"$comment": "c", "$id": "i", "$anchor": "a", "$defs": {}, "definitions": {}, "type": "string"},
            TEXT,
        ),
        ({"type": "object", "unevaluatedProperties": False}, {"type": "object"}),
        (
            {"type": "object", "properties": {"x": TEXT}, "discriminator": {"propertyName": "x"}},
            arguments(x=TEXT),
        ),
    ],
)
def test_a_property_in_its_nearest_well_formed_form(schema: Any, wanted: Any) -> None:
    assert converted(schema) == wanted


def test_a_required_name_without_property_gets_one() -> None:
    assert convert({"properties": {"a": TEXT}, "required": ["b", "a"]}, OPENAI) == {
        "type": "object",
        "properties": {"a": TEXT, "b": {}},
        "required": ["b", "a"],
    }


def test_an_open_map_stays_open() -> None:
    schema = arguments(a={"type": "object"}, b={"type": "object", "additionalProperties": TEXT})
    assert convert(schema, OPENAI) == schema
    assert convert(schema, GEMINI) == arguments(a={"type": "object"}, b={"type": "object"})


# References


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        ("#/$defs/text", TEXT),
        ("#/definitions/count", COUNT),
        ("#/properties/plain", {"type": "boolean"}),
        ("#anchored", {"type": "number"}),
        ("embedded.json", arguments(x=TEXT)),
        ("embedded.json#/$defs/own", TEXT),
        ("#/$defs/e/properties/x", TEXT),
        ("https://example.com/input.json#/$defs/text", TEXT),
        ("#/$defs/a~1b%25", {"type": "null"}),
        ("#/$defs/alias", TEXT),
        ("https://example.com/elsewhere.json", {}),
        ("#/$defs/missing", {}),
        ("#missing", {}),
        ("#/$defs/text/type", {}),
        ("http://[", {}),
    ],
)
def test_a_reference_is_inlined_and_never_fetched(reference: str, wanted: Any) -> None:
    schema = {
        "$id": "https://example.com/input.json",
        **arguments(p={"$ref": reference}, plain={"type": "boolean"}),
        "$defs": {
            "text": TEXT,
            "a/b%": {"type": "null"},
            "alias": {"$ref": "#/$defs/text"},
            "n": {"$anchor": "anchored", "type": "number"},
            "e": {"$id": "embedded.json", **arguments(x={"$ref": "#/$defs/own"}), "$defs": {"own": TEXT}},
        },
        "definitions": {"count": COUNT},
    }
    assert convert(schema, OPENAI)["properties"]["p"] == wanted


def test_siblings_of_a_reference_count_from_2019_on() -> None:
    reference = {"$ref": "#/definitions/a", "maxLength": 3, "description": "Mine"}
    schema = {**arguments(p=reference), "definitions": {"a": {"type": "string", "description": "A's"}}}
    later = convert(schema, OPENAI)["properties"]["p"]
    assert later == {"type": "string", "maxLength": 3, "description": "Mine"}
    earlier = convert({"$schema": DRAFT_7, **schema}, OPENAI)["properties"]["p"]
    assert earlier == {"type": "string", "description": "Mine"}


def test_a_recursive_schema_becomes_its_type_at_the_second_level_down() -> None:
    schema = {**arguments(tree={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}}

    def node(children: Any) -> dict[str, Any]:
        return NODE | {"properties": {"name": TEXT, "children": {"type": "array", "items": children}}}

    assert convert(schema, OPENAI)["properties"]["tree"] == node(node({"type": "object"}))


def test_references_in_a_circle_say_nothing() -> None:
    assert convert(ODD["references in circles"], OPENAI) == arguments(a={}, b={})


@pytest.mark.parametrize("name", ["2**30 leaves", "3**50 members of allOf", "a large definition, used often"])
def test_an_explosion_of_references_is_bounded(name: str) -> None:
    out = convert(ODD[name], OPENAI)
    assert containers(out) <= 5_000
    assert len(json.dumps(out)) < 1_000_000


def test_what_is_too_large_keeps_its_outer_levels() -> None:
    properties = convert(ODD["2**30 leaves"], OPENAI)["properties"]
    assert properties["y"] == {"type": "string", "description": "Kept"}
    assert properties["x"]["properties"]["b"]["properties"]["a"]["type"] == "object"
    assert convert(ODD["100,000 members"], OPENAI) == arguments(a=TEXT, b=TEXT)
    assert (
        convert(ODD["3,000 arrays"], OPENAI)["properties"].keys() == ODD["3,000 arrays"]["properties"].keys()
    )


# The root


def test_branches_of_the_root_become_one_object() -> None:
    schema = {
        "type": "object",
        "properties": {"a": TEXT},
        "required": ["a"],
        "oneOf": [
            {"properties": {"a": COUNT, "b": TEXT, "c": TEXT}, "required": ["b", "c"]},
            {"properties": {"b": COUNT, "c": TEXT}, "required": ["c"]},
        ],
    }
    assert convert(schema, OPENAI) == {
        "type": "object",
        "properties": {"a": TEXT, "b": {"anyOf": [TEXT, COUNT]}, "c": TEXT},
        "required": ["a", "c"],
    }


def test_members_of_allOf_at_the_root_all_hold() -> None:
    schema = {
        "allOf": [
            {"properties": {"a": TEXT, "b": TEXT}, "required": ["a"]},
            {"properties": {"a": {"maxLength": 3}, "b": COUNT}, "required": ["b"]},
            {"$ref": "#/$defs/more"},
        ],
        "$defs": {"more": {"properties": {"c": COUNT}, "allOf": [{"required": ["c"]}]}},
    }
    assert convert(schema, OPENAI) == {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"anyOf": [TEXT, COUNT]}, "c": COUNT},
        "required": ["a", "b", "c"],
    }


@pytest.mark.parametrize(
    ("keywords", "properties", "required"),
    [
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {}, None),
        (
            {
                "if": {},
                "then": {"properties": {"b": TEXT}, "required": ["b"]},
                "else": {"required": ["b", "c"]},
            },
            {"b": TEXT},
            ["b"],
        ),
        ({"then": {"properties": {"b": TEXT}, "required": ["b"]}}, {}, None),
        ({"not": {"required": ["b"]}, "enum": [{"a": 1}], "const": {"a": 1}}, {}, None),
        ({"dependentSchemas": {"a": {"properties": {"b": TEXT}, "required": ["b"]}}}, {"b": TEXT}, None),
        ({"anyOf": [{"required": ["a"]}, {}]}, {}, None),
        ({"anyOf": [{"required": ["a"]}, False]}, {}, ["a"]),
        (
            {"anyOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b", "a"]}]}, {"required": ["a"]}]},
            {},
            ["a"],
        ),
        (
            {"patternProperties": {"x": {}}, "minProperties": 1, "propertyNames": {}, "nullable": True},
            {},
            None,
        ),
    ],
)
def test_other_keywords_at_the_root(keywords: Any, properties: Any, required: Any) -> None:
    wanted = arguments(a={}, **properties) | ({} if required is None else {"required": required})
    assert convert({**arguments(a={}), **keywords}, OPENAI) == wanted


# allOf inside


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        ([{"type": "string"}, {"minLength": 2}, {"minLength": 3}], {"type": "string", "minLength": 3}),
        ([{"type": "number", "maximum": 5}, {"type": "integer", "maximum": 9}], COUNT | {"maximum": 5}),
        ([{"type": ["string", "null"]}, {"type": ["null", "array"]}], {"type": "null"}),
        ([{"enum": [1, 2, "a"]}, {"enum": ["a", 2.0]}], {"enum": [2, "a"]}),
        (
            [arguments(a=TEXT), arguments(a={"minLength": 1}, b=COUNT)],
            arguments(a=TEXT | {"minLength": 1}, b=COUNT),
        ),
        (
            [{"required": ["a"]}, {"required": ["b"]}],
            {"required": ["a", "b"], "properties": {"a": {}, "b": {}}},
        ),
        ([{"anyOf": [TEXT, COUNT]}, {"description": "d"}], {"anyOf": [TEXT, COUNT], "description": "d"}),
        ([{"allOf": [{"type": "string"}]}, True], TEXT),
        # no common form: the first stands, the server's own schema is the judge
        ([{"type": "string"}, {"type": "integer"}], TEXT),
        ([{"anyOf": [TEXT, COUNT]}, {"anyOf": [COUNT, {"type": "null"}]}], {"anyOf": [TEXT, COUNT]}),
        ([{"pattern": "^a"}, {"pattern": "b$"}], {"pattern": "^a"}),
        ([TEXT, False], TEXT),
    ],
)
def test_allOf_inside_is_merged(members: list[Any], wanted: Any) -> None:
    assert converted({"allOf": members}) == wanted


def test_what_a_loosened_schema_would_narrow_goes() -> None:
    loosened = {"type": "object", "properties": {"x": TEXT}, "unevaluatedProperties": False}
    exact = {"type": "object", "properties": {"x": TEXT}, "additionalProperties": False}
    assert converted({"not": exact}) == {"not": exact}
    assert converted({"not": loosened}) == {}
    assert converted({"not": {"enum": [{"a": 1}]}}, MOONSHOT) == {}
    assert converted({"oneOf": [exact, TEXT]}) == {"oneOf": [exact, TEXT]}
    assert converted({"oneOf": [loosened, TEXT]}) == {"anyOf": [arguments(x=TEXT), TEXT]}
    assert converted({"if": loosened, "then": {"minProperties": 1}}) == {}


# Dialects


@pytest.mark.parametrize(
    ("schema", "moonshot", "gemini"),
    [
        (
            {"type": ["string", "null"], "description": "d", "maxLength": 5},
            {"description": "d", "anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
            {"type": "string", "nullable": True, "description": "d", "maxLength": 5},
        ),
        (
            {"anyOf": [TEXT, {"type": "null"}], "default": None},
            {"anyOf": [TEXT, {"type": "null"}], "default": None},
            {"type": "string", "nullable": True, "default": None},
        ),
        (
            {"type": ["string", "integer", "null"], "minimum": 1},
            {"anyOf": [TEXT, {"type": "integer", "minimum": 1}, {"type": "null"}]},
            {"anyOf": [TEXT, {"type": "integer", "minimum": 1}], "nullable": True},
        ),
        (
            {"type": ["array", "null"], "items": TEXT},
            {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]},
            {"type": "array", "items": TEXT, "nullable": True},
        ),
        (
            {"enum": ["a", "b"]},
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "enum": ["a", "b"]},
        ),
        (
            {"enum": ["a", None]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            {"type": "string", "enum": ["a"], "nullable": True},
        ),
        (
            {"enum": [1, 2, "a"]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1, 2]}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, COUNT]},
        ),
        (
            {"type": "string", "enum": ["a", ""]},
            {"type": "string", "enum": ["a", ""]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "maxLength": 0}]},
        ),
        ({"const": "a"}, {"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": 5}, {"const": 5}, COUNT),
        ({"type": "null"}, {"type": "null"}, {}),
        (
            {"oneOf": [{"const": "a"}, {"const": "b"}]},
            {"oneOf": [{"const": "a"}, {"const": "b"}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]},
        ),
        (
            {**arguments(a=TEXT, b=COUNT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"anyOf": [{**arguments(a=TEXT, b=COUNT), "required": [name]} for name in ("a", "b")]},
            {"anyOf": [{**arguments(a=TEXT, b=COUNT), "required": [name]} for name in ("a", "b")]},
        ),
        ({"type": "string", "anyOf": [COUNT, {"minLength": 1}]}, *[{"type": "string", "minLength": 1}] * 2),
    ],
)
def test_types_unions_and_null_as_the_dialect_spells_them(schema: Any, moonshot: Any, gemini: Any) -> None:
    assert converted(schema, MOONSHOT) == moonshot
    assert converted(schema, GEMINI) == gemini
    assert converted(schema) == converted(schema, DIALECTS["deepseek"].schema)


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9.5}, {"minimum": 1, "maximum": 9}),
        ({"type": "number", "exclusiveMinimum": 0, "minimum": 0.5}, {"minimum": 0.5}),
        ({"type": "string", "format": "uri"}, {}),
        ({"type": "string", "format": "date-time"}, {"format": "date-time"}),
        ({"type": "integer", "format": "int32", "multipleOf": 2}, {"format": "int32"}),
        ({"type": "object", "additionalProperties": False, "propertyNames": {"maxLength": 3}}, {}),
        ({"type": "object", "patternProperties": {"^x": TEXT}, "x-order": 1}, {}),
        ({"type": "array", "prefixItems": [COUNT, COUNT], "minItems": 2, "maxItems": 2},
         {"items": COUNT, "minItems": 2, "maxItems": 2}),
        ({"type": "array", "prefixItems": [COUNT, TEXT], "items": False},
         {"items": {"anyOf": [COUNT, TEXT]}, "maxItems": 2}),
        ({"type": "array", "prefixItems": [COUNT]}, {"items": {}}),
        ({"type": "boolean", "properties": {"x": TEXT}, "required": ["x"], "items": TEXT}, {}),
        ({"type": "integer", "enum": [1, 2]}, {}),
        ({"type": "object", "enum": [{"a": 1}]}, {}),
    ],
)  # fmt: skip
def test_gemini_gets_the_nearest_form_it_takes(schema: Any, wanted: Any) -> None:
    assert converted(schema, GEMINI) == {"type": schema["type"], **wanted}


def test_gemini_gets_a_type_beside_what_constrains_one() -> None:
    out = converted({"properties": {"x": TEXT}, "required": ["x"], "description": "d"}, GEMINI)
    others = [{"type": "array", "items": {}}, TEXT, {"type": "number"}, {"type": "boolean"}]
    branches = [{**arguments(x=TEXT), "required": ["x"]}, *others]
    assert out == {"description": "d", "anyOf": branches, "nullable": True}


def test_depth_is_cut_where_the_dialect_counts_it() -> None:
    schema = nested(12, TEXT, lambda inside: {**arguments(a=inside), "description": "d"})
    assert problems(convert(schema, GEMINI), GEMINI) == []
    assert convert(schema, OPENAI)["properties"] == schema["properties"]
    deepest: Any = convert(schema, GEMINI)
    for _ in range(9):
        deepest = deepest["properties"]["a"]
    assert deepest == {"type": "object", "description": "d"}


@pytest.mark.parametrize("levels", range(5, 14))
@pytest.mark.parametrize(
    "leaf", [{"type": "array"}, {"required": ["x"]}, {"type": ["string", "null"]}, arguments()]
)
def test_no_leaf_is_too_deep(leaf: Any, levels: int) -> None:
    schema = nested(levels, leaf, lambda inside: arguments(a=inside))
    assert problems(convert(schema, GEMINI), GEMINI) == []


def test_dialects_without_oneOf_get_anyOf() -> None:
    schema = {"oneOf": [TEXT, COUNT], "description": "d"}
    assert converted(schema) == schema
    for rules in (MISTRAL, LOCAL, GEMINI):
        assert converted(schema, rules) == {"anyOf": [TEXT, COUNT], "description": "d"}


def test_grammars_of_local_models_get_what_they_can_be_made_of() -> None:
    schema = {"type": "string", "pattern": "^a", "minLength": 1, "maxLength": 10_000, "format": "date"}
    assert converted(schema, LOCAL) == {"type": "string", "format": "date"}
    anything = converted({"description": "Anything"}, LOCAL)
    assert anything["type"] == ["object", "array", "string", "number", "boolean", "null"]
    assert converted({}, LOCAL) == {}


@pytest.mark.parametrize("rules", [dialect.schema for dialect in DIALECTS.values()], ids=list(DIALECTS))
def test_properties_may_be_called_like_keywords(rules: SchemaRules) -> None:
    schema = {**arguments(**dict.fromkeys(KEYWORDS, TEXT)), "required": ["$ref", "type"]}
    assert convert(schema, rules) == schema
    assert convert(arguments(p=schema), rules) == arguments(p=schema)


# Whatever comes in


SAMPLES = {**VALID, **ODD}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_dialect_gets_what_it_takes(name: str) -> None:
    for rules in DIFFERENT_RULES:
        assert problems(convert(SAMPLES[name], rules), rules) == []


@pytest.mark.parametrize("name", [name for name in SAMPLES if "10,000 levels" not in name])
def test_what_comes_in_is_not_changed_and_not_kept(name: str) -> None:
    before, copy = deepcopy(SAMPLES[name]), deepcopy(SAMPLES[name])
    out = convert(copy, OPENAI)
    assert pickle.dumps(copy) == pickle.dumps(before)
    inputs = {id(part) for part in parts(copy)}
    assert not [part for part in parts(out) if id(part) in inputs]


def parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from parts(inner)


def test_draft_4_says_nothing_with_later_keywords() -> None:
    schema = {"$schema": DRAFT_4, **arguments(p={"const": 1, "type": "integer"})}
    assert convert(schema, OPENAI) == arguments(p=COUNT)


# Descriptions


@pytest.mark.parametrize("description", [None, 5, ["a"], {"a": 1}, ""])
def test_no_description_is_an_empty_one(description: object) -> None:
    assert shorten(description, 1024) == ""
    assert shorten(description, None) == ""


@pytest.mark.parametrize(
    ("description", "limit", "wanted"),
    [
        ("  Short. \n", 100, "  Short. \n"),
        ("One sentence. Another one.", None, "One sentence. Another one."),
        ("One sentence. Another one.", 26, "One sentence. Another one."),
        ("One sentence. Another one.", 25, "One sentence.…"),
        ("One. And a much longer sentence without an end", 30, "One. And a much longer…"),
        ("第一句话在这里。第二句话也在这里。", 14, "第一句话在这里。…"),
        ("x" * 50, 10, "x" * 9 + "…"),
        ("Version 3.14 of the thing", 12, "Version…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("\ud83d\ude00 \ud800", None, "😀 \ufffd"),
    ],
)
def test_a_description_is_cut_at_a_sentence_or_a_word(
    description: str, limit: int | None, wanted: str
) -> None:
    assert shorten(description, limit) == wanted


def test_a_long_description_uses_its_room() -> None:
    text = "This sentence is about something. " * 100
    short = shorten(text, 1024)
    assert 900 < len(short) <= 1024
    assert re.fullmatch(r"(This sentence is about something\. )*This sentence is about something\.…", short)


@pytest.mark.parametrize("inside", [False, True], ids=["root", "property"])
def test_many_lists_of_required_names_are_joined_at_once(inside: bool):
    lists = [[f"p{n}_{m}" for m in range(10)] for n in range(100)]
    of = {"allOf": [{"required": names} for names in lists]}
    out = convert({"properties": {"a": of}} if inside else of, OPENAI)
    required = (out["properties"]["a"] if inside else out)["required"]
    assert required == [name for names in lists for name in names]
