"""A stdio MCP server that misbehaves on demand: `rogue.py [FAULT ...]`. Standard library only.

It speaks 2025-06-18 and knows these tools: `echo` (gives `text` back), `env` (the value of a variable),
`fail` (an error result), `wait` (answers when the file `until` exists) and `pid`. When it starts it makes the
file that the variable ROGUE_STARTED names; when it waits, a file beside `until` with `.awaited` added.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

FAULTS = {word for word in sys.argv[1:] if "=" not in word}
OPTIONS = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("echo", "Gives the text back.", ["text"], text={"type": "string", "description": "any text"}),
    tool("env", "The value of an environment variable.", ["name"], name={"type": "string"}),
    tool("fail", "Reports an error."),
    tool("wait", "Answers when a file exists.", ["until"], until={"type": "string"}),
    tool("pid", "The process id."),
]


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message):
    if "stderr-flood" in FAULTS:
        sys.stderr.write("x" * (256 * 1024) + "\n")
    data = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    if "bad-utf8" in FAULTS:
        data = data.replace(b'"text": "', b'"text": "\xff', 1)
    if "batch" in FAULTS:
        data = b"[" + data + b"]"
    if "no-envelope" in FAULTS:
        data = data.replace(b'"jsonrpc": "2.0", ', b"")
    if "bom" in FAULTS:
        data = b"\xef\xbb\xbf" + data
    if "junk" in FAULTS:
        data = b'starting up...\n{"level": "info"}\n\n' + data
    write(data + (b"\r\n" if "crlf" in FAULTS else b"\n"))


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def listed(cursor):
    if "exit-in-list" in FAULTS:
        print("fatal: too many tools", file=sys.stderr, flush=True)
        os._exit(5)
    if "no-tools" in FAULTS:
        return {"error": {"code": -32601, "message": "Method not found"}}
    if "list-error" in FAULTS:
        return {"error": {"code": -32603, "message": "the index is being rebuilt"}}
    tools = list(TOOLS)
    if "hint" in OPTIONS:
        tools = [{**each, "annotations": {OPTIONS["hint"]: True}} for each in tools]
    if "bad-tools" in FAULTS:
        tools += [
            {"name": "no_schema"},
            {"description": "no name"},
            "not a tool",
            {"name": "odd", "inputSchema": []},
        ]
    if "pages" not in FAULTS and "endless-pages" not in FAULTS:
        return {"result": {"tools": tools}}
    start = int(cursor or 0)
    page = {"tools": tools[start : start + 1]}
    if "endless-pages" in FAULTS:
        page["nextCursor"] = "1"
    elif start + 1 < len(tools):
        page["nextCursor"] = str(start + 1)
    return {"result": page}


def leave_if_left():
    """End where the host has closed our stdin, whatever is still to be read there."""
    poll = select.poll()
    poll.register(0, 0)
    if any(happened & select.POLLHUP for _, happened in poll.poll(0)):
        raise SystemExit


def called(name, arguments):
    if "exit-in-call" in FAULTS:
        print("fatal: lost the database", file=sys.stderr, flush=True)
        os._exit(9)
    if "exit-once" in FAULTS:
        count = Path(OPTIONS["count"])
        with count.open("a") as file:
            file.write("x")
        if len(count.read_text()) == 1:
            os._exit(9)
    if "exit-forked" in FAULTS:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        os._exit(6)
    if "hang-in-call" in FAULTS:
        return None
    if "malformed-result" in FAULTS:
        return {"result": "done"}
    if "odd-content" in FAULTS:
        return {"result": {"content": [{"type": "hologram", "volume": 3}, {"type": "image", "data": "%%%"}]}}
    if "big" in FAULTS:
        return {"result": text("0123456789abcdef" * 5 * 65536)}
    if name == "echo":
        return {"result": text(arguments.get("text", ""))}
    if name == "env":
        return {"result": text(os.environ.get(arguments["name"], "(not set)"))}
    if name == "fail":
        return {"result": text("the disk is full", isError=True)}
    if name == "pid":
        return {"result": text(str(os.getpid()))}
    if name == "wait":
        Path(arguments["until"] + ".awaited").touch()
        while not Path(arguments["until"]).exists():
            leave_if_left()
            time.sleep(0.01)
        return {"result": text("it is there")}
    return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}


def main():
    if started := os.environ.get("ROGUE_STARTED"):
        Path(started).touch()
    if "exit-at-start" in FAULTS:
        print("fatal: no licence file found", file=sys.stderr)
        raise SystemExit(3)
    if "ignore-sigterm" in FAULTS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "grandchild" in FAULTS:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(f"grandchild {child.pid}", file=sys.stderr, flush=True)
    silent = False
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        message = json.loads(line)
        method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "server/discover":
            if "exit-on-discover" in FAULTS:
                raise SystemExit(1)
            if "silent-on-discover" in FAULTS:
                silent = True
                continue
        if silent:  # as servers on the Python SDK up to 1.9.3
            raise SystemExit(1)
        if request_id is None or (method == "initialize" and "never-init" in FAULTS):
            continue
        if method == "initialize":
            info = {"name": "rogue", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            send({"id": request_id, "result": result})
        elif method == "tools/list":
            send({"id": request_id, **listed(params.get("cursor"))})
            if "exit-when-idle" in FAULTS:
                print("fatal: tired", file=sys.stderr, flush=True)
                os._exit(4)
        elif method == "tools/call":
            answer = called(params["name"], params.get("arguments") or {})
            if answer is not None:
                send({"id": request_id, **answer})
        else:
            send({"id": request_id, "error": {"code": -32601, "message": "Method not found"}})
    if "stay" in FAULTS:
        time.sleep(600)


if __name__ == "__main__":
    main()
