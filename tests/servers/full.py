"""An MCP server of the SDK with every feature, as a process: `full.py stdio|http|sse [PORT] [OPTION ...]`.

It speaks every revision, as its clients like, unless an option says otherwise:
`--legacy` refuses 2026-07-28, `--revision=2025-06-18` speaks only that one with a handshake;
`--only=tools,prompts` offers nothing else; `--unusable` adds entries to every list that are no good.
Lists come in pages.

`full.py fork FD` becomes a server for each connection to the Unix socket FD, in a process of its own that is
there at once: a connection brings the arguments, and the files to serve stdio on or the socket to listen on.
It is the server's end too, when it is closed; stdin is that of them all.
"""

import json
import os
import select
import signal
import socket
import sys
import threading
import warnings
from contextlib import suppress

import anyio
import uvicorn
from full_features import Asker, Features, NeedsInput, needs_input
from full_offers import ODD, PROMPTS, RESOURCES, TEMPLATES, UNUSABLE, complete, get_prompt, read_resource
from full_tools import TOOLS, call_tool
from mcp.server import runner
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import ListenHandler
from mcp_types import (
    CompleteResult,
    EmptyResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    Resource,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import Response

PAGE = {"tools": 12, "prompts": 3, "resources": 3, "resource_templates": 3}


class FullServer(Server):
    """Says that its lists may change, on every transport."""

    def create_initialization_options(self, notification_options=None, *args, **kwargs):
        changed = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(notification_options or changed, *args, **kwargs)


def build(features, only, unusable):
    """The server, offering what is in `only`."""

    def listing(result, key, items):
        async def listed(_context, params):
            start, everything = int(params.cursor or 0), items()
            end = start + PAGE[key]
            more = str(end) if end < len(everything) else None
            return result(**{key: everything[start:end], "next_cursor": more})

        return listed

    def answering(answer):
        """A handler that may ask the client."""

        async def answered(context, params):
            try:
                return await answer(Asker(features, context, params), params)
            except NeedsInput as exc:
                return needs_input(exc.requests)

        return answered

    def tools():
        added = [Tool(name=name, input_schema={"type": "object"}) for name in features.added["tools"]]
        return [each for each, _ in TOOLS.values()] + added

    def prompts():
        return [*PROMPTS, *(Prompt(name=name) for name in features.added["prompts"])]

    def resources():
        return [*RESOURCES, *(Resource(uri=uri, name=uri) for uri in features.added["resources"])]

    async def subscribe(_context, params):
        features.subscribed.add(params.uri)
        return EmptyResult()

    async def unsubscribe(_context, params):
        features.subscribed.discard(params.uri)
        return EmptyResult()

    async def completed(_context, params):
        ref = params.ref
        context = (params.context.arguments if params.context else None) or {}
        of = ref.name if ref.type == "ref/prompt" else ref.uri
        argument = params.argument
        return CompleteResult(completion=complete(of, argument.name, argument.value, context))

    async def set_level(_context, params):
        features.level = params.level
        return EmptyResult()

    async def ignore(_context, _params):
        pass  # that it came has been noted

    async def spoil(context, call_next):
        """Middleware: what is no good MCP, which the SDK would not let out."""
        params = context.params or {}
        key = (context.method, params.get("name") or params.get("uri"))
        if key in ODD:
            return {**ODD[key], "resultType": "complete"}
        result = await call_next(context)
        if unusable and context.method.endswith("/list"):
            for kind in UNUSABLE.keys() & result.keys():
                result[kind] = UNUSABLE[kind] + result[kind]
        return result

    handlers = {
        "tools": {
            "on_list_tools": listing(ListToolsResult, "tools", tools),
            "on_call_tool": answering(
                lambda asker, params: call_tool(asker, params.name, params.arguments or {})
            ),
        },
        "prompts": {
            "on_list_prompts": listing(ListPromptsResult, "prompts", prompts),
            "on_get_prompt": answering(
                lambda asker, params: get_prompt(asker, params.name, params.arguments or {})
            ),
        },
        "resources": {
            "on_list_resources": listing(ListResourcesResult, "resources", resources),
            "on_list_resource_templates": listing(
                ListResourceTemplatesResult, "resource_templates", lambda: TEMPLATES
            ),
            "on_read_resource": answering(lambda asker, params: read_resource(asker, params.uri)),
        },
        "completions": {"on_completion": completed},
        "logging": {"on_set_logging_level": set_level},
        "changes": {
            "on_subscribe_resource": subscribe,
            "on_unsubscribe_resource": unsubscribe,
            "on_subscriptions_listen": ListenHandler(features.bus),
        },
    }
    chosen = [handlers[name] for name in only or handlers]
    server = FullServer(
        "full",
        version="1",
        instructions="Ask before you change anything.",
        lifespan=features.lifespan,
        on_roots_list_changed=ignore,
        **{name: handler for group in chosen for name, handler in group.items()},
    )
    server.middleware += [features.hear, spoil]
    return server


def modern_refused(app):
    """An app that answers 2026-07-28 as servers do that do not know of it."""
    unsupported = {"code": -32600, "message": "Bad Request: Unsupported protocol version"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": unsupported})

    async def refusing(scope, receive, send):
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"").decode()
        if version in MODERN_PROTOCOL_VERSIONS:
            await Response(body, 400, media_type="application/json")(scope, receive, send)
        else:
            await app(scope, receive, send)

    return refusing


def listening_noted(app, features):
    """An app that notes when a client has opened the stream for what belongs to no request."""

    async def noting(scope, receive, send):
        async def sent(message):
            await send(message)
            if scope["method"] == "GET" and message.get("status") == 200:
                features.beside.set()

        await app(scope, receive, sent if scope["type"] == "http" else send)

    return noting


async def serve_stream(server, features, streams, legacy):
    """Serve one connection, in the way that it begins with or with a handshake only."""
    async with server.lifespan(server) as state:
        serve = runner.serve_loop if legacy else runner.serve_dual_era_loop
        options = server.create_initialization_options()
        await serve(server, *streams, lifespan_state=state, init_options=options)


def sse_app(server, features, legacy):
    transport = SseServerTransport("/messages/")

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        if scope["path"] == "/messages/":
            await transport.handle_post_message(scope, receive, send)
        else:
            async with transport.connect_sse(scope, receive, send) as streams:
                await serve_stream(server, features, streams, legacy)

    return app


async def serve_stdio(server, features, legacy):
    async with stdio_server() as streams:
        await serve_stream(server, features, streams, legacy)


def serve_http(app, port, listener):
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_level="critical", ws="none", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener] if listener is not None else None)


