import dataclasses
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.catalog import Catalog, ListedServer, build
from mcphost.dialect import DIALECTS, OPENAI, Dialect
from mcphost.naming import Names

SHARED = Path(__file__).resolve().parents[2] / "shared"
CORPUS = sorted((SHARED / "corpus").glob("*.json"))
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: object, **more: object) -> dict[str, Any]:
    return {"name": name, "description": f"about {name}", "inputSchema": SCHEMA} | more


def server(name: str, *tools: Any, prefix: str | None = None, **more: Any) -> ListedServer:
    options: dict[str, Any] = {"include": (), "exclude": (), "validate": True} | more
    return ListedServer(name, prefix, tools=tools, **options)


def made(*servers: ListedServer, names: Names | None = None, dialect: Dialect = OPENAI) -> Catalog:
    return build(servers, names=names or Names("cherry"), dialect=dialect)


def offered(catalog: Catalog) -> list[str]:
    return [entry["function"]["name"] for entry in catalog.functions]


def raw(catalog: Catalog) -> list[str]:
    return [route.tool for route in catalog.routes.values()]


def with_limit(most: int | None) -> Dialect:
    return dataclasses.replace(OPENAI, max_tools=most)


@pytest.mark.skipif(not SHARED.exists(), reason="the recorded conversation is not here")
def test_the_recorded_servers_give_the_recorded_tools():
    trace = SHARED / "trace"
    config = json.loads((trace / "servers.json").read_text("utf-8"))["mcpServers"]
    servers = [
        server(
            name,
            *json.loads((trace / f"{name}.server.json").read_text("utf-8"))["tools"],
            prefix=entry.get("prefix"),
        )
        for name, entry in config.items()
    ]
    request = json.loads((trace / "request1.json").read_text("utf-8"))
    catalog = made(*servers, dialect=DIALECTS["deepseek"])
    assert json.dumps(catalog.functions) == json.dumps(request["tools"])
    assert (dict(catalog.dropped), catalog.warnings) == ({}, ())


def test_an_entry_has_what_the_model_needs_and_no_more():
    definition = tool(
        "get-x",
        title="X",
        outputSchema=SCHEMA,
        annotations={"readOnlyHint": True},
        icons=[{"src": "data:x"}],
        _meta={"a": 1},
        execution={"taskSupport": "optional"},
    )
    catalog = made(server("foo", definition))
    assert catalog.functions == [
        {
            "type": "function",
            "function": {"name": "foo-get_x", "description": "about get-x", "parameters": SCHEMA},
        }
    ]
    [route] = catalog.routes.values()
    assert (route.name, route.server, route.tool, route.validate) == ("foo-get_x", "foo", "get-x", True)
    assert (route.schema, route.annotations) == (SCHEMA, {"readOnlyHint": True})
    assert route.definition == definition


@pytest.mark.parametrize(
    ("more", "description"),
    [
        ({"description": None}, ""),
        ({"description": None, "title": "T"}, "T"),
        ({"description": " ", "annotations": {"title": "A"}}, "A"),
        ({"description": 5, "title": ["x"], "annotations": {"title": 7}}, ""),
        ({"description": "d", "title": "T"}, "d"),
        ({"description": "half \ud83d"}, "half \ufffd"),
    ],
)
def test_a_description_is_always_there(more: dict[str, Any], description: str):
    [entry] = made(server("s", tool("t", **more))).functions
    assert entry["function"]["description"] == description


