"""What every request passes: who may call, from where, under which name. And what is told of it after."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcphost.api.exchange import Exchange
from mcphost.api.keys import Caller, Keys
from mcphost.api.problems import Problem, Refused
from mcphost.api.rates import Rates
from mcphost.api.settings import Settings

logger = logging.getLogger(__name__)

OPEN: Final = frozenset(("/healthz", "/readyz", "/openapi.json"))
"""What needs no key: probes have none, and nothing there is anybody's."""

ROUTES: Final = frozenset(
    (
        "/v1/chat/completions",
        "/v1/models",
        "/v1/tools",
        "/v1/tools/call",
        "/v1/servers",
        "/metrics",
        *OPEN,
    )
)
_WITH_NAMES: Final = (
    (re.compile(r"/v1/models/.+"), "/v1/models/{name}"),
    (re.compile(r"/v1/servers/.+/reconnect"), "/v1/servers/{name}/reconnect"),
)
_SANE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_METHODS: Final = "GET, POST, OPTIONS"


class Gate:
    """Middleware around all routes. `opened` is told of each request, `closed` when it has been answered."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        keys: Keys,
        opened: Callable[[Exchange], None],
        closed: Callable[[Exchange], None],
    ) -> None:
        self._app = app
        self._settings = settings
        self._keys = keys
        self._rates = Rates()
        self._opened = opened
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        exchange = Exchange(_request_id(headers), scope["method"], scope["path"], route=_route(scope["path"]))
        exchange.enter(scope)
        self._opened(exchange)
        answer = _Answer(send, exchange, self._cors(headers))
        try:
            await self._pass(scope, receive, answer, headers, exchange)
        except asyncio.CancelledError:  # the server ends, and will not wait for the answer
            if not answer.begun:
                problem = Problem(503, "the server is shutting down", "shutting_down")
                await refusal(problem, exchange)(scope, receive, answer.send)
            raise
        except Refused as exc:
            await refusal(exc.problem, exchange)(scope, receive, answer.send)
        except Exception as exc:  # boundary: whatever it is, the caller gets an answer
            logger.exception("request %s failed in an unexpected way", exchange.id)
            problem = Problem(500, f"an unexpected error: {type(exc).__name__}", "internal_error")
            if not answer.begun:
                await refusal(problem, exchange)(scope, receive, answer.send)
        finally:
            exchange.end()
            self._rates.charge(exchange.caller, exchange.usage.total_tokens)
            self._closed(exchange)

    async def _pass(
        self, scope: Scope, receive: Receive, answer: "_Answer", headers: Headers, exchange: Exchange
    ) -> None:
        self._check_host(headers)
        self._check_origin(headers)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await Response(status_code=204)(scope, receive, answer.send)
            return
        if scope["path"] not in OPEN:
            exchange.caller = self._caller(headers)
            answer.add(self._rates.admit(exchange.caller))
        await self._app(scope, receive, answer.send)

    def _caller(self, headers: Headers) -> Caller:
        presented = bearer(headers)
        caller = self._keys.caller(presented)
        if caller is None:
            said = "this key is not known here" if presented else "a key is needed: Authorization: Bearer …"
            raise Refused(401, said, code="invalid_api_key", headers={"www-authenticate": "Bearer"})
        return caller

    def _check_host(self, headers: Headers) -> None:
        """Only the names that are meant: a web page may give the address of this machine another one."""
        allowed = self._settings.hosts
        if "*" in allowed or _host_name(headers.get("host", "")) in allowed:
            return
        raise Refused(403, "this host name is not served here: see --allow-host", code="host_not_allowed")

    def _check_origin(self, headers: Headers) -> None:
        """No web page but those of the origins that are named, nor one of our own."""
        origin = headers.get("origin")
        if origin is None or self._allows_origin(origin):
            return
        if urlsplit(origin).netloc.lower() == headers.get("host", "").lower():
            return
        raise Refused(403, "pages of this origin may not call: see --cors-origin", code="origin_not_allowed")

    def _allows_origin(self, origin: str) -> bool:
        return "*" in self._settings.origins or origin in self._settings.origins

    def _cors(self, headers: Headers) -> dict[str, str]:
        origin = headers.get("origin")
        if origin is None or not self._allows_origin(origin):
            return {}
        asked = headers.get("access-control-request-headers", "authorization, content-type")
        return {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": _METHODS,
            "access-control-allow-headers": asked,
            "access-control-expose-headers": "x-request-id, retry-after",
            "access-control-max-age": "600",
            "vary": "Origin",
        }


class _Answer:
    """Sends an answer, with the headers that all have."""

    def __init__(self, send: Send, exchange: Exchange, headers: dict[str, str]) -> None:
        self._send = send
        self._exchange = exchange
        self._headers = headers | {"x-request-id": exchange.id}
        self.begun = False

    def add(self, headers: Mapping[str, str]) -> None:
        self._headers |= headers

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            self._exchange.begin(message["status"])
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers[name] = value
        await self._send(message)


def refusal(problem: Problem, exchange: Exchange) -> Response:
    """The answer that tells of a problem."""
    exchange.fail(problem.code)
    return JSONResponse(problem.body(exchange.id), problem.status, dict(problem.headers))


def bearer(headers: Headers) -> str | None:
    """The key that a request presents."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def _request_id(headers: Headers) -> str:
    """The caller's own id for the request where it is a sane one."""
    given = headers.get("x-request-id", "")
    return given if _SANE_ID.fullmatch(given) else f"req_{uuid4().hex}"


def _route(path: str) -> str:
    """The pattern of the route that a path leads to."""
    if path in ROUTES:
        return path
    return next((route for shape, route in _WITH_NAMES if shape.fullmatch(path)), "other")


def _host_name(host: str) -> str:
    """A `Host` without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
