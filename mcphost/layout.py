"""Where in a file the servers stand, and what else is ours in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcphost.documents import Place, as_list, as_object, fold, kind, suggestion
from mcphost.jsonc import KeyPath
from mcphost.spellings import is_comment, looks_like_server

OWN_SECTIONS: Final = ("model", "tools", "limits", "inputs")
_SERVER_SECTIONS: Final = ("mcpservers", "servers", "mcp.servers", "contextservers")
_EXAMPLE: Final = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'


@dataclass(frozen=True, slots=True)
class Entry:
    """One server as it stands in a file, its name not yet settled."""

    key: str
    value: object
    path: KeyPath


@dataclass(frozen=True, slots=True)
class Layout:
    """A file taken apart: `sections` are those of `OWN_SECTIONS` that it has, `unknown` its other keys."""

    entries: tuple[Entry, ...] = ()
    sections: Mapping[str, object] = field(default_factory=dict[str, object])
    unknown: tuple[str, ...] = ()


def take_apart(data: object, place: Place) -> Layout:
    """Finds the servers: under `mcpServers` and its other names, in VS Code's, Zed's and opencode's settings,
    as a bare object of servers, or as an array of them. Raises `ConfigError` where there is nothing of ours.
    """
    if (items := as_list(data)) is not None:
        return Layout(tuple(_listed(items, ())))
    top = as_object(data)
    if top is None:
        raise place.error((), f"holds {kind(data)}, not an object of servers", hint=f"Write {_EXAMPLE}.")
    top = _without_comments(top)
    if named := [key for key in top if fold(key) in _SERVER_SECTIONS]:
        entries = [entry for key in named for entry in _section(top[key], (key,), place)]
        return _with_own(entries, {key: value for key, value in top.items() if key not in named})
    if (mcp := as_object(top.get("mcp"))) is not None:
        if settings := _editor_settings(mcp, place):
            return settings
    if bare := _bare(top):
        return bare
    if looks_like_server(top):
        raise place.error((), "is one server without a name", hint='Write {"mcpServers": {"its name": {…}}}.')
    layout = _with_own([], top)
    if layout.unknown:
        names = [
            key + suggestion(key, ("mcpServers", "model", "tools", "limits")) for key in layout.unknown[:5]
        ]
        raise place.error((), f"has no mcpServers, only {', '.join(names)}", hint=f"Write {_EXAMPLE}.")
    return layout


def _with_own(entries: list[Entry], rest: Mapping[str, object]) -> Layout:
    sections = {key: value for key, value in rest.items() if key in OWN_SECTIONS}
    return Layout(tuple(entries), sections, tuple(key for key in rest if key not in OWN_SECTIONS))


def _editor_settings(mcp: Mapping[str, object], place: Place) -> Layout | None:
    """The servers under `mcp` in VS Code's or opencode's settings, whose `model` and `tools` are not ours."""
    for key in ("servers", "mcpServers"):
        if key in mcp:
            return Layout(tuple(_section(mcp[key], ("mcp", key), place)), {"inputs": mcp.get("inputs")})
    servers = {key: value for key, value in mcp.items() if looks_like_server(value)}
    return Layout(tuple(_section(servers, ("mcp",), place))) if servers else None


def _bare(top: Mapping[str, object]) -> Layout | None:
    """An object of servers with nothing around it, if most objects in it are servers. Our own sections may
    stand beside them; a server may have the name of one."""
    candidates = {
        key: value
        for key, value in top.items()
        if as_object(value) is not None and (key not in OWN_SECTIONS or _is_server_in_place(value))
    }
    alike = sum(looks_like_server(value) for value in candidates.values())
    if alike == 0 or alike * 2 < len(candidates):
        return None
    entries = [Entry(key, value, (key,)) for key, value in candidates.items()]
    return _with_own(entries, {key: value for key, value in top.items() if key not in candidates})


def _is_server_in_place(value: object) -> bool:
    """Whether what stands where `model` would is a server: `model` itself may have a `base_url`."""
    return not {"command", "url"}.isdisjoint(as_object(value) or {})


def _section(value: object, path: KeyPath, place: Place) -> list[Entry]:
    if value is None:
        return []
    if (items := as_list(value)) is not None:
        return _listed(items, path)
    servers = as_object(value)
    if servers is None:
        raise place.error(
            path, f"an object of servers belongs here, not {kind(value)}", hint=f"Write {_EXAMPLE}."
        )
    return [Entry(key, item, (*path, key)) for key, item in _without_comments(servers).items()]


def _without_comments(top: Mapping[str, object]) -> dict[str, object]:
    """A server may well be called `_local` or `x-files`; one behind `//` or `#` was put out of the way."""
    return {
        key: value
        for key, value in top.items()
        if not is_comment(key) or (looks_like_server(value) and not key.startswith(("//", "#")))
    }


def _listed(items: list[object], path: KeyPath) -> list[Entry]:
    """Entries of an array, which hold their names; one without gets its number."""
    return [Entry(f"server-{number}", item, (*path, number - 1)) for number, item in enumerate(items, 1)]
