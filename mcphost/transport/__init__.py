"""How bytes reach a server. Nothing above this package knows which way they go.

`process` spawns children and knows nothing of MCP, so that servers start before the SDK is imported;
`watchdog` ends them when we are killed. `stdio`, `http`, `sse` and `memory` are transports in the SDK's
sense: async context managers that yield a read and a write stream of `SessionMessage`. `wire` wraps them.
"""
