"""What one turn is given of a host's tools."""

from typing import Any

import pytest

from mcphost.assemble import Reply
from mcphost.catalog import Catalog, ListedServer, build, name_of
from mcphost.dialect import DIALECTS, OPENAI
from mcphost.host import Host
from mcphost.naming import Names
from mcphost.selection import Selection, select

from .scripted import ScriptedModel


def catalog(*names: str, server: str = "files", count: int = 0) -> Catalog:
    tools = [{"name": name, "inputSchema": {}} for name in (*names, *(f"tool{n}" for n in range(count)))]
    listed = ListedServer(server, None, (), (), tuple(tools), True)
    return build([listed], names=Names("cherry"), dialect=OPENAI)


def own(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def offered(found: Catalog) -> list[str | None]:
    return [name_of(entry) for entry in found.functions]


def test_nothing_selected_is_the_catalog_itself():
    everything = catalog("read", "write")
    assert select(everything, Selection(servers=frozenset({"files"}), tools=("*",)), OPENAI) is everything


@pytest.mark.parametrize("glob", ["read", "files/read", "files-read", "r*", "*/r*"])
def test_a_glob_may_be_over_any_of_a_tools_names(glob: str):
    found = select(catalog("read", "write"), Selection(tools=(glob,)), OPENAI)
    assert offered(found) == ["files-read"]
    assert found.find("files-write") is None


def test_entries_without_a_name_go_along():
    entry = {"type": "web_search", "web_search": {"enable": True}}
    found = select(catalog("read"), Selection(own=(entry,)), OPENAI)
    assert found.functions[0] == entry and found.own == frozenset()
    assert found.nearest("files-raed") == ["files-read"]


def test_a_name_that_the_caller_has_is_the_callers():
    found = select(catalog("read"), Selection(own=(own("files-read"),)), OPENAI)
    callers, ours = offered(found)
    assert callers == "files-read" and ours is not None and ours.startswith("files-read_")
    route = found.find(ours)
    assert route is not None and (route.server, route.tool) == ("files", "read")


def test_the_other_name_is_none_that_the_caller_has_either():
    everything = catalog("read")
    first = offered(select(everything, Selection(own=(own("files-read"),)), OPENAI))[1]
    assert first is not None
    both = select(everything, Selection(own=(own("files-read"), own(first))), OPENAI)
    assert len(set(offered(both))) == 3
    again = select(everything, Selection(own=(own("files-read"),)), OPENAI)
    assert offered(again)[1] == first


def test_the_callers_own_take_of_the_room_there_is():
    mine = tuple(own(f"mine{n}") for n in range(100))
    found = select(catalog(count=50), Selection(own=mine), OPENAI)
    assert len(found.functions) == 128
    assert "there are 150" in found.warnings[0]


def test_what_there_was_no_room_for_is_there_when_it_is_asked_for():
    found = select(catalog(count=200), Selection(tools=("tool199",)), OPENAI)
    assert offered(found) == ["files-tool199"] and found.warnings == ()


def test_there_is_room_for_all_where_the_dialect_has_no_limit():
    found = select(catalog(count=200), Selection(own=(own("mine"),)), DIALECTS["local"])
    assert len(found.functions) == 201


@pytest.mark.anyio
async def test_a_turn_without_the_tool_for_thinking_is_not_told_of_it():
    model = ScriptedModel(Reply("Hello."))
    config = {"mcpServers": {"think": {"builtin": "think"}}, "tools": {"think": True}}
    async with Host.from_config(config, model=model) as host:
        await host.ready()
        for servers in (frozenset[str](), None):
            async with host.turn("Hi", tools=host.toolbox(Selection(servers=servers))) as events:
                assert [event async for event in events]
    assert [asked["messages"][0]["role"] for asked in model.asked] == ["user", "system"]