def test_a_description_keeps_to_the_dialects_limit():
    long = tool("t", description="A sentence of it. " * 200)
    limits = [
        len(made(server("s", long), dialect=DIALECTS[name]).functions[0]["function"]["description"])
        for name in ("openai", "local")
    ]
    assert limits[0] <= 1024 < limits[1]


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ((), (), ["get_a", "get_b", "put_a"]),
        (("get_*",), (), ["get_a", "get_b"]),
        (("get_*",), ("*_b",), ["get_a"]),
        ((), ("get_?",), ["put_a"]),
        (("put_a", "get_a"), (), ["get_a", "put_a"]),
        (("GET_*", "put_a"), (), ["put_a"]),
        (("*",), ("*",), []),
    ],
)
def test_include_and_exclude_choose_by_raw_name(
    include: tuple[str, ...], exclude: tuple[str, ...], left: list[str]
):
    tools = [tool("get_a"), tool("get_b"), tool("put_a")]
    catalog = made(server("s", *tools, include=include, exclude=exclude))
    assert raw(catalog) == left
    assert not catalog.dropped


def test_a_literal_name_with_brackets_can_be_named():
    assert raw(made(server("s", tool("a[1]"), tool("a1"), include=("a[1]",)))) == ["a[1]", "a1"]
    assert raw(made(server("s", tool("a[x"), tool("b"), exclude=("a[x",)))) == ["b"]


def test_an_excluded_tool_has_no_route_by_any_name():
    names = Names("cherry")
    before = made(server("s", tool("get_a"), tool("b")), names=names)
    after = made(server("s", tool("get_a"), tool("b"), exclude=("get_a",)), names=names)
    assert before.find("s-get_a") is not None
    assert [after.find(name) for name in ("s-get_a", "get_a")] == [None, None]
    assert after.find("b") == after.routes["s-b"]


def test_an_excluded_tool_collides_with_none():
    catalog = made(server("github-a", tool("list")), server("github-b", tool("list"), exclude=("list",)))
    assert offered(catalog) == ["github_list"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": ("get_wether", "put")}, ['"include"', "get_wether", "near it are get_weather"]),
        ({"include": ("zzz*", "put")}, ["zzz*", "its tools are get_weather, put"]),
        ({"exclude": ("putt",)}, ['"exclude"', "putt", "near it are put"]),
    ],
)
def test_a_pattern_that_matches_nothing_is_warned_about(options: dict[str, Any], words: list[str]):
    [warning] = made(server("s", tool("get_weather"), tool("put"), **options)).warnings
    assert warning.startswith("s: ")
    for word in words:
        assert word in warning


def test_a_glob_that_excludes_nothing_is_a_precaution():
    assert made(server("s", tool("put"), exclude=("*delete*",))).warnings == ()


def test_a_server_without_tools_is_not_warned_about():
    assert made(server("s", include=("get_*",))).warnings == ()


def test_of_two_tools_with_one_raw_name_the_first_is_kept():
    first, second = tool("t", description="first"), tool("t", description="second")
    catalog = made(server("s", first, tool("u"), second, second))
    assert [entry["function"]["description"] for entry in catalog.functions] == ["first", "about u"]
    assert catalog.warnings == ("s lists more than once: t; the first of each is kept",)
    assert len(catalog.dropped["s"]) == 1


def test_a_server_that_comes_twice_has_each_tool_once():
    assert offered(made(server("s", tool("t")), server("s", tool("t"), tool("u")))) == ["s-t", "s-u"]


def test_a_tool_that_needs_a_task_is_hidden_and_said_so():
    catalog = made(server("s", tool("slow", execution={"taskSupport": "required"}), tool("t")))
    assert offered(catalog) == ["s-t"]
    assert catalog.find("slow") is None
    assert catalog.dropped == {"s": ("slow: it runs only as a task, which is not supported",)}


@pytest.mark.parametrize(
    "execution", [None, 5, {}, {"taskSupport": "optional"}, {"taskSupport": ["required"]}]
)
def test_any_other_execution_is_no_hindrance(execution: object):
    assert offered(made(server("s", tool("t", execution=execution)))) == ["s-t"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (None, "tool 2: it is not an object"),
        ("t", "tool 2: it is not an object"),
        (["t"], "tool 2: it is not an object"),
        ({}, "tool 2: it has no name"),
        ({"name": None}, "tool 2: it has no name"),
        ({"name": ""}, "tool 2: its name is blank"),
        ({"name": " "}, "tool 2: its name is blank"),
        ({"name": 5}, "tool 2: its name is not a string"),
        ({"name": {"a": "t"}}, "tool 2: its name is not a string"),
    ],
)
def test_a_malformed_tool_costs_itself_and_is_named(bad: object, why: str):
    catalog = made(server("s", tool("a"), bad, tool("b")), server("t", tool("c")))
    assert offered(catalog) == ["s-a", "s-b", "t-c"]
    assert catalog.dropped == {"s": (why,)}


