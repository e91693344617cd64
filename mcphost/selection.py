"""What one turn is given of a host's tools, and what its caller brings along. Pure.

A selection narrows and never widens. The caller's own functions keep their names: where one is called like
a tool of a server, that tool goes by another name, in this turn only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcphost.catalog import Catalog, Route, function, matches, name_of, room_for
from mcphost.config import Approve
from mcphost.dialect import Dialect
from mcphost.naming import ToolKey


@dataclass(frozen=True, slots=True)
class Selection:
    """What a turn may use.

    `own`: entries of a request's `tools` that go along as they are, and whose calls the caller runs.
    `servers`: by name, None for all. `tools`: globs over public names, raw names and `server/tool`, None for
    all. `approve`: what is asked about besides what the servers' own settings ask about. `save`: whether
    attachments and overlong results may be saved in files, where the host does so. `caller`: whose turn it
    is, for servers that are not shared between callers; None shares all.
    """

    own: tuple[Mapping[str, Any], ...] = ()
    servers: frozenset[str] | None = None
    tools: tuple[str, ...] | None = None
    approve: Approve | None = None
    save: bool = True
    caller: str | None = None

    def allows(self, server: str, tool: str, public: str | None = None) -> bool:
        """Whether a tool may be used, by its raw and its public name."""
        if self.servers is not None and server not in self.servers:
            return False
        names = (public or tool, tool, f"{server}/{tool}")
        return self.tools is None or any(matches(name, glob) for glob in self.tools for name in names)


def select(catalog: Catalog, selection: Selection, dialect: Dialect) -> Catalog:
    """The catalog of one turn: the caller's own functions, and of `catalog` what `selection` leaves.

    `catalog` itself comes back where nothing is selected, so that who remembers it by identity still can.
    """
    own = frozenset(name for name in map(name_of, selection.own) if name is not None)
    kept = [
        route for route in catalog.routes.values() if selection.allows(route.server, route.tool, route.name)
    ]
    if not selection.own and len(kept) == len(catalog.routes):
        return catalog
    known = {name_of(entry): entry for entry in catalog.functions}
    routes: dict[str, Route] = {}
    for route in kept:
        if route.name in own:
            route = _renamed(route, catalog, own)
        routes[route.name] = route
    offered, warnings = room_for(list(routes.values()), dialect, others=len(selection.own))
    functions = [dict(entry) for entry in selection.own]
    functions += [known.get(route.name) or function(route, dialect) for route in offered]
    return replace(catalog, functions=functions, routes=routes, warnings=tuple(warnings), own=own)


def _renamed(route: Route, catalog: Catalog, own: frozenset[str]) -> Route:
    key = catalog.names.lookup(route.name) or ToolKey(route.server, route.tool)
    return replace(route, name=catalog.names.spare(key, own))
