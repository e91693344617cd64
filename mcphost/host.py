"""`Host`: everything put together, and the library's front door."""

import json
import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import anyio

from mcphost import asking, finding, paths
from mcphost import config as configuration
from mcphost.catalog import Catalog, ListedServer, Route, build
from mcphost.config import Approve, Config, Limits
from mcphost.conversation import ToolChoice, Tools, run_turn
from mcphost.desk import Desk
from mcphost.dialect import OPENAI, Dialect
from mcphost.errors import ConfigError
from mcphost.events import Done, Event
from mcphost.finding import gathered
from mcphost.fleet import Fleet
from mcphost.hooks import Hooks, NoHooks
from mcphost.instructed import THINK, Instructed
from mcphost.messages import Message, ToolCall, ToolResult
from mcphost.model import Model
from mcphost.naming import Names
from mcphost.oauth.visitor import Visitor
from mcphost.offers import Completion, Contents, Prompt, PromptReply, Resource, ResourceTemplate, prompt_reply
from mcphost.router import Emit, Router
from mcphost.selection import Selection
from mcphost.server import Server
from mcphost.server_entry import root_uri
from mcphost.toolbox import Toolbox
from mcphost.trace import Trace, nothing
from mcphost.turn import ChatReply, Messages, Turn, as_messages, watched

Source = str | Path | Mapping[str, Any] | Config | Sequence[str | Path] | None
"""A servers.json by its path, several, the same as a dict, or one that has been read."""


_EVERYTHING: Final = Selection()


