"""Two small MCP servers and a scripted model, so that everything runs with no key and no network."""
