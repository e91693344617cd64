"""mcphost: an MCP host for OpenAI-style function calling."""

__version__ = "0.1.0"
