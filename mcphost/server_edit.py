"""Servers put into and taken out of the text of a servers.json, whichever host's manner it is written in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcphost import files, jsonc_edit
from mcphost.documents import Place, as_list, as_object, fold
from mcphost.jsonc import KeyPath
from mcphost.layout import Entry, Layout, named, take_apart

_EMPTY: Final = "{}\n"
_TYPED: Final = ("servers", "mcp.servers")
"""Where VS Code keeps its servers: there, each has a `type`."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file's text, its servers by name, and where in it what stands."""

    text: str = field(repr=False)
    value: object = field(repr=False)
    layout: Layout
    servers: Mapping[str, Entry] = field(repr=False)

    @classmethod
    def of(cls, path: Path, data: bytes | None) -> "Sheet":
        """The file `path` with the content `data`, None for a file that is not there yet.

        Raises `ConfigError` for what is no servers.json.
        """
        if data is None or not data.removeprefix(b"\xef\xbb\xbf").strip():
            text = (data or b"").decode().strip() + _EMPTY
        else:
            text = files.text(path, data)
        document = files.document(path, text.encode())
        place = Place(str(path), path.absolute().parent, document.lines)
        layout = take_apart(document.value, place)
        return cls(text, document.value, layout, named(layout.entries, place, []))

    def with_server(self, name: str, entry: Mapping[str, object]) -> str:
        """The text with a server of this name, last, or in the place of the one that is there."""
        there, value = self.servers.get(name), self._spelled(entry)
        if there is not None:
            given = (as_object(there.value) or {}).get("name")
            return jsonc_edit.put(self.text, there.path, {"name": given, **value} if given else value)
        home = self.layout.home
        if (items := self._array(home)) is not None:
            return jsonc_edit.put(self.text, (*home, len(items)), {"name": name, **value})
        return jsonc_edit.put(self.text, (*home, name), value)

    def without_server(self, name: str) -> str:
        """The text without this server. Raises `KeyError` where there is none."""
        return jsonc_edit.remove(self.text, self.servers[name].path)

    def with_inputs(self, inputs: Mapping[str, Mapping[str, object]]) -> str:
        """The text with what servers ask their user for, by id, as VS Code has it; those that it has stay.

        As it is where the file is in a manner that has no place for them.
        """
        if self._array(()) is not None:
            return self.text
        home: KeyPath = (
            (*self.layout.home[:-1], "inputs") if self.layout.home[:1] == ("mcp",) else ("inputs",)
        )
        known = as_list(self.layout.sections.get("inputs"))
        ids = [(as_object(item) or {}).get("id") for item in known or ()]
        new = [{"id": name, **item} for name, item in inputs.items() if name not in ids]
        text = self.text if known is not None or not new else jsonc_edit.put(self.text, home, [])
        for place, item in enumerate(new, len(ids)):
            text = jsonc_edit.put(text, (*home, place), item)
        return text

    def _array(self, path: KeyPath) -> list[object] | None:
        """The array at a path of keys, None where there is none."""
        value = self.value
        for key in path:
            value = (as_object(value) or {}).get(str(key))
        return as_list(value)

    def _spelled(self, entry: Mapping[str, object]) -> dict[str, object]:
        """An entry of ours in the manner of the file."""
        home = ".".join(map(str, self.layout.home))
        if home == "mcp":
            return _for_opencode(entry)
        if fold(home) in _TYPED and "type" not in entry:
            return {"type": "stdio" if "command" in entry else "http", **entry}
        return dict(entry)


def _for_opencode(entry: Mapping[str, object]) -> dict[str, object]:
    """It has the command and its arguments in one list, and `environment`."""
    rest = {key: value for key, value in entry.items() if key not in ("type", "command", "args", "env")}
    if "command" not in entry:
        return {"type": "remote", **rest}
    command = [entry["command"], *(as_list(entry.get("args")) or ())]
    environment = {"environment": entry["env"]} if entry.get("env") else {}
    return {"type": "local", "command": command, **environment, **rest}
