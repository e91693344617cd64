"""An MCP server that wants authorization, and the authorization server that it trusts, in one process.

Started with `http` or `sse`. Writes the addresses of both as a line of JSON, then serves until it is killed.
`GET /log` of the authorization server tells what both were asked; `POST /reset` makes them as new, with the
options that it has; `POST /control` changes options, and forgets what is named as `forget`.
"""

import base64
import hashlib
import json
import secrets
import socket
import sys
import time
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import anyio
import jwt
import uvicorn
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

DEFAULTS: dict[str, Any] = {
    "open": False,  # whether everything but tool calls is let in without a token
    "described": "header",  # where the MCP server describes itself: header, path, root, nowhere
    "resource": None,  # what it says it is, when that is not so
    "scope": None,  # what it says it wants
    "scopes_supported": None,
    "issuer": "",  # a path, such as /tenant
    "says_issuer": None,  # what the metadata says of it, when that is not so
    "metadata": "oauth",  # oauth, oidc, oidc-path, nowhere
    "pkce": ["S256"],
    "registers": True,
    "documents": False,  # whether it knows clients by their documents
    "methods": ["none"],
    "as_scopes": None,
    "grants": True,  # whether the person says yes
    "iss": "right",  # right, wrong, none
    "iss_supported": True,
    "expires_in": 3600,
    "refresh": True,
    "rotates": True,
    "revokes": True,
    "token_type": "Bearer",
    "failing": False,  # whether the token endpoint has trouble
    "redirects": None,  # where the token endpoint redirects to
    "clients": {},  # registered by hand: id → secret
    "key": None,  # the public key of clients that sign
    "accepts": True,  # whether the MCP server takes any token
    "admin": "admin",  # the scope that the tool `secret` needs
    "gives": None,  # the scopes that are granted, whatever is asked for
}

TRANSPORT = sys.argv[1]
PATH = "sse" if TRANSPORT == "sse" else "mcp"
OPTIONS: dict[str, Any] = dict(DEFAULTS)
LOG: list[dict[str, Any]] = []
CLIENTS: dict[str, dict[str, Any]] = {}
CODES: dict[str, dict[str, Any]] = {}
ACCESS: dict[str, dict[str, Any]] = {}
REFRESH: dict[str, dict[str, Any]] = {}
USED: set[str] = set()
FORGET = {"clients": CLIENTS, "access": ACCESS, "refresh": REFRESH}
BASE = {"mcp": "", "as": ""}
MEETING: dict[str, Any] = {}


def issuer() -> str:
    return BASE["as"] + OPTIONS["issuer"]


def metadata() -> dict[str, Any]:
    here = issuer()
    data: dict[str, Any] = {
        "issuer": OPTIONS["says_issuer"] or here,
        "authorization_endpoint": f"{here}/authorize?tenant=1",
        "token_endpoint": f"{here}/token",
        "response_types_supported": ["code"],
        "token_endpoint_auth_methods_supported": OPTIONS["methods"],
        "authorization_response_iss_parameter_supported": OPTIONS["iss_supported"],
        "client_id_metadata_document_supported": OPTIONS["documents"],
    }
    if OPTIONS["registers"]:
        data["registration_endpoint"] = f"{here}/register"
    if OPTIONS["revokes"]:
        data["revocation_endpoint"] = f"{here}/revoke"
    if OPTIONS["pkce"] is not None:
        data["code_challenge_methods_supported"] = OPTIONS["pkce"]
    if OPTIONS["as_scopes"] is not None:
        data["scopes_supported"] = OPTIONS["as_scopes"]
    return data


async def note(request: Request, server: str = "as") -> dict[str, Any]:
    body = await request.body()
    kind = request.headers.get("content-type", "")
    entry = {
        "server": server,
        "method": request.method,
        "path": request.url.path,
        "query": dict(request.query_params),
        "form": dict(parse_qsl(body.decode())) if "form" in kind else {},
        "json": json.loads(body) if "json" in kind and body else None,
        "authorization": request.headers.get("authorization"),
    }
    LOG.append(entry)
    return entry


async def as_metadata(request: Request) -> Response:
    await note(request)
    path, tenant = request.url.path, OPTIONS["issuer"]
    where = {
        "oauth": f"/.well-known/oauth-authorization-server{tenant}",
        "oidc": f"/.well-known/openid-configuration{tenant}",
        "oidc-path": f"{tenant}/.well-known/openid-configuration",
    }.get(OPTIONS["metadata"])
    return JSONResponse(metadata()) if path == where else PlainTextResponse("nothing here", 404)


async def register(request: Request) -> Response:
    asked = (await note(request))["json"]
    if not OPTIONS["registers"]:
        return PlainTextResponse("nothing here", 404)
    client = {**asked, "client_id": f"client-{secrets.token_hex(4)}"}
    if client.get("token_endpoint_auth_method", "client_secret_basic") != "none":
        client["client_secret"] = f"client-secret-{secrets.token_hex(8)}"
    CLIENTS[client["client_id"]] = client
    return JSONResponse(client, 201)