class Host:
    """Connects to the servers of a config, and lets models call their tools.

    An async context manager: servers start on entering, without waiting for them, and end on leaving.

        async with Host.from_config("servers.json") as host:
            await host.ready()
            reply = await host.chat("What is the weather in Suzhou?", model="deepseek/deepseek-chat")

    `hooks` decides about calls that need approval, and answers for the user what servers ask; `approve` is
    the policy for servers that have none of their own. `only` keeps just these servers. `local` adds servers
    that live in this process, by name, as `MCPServer` or `Server` objects of the MCP SDK. `model` is used
    where a call names none, and answers where servers ask for that. `roots` are the folders that servers are
    told to work in, where their own entries name none. `visitor` takes a person to the page where access to a
    server is granted; without one only logins that are there already are used. `save` tells whether
    attachments and overlong results are saved in the user's data folder, with their paths in the results.
    `trace` is a file to append a record of all requests to, `trace_later` whether `trace_to` may name one.
    `environ` stands in for `os.environ`.
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
        roots: Iterable[str | Path] = (),
        visitor: Visitor | None = None,
        save: bool = True,
        trace: Path | None = None,
        trace_later: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self.config = configuration.narrowed(configuration.with_objects(config, local or {}), only)
        self._listeners: set[Callable[[Event], None]] = set()
        self._trace = Trace(trace) if trace is not None else None
        self.traced_to = trace
        self._record = nothing if trace is None and not trace_later else self._note
        self._roots = tuple(roots)
        self._fleet = Fleet(
            self.config,
            environ=self._environ,
            changed=self._changed,
            tell=self._tell,
            desk=Desk(
                hooks=hooks or NoHooks(),
                limits=self.config.limits,
                model=self._sampled,
                roots=self._roots_of,
                tell=self._tell,
            ),
            visitor=visitor,
            local=local,
            record=self._record,
        )
        self._names = Names(self.config.tools.naming)
        self._catalogs: dict[str, Catalog] = {}
        self._listed: dict[str, tuple[Any, ...]] = {}
        self._models: dict[str | None, Model] = {}
        self._old_models: list[Model] = []
        self._model = model
        self._last_model: Model | None = None
        self._local, self._only = local or {}, tuple(only)
        self._hooks = hooks or NoHooks()
        self._approve = approve or Approve(mode="never")
        self._save = save
        self._router = self._new_router()

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
                for model in (*self._models.values(), *self._old_models):
                    await model.aclose()
        finally:
            await self._fleet.__aexit__(exc_type, exc, traceback)
            if self._trace is not None:
                self._trace.close()

    async def reload(self, config: Config) -> None:
        """Go on with another configuration.

        Servers whose entry is the same keep their connection; others are replaced as soon as those that
        replace them are ready or have failed. Turns under way finish on what they had.
        """
        config = configuration.narrowed(configuration.with_objects(config, self._local), self._only)
        before, self.config = self.config, config
        fresh = await self._fleet.apply(config)
        if before.tools.naming != config.tools.naming:
            self._names = Names(config.tools.naming)
        if before.model != config.model:  # turns under way may still ask them
            self._old_models += self._models.values()
            self._models = {}
        self._router = self._new_router()
        self._catalogs.clear()
        for server in fresh:
            self._changed(server)

    def _new_router(self) -> Router:
        return Router(
            self._fleet.servers,
            limits=self.config.limits,
            hooks=self._hooks,
            results=self.config.tools.results,
            folder=paths.results_folder() if self._save else None,
            approve=self._approve,
        )

    @property
    def running(self) -> bool:
        """Whether it has been entered, and not been left."""
        return self._fleet.running

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
            self._catalogs[dialect.name] = self._build(self.servers, dialect)
        return self._catalogs[dialect.name]

    def _catalog_of(self, servers: Mapping[str, Server], dialect: Dialect) -> Catalog:
        """The catalog of these servers, which a reload may have taken away meanwhile."""
        return self.catalog(dialect) if servers is self.servers else self._build(servers, dialect)

    def _build(self, servers: Mapping[str, Server], dialect: Dialect) -> Catalog:
        listed = [
            ListedServer(
                name=server.name,
                prefix=server.spec.prefix,
                include=server.spec.include,
                exclude=server.spec.exclude,
                tools=server.tools,
                validate=server.spec.validate_arguments,
            )
            for server in servers.values()
            if server.tools  # those of a lost server stay, and a call says that it is lost
        ]
        return build(listed, names=self._names, dialect=dialect)

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
        done = await self.run(
            conversation, emit=_unheard, model=model, tool_choice=tool_choice, limits=limits
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
        options: Mapping[str, Any] | None = None,
        tools: Tools | None = None,
    ) -> AsyncGenerator[Turn]:
        """The same as `chat`, as events. Leaving the block cancels what is still running.

        The last event is `Done` or `Failed`. `options` and `tools` are as in `run`. Raises `ConfigError` when
        there is no model to ask.
        """
        asked = self.model(model)
        conversation = as_messages(messages)

        async def run(emit: Emit) -> None:
            await self.run(
                conversation,
                emit=emit,
                model=asked,
                tool_choice=tool_choice,
                limits=limits,
                options=options,
                tools=tools,
            )

        async with watched(conversation, run, self._listeners) as turn:
            yield turn

    async def run(
        self,
        messages: list[Message],
        *,
        emit: Emit,
        model: str | Model | None = None,
        tool_choice: ToolChoice = None,
        limits: Limits | None = None,
        options: Mapping[str, Any] | None = None,
        tools: Tools | None = None,
    ) -> Done:
        """The turn under `chat` and `turn`, each event awaited in `emit`; see `run_turn`.

        `options` are fields of every request to the model; `tools` what `toolbox` gives, by default all.
        """
        asked = self._last_model = self.model(model)
        box = tools or self.toolbox()
        allows = box.selection.allows if isinstance(box, Toolbox) else _EVERYTHING.allows
        thinks = any(
            spec.builtin == "think" and spec.enabled and allows(spec.name, "think")
            for spec in self.config.servers.values()
        )
        with box.used() if isinstance(box, Toolbox) else nullcontext():
            return await run_turn(
                messages,
                model=Instructed(asked, THINK) if thinks and self.config.tools.think else asked,
                tools=box,
                emit=emit,
                limits=limits or self.config.limits,
                tool_choice=tool_choice,
                options=options,
                more=partial(asking.more_rounds, self._hooks),
                window=self.window(asked),
            )

    def window(self, model: Model) -> int | None:
        """How many tokens a model can read, where the configuration says so."""
        spec = self.config.model
        return spec.context_tokens if model is self._model or model is self._models.get(None) else None

    def toolbox(self, selection: Selection = _EVERYTHING) -> Toolbox:
        """This host's tools for one turn, narrowed."""
        return Toolbox(self._router, self._fleet, selection, self._catalog_of)

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

    def trace_to(self, path: Path | None) -> None:
        """Record all requests from now on in a file, None to record none. Raises `ConfigError`."""
        before, self._trace = self._trace, Trace(path) if path is not None else None
        self.traced_to = path
        if before is not None:
            before.close()

    def _note(self, kind: str, **fields: Any) -> None:
        if self._trace is not None:
            self._trace.record(kind, **fields)

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
        return self.catalog().named(name)

    def _changed(self, server: Server) -> None:
        if self.servers.get(server.name) is not server:
            return  # one that was replaced, or is only one caller's
        if server.tools is not self._listed.get(server.name):
            self._listed[server.name] = server.tools
            self._catalogs.clear()
        self._tell(server.changed())

    def _tell(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def _sampled(self) -> Model:
        """The model that answers for servers: the host's own, or else the one that was last asked."""
        try:
            return self.model()
        except ConfigError:
            if self._last_model is None:
                raise
            return self._last_model

    def _roots_of(self, server: str) -> Sequence[str]:
        spec = self.config.servers.get(server)
        own = None if spec is None else spec.roots
        return [root_uri(str(root), Path.cwd()) for root in self._roots] if own is None else own

    async def prompts(self, server: str | None = None) -> list[Prompt]:
        """The prompts that servers offer, or that one offers. Of several servers, one that fails is left out.

        This and what follows raise `ConfigError` for what is not known or not clear, `ServerError` and
        `ToolError` for the server's trouble, and `TimeoutError`.
        """
        return await gathered(self.servers, server, lambda one: one.offering.prompts())

    async def get_prompt(
        self, name: str, arguments: Mapping[str, object] | None = None, *, server: str | None = None
    ) -> PromptReply:
        """A prompt filled in, as messages for a model. `name` may also be `server/name`."""
        found = finding.prompt(await self.prompts(server), name)
        given = finding.arguments(found, arguments or {})
        raw = await self.servers[found.server].offering.get_prompt(found.name, given)
        return prompt_reply(raw, self._dialect())

    async def resources(self, server: str | None = None) -> list[Resource]:
        """The resources that servers list, or that one lists."""
        return await gathered(self.servers, server, lambda one: one.offering.resources())

    async def resource_templates(self, server: str | None = None) -> list[ResourceTemplate]:
        """The templates of resources that servers list, or that one lists."""
        return await gathered(self.servers, server, lambda one: one.offering.resource_templates())

    async def read_resource(self, uri: str, *, server: str | None = None) -> tuple[Contents, ...]:
        """What a resource holds. Without `server` it is read from the one that lists it or has a template for
        it; one that does neither needs its server named, unless only one has resources at all."""
        return await (await self._with_resource(uri, server)).offering.read_resource(uri)

    async def subscribe(self, uri: str, *, server: str | None = None) -> None:
        """Be told of a resource's changes, by `ResourceUpdated` events in `watch` and in turns."""
        await (await self._with_resource(uri, server)).offering.subscribe(uri)

    async def unsubscribe(self, uri: str, *, server: str | None = None) -> None:
        """Take `subscribe` back."""
        await (await self._with_resource(uri, server)).offering.unsubscribe(uri)

    async def complete(
        self,
        value: str,
        *,
        argument: str,
        prompt: str | None = None,
        template: str | None = None,
        context: Mapping[str, str] | None = None,
        server: str | None = None,
    ) -> Completion:
        """What the `value` of an `argument` of a `prompt`, or of a variable of a resource `template`, may go
        on with. `context` holds the other arguments so far. Nothing where the server does not complete."""
        if prompt is not None:
            found = finding.prompt(await self.prompts(server), prompt)
            of, reference = found.server, {"name": found.name}
        else:
            templates = await self.resource_templates(server)
            of = finding.template(templates, template or "").server
            reference = {"uri": template or ""}
        asked = {"name": argument, "value": value}
        return await self.servers[of].offering.complete(reference, asked, context or {})

    async def _with_resource(self, uri: str, server: str | None) -> Server:
        if server is not None:
            return finding.named(self.servers, server)
        resources, templates = await self.resources(), await self.resource_templates()
        return self.servers[finding.resource_server(uri, resources, templates)]

    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[AsyncIterator[Event]]:
        """What happens on the servers' side, in turns or not: `ServerChanged`, `ServerLog`, `ListChanged`,
        `ResourceUpdated`, `Warned`. Waits for the next event for as long as it is iterated."""
        send, receive = anyio.create_memory_object_stream[Event](math.inf)
        self._listeners.add(send.send_nowait)
        try:
            with send, receive:
                yield receive
        finally:
            self._listeners.discard(send.send_nowait)

    async def set_roots(self, roots: Iterable[str | Path]) -> None:
        """Have servers work in other folders from now on, but for those whose entries name their own."""
        self._roots = tuple(roots)
        for server in self.servers.values():
            if server.spec.roots is None:
                await server.roots_changed()


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
