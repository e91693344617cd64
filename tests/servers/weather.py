"""An MCP server of the SDK over HTTP, as a process: `weather.py http|sse PORT`."""

import sys

import uvicorn
from mcp.server import MCPServer

server = MCPServer("weather")


@server.tool()
def temperature(city: str) -> str:
    """The temperature in a city, in degrees Celsius."""
    return f"{city}: 21"


if __name__ == "__main__":
    app = server.streamable_http_app() if sys.argv[1] == "http" else server.sse_app()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="critical", ws="none")
