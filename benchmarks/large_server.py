"""A stdio MCP server whose tool `large` answers with the megabytes that it is asked for."""

import json
import sys

INFO: dict[str, object] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "large", "version": "1"},
}
TOOL = {"name": "large", "inputSchema": {"type": "object", "properties": {"megabytes": {"type": "number"}}}}

for line in sys.stdin:
    message = json.loads(line)
    answer: dict[str, object] = {"error": {"code": -32601, "message": "Method not found"}}
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        answer = {"result": INFO}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    elif message["method"] == "tools/call":
        text = "x" * int(message["params"]["arguments"]["megabytes"] * 1_000_000)
        answer = {"result": {"content": [{"type": "text", "text": text}]}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
    sys.stdout.flush()
