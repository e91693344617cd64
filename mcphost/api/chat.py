"""`POST /v1/chat/completions`: the caller's request, with the tools of the host's servers."""

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from mcphost.api.backend import Backend
from mcphost.api.chat_request import ChatRequest, chosen, parse, read_json
from mcphost.api.exchange import exchange_of
from mcphost.api.gate import bearer
from mcphost.api.keys import Caller
from mcphost.api.problems import Refused, problem_of
from mcphost.api.replies import ForwardedReply, StreamReply, WholeReply
from mcphost.api.wire import Chunks, Head, Whole
from mcphost.catalog import Catalog
from mcphost.config import Limits
from mcphost.errors import ConfigError
from mcphost.events import Done
from mcphost.model import Model
from mcphost.openai_model import OpenAIModel
from mcphost.router import Emit
from mcphost.selection import Selection


class ChatCompletions:
    """The ASGI application of that route."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        backend, request = self._backend, Request(scope, receive)
        exchange = exchange_of(scope)
        asked = parse(read_json(await backend.body(request)))
        model = self._model(asked, bearer(request.headers))
        exchange.model, exchange.stream = model.name, asked.stream
        toolbox = backend.host.toolbox(self._selection(asked, exchange.caller))
        catalog = await toolbox.catalog(model.dialect)
        if asked.choices > 1:
            reply = ForwardedReply(_endpoint(asked, model, catalog), asked.plain, exchange, backend.settings)
            await reply(scope, receive, send)
            return
        choice = chosen(asked.tool_choice, catalog)
        limits = self._limits(asked)

        async def run(emit: Emit) -> Done:
            return await backend.host.run(
                list(asked.messages),
                emit=emit,
                model=model,
                tool_choice=choice,
                limits=limits,
                options=asked.options,
                tools=toolbox,
            )

        head = Head(model.name)
        if asked.stream:
            hold = asked.wants_json and bool(catalog.routes)
            chunks = Chunks(head, usage=asked.usage, events=asked.events, hold=hold)
            reply = StreamReply(chunks, run, exchange, backend.settings, catalog.warnings)
        else:
            reply = WholeReply(Whole(head), run, exchange, backend.settings, catalog.warnings)
        await reply(scope, receive, send)

    def _model(self, asked: ChatRequest, key: str | None) -> Model:
        try:
            return self._backend.model(asked.model, key)
        except ConfigError as exc:
            problem = problem_of(exc)
            raise Refused(problem.status, problem.message, code=problem.code) from exc

    def _selection(self, asked: ChatRequest, caller: Caller) -> Selection:
        servers = self._backend.servers(caller, asked.servers)
        return Selection(
            own=asked.tools,
            servers=servers,
            tools=asked.globs,
            approve=asked.approve,
            save=False,
            caller=caller.name,
        )

    def _limits(self, asked: ChatRequest) -> Limits:
        limits = self._backend.host.config.limits
        if asked.max_rounds is None or asked.max_rounds >= limits.rounds:
            return limits
        return limits.model_copy(update={"rounds": asked.max_rounds})


def _endpoint(asked: ChatRequest, model: Model, catalog: Catalog) -> OpenAIModel:
    """The model, for a request that asks for several answers. Raises `Refused` where there are tools."""
    if tools := len(catalog.functions):
        hint = 'ask for one, or send "mcphost": {"servers": []} and no tools of your own'
        raise Refused(400, f"n can only be 1 where there are tools, and there are {tools}; {hint}", param="n")
    if not isinstance(model, OpenAIModel):
        raise Refused(400, f"{model.name} gives one answer, and n is {asked.choices}", param="n")
    return model
