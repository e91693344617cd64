"""`create_app`: a host as an ASGI application."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mcphost.api.backend import Backend
from mcphost.api.catalogs import Catalogs
from mcphost.api.chat import ChatCompletions
from mcphost.api.exchange import Exchange, exchange_of
from mcphost.api.gate import Gate, refusal
from mcphost.api.keys import Keys
from mcphost.api.metrics import CONTENT_TYPE, Metrics
from mcphost.api.openapi import document
from mcphost.api.problems import Problem
from mcphost.api.settings import Settings
from mcphost.host import Host

Log = Callable[[Mapping[str, Any]], None]
"""Takes what is to be logged of a request, as an object for JSON."""


def create_app(
    host: Host, settings: Settings | None = None, *, keys: Keys | None = None, log: Log | None = None
) -> Starlette:
    """The backend as an application for any ASGI server.

    It enters `host` when the server starts it, and leaves it in the end; a host that runs already is only
    used. Without `keys` anybody may call who reaches it, under the names that `settings` allow. `log` is told
    of each request, in an object for JSON that holds nothing of what was said.
    """
    settings = settings or Settings()
    backend, metrics = Backend(host, settings), Metrics(host)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        del app
        async with AsyncExitStack() as stack:
            if not host.running:
                await stack.enter_async_context(host)
            yield

    def opened(exchange: Exchange) -> None:
        del exchange
        metrics.open.inc()

    def closed(exchange: Exchange) -> None:
        metrics.open.dec()
        metrics.note(exchange)
        if log is not None:
            log(exchange.log())

    async def told(request: Request) -> Response:
        del request
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    async def described(request: Request) -> Response:
        del request
        return JSONResponse(document(keyed=bool(keys)))

    gate = Middleware(Gate, settings=settings, keys=keys or Keys(), opened=opened, closed=closed)
    return Starlette(
        routes=[*_routes(backend), Route("/metrics", told), Route("/openapi.json", described)],
        middleware=[gate],
        exception_handlers={HTTPException: _no_route},
        lifespan=lifespan,
    )


def _routes(backend: Backend) -> list[Route]:
    chat: Any = ChatCompletions(backend)
    catalogs = Catalogs(backend)
    return [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/models", catalogs.models),
        Route("/v1/models/{name:path}", catalogs.model),
        Route("/v1/tools", catalogs.tools),
        Route("/v1/tools/call", catalogs.call, methods=["POST"]),
        Route("/v1/servers", catalogs.servers),
        Route("/v1/servers/{name:path}/reconnect", catalogs.reconnect, methods=["POST"]),
        Route("/healthz", catalogs.healthz),
        Route("/readyz", catalogs.readyz),
    ]


async def _no_route(request: Request, exc: Exception) -> Response:
    """What Starlette says when no route fits."""
    assert isinstance(exc, HTTPException)
    what = "is not a method of" if exc.status_code == 405 else "is no route:"
    message = f"{request.method} {what} {request.url.path}"
    problem = Problem(exc.status_code, message, headers=exc.headers or {})
    return refusal(problem, exchange_of(request.scope))
