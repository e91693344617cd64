"""Where in a file the servers stand, and what else is ours in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mcphost.documents import Place, as_list, as_object, fold, kind, suggestion
from mcphost.jsonc import KeyPath
from mcphost.spellings import is_comment, looks_like_server

OWN_SECTIONS: Final = ("model", "tools", "limits", "prices", "inputs")
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
    """A file taken apart: `sections` are those of `OWN_SECTIONS` that it has, `unknown` its other keys.

    `home` is where one more server goes: the object or array of the others.
    """

    entries: tuple[Entry, ...] = ()
    home: KeyPath = ("mcpServers",)
    sections: Mapping[str, object] = field(default_factory=dict[str, object])
    unknown: tuple[str, ...] = ()


def take_apart(data: object, place: Place) -> Layout:
    """Finds the servers: under `mcpServers` and its other names, in VS Code's, Zed's and opencode's settings,
    as a bare object of servers, or as an array of them. Raises `ConfigError` where there is nothing of ours.
    """
    if (items := as_list(data)) is not None:
        return Layout(tuple(_listed(items, ())), ())
    top = as_object(data)
    if top is None:
        raise place.error((), f"holds {kind(data)}, not an object of servers", hint=f"Write {_EXAMPLE}.")
    top = _without_comments(top)
    if named := [key for key in top if fold(key) in _SERVER_SECTIONS]:
        entries = [entry for key in named for entry in _section(top[key], (key,), place)]
        rest = {key: value for key, value in top.items() if key not in named}
        return _with_own(entries, (named[-1],), rest)
    if (mcp := as_object(top.get("mcp"))) is not None:
        if settings := _editor_settings(mcp, place):
            return settings
    if bare := _bare(top):
        return bare
    if looks_like_server(top):
        raise place.error((), "is one server without a name", hint='Write {"mcpServers": {"its name": {…}}}.')
    layout = _with_own([], ("mcpServers",), top)
    if layout.unknown:
        names = [
            key + suggestion(key, ("mcpServers", "model", "tools", "limits")) for key in layout.unknown[:5]
        ]
        raise place.error((), f"has no mcpServers, only {', '.join(names)}", hint=f"Write {_EXAMPLE}.")
    return layout


def _with_own(entries: list[Entry], home: KeyPath, rest: Mapping[str, object]) -> Layout:
    sections = {key: value for key, value in rest.items() if key in OWN_SECTIONS}
    return Layout(tuple(entries), home, sections, tuple(key for key in rest if key not in OWN_SECTIONS))


def _editor_settings(mcp: Mapping[str, object], place: Place) -> Layout | None:
    """The servers under `mcp` in VS Code's or opencode's settings, whose `model` and `tools` are not ours."""
    for key in ("servers", "mcpServers"):
        if key in mcp:
            home = ("mcp", key)
            return Layout(tuple(_section(mcp[key], home, place)), home, {"inputs": mcp.get("inputs")})
    servers = {key: value for key, value in mcp.items() if looks_like_server(value)}
    return Layout(tuple(_section(servers, ("mcp",), place)), ("mcp",)) if servers else None


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
    return _with_own(entries, (), {key: value for key, value in top.items() if key not in candidates})


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


def named(entries: Iterable[Entry], place: Place, warnings: list[str]) -> dict[str, Entry]:
    """Entries by the servers' names: the entry's `name`, else its key. Equal names are made different."""
    wanted = [(_wanted_name(entry), entry) for entry in entries]
    taken = {name for name, _ in wanted}
    found: dict[str, Entry] = {}
    for name, entry in wanted:
        new, number = name, 2
        while new in found or (new != name and new in taken):
            new, number = f"{name}-{number}", number + 1
        if new != name:
            warnings.append(f"{place.at(entry.path)}: another server is called {name}; this one is now {new}")
        found[new] = entry
    return found


def _wanted_name(entry: Entry) -> str:
    given = (as_object(entry.value) or {}).get("name")
    for name in (given if isinstance(given, str) else "", entry.key):
        if shown := clean_name(name):
            return shown
    return "server"


def clean_name(text: str) -> str:
    """`text` as the name of a server: without what does not print, and on one line."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
