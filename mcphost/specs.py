"""The configuration as the rest of the program sees it: frozen, complete, every variable expanded.

None of these shows a secret in its `repr`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mcphost.prices import Price
from mcphost.redact import redact, redact_args, redact_url

ServerType = Literal["stdio", "http", "sse", "url", "builtin", "object"]
"""`url`: no type is given, so streamable HTTP, then SSE. `object`: a server object handed over in code."""


LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""MCP specification, "Logging": the least severe first."""


SessionScope = Literal["shared", "per-key", "per-request"]
"""Who shares a connection to a server, where a backend's callers use it: all of them; those with one key;
nobody, and each turn has its own."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Approve(_Frozen):
    """Which of a server's calls the user is asked about.

    `writes` asks unless the tool is known to read only; `only` asks for the tools named (globs), `except`
    for all but those.
    """

    mode: Literal["never", "writes", "always", "only", "except"]
    tools: tuple[str, ...] = ()


Grant = Literal["authorization_code", "client_credentials", "jwt_bearer"]
ClientAuth = Literal["client_secret_basic", "client_secret_post", "none"]


class AuthSpec(_Frozen):
    """How a server that wants authorization is given it (MCP specification, "Authorization"): by OAuth.

    `grant`: a person says yes on a page (`authorization_code`); the program proves who it is, by
    `client_secret` or by a `private_key` (PEM) that signs with `algorithm` (`client_credentials`); or it
    presents an `assertion`, a JWT of somebody that the authorization server trusts, or one that such an
    identity provider makes of the user's `id_token`, at `id_token_url`, for its client `id_client_id`
    (`jwt_bearer`).

    Without `client_id` we register ourselves, or are known by `client_metadata_url`. `client_auth` is how
    a client with a secret proves itself, None for what the authorization server prefers. `issuer` is the only
    authorization server that is to be used; `metadata_url` is where it describes itself, and
    `authorization_url` and `token_url` do without that. `redirect_uri` is the loopback address that the page
    leads back to, None for a port that is free. The secrets, the key and the JWTs may each be `@` and
    the name of a file, which is read whenever one is needed.
    """

    enabled: bool = True
    grant: Grant = "authorization_code"
    scopes: tuple[str, ...] = ()
    client_id: str | None = None
    client_secret: str | None = Field(default=None, repr=False)
    client_auth: ClientAuth | None = None
    client_metadata_url: str | None = None
    private_key: str | None = Field(default=None, repr=False)
    algorithm: str = "RS256"
    assertion: str | None = Field(default=None, repr=False)
    id_token: str | None = Field(default=None, repr=False)
    id_client_id: str | None = None
    id_client_secret: str | None = Field(default=None, repr=False)
    id_token_url: str | None = None
    issuer: str | None = None
    metadata_url: str | None = None
    authorization_url: str | None = None
    token_url: str | None = None
    redirect_uri: str | None = None


class ServerSpec(_Frozen):
    """One server. Times are in seconds.

    `approve`, `timeout` and `timeout_max` are None where the command's or the limits' own value holds.
    `log_level` is the least severe of what it logs that is wanted. `roots` are the folders (file URIs) that
    it is told to work in, None where the host's own hold. `auth` is None where nothing is said of it; what
    that comes to tells `authorization`. `problem` says why the server cannot start, and `hint` what to do
    about it: it is shown as failed, the others start. `source` is the file it stands in, None for a
    configuration built in code. `session`: who shares a connection to it; one that is not shared ends when it
    was not used for `session_idle` seconds.
    """

    name: str
    source: Path | None = None
    type: ServerType = "stdio"
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict[str, str])
    cwd: Path | None = None
    inherit_env: tuple[str, ...] = ()
    url: str | None = None
    headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    auth: AuthSpec | None = None
    enabled: bool = True
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    approve: Approve | None = None
    trust_annotations: bool = False
    validate_arguments: bool = True
    timeout: float | None = None
    timeout_max: float | None = None
    log_level: LogLevel | None = None
    roots: tuple[str, ...] | None = None
    start_timeout: float = 60.0
    session: SessionScope = "shared"
    session_idle: float = 600.0
    prefix: str | None = None
    builtin: str | None = None
    problem: str | None = None
    hint: str | None = None

    def authorization(self) -> AuthSpec | None:
        """How it is to be authorized when it asks for that. None: not by OAuth, as it is no web server, has
        its own header or user for it, or OAuth was switched off."""
        if self.type not in ("http", "sse", "url"):
            return None
        if self.auth is not None:
            return self.auth if self.auth.enabled else None
        authority = (self.url or "").partition("://")[2].partition("/")[0]
        own = "@" in authority or "authorization" in map(str.lower, self.headers)
        return None if own else AuthSpec()

    def summary(self) -> str:
        """What it runs or reaches, on one line and without secrets. It may hide too much to be judged by: see
        `Config.written`."""
        match self.type:
            case "stdio":
                variables = f" (with {', '.join(self.env)})" if self.env else ""
                text = " ".join([self.command or "?", *map(_quoted, redact_args(self.args))]) + variables
            case "http" | "sse" | "url":
                text = redact_url(self.url or "?")
            case _:
                text = f"built-in {self.builtin}" if self.builtin else "in this process"
        return "".join(char if char.isprintable() else "�" for char in text)

    def __repr_args__(self) -> "list[tuple[str | None, Any]]":
        shown = _telling(self)
        if "args" in shown:
            shown["args"] = redact_args(self.args)
        if self.url:
            shown["url"] = redact_url(self.url)
        for name in {"env", "headers"} & shown.keys():
            shown[name] = redact(shown[name])
        return list(shown.items())


class Limits(_Frozen):
    """Where the host stops: per turn, except `call_seconds`, `result_chars` (a call) and `message_bytes`
    (one message of a server).

    `call_seconds_max` is what a call may take whose server reports progress. `sampling_tokens` is the
    longest answer, in tokens, that a server may ask of the host's model.
    """

    rounds: int = 20
    parallel: int = 8
    call_seconds: float = 60.0
    call_seconds_max: float = 600.0
    result_chars: int = 100_000
    calls: int = 200
    sampling_tokens: int = 4096
    message_bytes: int = 256 * 1024 * 1024


class ModelSpec(_Frozen):
    """The model, as far as it is known: from a file, or after `resolve_model` for good.

    Resolved, `name` is what the endpoint calls it (no provider before it), `base_url` and `dialect` are set,
    and `api_key` is None where none is needed. `context_tokens` is how much it can read, where that is known.
    `problems` says by key what of the file cannot be used, which
    is an error only when it is needed.
    """

    name: str | None = None
    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    dialect: str | None = None
    options: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    extra_body: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    context_tokens: int | None = None
    problems: Mapping[str, str] = Field(default_factory=dict[str, str])
    resolved: bool = False

    def __repr_args__(self) -> "list[tuple[str | None, Any]]":
        shown = _telling(self)
        shown.pop("api_key", None)
        if self.base_url:
            shown["base_url"] = redact_url(self.base_url)
        for name in {"options", "extra_body"} & shown.keys():
            shown[name] = redact(shown[name])
        return list(shown.items())


class ToolsSpec(_Frozen):
    """How tools are named for the model, and in what form it gets their results.

    `think`: the built-in server of that name is among the servers, and the model is told how to use it.
    """

    naming: Literal["cherry", "mcp", "plain"] = "cherry"
    results: Literal["text", "blocks"] = "text"
    think: bool = False


class Config(_Frozen):
    """Everything that was configured. `servers` keeps the order of the files, which is the order of tools.

    `digests` has, for each file, what `trust` confirms it by: the very bytes that were read. `written` has
    the lines that a file uses for each server, `model_written` those for the model, for who must confirm it.
    """

    servers: Mapping[str, ServerSpec] = Field(default_factory=dict[str, ServerSpec])
    model: ModelSpec = ModelSpec()
    tools: ToolsSpec = ToolsSpec()
    limits: Limits = Limits()
    prices: Mapping[str, Price] = Field(default_factory=dict[str, Price])
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    digests: Mapping[Path, str] = Field(default_factory=dict[Path, str])
    written: Mapping[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]], repr=False)
    model_written: tuple[str, ...] = Field(default=(), repr=False)


def _telling(model: BaseModel) -> dict[str, Any]:
    """The fields that are not at their default, by name."""
    fields = type(model).model_fields.items()
    shown = {name: getattr(model, name) for name, _ in fields}
    return {
        name: shown[name]
        for name, info in fields
        if shown[name] != info.get_default(call_default_factory=True)
    }


def _quoted(arg: str) -> str:
    return f'"{arg}"' if not arg or any(char.isspace() for char in arg) else arg
