"""A stdio MCP server that does to its callers what it is asked to. Standard library only.

    chaos_server.py LOG

The tool `work` takes a `token`, which it appends to LOG as proof that it ran, and `how` to go on: `answer`,
`hang`, `exit`, `flood` (a megabyte to stderr before the answer), `big` (a megabyte as the answer) or `junk`
(a line that is no JSON before it).
"""

import json
import os
import sys

SCHEMA = {
    "type": "object",
    "properties": {"token": {"type": "string"}, "how": {"type": "string"}},
    "required": ["token", "how"],
}
INFO: dict[str, object] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "chaos", "version": "1"},
}


def main() -> None:
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def send(data: object) -> None:
        sys.stdout.write(json.dumps(data) + "\n")
        sys.stdout.flush()

    for line in sys.stdin:
        message = json.loads(line)
        answer: dict[str, object] = {"error": {"code": -32601, "message": "Method not found"}}
        if "id" not in message:
            continue
        if message["method"] == "initialize":
            answer = {"result": INFO}
        elif message["method"] == "tools/list":
            answer = {"result": {"tools": [{"name": "work", "inputSchema": SCHEMA}]}}
        elif message["method"] == "tools/call":
            arguments = message["params"]["arguments"]
            os.write(log, arguments["token"].encode() + b"\n")
            how = arguments["how"]
            if how == "exit":
                os._exit(7)
            if how == "hang":
                continue
            if how == "flood":
                sys.stderr.write("x" * 1_000_000 + "\n")
            if how == "junk":
                print("not a message")
            text = arguments["token"] + ("x" * 1_000_000 if how == "big" else "")
            answer = {"result": {"content": [{"type": "text", "text": text}]}}
        send({"jsonrpc": "2.0", "id": message["id"], **answer})


if __name__ == "__main__":
    main()
