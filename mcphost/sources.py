"""Files of other programs that keep MCP servers: where they are, and the servers in them."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcphost import files
from mcphost.documents import Place, as_object
from mcphost.errors import ConfigError
from mcphost.jsonc import Document
from mcphost.layout import Entry, Layout, named, take_apart

_CODE: Final = {"VS Code": "Code", "VS Code Insiders": "Code - Insiders", "VSCodium": "VSCodium"}
_STORAGE: Final = "User/globalStorage"


@dataclass(frozen=True, slots=True)
class Source:
    """The servers of a file, by name, and its other sections."""

    path: Path
    servers: Mapping[str, Entry] = field(repr=False)
    layout: Layout = field(repr=False)


def document(path: Path, data: bytes) -> Document:
    """`data`, the content of `path`: JSON with comments, or TOML. Raises `ConfigError`."""
    return Document(_toml(path, data), {}) if path.suffix == ".toml" else files.document(path, data)


def servers(path: Path, document: Document, *, project: Path) -> Source:
    """The servers in a file. Raises `ConfigError` where there is no place for any.

    Claude Code keeps servers by project in one file: those of the folder `project` are among them.
    """
    place, value = Place(str(path), path.parent, document.lines), document.value
    top = as_object(value) or {}
    if projects := as_object(top.get("projects")):
        own = (as_object(projects.get(str(project))) or {}).get("mcpServers")
        value = {"mcpServers": {**(as_object(top.get("mcpServers")) or {}), **(as_object(own) or {})}}
    layout = take_apart(value, place)
    return Source(path, named(layout.entries, place, []), layout)


def _toml(path: Path, data: bytes) -> object:
    try:
        value = tomllib.loads(files.text(path, data).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path}: not TOML: {exc}") from None
    return json.loads(json.dumps(value, default=str))


def known_places(
    *, environ: Mapping[str, str], platform: str, home: Path, cwd: Path
) -> Iterator[tuple[str, Path]]:
    """Where other programs keep their servers: the program, and a path that may be there or not.

    Cherry Studio keeps them in a database: there is only what it was asked to export.
    """
    match platform:
        case "darwin":
            data = home / "Library/Application Support"
        case "win32":
            data = Path(environ.get("APPDATA") or home / "AppData/Roaming")
        case _:
            data = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    yield "Claude Desktop", data / "Claude/claude_desktop_config.json"
    yield "Claude Code", home / ".claude.json"
    yield "Cursor", home / ".cursor/mcp.json"
    for name, code in _CODE.items():
        yield name, data / code / "User/mcp.json"
        yield name, data / code / "User/settings.json"
        yield "Cline", data / code / _STORAGE / "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
        yield "Roo Code", data / code / _STORAGE / "rooveterinaryinc.roo-cline/settings/mcp_settings.json"
    yield "Gemini CLI", home / ".gemini/settings.json"
    yield "Windsurf", home / ".codeium/windsurf/mcp_config.json"
    yield "Codex", Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    yield "opencode", config / "opencode/opencode.json"
    yield "Zed", config / "zed/settings.json"
    yield "LM Studio", home / ".lmstudio/mcp.json"
    yield "Copilot CLI", home / ".copilot/mcp-config.json"
    yield "Kiro", home / ".kiro/settings/mcp.json"
    for name, path in (
        ("Claude Code", ".mcp.json"),
        ("Cursor", ".cursor/mcp.json"),
        ("VS Code", ".vscode/mcp.json"),
        ("Gemini CLI", ".gemini/settings.json"),
        ("opencode", "opencode.json"),
    ):
        yield f"{name}, this folder", cwd / path