@pytest.mark.parametrize("schema", [None, 5, "x", [], {"properties": None}, {"type": 5}, {"$ref": "#"}, True])
def test_a_tool_with_an_odd_schema_is_repaired(schema: object):
    catalog = made(server("s", tool("t", inputSchema=schema)))
    assert catalog.functions[0]["function"]["parameters"]["type"] == "object"
    assert catalog.routes["s-t"].schema == schema


@pytest.mark.parametrize("spelling", ["input_schema", "parameters"])
def test_a_schema_under_another_spelling_is_found(spelling: str):
    [entry] = made(server("s", {"name": "t", spelling: SCHEMA})).functions
    assert entry["function"]["parameters"] == SCHEMA


def test_more_tools_than_the_dialect_takes_leave_the_last_out_but_callable():
    catalog = made(
        server("a", *[tool(f"x{n}") for n in range(3)]),
        server("b", *[tool(f"y{n}") for n in range(20)]),
        dialect=with_limit(5),
    )
    assert offered(catalog) == ["a-x0", "a-x1", "a-x2", "b-y0", "b-y1"]
    [warning] = catalog.warnings
    for words in ("takes 5 tools", "there are 23", "18 of b (y2, y3,", "y6, …)", '"include"'):
        assert words in warning
    left_out = catalog.find("b-y19")
    assert left_out is not None and left_out.tool == "y19"
    assert "b-y19" not in catalog.nearest("b-y19")


@pytest.mark.parametrize("most", [None, 3, 4])
def test_within_the_limit_nothing_is_left_out(most: int | None):
    catalog = made(server("a", *[tool(f"x{n}") for n in range(3)]), dialect=with_limit(most))
    assert (len(catalog.functions), catalog.warnings) == (3, ())


def test_a_callers_own_tools_take_names_and_room():
    names = Names("plain", reserved=["x0", "mine"])
    catalog = made(server("a", tool("x0"), tool("x1")), names=names, dialect=with_limit(3))
    [name] = offered(catalog)
    assert re.fullmatch("x0_[0-9a-f]{6}", name)
    assert catalog.find("x0") is None
    assert made(names=names, dialect=with_limit(1)).warnings == ()


def test_find_takes_public_old_and_raw_names():
    names = Names("cherry")
    first = made(server("github-a", tool("list"), tool("get-x")), names=names)
    second = made(
        server("github-a", tool("list"), tool("get-x")), server("github-b", tool("list")), names=names
    )
    assert offered(first)[0] == "github_list"
    a, _, b = second.routes.values()
    assert [second.find(name) for name in ("github_list", a.name, b.name)] == [a, a, b]
    assert second.find("list") is None
    assert second.find("get-x") == second.routes["github_get_x"]
    assert first.find(a.name) == first.routes["github_list"]


def test_an_old_name_of_a_tool_that_is_gone_leads_nowhere():
    names = Names("plain")
    made(server("old", tool("list")), names=names)
    assert made(server("new", tool("list")), names=names).find("list") is None


def test_an_old_name_still_routes_when_a_servers_prefix_changed():
    names = Names("cherry")
    made(server("s", tool("t"), prefix="old-"), names=names)
    catalog = made(server("s", tool("t"), prefix="new-"), names=names)
    assert catalog.find("old-t") == catalog.routes["new-t"]


