"""servers.json → `Config`: found, read, understood in every host's spelling, and merged.

What concerns one server becomes that server's `problem`, and the others start. What concerns a file as a
whole, or the model, tools and limits, is a `ConfigError` that names file, line and key.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcphost import jsonc, sections, trust
from mcphost.documents import Place, as_object, suggestion
from mcphost.endpoints import is_loopback
from mcphost.environment import child_environment
from mcphost.errors import ConfigError
from mcphost.layout import OWN_SECTIONS, Entry, Layout, take_apart
from mcphost.model_choice import NoModel, local_candidates, model_dialect, resolve_model
from mcphost.redact import redact, redact_args, redact_url
from mcphost.server_entry import Built, build
from mcphost.specs import Approve, Config, Limits, ModelSpec, ServerSpec, ServerType, ToolsSpec
from mcphost.spellings import LATER, SPELLINGS
from mcphost.variables import Ask, Inputs, Scope, home_folder
from mcphost.written import model_lines, server_lines

__all__ = [
    "Approve",
    "Ask",
    "Config",
    "Found",
    "Limits",
    "ModelSpec",
    "NoModel",
    "ServerSpec",
    "ServerType",
    "ToolsSpec",
    "child_environment",
    "find",
    "is_loopback",
    "load",
    "local_candidates",
    "model_dialect",
    "narrowed",
    "parse",
    "redact",
    "redact_args",
    "redact_url",
    "resolve_model",
    "with_objects",
]

_LARGEST: Final = 16 * 1024 * 1024
_HERE: Final = ("servers.json", ".mcp.json", ".vscode/mcp.json")
_EDITOR_FOLDERS: Final = frozenset(
    ".vscode .cursor .gemini .roo .zed .idea .claude .windsurf .kilocode .trae .github .amazonq".split()
)
_KNOWN_KEYS: Final = tuple({*SPELLINGS, *(other for others in SPELLINGS.values() for other in others)})


@dataclass(frozen=True, slots=True)
class Found:
    """A config file. `stranger`: it was only found in the working folder, and has to be confirmed."""

    path: Path
    stranger: bool


def find(*, environ: Mapping[str, str], cwd: Path, home_config: Path) -> Found | None:
    """The config file when none is named: $MCPHOST_CONFIG, whether or not it is there; else one of the
    working folder's; else the user's own, which is no stranger wherever it is found."""
    if named := environ.get("MCPHOST_CONFIG", "").strip():
        home = home_folder(environ)
        path = home / named[2:] if named.startswith("~/") else Path(named)
        return Found(cwd / path, stranger=False)
    own = os.path.realpath(home_config)
    for name in _HERE:
        path = cwd / name
        if os.path.isfile(path):
            return Found(path, stranger=os.path.realpath(path) != own)
    return Found(home_config, stranger=False) if os.path.isfile(home_config) else None


def load(paths: Sequence[Path], *, environ: Mapping[str, str], ask: Ask | None = None) -> Config:
    """The configuration of several files. A server of a later file replaces an earlier one of its name as a
    whole; `model`, `tools` and `limits` are merged by key.

    `ask` answers VS Code's `${input:id}`, each once a file; without it such a server has a `problem`.
    Raises `ConfigError`.
    """
    contents = _Contents()
    digests: dict[Path, str] = {}
    for path in paths:
        content = _content(path)
        document = _document(path, content)
        place = Place(str(path), path.absolute().parent, document.lines)
        contents = contents.then(_interpret(document.value, place, path.absolute(), environ, ask))
        repeated = [f"{place.name}: {key} is there twice; the last one counts" for key in document.repeated]
        contents = contents.then(_Contents(warnings=tuple(repeated)))
        digests[path.absolute()] = trust.digest(path.absolute(), content)
    return contents.config(digests)


def parse(
    data: object,
    *,
    source: Path | None,
    environ: Mapping[str, str],
    ask: Ask | None = None,
) -> Config:
    """The configuration of data at hand, such as a dict in a program. `source` is the file it came from, if
    any. Raises `ConfigError`."""
    folder = Path.cwd() if source is None else source.absolute().parent
    place = Place("the configuration" if source is None else str(source), folder)
    absolute = None if source is None else source.absolute()
    contents = _interpret(data, place, absolute, environ, ask)
    return contents.config({}).model_copy(update={"files": () if absolute is None else (absolute,)})


def narrowed(config: Config, only: Iterable[str]) -> Config:
    """`config` with just the servers named, or as it is when none is. Raises `ConfigError` for others."""
    names = list(only)
    for name in names:
        if name not in config.servers:
            known = ", ".join(config.servers) or "none"
            reason = f"no server is called {name!r}{suggestion(name, config.servers)}"
            raise ConfigError(reason, hint=f"Configured: {known}.")
    kept = {name: spec for name, spec in config.servers.items() if name in names}
    return config.model_copy(update={"servers": kept}) if names else config


def with_objects(config: Config, servers: Mapping[str, Any]) -> Config:
    """`config` with servers that are objects of this process, by name, in place of any of the same name."""
    specs = {name: ServerSpec(name=name, type="object") for name in servers}
    return config.model_copy(update={"servers": {**config.servers, **specs}}) if specs else config


@dataclass(frozen=True, slots=True)
class _Contents:
    """What one file says, or several."""

    servers: Mapping[str, ServerSpec] = field(default_factory=dict[str, ServerSpec])
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], repr=False)
    model_written: tuple[str, ...] = field(default=(), repr=False)
    settings: sections.Settings = field(default_factory=sections.Settings)
    warnings: tuple[str, ...] = ()

    def then(self, later: "_Contents") -> "_Contents":
        return _Contents(
            {**self.servers, **later.servers},
            {**self.written, **later.written},
            self.model_written + later.model_written,
            self.settings.then(later.settings),
            self.warnings + later.warnings,
        )

    def config(self, digests: Mapping[Path, str]) -> Config:
        model: dict[str, Any] = dict(self.settings.model)
        tools: dict[str, Any] = dict(self.settings.tools)
        limits: dict[str, Any] = dict(self.settings.limits)
        return Config(
            servers=self.servers,
            model=ModelSpec(**model, problems=self.settings.problems),
            tools=ToolsSpec(**tools),
            limits=Limits(**limits),
            files=tuple(digests),
            warnings=self.warnings,
            digests=digests,
            written=self.written,
            model_written=self.model_written,
        )


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file", hint="Name another with -c FILE.") from None
    except IsADirectoryError:
        hint = f"Name a file in it: -c {path / 'servers.json'}."
        raise ConfigError(f"{path}: is a folder, not a file", hint=hint) from None
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{path}: cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    if len(content) > _LARGEST:
        raise ConfigError(f"{path}: is larger than any servers.json ({_LARGEST // 1024**2} MiB)")
    return content


def _document(path: Path, content: bytes) -> jsonc.Document:
    try:
        return jsonc.parse(content.decode("utf-8"))
    except UnicodeDecodeError as exc:
        wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        what = "is UTF-16" if wide else f"is not UTF-8: byte {exc.start + 1} is no part of a character"
        raise ConfigError(f"{path}: {what}", hint="Save it as UTF-8.") from None
    except jsonc.JsoncError as exc:
        hint = "mcphost reads JSON, not TOML or YAML." if path.suffix in (".toml", ".yaml", ".yml") else None
        raise ConfigError(f"{path}:{exc.line}:{exc.column}: not JSON: {exc.reason}", hint=hint) from None


def _interpret(
    data: object, place: Place, source: Path | None, environ: Mapping[str, str], ask: Ask | None
) -> _Contents:
    layout = take_apart(data, place)
    workspace = place.folder.parent if place.folder.name in _EDITOR_FOLDERS else place.folder
    inputs = Inputs.of(layout.sections.get("inputs"), ask)
    scope = Scope(environ, workspace=workspace, cwd=Path.cwd(), inputs=inputs)
    settings = sections.read(layout.sections, place, scope)
    warnings: list[str] = []
    servers: dict[str, Built] = {}
    entries = _names(layout.entries, place, warnings)
    for name, entry in entries.items():
        servers[name] = build(name, entry.value, source=source, folder=place.folder, scope=scope)
        warnings += [f"{place.at(entry.path)}: {name}: {text}" for text in servers[name].warnings]
    warnings += _about_keys(layout, settings, servers, place)
    return _Contents(
        {name: built.spec for name, built in servers.items()},
        {name: server_lines(entry.value) for name, entry in entries.items()},
        model_lines(layout.sections.get("model")),
        settings,
        tuple(warnings),
    )


def _about_keys(
    layout: Layout, settings: sections.Settings, servers: Mapping[str, Built], place: Place
) -> list[str]:
    """The warning about unknown keys, and those about keys that do nothing yet."""
    unknown = [key + suggestion(key, ("mcpServers", *OWN_SECTIONS)) for key in layout.unknown]
    unknown += settings.unknown
    for name, built in servers.items():
        unknown += [f"{name}.{key}{suggestion(key, _KNOWN_KEYS)}" for key in built.unknown]
    warnings: list[str] = []
    if unknown:
        more = f" and {len(unknown) - 12} more" if len(unknown) > 12 else ""
        warnings.append(f"{place.name}: unknown keys are ignored: {', '.join(unknown[:12])}{more}")
    users = {key: [name for name, built in servers.items() if key in built.keys] for key in LATER}
    return warnings + [
        f"{place.name}: {key} is not yet effective ({', '.join(names)})"
        for key, names in users.items()
        if names
    ]


def _names(entries: Iterable[Entry], place: Place, warnings: list[str]) -> dict[str, Entry]:
    """Entries by the servers' names: the entry's `name`, else its key. Equal names are made different."""
    wanted = [(_wanted_name(entry), entry) for entry in entries]
    taken = {name for name, _ in wanted}
    named: dict[str, Entry] = {}
    for name, entry in wanted:
        new, number = name, 2
        while new in named or (new != name and new in taken):
            new, number = f"{name}-{number}", number + 1
        if new != name:
            warnings.append(f"{place.at(entry.path)}: another server is called {name}; this one is now {new}")
        named[new] = entry
    return named


def _wanted_name(entry: Entry) -> str:
    given = (as_object(entry.value) or {}).get("name")
    for name in (given if isinstance(given, str) else "", entry.key):
        shown = "".join(char if char.isprintable() else " " for char in name)
        if shown := " ".join(shown.split()):
            return shown
    return "server"
