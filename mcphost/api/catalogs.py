"""The routes beside the chat: models, tools, one call, servers."""

import time
from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mcphost.api.backend import Backend
from mcphost.api.chat_request import read_json
from mcphost.api.exchange import exchange_of
from mcphost.api.gate import bearer
from mcphost.api.keys import Caller
from mcphost.api.problems import Refused, problem_of, without_paths
from mcphost.api.wire import result_json
from mcphost.catalog import Catalog
from mcphost.errors import McphostError, ServerError
from mcphost.events import Event
from mcphost.jsontext import as_object, dumps
from mcphost.messages import Cause, ToolCall, ToolResult
from mcphost.openai_model import OpenAIModel
from mcphost.selection import Selection
from mcphost.server import Server
from mcphost.toolbox import Toolbox

T = TypeVar("T")

_STATUS: Final[Mapping[Cause, int]] = {"unknown": 404, "invalid": 400, "refused": 403, "timeout": 504}
"""What a call's trouble is in HTTP, where it is not the tool's own: that is an answer like any other."""


class Catalogs:
    """Their endpoints."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._since = int(time.time())

    async def models(self, request: Request) -> Response:
        """The models that may be asked for: of those that the upstream lists, and the configured one."""
        try:
            model = self._backend.host.model()
            listed = await _here(request, self._listed(model, bearer(request.headers)))
        except McphostError as exc:
            raise _refused(exc) from exc
        named = [entry for entry in map(as_object, listed) if entry and isinstance(entry.get("id"), str)]
        shown = [entry for entry in named if self._offers(entry["id"], model.name)]
        if all(entry["id"] != model.name for entry in shown):
            own = {"id": model.name, "object": "model", "created": self._since, "owned_by": "mcphost"}
            shown.insert(0, own)
        return JSONResponse({"object": "list", "data": shown})

    async def model(self, request: Request) -> Response:
        """One of them."""
        listed: Any = await self.models(request)
        wanted = request.path_params["name"]
        data = as_object(read_json(bytes(listed.body))) or {}
        found = next((entry for entry in data["data"] if entry["id"] == wanted), None)
        if found is None:
            raise Refused(404, f"there is no model {wanted!r}", code="model_not_found", param="model")
        return JSONResponse(found)

    async def _listed(self, model: Any, key: str | None) -> list[Any]:
        if not isinstance(model, OpenAIModel):
            return []
        forwarded = key if self._backend.settings.forward_key else None
        return await (model.variant(api_key=forwarded) if forwarded else model).models()

    def _offers(self, name: str, own: str) -> bool:
        return name == own or self._backend.allows_model(name)

    async def tools(self, request: Request) -> Response:
        """The tools that the caller may use, as a model is given them, and whose they are."""
        catalog = await self._catalog(self._toolbox(exchange_of(request.scope).caller))
        data = [
            {**entry, "mcphost": {"server": route.server, "tool": route.tool}}
            for entry in catalog.functions
            for route in [catalog.routes[entry["function"]["name"]]]
        ]
        return JSONResponse({"object": "list", "data": data, "warnings": list(catalog.warnings)})

    async def call(self, request: Request) -> Response:
        """One call without a model: `{"name": …, "arguments": {…}}`."""
        body = read_json(await self._backend.body(request))
        name, arguments = body.get("name"), body.get("arguments")
        if not isinstance(name, str):
            raise Refused(400, "name must be the name of a tool", param="name")
        given = {} if arguments is None else as_object(arguments)
        if given is None:
            raise Refused(400, "arguments must be an object", param="arguments")
        exchange = exchange_of(request.scope)
        toolbox = self._toolbox(exchange.caller)
        catalog = await self._catalog(toolbox)
        route = catalog.named(name)
        call = ToolCall("call_direct", name if route is None else route.name, dumps(given))

        async def note(event: Event) -> None:
            exchange.note(event)

        limits = self._backend.host.config.limits
        with toolbox.used():
            (result,) = await _here(request, toolbox.call_all([call], catalog, note, limits=limits))
        return _called(result, name)

    async def servers(self, request: Request) -> Response:
        """How the servers are that the caller may use."""
        names = self._backend.visible(exchange_of(request.scope).caller)
        return JSONResponse(
            {"object": "list", "data": [_server_json(self._backend.host.servers[name]) for name in names]}
        )

    async def reconnect(self, request: Request) -> Response:
        """End a server's connection, and make a new one."""
        name = request.path_params["name"]
        if name not in self._backend.visible(exchange_of(request.scope).caller):
            raise Refused(404, f"no server is called {name!r}", code="server_not_found")
        server = self._backend.host.servers[name]
        try:
            await server.reconnect()
        except ServerError as exc:
            raise _refused(exc) from exc
        return JSONResponse(_server_json(server))

    async def healthz(self, request: Request) -> Response:
        """That this process answers."""
        del request
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Whether all servers that are enabled are ready."""
        del request
        states = [server.state for server in self._backend.host.servers.values() if server.spec.enabled]
        ready = states.count("ready")
        status = {"status": "ready" if ready == len(states) else "waiting", "ready": ready, "of": len(states)}
        return JSONResponse(status, 200 if ready == len(states) else 503)

    def _toolbox(self, caller: Caller) -> Toolbox:
        servers = self._backend.servers(caller)
        return self._backend.host.toolbox(Selection(servers=servers, save=False, caller=caller.name))

    async def _catalog(self, toolbox: Toolbox) -> Catalog:
        return await toolbox.catalog(self._backend.dialect())


def _called(result: ToolResult, name: str) -> Response:
    if result.ok or result.cause == "tool":
        answer = result_json(result) | {"content": result.content, "result": result.raw}
        del answer["id"]
        return JSONResponse(answer)
    assert result.cause is not None
    message = without_paths(result.error or "the call failed")
    param = "name" if result.cause == "unknown" else None
    raise Refused(
        _STATUS.get(result.cause, 502), f"{name}: {message}", code=f"call_{result.cause}", param=param
    )


def _server_json(server: Server) -> dict[str, Any]:
    error = server.error
    return {
        "name": server.name,
        "state": server.state,
        "since": round(server.since),
        "tools": len(server.tools),
        "protocol": server.protocol,
        "info": server.info,
        "seconds": server.seconds and round(server.seconds, 3),
        "error": error and without_paths(str(error)),
    }


def _refused(error: McphostError) -> Refused:
    problem = problem_of(error)
    return Refused(problem.status, problem.message, code=problem.code, headers=problem.headers)


async def _here(request: Request, work: Awaitable[T]) -> T:
    """Do `work` while the caller is there. Raises `Refused` when it has left."""
    done: list[T] = []
    async with anyio.create_task_group() as tg:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tg.cancel_scope.cancel()

        tg.start_soon(watch)
        done.append(await work)
        tg.cancel_scope.cancel()
    if not done:
        raise Refused(499, "the caller has left")
    return done[0]