async def authorize(request: Request) -> Response:
    query = (await note(request))["query"]
    client = CLIENTS.get(query["client_id"])
    known = client is not None or query["client_id"] in OPTIONS["clients"] or OPTIONS["documents"]
    if not known or (client and query["redirect_uri"] not in client["redirect_uris"]):
        return PlainTextResponse("unknown client", 400)
    answer = {"state": query["state"]}
    if OPTIONS["iss"] != "none":
        answer["iss"] = metadata()["issuer"] if OPTIONS["iss"] == "right" else "https://evil.example"
    if OPTIONS["grants"]:
        answer["code"] = secrets.token_hex(8)
        CODES[answer["code"]] = query
    else:
        answer |= {"error": "access_denied", "error_description": "the person said no"}
    return RedirectResponse(f"{query['redirect_uri']}?{urlencode(answer)}", 302)


def proved(form: dict[str, str], authorization: str | None) -> str | None:
    """The client that a request to the token endpoint comes from, None when it does not prove that."""
    if authorization is not None:
        client_id, _, secret = base64.b64decode(authorization.split()[1]).decode().partition(":")
        client_id, secret, method = unquote(client_id), unquote(secret), "client_secret_basic"
    elif "client_assertion" in form:
        try:
            claims = jwt.decode(form["client_assertion"], OPTIONS["key"], ["ES256"], audience=issuer())
        except jwt.PyJWTError:
            return None
        return claims["sub"] if claims["iss"] == claims["sub"] and claims["exp"] > time.time() else None
    else:
        client_id, secret = form.get("client_id", ""), form.get("client_secret")
        method = "client_secret_post" if secret else "none"
    if method not in OPTIONS["methods"]:
        return None
    if OPTIONS["documents"] and client_id.startswith("https://"):
        return client_id
    known = (
        CLIENTS[client_id].get("client_secret")
        if client_id in CLIENTS
        else OPTIONS["clients"].get(client_id, "")
    )
    return client_id if known == secret else None


def error(name: str, description: str = "", status: int = 400) -> Response:
    return JSONResponse({"error": name, "error_description": description}, status)


async def token(request: Request) -> Response:
    entry = await note(request)
    form = entry["form"]
    if OPTIONS["failing"]:
        return PlainTextResponse("try later", 503)
    if OPTIONS["redirects"]:
        return RedirectResponse(OPTIONS["redirects"], 307)
    if form["grant_type"].endswith("jwt-bearer"):
        good = form["assertion"] in ("a-workload", "id-jag for " + form.get("resource", ""))
        return given(form.get("client_id"), form) if good else error("invalid_grant", "nobody is known so")
    client = proved(form, entry["authorization"])
    if client is None:
        return error("invalid_client", "who are you?", 401)
    match form["grant_type"]:
        case "client_credentials":
            return given(client, form, refresh=False)
        case "refresh_token":
            if form["refresh_token"] in USED:
                REFRESH.clear()  # it was stolen: nobody gets anything any more
                ACCESS.clear()
            about = REFRESH.get(form["refresh_token"])
            if about is None or about["client"] != client:
                return error("invalid_grant", "that refresh token is over")
            if OPTIONS["rotates"]:
                del REFRESH[form["refresh_token"]]
                USED.add(form["refresh_token"])
            return given(client, {**about, **form}, refresh=OPTIONS["rotates"])
        case "authorization_code":
            about = CODES.pop(form["code"], None)
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if about is None or about["code_challenge"] != challenge or about["client_id"] != client:
                return error("invalid_grant", "that code is not yours")
            if about["redirect_uri"] != form["redirect_uri"] or about.get("resource") != form.get("resource"):
                return error("invalid_grant", "that is not what was asked for")
            return given(client, about)
        case _:
            return error("unsupported_grant_type")


def given(client: str | None, about: dict[str, Any], *, refresh: bool = True) -> Response:
    scope = OPTIONS["gives"] or about.get("scope", "")
    known = {"client": client, "scope": scope, "resource": about.get("resource")}
    answer: dict[str, Any] = {
        "access_token": f"access-{secrets.token_hex(8)}",
        "token_type": OPTIONS["token_type"],
    }
    ACCESS[answer["access_token"]] = known
    if OPTIONS["expires_in"] is not None:
        answer["expires_in"] = OPTIONS["expires_in"]
    if OPTIONS["gives"]:
        answer["scope"] = scope
    if OPTIONS["refresh"] and refresh:
        answer["refresh_token"] = f"refresh-{secrets.token_hex(8)}"
        REFRESH[answer["refresh_token"]] = known
    return JSONResponse(answer)


async def revoke(request: Request) -> Response:
    form = (await note(request))["form"]
    if form["token"] in REFRESH:
        REFRESH.pop(form["token"])
    ACCESS.pop(form["token"], None)
    return Response(status_code=200)


