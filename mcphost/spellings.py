"""How hosts spell a server entry, as one table. Cherry Studio, Claude, Cursor, VS Code, Cline, Roo, Gemini
CLI, Windsurf, Zed, Codex, opencode, goose and LM Studio name the same few things differently.

Keys are compared without `_`, `-` and case, so each style of a name is there once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcphost.documents import as_list, as_object, fold

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "name": (),
    "type": ("transport", "transportType"),
    "command": ("cmd",),
    "args": ("arguments",),
    "env": ("environment", "envs"),
    "env_file": (),
    "cwd": ("workingDirectory",),
    "inherit_env": ("env_vars",),
    "url": ("serverUrl", "baseUrl", "uri"),
    "http_url": (),
    "headers": ("http_headers",),
    "enabled": ("isActive",),
    "disabled": (),
    "include": ("includeTools", "allowedTools", "enabledTools", "availableTools"),
    "exclude": ("excludeTools", "excludedTools", "disabledTools"),
    "approve": (),
    "trust": (),
    "autoApprove": ("alwaysAllow", "autoAllow"),
    "disabledAutoApproveTools": (),
    "trust_annotations": (),
    "validate": (),
    "timeout": ("tool_timeout_sec", "requestTimeout"),
    "timeout_ms": (),
    "timeout_max": (),
    "session": (),
    "session_idle": (),
    "log_level": (),
    "roots": (),
    "start_timeout": ("startup_timeout_sec",),
    "start_timeout_ms": ("startup_timeout_ms",),
    "prefix": (),
    "builtin": (),
    "registryUrl": (),
    "bearer_token_env_var": (),
    "env_http_headers": (),
    "auth": ("oauth",),
    "cost": (),
    "requires": (),
}
"""Our key, or the other host's where we have none, and the other spellings of it, the best one first."""

KNOWN_KEYS: Final = tuple({*SPELLINGS, *(other for others in SPELLINGS.values() for other in others)})
"""All spellings of all keys."""

TYPES: Mapping[str, str] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "https": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
    "inmemory": "builtin",
    "builtin": "builtin",
}
"""A `type`, folded as keys are, and what it is here."""

LATER: Final = ("cost", "requires")
"""Keys that are read and have no effect yet."""

_HARMLESS = frozenset(
    fold(key)
    for key in (
        "id description title longRunning provider providerUrl logoUrl tags reference searchKey configSample "
        "shouldConfig isTrusted trustedAt installedAt installSource dxtVersion dxtPath version gallery dev "
        "icon iconUrl homepage author license category note notes comment source settings extensionName"
    ).split()
)
"""What other hosts keep about a server for themselves."""

_ADDED_UP = frozenset({"include", "exclude", "inherit_env", "autoApprove", "disabledAutoApproveTools"})
_KEYS: Mapping[str, str] = {fold(name): key for key, others in SPELLINGS.items() for name in (key, *others)}


@dataclass(frozen=True, slots=True)
class Spelled:
    """An entry in our own spelling, without what is absent or empty. `written` has the entry's own word for
    each key that it spells differently; `unknown` are keys that mean nothing here."""

    values: Mapping[str, object]
    written: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: tuple[str, ...] = ()


def looks_like_server(value: object) -> bool:
    """Whether it says what to run or reach."""
    values = spell(as_object(value) or {}).values
    given = values.get("type")
    typed = isinstance(given, str) and fold(given) in TYPES
    return typed or any(key in values for key in ("command", "url", "http_url", "builtin"))


def is_comment(key: str) -> bool:
    """Whether a key is there for people or editors: `//`, `_comment`, `$schema`, `x-…`."""
    return key.startswith(("/", "_", "$", "#", "x-"))


def spell(entry: Mapping[str, object]) -> Spelled:
    """An entry in our spelling. Where two spellings are used, ours wins; lists of tools are added up."""
    found: dict[str, dict[str, object]] = {}
    unknown: list[str] = []
    for key, value in _flattened(entry).items():
        ours = _KEYS.get(fold(key))
        if ours is None and fold(key) == "tools" and (value == "*" or as_list(value) is not None):
            ours = "include"  # GitHub Copilot's
        if ours is not None:
            if not _is_empty(ours, value):
                found.setdefault(ours, {})[key] = value
        elif not is_comment(key) and fold(key) not in _HARMLESS:
            unknown.append(key)
    best = {ours: _best_first(ours, spelled) for ours, spelled in found.items()}
    values = {ours: _settled(ours, list(spelled.values())) for ours, spelled in best.items()}
    written = {ours: next(iter(spelled)) for ours, spelled in best.items()}
    return Spelled(values, {ours: key for ours, key in written.items() if key != ours}, tuple(unknown))


def _flattened(entry: Mapping[str, object]) -> dict[str, object]:
    """Objects that some hosts put in the place of a word are spread out: Continue's `transport: {type, …}`,
    Zed's `command: {path, args, env}`, opencode's `timeout: {startup, request}` in milliseconds."""
    flat = dict(entry)
    if transport := as_object(flat.get("transport")):
        del flat["transport"]
        flat = {**transport, **flat}
    if command := as_object(flat.get("command")):
        del flat["command"]
        command["command"] = command.pop("path", None)
        flat = {**command, **flat}
    if timeout := as_object(flat.get("timeout")):
        del flat["timeout"]
        flat = {"timeout_ms": timeout.get("request"), "start_timeout_ms": timeout.get("startup"), **flat}
    return flat


def _best_first(ours: str, spelled: Mapping[str, object]) -> dict[str, object]:
    names = [fold(name) for name in (ours, *SPELLINGS[ours])]
    order = sorted(spelled, key=lambda key: names.index(fold(key)) if fold(key) in names else len(names))
    return {key: spelled[key] for key in order}


def _settled(ours: str, given: list[object]) -> object:
    """One value of those given for a key under several spellings."""
    if ours in _ADDED_UP and len(given) > 1 and all(isinstance(value, str | list | tuple) for value in given):
        return [
            item for value in given for item in ([value] if isinstance(value, str) else as_list(value) or ())
        ]
    return given[0]


def _is_empty(key: str, value: object) -> bool:
    """Hosts write out what is not set: null, an empty string (which as a prefix does mean something)."""
    return value is None or (isinstance(value, str) and not value.strip() and key != "prefix")
