"""The tools of all servers as one list for the model, and the way back from each name to its tool.

Pure: works on the raw tools as servers listed them. One that cannot be used costs itself, and the catalog
says why.
"""

import difflib
import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from mcphost.blocks import as_object
from mcphost.dialect import Dialect
from mcphost.jsontext import well_formed
from mcphost.naming import Names, ToolKey
from mcphost.schema import convert, shorten
from mcphost.text import one_line

_GLOB = re.compile(r"[*?\[\]]")
_NEAR = 5
_LISTED = 5
_LIKENESS = 0.5
_NAME_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A server and its tools as it listed them, in its order, not yet judged.

    `include` and `exclude` are globs over raw tool names: none in `include` means all, and `exclude` wins.
    `validate`: arguments are checked before they are sent. `prefix` goes before its tools' public names.
    """

    name: str
    prefix: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    tools: tuple[Any, ...]
    validate: bool


@dataclass(frozen=True, slots=True)
class Route:
    """Where a public `name` leads: to `tool`, by its raw name, of `server`.

    `schema` is its `inputSchema` and `definition` the whole tool, both as the server listed them.
    """

    name: str
    server: str
    tool: str
    schema: object
    annotations: Mapping[str, Any]
    validate: bool
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the model is offered and what can be called.

    `functions` are the `tools` of a request. `routes`, by public name, has those that were left out for
    being too many as well: they can be called, and are not offered. `dropped` says per server which tools
    cannot be used, "tool: why". `warnings` are sentences for the user. `own` names the functions of a turn's
    caller, which have no route: calls of them are handed back.
    """

    functions: list[dict[str, Any]]
    routes: Mapping[str, Route]
    dropped: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...]
    names: Names = field(repr=False, compare=False)
    own: frozenset[str] = frozenset()

    def find(self, name: str) -> Route | None:
        """The tool of a public name, an old public name, or a raw name only one server has; None for no tool.

        A name never leads to another tool than it once did, even when that one is gone.
        """
        if route := self.routes.get(name):
            return route
        key = self.names.lookup(name)
        known = (route for route in self.routes.values() if key and (route.server, route.tool) == key[:2])
        return next(known, None)

    def named(self, name: str) -> Route | None:
        """The same, or the tool of `server/tool`."""
        exact = (route for route in self.routes.values() if name == f"{route.server}/{route.tool}")
        return self.find(name) or next(exact, None)

    def nearest(self, name: str) -> list[str]:
        """The offered names most like a wrong one, or whose raw names are: at most five, the likest first."""
        wrong = name[:200].lower()
        offered = [name for name in map(name_of, self.functions) if name is not None]
        ranked = [(_likeness(wrong, *{public, self._raw(public)}), public) for public in offered]
        return [public for score, public in heapq.nlargest(_NEAR, ranked) if score >= _LIKENESS]

    def _raw(self, public: str) -> str:
        route = self.routes.get(public)
        return public if route is None else route.tool


def name_of(entry: Mapping[str, Any]) -> str | None:
    """The name that an entry of a request's `tools` is called by; None where it has none, as endpoints' own
    tools may."""
    named = as_object(entry.get("function")) or as_object(entry.get("custom")) or {}
    name = named.get("name")
    return name if isinstance(name, str) else None


def build(servers: Sequence[ListedServer], *, names: Names, dialect: Dialect) -> Catalog:
    """The catalog of `servers`, in their order and the order of their lists.

    `names` remembers every tool of earlier catalogs. Where the dialect takes only so many tools, a caller's
    own (`names.reserved`) count too, and the first of ours are offered. Raises nothing for what servers list.
    """
    tools: dict[ToolKey, tuple[ListedServer, dict[str, Any]]] = {}
    dropped: dict[str, tuple[str, ...]] = {}
    warnings: list[str] = []
    for server in servers:
        listing = _judged(server)
        warnings += listing.warnings
        if listing.dropped:
            dropped[server.name] = (*dropped.get(server.name, ()), *listing.dropped)
        for name, tool in listing.usable.items():
            tools.setdefault(ToolKey(server.name, name, server.prefix), (server, tool))
    public = names.assign(tools)
    routes = {
        public[key]: _route(public[key], key, tool, validate=server.validate)
        for key, (server, tool) in tools.items()
    }
    offered, left_out = room_for(list(routes.values()), dialect, others=len(names.reserved))
    warnings += left_out
    functions = [function(route, dialect) for route in offered]
    return Catalog(functions, routes, dropped, tuple(warnings), names)


def room_for(routes: list[Route], dialect: Dialect, *, others: int) -> tuple[list[Route], list[str]]:
    """The first of `routes` that a request has room for beside `others`, and a warning about the rest."""
    total = len(routes) + others
    if not routes or dialect.max_tools is None or total <= dialect.max_tools:
        return routes, []
    room = max(0, dialect.max_tools - others)
    return routes[:room], [_too_many(routes[room:], most=dialect.max_tools, total=total)]


