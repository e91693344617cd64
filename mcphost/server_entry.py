"""One server entry → `ServerSpec`. An entry that is wrong becomes a spec with a `problem`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

from mcphost import auth_entry, envfile
from mcphost.documents import as_list, as_object, fold, kind, nearest, suggestion
from mcphost.endpoints import check_url
from mcphost.fields import Fields
from mcphost.specs import Approve, LogLevel, ServerSpec, ServerType, SessionScope
from mcphost.spellings import TYPES, Spelled, spell
from mcphost.variables import Inputs, Scope

BUILTINS: Final = ("think",)
"""The servers that `type: builtin` can name."""

_POLICIES: Mapping[str, Approve] = {
    "never": Approve(mode="never"),
    "writes": Approve(mode="writes"),
    "always": Approve(mode="always"),
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_COMMAND = 'Give it "command" and "args", or a "url".'


@dataclass(frozen=True, slots=True)
class Built:
    """A spec, what to warn of, and the keys that are not known here."""

    spec: ServerSpec
    warnings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()


def build(name: str, entry: object, *, source: Path | None, folder: Path, scope: Scope) -> Built:
    """The server `name` of an entry in any spelling. `folder` is what relative paths start from. Never raises
    for what stands in the entry; a disabled server has no problems, whatever its entry lacks."""
    values = as_object(entry)
    if values is None:
        if not _is_json(entry):
            return Built(ServerSpec(name=name, source=source, type="object"))
        problem = f"a server is an object, not {kind(entry)}"
        return Built(ServerSpec(name=name, source=source, problem=problem, hint=_NO_COMMAND))
    spelled = spell(values)
    fields = Fields(spelled.values, scope, written=spelled.written)
    enabled = fields.flag("enabled") is not False and fields.flag("disabled") is not True
    if not enabled:
        fields = Fields(
            spelled.values, replace(scope, inputs=Inputs()), lenient=True, written=spelled.written
        )
    spec = _read(name, fields, spelled, folder, enabled)
    auth, unknown = auth_entry.read(fields, folder)
    if auth is not None and spec.type in ("stdio", "builtin"):
        fields.warnings.append(f"{fields.label('auth')} has no effect: the server has no url")
    problem, hint = fields.problem() if enabled else (None, None)
    found = {"auth": auth, "source": source, "enabled": enabled, "problem": problem, "hint": hint}
    spec = spec.model_copy(update=found)
    return Built(spec, tuple(fields.warnings), spelled.unknown + unknown, _effective(spelled))


def _read(name: str, fields: Fields, spelled: Spelled, folder: Path, enabled: bool) -> ServerSpec:
    type_ = _type(fields, spelled)
    kwargs: dict[str, Any] = {"name": name, "type": type_}
    match type_:
        case "stdio":
            kwargs |= _process(fields, spelled, folder, enabled)
        case "builtin":
            kwargs["builtin"] = _builtin(name, fields)
        case _:
            kwargs |= _address(fields, spelled)
    start_timeout = fields.seconds("start_timeout")
    validate = fields.flag("validate")
    prefix = fields.values.get("prefix")
    if not isinstance(prefix, str | None):
        fields.complain(f"prefix must be a string, not {kind(prefix)}")
    return ServerSpec(
        **kwargs,
        include=fields.globs("include"),
        exclude=fields.globs("exclude"),
        approve=_approve(fields) or (_POLICIES["never"] if type_ == "builtin" else None),
        trust_annotations=fields.flag("trust_annotations") is True,
        validate_arguments=validate is not False,
        timeout=fields.seconds("timeout"),
        timeout_max=fields.seconds("timeout_max"),
        log_level=_log_level(fields),
        session=_session(fields),
        session_idle=fields.seconds("session_idle") or 600.0,
        roots=_roots(fields, folder),
        start_timeout=60.0 if start_timeout is None else start_timeout,
        prefix=prefix if isinstance(prefix, str) else None,
    )


def _type(fields: Fields, spelled: Spelled) -> ServerType:
    """What the entry says, or else what its keys can only mean."""
    values = fields.values
    given = values.get("type")
    meant = TYPES.get(fold(given)) if isinstance(given, str) else None
    if given is not None and meant is None:
        shown = repr(given.strip()) if isinstance(given, str) else kind(given)
        guess = suggestion(given, TYPES) if isinstance(given, str) else ""
        fields.complain(f"unknown type {shown}{guess}", "Known are stdio, http, sse and builtin.")
    match meant:
        case "stdio":
            return "stdio"
        case "http" | "sse":
            return "http" if meant == "http" or "http_url" in values else "sse"
        case "builtin":
            return "builtin"
        case _:
            return _type_by_keys(fields, spelled, complete=given is not None)


def _type_by_keys(fields: Fields, spelled: Spelled, *, complete: bool) -> ServerType:
    """`complete`: nothing is missing that would have to be complained about."""
    values = fields.values
    address = "http_url" if "http_url" in values else "url" if "url" in values else None
    if "command" in values:
        if address and not complete:
            fields.warnings.append('both command and url are given: the command is used; "type" decides')
        return "stdio"
    if address:
        return "http" if address == "http_url" else "url"
    if values.get("builtin"):
        return "builtin"
    if not complete:
        _lacks("neither a command nor a url", ("command", "url"), fields, spelled)
    return "stdio"


def _lacks(what: str, keys: tuple[str, ...], fields: Fields, spelled: Spelled) -> None:
    for slip in spelled.unknown:
        if meant := nearest(slip, keys):
            return fields.complain(f"has {what}", f"Is {slip} meant to be {meant}?")
    fields.complain(f"has {what}", _NO_COMMAND)


def _process(fields: Fields, spelled: Spelled, folder: Path, enabled: bool) -> dict[str, Any]:
    command, args = _command(fields)
    if command is None and "command" not in fields.values and "type" in fields.values:
        _lacks("no command", ("command",), fields, spelled)
    env: dict[str, str] = {}
    if registry := fields.text("registryUrl"):
        env |= dict.fromkeys(("NPM_CONFIG_REGISTRY", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"), registry)
    env_file = fields.text("env_file", home=True)
    if env_file is not None and enabled:
        try:
            env |= envfile.read(folder / env_file)
        except envfile.EnvFileError as exc:
            fields.complain(f"{fields.label('env_file')} {env_file} {exc}")
    env |= fields.pairs("env", "=")
    for bad in [name for name in env if not name or "=" in name or "\0" in name]:
        fields.complain(f"env: {bad!r} cannot be the name of a variable")
    cwd = fields.text("cwd", home=True)
    path = None if cwd is None else folder / cwd
    if path is not None and enabled and "${" not in str(cwd) and not _is_folder(path):
        fields.complain(f"cwd {path} is not a folder")
    inherit = fields.globs("inherit_env")
    return {"command": command, "args": args, "env": env, "cwd": path, "inherit_env": inherit}


def _command(fields: Fields) -> tuple[str | None, tuple[str, ...]]:
    """The command and its arguments; opencode has both in one list."""
    if as_list(fields.values.get("command")) is None:
        command = fields.text("command", home=True)
        words = (command or "").split()
        if len(words) > 1 and "args" not in fields.values and not re.search(r"[/\\]", words[0]):
            fields.warnings.append('the command holds spaces: all words after the first belong into "args"')
        return command, fields.words("args")
    words = fields.words("command")
    if not words or not words[0].strip():
        fields.complain("command is an empty list", 'Give it "command" and "args".')
        return None, ()
    return words[0], words[1:] + fields.words("args")


def _address(fields: Fields, spelled: Spelled) -> dict[str, Any]:
    key = "http_url" if "http_url" in fields.values else "url"
    url = fields.text(key)
    if url is None and key not in fields.values:
        _lacks("no url", ("url",), fields, spelled)
    elif url is not None and "${" not in url:
        try:
            check_url(url)
        except ValueError as exc:
            socket = url.lower().startswith(("ws:", "wss:"))
            fields.complain(f"url {exc}", "WebSocket servers are not supported." if socket else None)
    headers = {name.strip(): value.strip() for name, value in fields.pairs("headers", ":").items()}
    for name, variable in fields.pairs("env_http_headers", ":").items():
        headers[name] = fields.expanded(f"${{{variable}}}", f"headers.{name}")
    bearer = fields.text("bearer_token_env_var")
    if bearer is not None:
        headers["Authorization"] = "Bearer " + fields.expanded(f"${{{bearer}}}", "bearer_token_env_var")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            fields.complain(f"headers: {name!r} cannot be the name of a header")
        if not re.fullmatch(r"[\t\x20-\x7e\x80-\xff]*", value):
            fields.complain(f"headers.{name} holds characters that a header cannot have")
    return {"url": url, "headers": headers}


def _builtin(name: str, fields: Fields) -> str | None:
    given = fields.values.get("builtin")
    wanted = given if isinstance(given, str) else name.rpartition("/")[2]
    if wanted not in BUILTINS:
        hint = f"There is {', '.join(BUILTINS)}. Others run by npx or uvx."
        fields.complain(f"no built-in server is called {wanted!r}", hint)
        return None
    return wanted


def _approve(fields: Fields) -> Approve | None:
    """Our own key, or else what other hosts' keys come to. Empty lists of theirs say nothing."""
    own = fields.values.get("approve")
    if own is not None:
        if isinstance(own, str) and own in _POLICIES:
            return _POLICIES[own]
        if as_list(own) is not None:
            return Approve(mode="only", tools=fields.globs("approve"))
        shown = repr(own) if isinstance(own, str) else kind(own)
        fields.complain(f"approve must be never, writes, always or a list of tools, not {shown}")
        return None
    if fields.flag("trust") or fields.values.get("autoApprove") is True:
        return Approve(mode="never")
    freed = fields.globs("autoApprove") if fields.values.get("autoApprove") is not False else ()
    asked = fields.globs("disabledAutoApproveTools")
    if freed:
        return Approve(mode="except", tools=freed)
    return Approve(mode="only", tools=asked) if asked else None


