"""servers.json → `Config`: found, read, understood in every host's spelling, and merged.

What concerns one server becomes that server's `problem`, and the others start. What concerns a file as a
whole, or the model, tools and limits, is a `ConfigError` that names file, line and key.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcphost import files, sections, trust
from mcphost.documents import Place, suggestion
from mcphost.endpoints import is_loopback
from mcphost.environment import child_environment
from mcphost.errors import ConfigError
from mcphost.files import Found, find
from mcphost.layout import OWN_SECTIONS, Layout, named, take_apart
from mcphost.model_choice import NoModel, local_candidates, model_dialect, resolve_model
from mcphost.redact import redact, redact_args, redact_url
from mcphost.server_entry import Built, build
from mcphost.specs import Approve, Config, Limits, ModelSpec, ServerSpec, ServerType, ToolsSpec
from mcphost.spellings import KNOWN_KEYS, LATER
from mcphost.variables import Ask, Inputs, Scope, workspace_of
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


def load(paths: Sequence[Path], *, environ: Mapping[str, str], ask: Ask | None = None) -> Config:
    """The configuration of several files. A server of a later file replaces an earlier one of its name as a
    whole; `model`, `tools` and `limits` are merged by key.

    `ask` answers VS Code's `${input:id}`, each once a file; without it such a server has a `problem`.
    Raises `ConfigError`.
    """
    contents = _Contents()
    digests: dict[Path, str] = {}
    for path in paths:
        content = files.content(path)
        document = files.document(path, content)
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
        thinking = _thinking(self.servers) if tools.get("think") else {}
        return Config(
            servers={**self.servers, **thinking},
            model=ModelSpec(**model, problems=self.settings.problems),
            tools=ToolsSpec(**tools),
            limits=Limits(**limits),
            prices=self.settings.prices,
            files=tuple(digests),
            warnings=self.warnings,
            digests=digests,
            written={**self.written, **dict.fromkeys(thinking, ("builtin think",))},
            model_written=self.model_written,
        )


def _thinking(servers: Mapping[str, ServerSpec]) -> dict[str, ServerSpec]:
    """The built-in server `think`, where no server is that already, or is called so."""
    if any(name == "think" or spec.builtin == "think" for name, spec in servers.items()):
        return {}
    never = Approve(mode="never")
    return {"think": ServerSpec(name="think", type="builtin", builtin="think", approve=never)}


def _interpret(
    data: object, place: Place, source: Path | None, environ: Mapping[str, str], ask: Ask | None
) -> _Contents:
    layout = take_apart(data, place)
    inputs = Inputs.of(layout.sections.get("inputs"), ask)
    scope = Scope(environ, workspace=workspace_of(place.folder), cwd=Path.cwd(), inputs=inputs)
    settings = sections.read(layout.sections, place, scope)
    warnings: list[str] = []
    servers: dict[str, Built] = {}
    entries = named(layout.entries, place, warnings)
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
        unknown += [f"{name}.{key}{suggestion(key, KNOWN_KEYS)}" for key in built.unknown]
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