def main(arguments, listener=None):
    words = [word for word in arguments if not word.startswith("--")]
    options = dict(word.removeprefix("--").partition("=")[::2] for word in arguments if word.startswith("--"))
    legacy = "legacy" in options or "revision" in options
    if revision := options.get("revision"):
        runner.HANDSHAKE_PROTOCOL_VERSIONS = (revision,)
        runner.LATEST_HANDSHAKE_VERSION = revision
    features = Features()
    only = [name for name in options.get("only", "").split(",") if name]
    server = build(features, only, "unusable" in options)
    port = int(words[1]) if len(words) > 1 else 0
    match words[0]:
        case "stdio":
            features.beside.set()
            anyio.run(serve_stdio, server, features, legacy)
        case "sse":
            features.beside.set()
            serve_http(sse_app(server, features, legacy), port, listener)
        case "http":
            app = listening_noted(server.streamable_http_app(), features)
            serve_http(modern_refused(app) if legacy else app, port, listener)


def fork(listener):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            return
        connection, _ = listener.accept()
        data, files, _, _ = socket.recv_fds(connection, 65536, 3)
        if os.fork() == 0:
            serve_forked(connection, json.loads(data), files)
        connection.close()
        for file in files:
            os.close(file)


def serve_forked(connection, arguments, files):
    """Be a server until its work is done, or until the connection is closed. Does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def leave():
        connection.recv(1)
        os._exit(0)

    threading.Thread(target=leave, daemon=True).start()
    with suppress(KeyboardInterrupt):
        if arguments[0] == "stdio":
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            main(arguments)
        else:
            main(arguments, socket.socket(fileno=files[0]))
    os._exit(0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of logging, roots and sampling the SDK says that they are deprecated
    if sys.argv[1] == "fork":
        fork(socket.socket(fileno=int(sys.argv[2])))
    else:
        main(sys.argv[1:])