def _session(fields: Fields) -> SessionScope:
    given = fields.text("session")
    known: dict[str, SessionScope] = {fold(scope): scope for scope in get_args(SessionScope)}
    if given is not None and fold(given) not in known:
        fields.complain(f"session must be one of {', '.join(known.values())}{suggestion(given, known)}")
    return known.get(fold(given or ""), "shared")


def _log_level(fields: Fields) -> LogLevel | None:
    given = fields.text("log_level")
    known = {str(level): level for level in get_args(LogLevel)}
    if given is not None and given.lower() not in known:
        fields.complain(f"log_level must be one of {', '.join(known)}{suggestion(given, known)}")
    return known.get(given.lower()) if given is not None else None


def _roots(fields: Fields, folder: Path) -> tuple[str, ...] | None:
    """Folders as file URIs; a relative one starts from `folder`."""
    if "roots" not in fields.values:
        return None
    return tuple(root_uri(text, folder) for text in fields.words("roots"))


def root_uri(text: str, folder: Path) -> str:
    """A folder, or a URI, as a file URI (MCP specification, "Roots": file URIs only, for now)."""
    return text if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text) else (folder / text).absolute().as_uri()


def _is_json(value: object) -> bool:
    return value is None or isinstance(value, str | int | float) or as_list(value) is not None


def _effective(spelled: Spelled) -> frozenset[str]:
    """The keys that are given and say something."""
    return frozenset(key for key, value in spelled.values.items() if value not in (False, {}, []))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