def _route(name: str, key: ToolKey, tool: dict[str, Any], *, validate: bool) -> Route:
    spellings = ("inputSchema", "input_schema", "parameters")
    schema = next((tool[spelling] for spelling in spellings if tool.get(spelling) is not None), None)
    annotations = as_object(tool.get("annotations")) or {}
    return Route(name, key.server, key.tool, schema, annotations, validate, tool)


def function(route: Route, dialect: Dialect) -> dict[str, Any]:
    """One entry of a request's `tools`. Its description may be "", but is there: some endpoints insist."""
    texts = (
        route.definition.get("description"),
        route.definition.get("title"),
        route.annotations.get("title"),
    )
    text = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return {
        "type": "function",
        "function": {
            "name": route.name,
            "description": shorten(well_formed(text), dialect.description_limit),
            "parameters": convert(route.schema, dialect.schema),
        },
    }


@dataclass(slots=True)
class _Listing:
    """One server's tools, judged. `usable` has raw names and definitions in list order."""

    usable: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    dropped: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def _judged(server: ListedServer) -> _Listing:
    listing = _Listing()
    listed: dict[str, bool] = {}  # raw names, and whether they came more than once
    for place, value in enumerate(server.tools, 1):
        tool = as_object(value)
        name = None if tool is None else tool.get("name")
        if tool is None or not isinstance(name, str) or not name.strip():
            listing.dropped.append(f"tool {place}: {_nameless(tool)}")
        elif name in listed:
            listed[name] = True
        else:
            listed[name] = False
            if not _wanted(name, server):
                continue
            if _needs_task(tool):
                listing.dropped.append(f"{_shown(name)}: it runs only as a task, which is not supported")
            else:
                listing.usable[name] = tool
    twice = [name for name, again in listed.items() if again and _wanted(name, server)]
    if twice:
        names = ", ".join(map(_shown, twice))
        listing.dropped += [
            f"{_shown(name)}: it is listed more than once, and the first is kept" for name in twice
        ]
        listing.warnings.append(f"{server.name} lists more than once: {names}; the first of each is kept")
    if listed:
        listing.warnings += _idle_patterns(server, list(listed))
    return listing


def _nameless(tool: Mapping[str, Any] | None) -> str:
    if tool is None:
        return "it is not an object"
    if tool.get("name") is None:
        return "it has no name"
    return "its name is blank" if isinstance(tool["name"], str) else "its name is not a string"


def _needs_task(tool: Mapping[str, Any]) -> bool:
    return (as_object(tool.get("execution")) or {}).get("taskSupport") == "required"


def _wanted(name: str, server: ListedServer) -> bool:
    included = not server.include or any(matches(name, pattern) for pattern in server.include)
    return included and not any(matches(name, pattern) for pattern in server.exclude)


def matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _idle_patterns(server: ListedServer, listed: Sequence[str]) -> Iterable[str]:
    """A warning for each pattern that matches nothing. A glob that excludes nothing may be a precaution."""
    patterns = [("include", pattern) for pattern in server.include]
    patterns += [("exclude", pattern) for pattern in server.exclude if not _GLOB.search(pattern)]
    for key, pattern in patterns:
        if not any(matches(name, pattern) for name in listed):
            near = difflib.get_close_matches(_GLOB.sub("", pattern), listed, _NEAR, _LIKENESS)
            names = ", ".join(map(_shown, near or listed[:_NEAR]))
            hint = (
                f"near it are {names}"
                if near
                else f"its tools are {names}{'' if len(listed) <= _NEAR else ', …'}"
            )
            yield f'{server.name}: no tool matches {_shown(pattern)} in "{key}"; {hint}'


def _too_many(left_out: Sequence[Route], *, most: int, total: int) -> str:
    by_server: dict[str, list[str]] = {}
    for route in left_out:
        by_server.setdefault(route.server, []).append(_shown(route.tool))
    parts = [
        f"{len(tools)} of {server} ({', '.join(tools[:_LISTED])}{', …' if len(tools) > _LISTED else ''})"
        for server, tools in by_server.items()
    ]
    return (
        f"the model takes {most} tools and there are {total}, so these are left out: {'; '.join(parts)}. "
        'To make room for them, name in "include" of each server only the tools that are needed.'
    )


def _likeness(wrong: str, *names: str) -> float:
    matcher = difflib.SequenceMatcher(None, b=wrong)
    best = 0.0
    for name in names:
        matcher.set_seq1(name[:200].lower())
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            best = max(best, matcher.ratio())
    return best


def _shown(name: str) -> str:
    return one_line(name, _NAME_SHOWN)
