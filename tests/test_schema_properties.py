"""No arguments that a server's own schema takes are refused by what the model is told."""

import json
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from mcphost.schema import convert, shorten
from tests.endpoint_rules import DIFFERENT_RULES, plain, problems
from tests.schema_samples import DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020, NODE, VALID

SHARED = Path(__file__).resolve().parents[2] / "shared"
QUICK = settings(
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Original:
    """A server's schema, by its own draft."""

    def __init__(self, schema: dict[str, Any]) -> None:
        checker = validator_for(schema, default=Draft202012Validator)
        checker.check_schema(schema)
        self._schema = schema
        self._validator = checker(schema, registry=Registry())

    def takes(self, value: Any, schema: Any = None) -> bool:
        validator = self._validator if schema is None else self._validator.evolve(schema=schema)
        return bool(validator.is_valid(value))

    def declared(self, value: dict[str, Any], schema: Any = None) -> set[str]:
        """The properties that the root declares, or a branch that `value` satisfies."""
        schema = self._schema if schema is None else schema
        if not isinstance(schema, dict):
            return set()
        names = set(schema.get("properties", {}))
        branches = [b for keyword in ("allOf", "anyOf", "oneOf") for b in schema.get(keyword, [])]
        if "if" in schema:
            branches.append(schema.get("then" if self.takes(value, schema["if"]) else "else", True))
        for keyword in ("dependentSchemas", "dependencies"):
            branches += [
                b for name, b in schema.get(keyword, {}).items() if name in value and isinstance(b, dict)
            ]
        if schema.get("$ref", "").startswith("#/"):
            target: Any = self._schema
            for part in schema["$ref"].split("/")[1:]:
                target = target[part]
            branches.append(target)
        return names.union(
            *(self.declared(value, branch) for branch in branches if self.takes(value, branch))
        )


def receivers(schema: Any) -> list[tuple[dict[str, Any], Draft202012Validator]]:
    """What each kind of endpoint is told, and as a check of what the model may then send."""
    out = []
    for rules in DIFFERENT_RULES:
        parameters = convert(schema, rules)
        readable = plain(parameters) if rules.null == "nullable" else parameters
        out.append((parameters, Draft202012Validator(readable, registry=Registry())))
    return out


def refused(value: dict[str, Any], original: Original, told: list[tuple[dict[str, Any], Any]]) -> list[Any]:
    """The parameters that refuse `value`, although the original takes it."""
    refusing = [parameters for parameters, validator in told if not validator.is_valid(value)]
    if not refusing or not original.takes(value):
        return []
    undeclared = value.keys() - original.declared(value)
    return [parameters for parameters in refusing if not undeclared & parameters["properties"].keys()]


def generated(schema: dict[str, Any], *, count: int) -> list[dict[str, Any]]:
    """Some arguments that `schema` takes, at most `count`."""
    values: list[dict[str, Any]] = []

    @settings(QUICK, max_examples=count)
    @given(from_schema({"type": "object", **deepcopy(schema)}))
    def collect(value: Any) -> None:
        values.append(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the generator, about formats it does not know
        collect()
    return values


def small_values() -> list[Any]:
    scalars = [None, True, False, 0, 1, 2, 1.5, -1, "", "a", "b", "abc", "2025-01-01"]
    lists = [[], ["a"], [1, 2], [1, "a", None], ["a", "a"], [{"a": 1}], [[1]]]
    objects = [
        {},
        {"a": 1},
        {"a": "a", "b": 1},
        {"x": "a"},
        {"y": 3},
        {"x": "a", "y": 1},
        {"b": None},
        {"c": 9},
    ]
    trees = [
        {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": [{"name": "d"}]}]}]},
        {"name": "a", "inner": {"name": "b", "inner": {"name": "c", "inner": {"name": "d", "more": 1}}}},
        {"l": {"l": {"r": {"l": {"r": 1}}}}},
        {"a": [{"b": [{"c": [None, {"d": [1]}]}]}]},
    ]
    return [*scalars, *lists, *objects, *trees]


# Real servers


def corpus() -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((SHARED / "corpus").glob("*.json"))]


@pytest.mark.skipif(not corpus(), reason="the recorded tool lists are not here")
@pytest.mark.parametrize("path", corpus())
def test_no_tool_of_a_real_server_is_narrowed(path: Path) -> None:
    for tool in json.loads(path.read_text())["tools"]:
        schema = tool["inputSchema"]
        for rules in DIFFERENT_RULES:
            assert problems(convert(schema, rules), rules) == [], tool["name"]
        told = receivers(schema)
        values = generated({**schema, "additionalProperties": False}, count=2)
        assert values, tool["name"]
        for value in values:
            for parameters, validator in told:
                assert validator.is_valid(value), (tool["name"], value, parameters)


# Difficult schemas


@pytest.mark.parametrize("name", VALID)
def test_no_difficult_schema_is_narrowed(name: str) -> None:
    schema = VALID[name]
    original, told = Original(schema), receivers(schema)
    try:
        values = generated(schema, count=3)
    except Exception:  # noqa: BLE001  boundary: the generator's limits (recursion, say) take many forms
        values = []
    names = [*told[0][0]["properties"], "other"]
    for start in [{}, *values]:
        values += [{**start, name: value} for name in names for value in small_values()]
    assert any(map(original.takes, values))
    for value in values:
        assert refused(value, original, told) == [], value


# Any schema

NAMES = st.sampled_from(["a", "b", "c", "type", "$ref", "required", "properties", "items", "enum"])
VALUES = st.sampled_from(small_values())
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
REFERENCES = st.sampled_from(
    [
        "#",
        "#/$defs/x",
        "#/$defs/y",
        "#/properties/a",
        "#anchored",
        "inner.json",
        "inner.json#/properties/a",
        "#/none",
    ]
)
JUNK = st.sampled_from([None, 1, "x", [], [1], {}, {"a": 1}, float("nan"), True, [None], {"a": None}])
LEAVES = (
    st.sampled_from([{}, True, False])
    | st.builds(lambda t: {"type": t}, TYPES)
    | st.builds(lambda r: {"$ref": r}, REFERENCES)
)


def schemas(levels: int, *, junk: bool) -> st.SearchStrategy[Any]:
    """Schemas of a few keywords each; with `junk`, now and then something else than a keyword wants."""
    if levels == 0:
        return LEAVES | JUNK if junk else LEAVES
    inner = schemas(levels - 1, junk=junk)
    some = st.lists(inner, min_size=1, max_size=3)
    few = st.integers(0, 3)
    of_names = st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    number = st.sampled_from([0, 1, 2, 0.5, -1])
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "const": VALUES,
        "properties": of_names,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "additionalProperties": st.booleans() | inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
        "propertyNames": inner,
        "items": inner | some,
        "additionalItems": inner,
        "prefixItems": some,
        "contains": inner,
        "minimum": number,
        "exclusiveMinimum": number | st.booleans(),
        "exclusiveMaximum": number | st.booleans(),
        "maximum": number,
        "pattern": st.sampled_from(["^a", "b", r"\p{L}"]),
        "format": st.sampled_from(["date", "date-time", "int32"]),
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "dependentSchemas": of_names,
        "dependencies": of_names,
        "unevaluatedProperties": st.booleans(),
        "uniqueItems": st.booleans(),
        "nullable": st.booleans(),
        "description": st.just("d"),
        "default": VALUES,
        "$ref": REFERENCES,
        **dict.fromkeys(("anyOf", "oneOf", "allOf"), some),
        **dict.fromkeys("minLength maxLength minItems maxItems minProperties maxProperties".split(), few),
        **dict.fromkeys(("maxContains", "minContains"), few),
    }
    weighted = ["type", "properties", "anyOf", "oneOf", "allOf", *keywords]

    def pair(keyword: str) -> st.SearchStrategy[tuple[str, Any]]:
        value = keywords[keyword]
        return st.tuples(st.just(keyword), value | JUNK if junk else value)

    return st.lists(st.sampled_from(weighted).flatmap(pair), max_size=4).map(dict)


@st.composite
def roots(draw: st.DrawFn, *, junk: bool) -> dict[str, Any]:
    inner = schemas(2, junk=junk)
    root = draw(schemas(2, junk=junk))
    root = dict(root) if isinstance(root, dict) else {}
    root["properties"] = draw(st.dictionaries(NAMES, inner, min_size=1, max_size=3))
    draft = draw(st.sampled_from([None, DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020]))
    if draft is not None:
        root["$schema"] = draft
    named = "id" if draft == DRAFT_4 else "$id"
    anchor = {"$anchor": "anchored"} if draft in (None, DRAFT_2019, DRAFT_2020) else {named: "#anchored"}
    root["$defs"] = {
        "x": draw(inner),
        "y": draw(st.just(NODE["properties"]) | inner),
        "z": {**anchor, "type": "string"},
        "embedded": {named: "inner.json", "properties": {"a": draw(inner)}},
    }
    return root


@given(roots(junk=False))
@settings(QUICK, max_examples=100)
def test_no_schema_is_narrowed(schema: dict[str, Any]) -> None:
    told = receivers(schema)
    try:
        original = Original(schema)
        for value in [{}, *({key: value} for key in schema["properties"] for value in small_values())]:
            assert refused(value, original, told) == []
    except (SchemaError, Unresolvable, RecursionError):
        return  # not a schema that anything could be checked against


@given(roots(junk=True) | schemas(3, junk=True))
@settings(QUICK, max_examples=100)
def test_whatever_comes_in_every_endpoint_takes_what_goes_out(schema: Any) -> None:
    before = repr(schema)
    for rules in DIFFERENT_RULES:
        assert problems(convert(schema, rules), rules) == []
    assert repr(schema) == before


@given(st.recursive(JUNK | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
@settings(QUICK, max_examples=60)
def test_any_json_gives_parameters(value: Any) -> None:
    for rules in DIFFERENT_RULES:
        assert problems(convert(value, rules), rules) == []


@given(st.text(st.characters() | st.sampled_from(". 。\n")), st.integers(0, 60))
@settings(QUICK, max_examples=200)
def test_a_shortened_description_is_a_beginning(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    whole = shorten(text, None)
    assert short == whole or (short[-1:] in ("…", "") and whole.startswith(short[:-1]))