def test_nearest_names_the_likest_first():
    catalog = made(
        server("amap-maps", *[tool(name) for name in ("maps_geo", "maps_regeocode", "maps_weather")])
    )
    assert catalog.nearest("amap_maps_geo")[0] == "amap_ma-maps_geo"
    assert catalog.nearest("Maps-Weather")[0] == "amap_ma-maps_weather"
    assert catalog.nearest("") == catalog.nearest("qqqq" * 10_000) == []
    many = made(server("s", *[tool(f"tool_{n}") for n in range(50)]))
    assert len(many.nearest("tool_")) == 5


def test_a_servers_validation_and_prefix_reach_its_routes():
    catalog = made(server("dummy-server", tool("think"), prefix="dummy-server-", validate=False))
    route = catalog.routes["dummy-server-think"]
    assert (route.validate, route.server) == (False, "dummy-server")


@pytest.mark.skipif(not CORPUS, reason="the corpus is not here")
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_real_servers_lose_no_tool(dialect: Dialect):
    listed = {path.stem: json.loads(path.read_text("utf-8"))["tools"] for path in CORPUS}
    servers = [server(name, *tools) for name, tools in listed.items()]
    catalog = made(*servers, dialect=dataclasses.replace(dialect, max_tools=None))
    hidden = {
        name: tuple(f"{tool['name']}: it runs only as a task, which is not supported" for tool in tools)
        for name, tools_listed in listed.items()
        if (tools := [t for t in tools_listed if t.get("execution") == {"taskSupport": "required"}])
    }
    assert (dict(catalog.dropped), catalog.warnings) == (hidden, ())
    assert len(catalog.functions) == sum(map(len, listed.values())) - sum(map(len, hidden.values()))
    json.dumps(catalog.functions, ensure_ascii=False, allow_nan=False).encode()


texts = st.text(st.characters(exclude_categories=()), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
schema_keys = st.sampled_from(
    ["type", "properties", "required", "$ref", "anyOf", "items", "enum", "$defs", "not"]
)
schemas = json_values | st.recursive(
    st.dictionaries(schema_keys, json_values, max_size=3),
    lambda inner: st.dictionaries(schema_keys, inner | json_values, max_size=3),
    max_leaves=5,
)
tools = json_values | st.fixed_dictionaries(
    {"name": json_values | st.sampled_from(["list", "li-st", "git_list"])},
    optional={
        "inputSchema": schemas,
        "description": json_values,
        "title": json_values,
        "annotations": json_values,
        "execution": json_values | st.just({"taskSupport": "required"}),
    },
)
patterns = st.lists(st.sampled_from(["*", "l*", "list", "[", "!"]) | texts, max_size=2).map(tuple)
servers = st.builds(
    ListedServer,
    name=st.sampled_from(["git-a", "git-b"]) | texts,
    prefix=st.none() | texts,
    include=st.just(()) | patterns,
    exclude=st.just(()) | patterns,
    tools=st.lists(tools, max_size=5).map(tuple),
    validate=st.booleans(),
)


@given(
    st.lists(servers, max_size=3),
    st.sampled_from(list(DIALECTS.values())),
    st.sampled_from(["cherry", "mcp", "plain"]),
)
@settings(max_examples=200, deadline=None)
def test_any_listing_gives_a_catalog_that_can_be_sent(
    listed: list[ListedServer], dialect: Dialect, scheme: str
):
    catalog = made(*listed, names=Names(scheme), dialect=dialect)
    json.dumps(catalog.functions, ensure_ascii=False, allow_nan=False).encode()
    assert len(set(offered(catalog))) == len(catalog.functions)
    for name in offered(catalog):
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_-]{0,63}", name)
        assert catalog.find(name) == catalog.routes[name]
        assert name in catalog.nearest(name)


@given(st.lists(tools, min_size=1, max_size=6), json_values, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_bad_tool_never_costs_another(listed: list[Any], bad: object, rng: random.Random):
    good = [tool(f"good{n}") for n in range(3)]
    mixed = [*good, *listed, bad]
    rng.shuffle(mixed)
    assert {"good0", "good1", "good2"} <= set(raw(made(server("s", *mixed))))
