"""Real HTTP servers for tests: MCP servers of the SDK under uvicorn, and one that refuses."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent


def weather_server() -> MCPServer:
    """A small MCP server with a tool that works, one that fails, and one that says what it was given."""
    server = MCPServer("weather")

    def temperature(city: str) -> str:
        """The temperature in a city, in degrees Celsius."""
        return f"{city}: 21"

    def broken() -> str:
        """Always fails."""
        raise ToolError("the station is offline")

    def structured() -> CallToolResult:
        """Only structured content."""
        return CallToolResult(content=[], structured_content={"celsius": 21})

    def picture() -> CallToolResult:
        """A text."""
        return CallToolResult(content=[TextContent(type="text", text="no picture today")])

    for tool in (temperature, broken, picture):
        server.add_tool(tool)
    server.add_tool(structured, structured_output=False)
    return server


@contextmanager
def serving(kind: Literal["http", "sse"], server: MCPServer | None = None) -> Generator[str]:
    """The URL of an MCP server over streamable HTTP or SSE."""
    server = server or weather_server()
    app = server.streamable_http_app() if kind == "http" else server.sse_app()
    with _uvicorn(app) as base:
        yield base + ("/mcp" if kind == "http" else "/sse")


@contextmanager
def _uvicorn(app: Any) -> Generator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@contextmanager
def process_serving(kind: Literal["http", "sse"], port: int) -> Generator[str]:
    """The URL of an MCP server in a process of its own, which is killed in the end."""
    program = Path(__file__).parent / "servers" / "weather.py"
    with subprocess.Popen([sys.executable, str(program), kind, str(port)]) as process:
        try:
            while not _listens(port):
                assert process.poll() is None, "the server did not start"
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}" + ("/mcp" if kind == "http" else "/sse")
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def refusing(status: int, body: bytes = b"", **headers: str) -> Generator[str]:
    """The URL of a web server that answers everything with one status."""

    class Handler(BaseHTTPRequestHandler):
        def _refuse(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _refuse

        def log_message(self, format: str, *args: object) -> None:
            pass

    with _threaded(Handler) as url:
        yield url


@contextmanager
def locked_tools(status: int = 401, **headers: str) -> Generator[str]:
    """The URL of an MCP server that lets everybody see its tool, `treasure`, and nobody call it: calls are
    answered with an HTTP status."""
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "serverInfo": {"name": "safe", "version": ""},
    }
    tools = {"tools": [{"name": "treasure", "inputSchema": {"type": "object"}}]}
    answers = {"initialize": {"result": info}, "tools/list": {"result": tools}}
    unknown = {"error": {"code": -32601, "message": "Method not found"}}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            method, request_id = request["method"], request.get("id")
            answer = {"jsonrpc": "2.0", "id": request_id, **answers.get(method, unknown)}
            called = method == "tools/call"
            code = status if called else 202 if request_id is None else 200
            body = json.dumps(answer).encode() if code == 200 else b""
            self.send_response(code)
            for name, value in headers.items() if called else ():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with _threaded(Handler) as url:
        yield url


@contextmanager
def _threaded(handler: type[BaseHTTPRequestHandler]) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()


def closed_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
