"""The HTTP backend: any OpenAI client, pointed at it, has the tools of a host's MCP servers.

app = create_app(Host.from_config("servers.json", save=False))    # an ASGI app, for any ASGI server
"""

from mcphost.api.app import create_app
from mcphost.api.settings import Settings

__all__ = ["Settings", "create_app"]
