"""OAuth for MCP servers on the web (MCP specification, "Authorization"; OAuth 2.1)."""
