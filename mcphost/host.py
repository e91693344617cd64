"""`Host`: everything put together, and the library's front door."""

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio

from mcphost import config as configuration
from mcphost import paths
from mcphost.catalog import Catalog, ListedServer, Route, build
from mcphost.config import Approve, Config, Limits
from mcphost.conversation import ToolChoice, run_turn
from mcphost.dialect import OPENAI, Dialect
from mcphost.errors import ConfigError
from mcphost.events import Event
from mcphost.fleet import Fleet
from mcphost.hooks import Hooks, NoHooks
from mcphost.messages import Message, ToolCall, ToolResult
from mcphost.model import Model
from mcphost.naming import Names
from mcphost.router import Emit, Router
from mcphost.server import Server
from mcphost.trace import Trace, nothing
from mcphost.turn import ChatReply, Messages, Turn, as_messages, watched

Source = str | Path | Mapping[str, Any] | Config | Sequence[str | Path] | None
"""A servers.json by its path, several, the same as a dict, or one that has been read."""


class Host:
    """Connects to the servers of a config, and lets models call their tools.

    An async context manager: servers start on entering, without waiting for them, and end on leaving.

        async with Host.from_config("servers.json") as host:
            await host.ready()
            reply = await host.chat("What is the weather in Suzhou?", model="deepseek/deepseek-chat")

    `hooks` decides about calls that need approval, `approve` is the policy for servers that have none of
    their own. `only` keeps just these servers. `local` adds servers that live in this process, by name, as
    `MCPServer` or `Server` objects of the MCP SDK. `model` is used where a call names none. `save` tells
    whether attachments and overlong results are saved in the user's data folder, with their paths in the
    results. `trace` is a file to append a record of all requests to. `environ` stands in for `os.environ`.
    """

    def __init__(
        self,
        config: Config,
        *,
        hooks: Hooks | None = None,
        approve: Approve | None = None,
        only: Iterable[str] = (),
        local: Mapping[str, Any] | None = None,
        model: Model | None = None,
        save: bool = True,
        trace: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self.config = configuration.narrowed(configuration.with_objects(config, local or {}), only)
        self._listeners: set[Callable[[Event], None]] = set()
        self._trace = Trace(trace) if trace is not None else None
        self._record = nothing if self._trace is None else self._trace.record
        self._fleet = Fleet(
            self.config, environ=self._environ, changed=self._changed, local=local, record=self._record
        )
        self._names = Names(self.config.tools.naming)
        self._catalogs: dict[str, Catalog] = {}
        self._listed: dict[str, tuple[Any, ...]] = {}
        self._models: dict[str | None, Model] = {}
        self._model = model
        self._router = Router(
            self._fleet.servers,
            limits=self.config.limits,
            hooks=hooks or NoHooks(),
            results=self.config.tools.results,
            folder=paths.results_folder() if save else None,
            approve=approve or Approve(mode="never"),
        )

    @classmethod
    def from_config(cls, source: Source = None, **options: Any) -> Self:
        """A host for a servers.json, several (later ones win by server), or the same as a dict.

        Without a source the usual places are searched, except that a file which lies in the working folder
        must be named. `options` are those of `Host`. Raises `ConfigError`.
        """
        environ: Mapping[str, str] = options.get("environ") or os.environ
        match source:
            case Config():
                config = source
            case None:
                config = configuration.load([_found(environ)], environ=environ)
            case str() | Path():
                config = configuration.load([Path(source)], environ=environ)
            case Mapping():
                config = configuration.parse(source, source=None, environ=environ)
            case _:
                config = configuration.load([Path(path) for path in source], environ=environ)
        return cls(config, **options)

    async def __aenter__(self) -> Self:
        await self._fleet.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            with anyio.CancelScope(shield=True):
                for model in self._models.values():
                    await model.aclose()
        finally:
            await self._fleet.__aexit__(exc_type, exc, traceback)
            if self._trace is not None:
                self._trace.close()

    @property
    def servers(self) -> Mapping[str, Server]:
        """All servers by name, in the config's order: `state`, `error`, `tools`, `await reconnect()`."""
        return self._fleet.servers

    async def ready(self, seconds: float | None = None) -> None:
        """Wait until every server is ready or has failed, at most `seconds` if given. Raises for none."""
        await self._fleet.settled(seconds)

    @property
    def tools(self) -> list[Any]:
        """All servers' tools, as the `tools` of an OpenAI request. The list is the caller's, to add to."""
        return list(self.catalog().functions)

    def catalog(self, dialect: Dialect | None = None) -> Catalog:
        """The tools as a dialect (by default the model's) takes them: entries, routes, what was left out."""
        dialect = dialect or self._dialect()
        if dialect.name not in self._catalogs:
            listed = [
                ListedServer(
                    name=server.name,
                    prefix=server.spec.prefix,
                    include=server.spec.include,
                    exclude=server.spec.exclude,
                    tools=server.tools,
                    validate=server.spec.validate_arguments,
                )
                for server in self.servers.values()
                if server.tools  # those of a lost server stay, and a call says that it is lost
            ]
            self._catalogs[dialect.name] = build(listed, names=self._names, dialect=dialect)
        return self._catalogs[dialect.name]

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, validate: bool = True
    ) -> ToolResult:
        """Call a tool by its public name, its own name, or `server/tool`. Its trouble is in the result."""
        route = self.find(name)
        text = json.dumps(dict(arguments or {}), ensure_ascii=False)
        call = ToolCall("call_direct", name if route is None else route.name, text)
        return await self._router.call(call, self.catalog(), _unheard, validate=validate)

    async def call(self, tool_call: Any) -> Message:
        """Run a model's tool call, a dict or the SDK's object: the `role: "tool"` message that answers it."""
        return (await self.call_all([tool_call]))[0]

    async def call_all(self, tool_calls: Iterable[Any]) -> list[Message]:
        """Run a reply's tool calls side by side: a `role: "tool"` message each, in call order."""
        calls = [ToolCall.of(call) for call in tool_calls]
        results = await self._router.call_all(calls, self.catalog(), _unheard)
        return [result.message() for result in results]

    async def chat(
        self,
        messages: Messages,
        *,
        model: str | Model | None = None,
        tool_choice: ToolChoice = None,
        limits: Limits | None = None,
    ) -> ChatReply:
        """Let the model answer, with the rounds of calls it takes. Raises `ModelError`, `ConfigError`."""
        conversation = as_messages(messages)
        done = await run_turn(
            conversation,
            model=self.model(model),
            tools=_Toolbox(self, self._router),
            emit=_unheard,
            limits=limits or self.config.limits,
            tool_choice=tool_choice,
        )
        return ChatReply(done.text, conversation, done.usage, done.results, done.rounds, done.stop)

    @asynccontextmanager
    async def turn(
        self,
        messages: Messages,
        *,
        model: str | Model | None = None,
        tool_choice: ToolChoice = None,
        limits: Limits | None = None,
    ) -> AsyncGenerator[Turn]:
        """The same as `chat`, as events. Leaving the block cancels what is still running.

        The last event is `Done` or `Failed`. Raises `ConfigError` when there is no model to ask.
        """
        asked = self.model(model)
        conversation = as_messages(messages)

        async def run(emit: Emit) -> None:
            await run_turn(
                conversation,
                model=asked,
                tools=_Toolbox(self, self._router),
                emit=emit,
                limits=limits or self.config.limits,
                tool_choice=tool_choice,
            )

        async with watched(conversation, run, self._listeners) as turn:
            yield turn

    def model(self, model: str | Model | None = None) -> Model:
        """The model to ask: the one given, by name or as it is, else the host's own. Raises `ConfigError`."""
        if model is not None and not isinstance(model, str):
            return model
        if model is None and self._model is not None:
            return self._model
        if model not in self._models:
            spec = configuration.resolve_model(self.config, flag_model=model, environ=self._environ)
            # the openai client takes half a second to import: only who asks a model pays for it
            from mcphost.openai_model import OpenAIModel

            self._models[model] = OpenAIModel.from_spec(spec, record=self._record)
        return self._models[model]

    def _dialect(self) -> Dialect:
        """The dialect of the host's own model; that of its table or address when it cannot be used (yet)."""
        if self._model is not None:
            return self._model.dialect
        try:
            return configuration.model_dialect(self.config, environ=self._environ)
        except ConfigError:
            return OPENAI

    def find(self, name: str) -> Route | None:
        """The tool of a public name, of a raw name that only one server has, or of `server/tool`."""
        catalog = self.catalog()
        named = (route for route in catalog.routes.values() if name == f"{route.server}/{route.tool}")
        return catalog.find(name) or next(named, None)

    def _changed(self, server: Server) -> None:
        if server.tools is not self._listed.get(server.name):
            self._listed[server.name] = server.tools
            self._catalogs.clear()
        event = server.changed()
        for listener in tuple(self._listeners):
            listener(event)


class _Toolbox:
    """A host's tools, as the loop takes them."""

    def __init__(self, host: Host, router: Router) -> None:
        self._host = host
        self._router = router

    def catalog(self, dialect: Dialect) -> Catalog:
        return self._host.catalog(dialect)

    async def call_all(
        self, calls: Sequence[ToolCall], catalog: Catalog, emit: Emit, *, limits: Limits
    ) -> list[ToolResult]:
        return await self._router.call_all(calls, catalog, emit, limits=limits)

    def refuse(self, call: ToolCall, error: str, hint: str) -> ToolResult:
        return self._router.refuse(call, error, hint)


async def _unheard(event: Event) -> None:
    del event


def _found(environ: Mapping[str, str]) -> Path:
    found = configuration.find(environ=environ, cwd=Path.cwd(), home_config=paths.user_config())
    if found is None:
        raise ConfigError("no servers.json was found", hint="Name one: Host.from_config('servers.json').")
    if found.stranger:
        raise ConfigError(
            f"{found.path} was only found in the working folder, and would run commands",
            hint=f"Name it if it is yours: Host.from_config({str(found.path)!r}).",
        )
    return found.path
