"""The servers of a host that has started them: how they came up, and what of their tools a model gets."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from mcphost import arguments
from mcphost.catalog import Catalog, Route
from mcphost.dialect import Dialect
from mcphost.doctor.findings import Finding, of_error
from mcphost.host import Host
from mcphost.naming import public_name
from mcphost.server import Server
from mcphost.text import one_line

_SLOW_SECONDS: Final = 10.0
_SHOWN: Final = 5


def about_servers(host: Host, dialect: Dialect) -> Iterator[Finding]:
    """Every server, then what concerns several."""
    catalog = host.catalog(dialect)
    for server in host.servers.values():
        yield from _about(server, catalog)
    for warning in catalog.warnings:
        yield Finding("warning", warning, "tools")
    yield from _about_names(host, catalog)
    yield from _about_tools(catalog, dialect)


def _about(server: Server, catalog: Catalog) -> Iterator[Finding]:
    where = server.spec.summary()
    if server.state == "disabled":
        yield Finding("note", "it is disabled", where, 'Set "enabled": true to have its tools.', server.name)
        return
    if server.error is not None:
        yield of_error(server.error, where)
        return
    if server.state == "starting":
        hint = "Give it longer: --wait SECONDS."
        yield Finding("warning", "it was not ready in the time it was given", where, hint, server.name)
        return
    seconds = server.seconds or 0.0
    tools = "1 tool" if len(server.tools) == 1 else f"{len(server.tools) or 'no'} tools"
    who = f", {one_line(server.info, 80)}" if server.info else ""
    what = f"{tools}, MCP {server.protocol}{who}, ready in {seconds:.1f} s"
    if seconds > _SLOW_SECONDS:
        yield Finding("warning", f"{what}, which is slow", where, _faster(server), server.name)
    else:
        yield Finding("ok", what, where, server=server.name)
    for line in catalog.dropped.get(server.name, ()):
        hint = "Only its maker can mend that; the other tools are not affected."
        yield Finding("warning", f"left out: {line}", where, hint, server.name)


def _faster(server: Server) -> str:
    match PurePath(server.spec.command or "").name:
        case "npx" | "bunx":
            return "Install its package (npm install -g …), and name its program as `command`."
        case "uvx":
            return "Install its package (uv tool install …), and name its program as `command`."
        case "docker" | "podman":
            return "Pull its image beforehand."
        case _:
            return "`chat` does not wait for it; --wait SECONDS shortens the waiting of other commands."


def _about_names(host: Host, catalog: Catalog) -> Iterator[Finding]:
    """Tools that would all be called the same, and so are not."""
    scheme = host.config.tools.naming
    alike: dict[str, list[Route]] = defaultdict(list)
    for route in catalog.routes.values():
        prefix = host.servers[route.server].spec.prefix
        alike[public_name(route.server, route.tool, scheme=scheme, prefix=prefix)].append(route)
    for name, routes in alike.items():
        if len(routes) > 1:
            called = ", ".join(
                f"{route.server}/{one_line(route.tool, 60)} is {route.name}" for route in routes[:_SHOWN]
            )
            more = f" and {len(routes) - _SHOWN} more" if len(routes) > _SHOWN else ""
            hint = 'Give one of the servers a "prefix", or choose another --naming, to have nicer names.'
            yield Finding(
                "note", f"{len(routes)} tools would be called {name}: {called}{more}", "tools", hint
            )


def _about_tools(catalog: Catalog, dialect: Dialect) -> Iterator[Finding]:
    long: dict[str, list[Route]] = defaultdict(list)
    for route in catalog.routes.values():
        description = route.definition.get("description")
        if dialect.description_limit and isinstance(description, str):
            if len(description) > dialect.description_limit:
                long[route.server].append(route)
        if (warning := arguments.check(route.schema).warning) is not None:
            what = (
                f"{one_line(route.tool, 60)}: its schema cannot be used, so arguments go unchecked: {warning}"
            )
            yield Finding("warning", what, "tools", "Only the server's maker can mend that.", route.server)
    for server, routes in long.items():
        names = ", ".join(one_line(route.tool, 60) for route in routes[:_SHOWN])
        more = f" and {len(routes) - _SHOWN} more" if len(routes) > _SHOWN else ""
        limit = f"{dialect.name} takes {dialect.description_limit} characters"
        what = f"the descriptions of {names}{more} are cut: {limit}"
        yield Finding("note", what, "tools", server=server)