async def identity(request: Request) -> Response:
    """The identity provider's token endpoint."""
    form = (await note(request))["form"]
    if form["subject_token"] != "an-id-token" or form["audience"] != issuer():
        return error("invalid_grant", "who is that?")
    return JSONResponse({"access_token": f"id-jag for {form['resource']}", "token_type": "N_A"})


async def log(request: Request) -> Response:
    return JSONResponse(LOG)


async def reset(request: Request) -> Response:
    for kept in (LOG, CLIENTS, CODES, ACCESS, REFRESH, USED):
        kept.clear()
    MEETING.update(there=0, all=anyio.Event())
    OPTIONS.update({**DEFAULTS, **await request.json()})
    return JSONResponse({})


async def control(request: Request) -> Response:
    asked = await request.json()
    for name in asked.pop("forget", ()):
        FORGET[name].clear()
    OPTIONS.update(asked)
    return JSONResponse({})


authority = Starlette(
    routes=[
        Route("/log", log),
        Route("/reset", reset, methods=["POST"]),
        Route("/control", control, methods=["POST"]),
        Route("/identity", identity, methods=["POST"]),
        *(
            route
            for tenant in ("", "/tenant")
            for route in (
                Route(f"{tenant}/register", register, methods=["POST"]),
                Route(f"{tenant}/authorize", authorize),
                Route(f"{tenant}/token", token, methods=["POST"]),
                Route(f"{tenant}/revoke", revoke, methods=["POST"]),
            )
        ),
        Route("/{path:path}", as_metadata),
    ]
)


class Protected:
    """An MCP server's app, behind its tokens."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        messages: list[Any] = []
        if scope["method"] == "POST":
            while not messages or messages[-1].get("more_body"):
                messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        async def once() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        request = Request(scope, once)
        await note(request, "mcp")
        path = scope["path"]
        if "/.well-known/" in path:
            return await self.describe(path)(scope, again, send)
        refusal = self.refusal(request, body)
        await (refusal or self.app)(scope, again, send)

    def describe(self, path: str) -> Any:
        where = {"root": "/.well-known/oauth-protected-resource", "header": "/.well-known/it"}
        here = f"/{PATH}"
        wanted = where.get(OPTIONS["described"], f"/.well-known/oauth-protected-resource{here}")
        if path == "/.well-known/oauth-authorization-server" and OPTIONS["metadata"] == "own":
            return JSONResponse(metadata())
        if OPTIONS["described"] == "nowhere" or path != wanted:
            return PlainTextResponse("nothing here", 404)
        data = {"resource": OPTIONS["resource"] or BASE["mcp"] + here, "authorization_servers": [issuer()]}
        if OPTIONS["scopes_supported"] is not None:
            data["scopes_supported"] = OPTIONS["scopes_supported"]
        return JSONResponse(data)

    def refusal(self, request: Request, body: bytes) -> Any:
        called = json.loads(body) if body else {}
        calls = called.get("method") == "tools/call"
        if OPTIONS["open"] and not calls:
            return None
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        about = ACCESS.get(bearer)
        if about is None or not OPTIONS["accepts"]:
            return self.challenge(401, OPTIONS["scope"])
        if calls and called["params"]["name"] == "secret" and OPTIONS["admin"] not in about["scope"].split():
            return self.challenge(403, OPTIONS["admin"], 'error="insufficient_scope"')
        return None

    def challenge(self, status: int, scope: str | None, *more: str) -> Response:
        parts = ['realm="test"', *more]
        if OPTIONS["described"] == "header":
            parts.append(f'resource_metadata="{BASE["mcp"]}/.well-known/it"')
        if scope is not None:
            parts.append(f'scope="{scope}"')
        return Response("no", status, {"WWW-Authenticate": f"Bearer {', '.join(parts)}"})


def mcp_app() -> Any:
    server = MCPServer("protected")

    def hello() -> str:
        """Says hello."""
        return "hello"

    def secret() -> str:
        """Says what only admins may know."""
        return "the treasure is under the oak"

    async def meet(people: int) -> str:
        """Returns once so many calls of it are under way at the same time."""
        MEETING["there"] += 1
        if MEETING["there"] >= people:
            MEETING["all"].set()
        await MEETING["all"].wait()
        return "we met"

    for tool in (hello, secret, meet):
        server.add_tool(tool)
    return server.sse_app() if TRANSPORT == "sse" else server.streamable_http_app()


async def main() -> None:
    servers: list[tuple[uvicorn.Server, socket.socket]] = []
    for name, app in (("mcp", Protected(mcp_app())), ("as", authority)):
        listener = socket.create_server(("127.0.0.1", 0))
        BASE[name] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
        servers.append((uvicorn.Server(config), listener))
    print(json.dumps({"url": f"{BASE['mcp']}/{PATH}", "authority": BASE["as"]}), flush=True)
    async with anyio.create_task_group() as tg:
        for server, listener in servers:
            tg.start_soon(server.serve, [listener])


if __name__ == "__main__":
    anyio.run(main)
