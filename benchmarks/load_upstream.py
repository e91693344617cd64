"""A model endpoint for load tests: three calls, then a text, as chunks. Prints its port.

    load_upstream.py [--think SECONDS] [--pieces N] [--pause SECONDS] [--fail RATE]

Standard library only. What fails gets a 500 that is not worth a retry.
"""

import argparse
import asyncio
import json
import random
from typing import Any

HEAD = {"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 20}
FAILURE = json.dumps({"error": {"message": "scripted failure"}}).encode()


def event(finish: str | None = None, usage: object = None, **delta: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = json.dumps(HEAD | {"choices": [choice]} | ({"usage": usage} if usage else {}))
    data = f"data: {chunk}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


DONE = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
LAST_OF_TEXT = event("stop", USAGE) + DONE
LAST_OF_CALLS = event("tool_calls", USAGE) + DONE
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def calls(body: dict[str, Any]) -> bytes:
    names = [tool["function"]["name"] for tool in body["tools"]]
    made = [
        {
            "index": n,
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"token": f"t{n}", "how": "answer"})},
        }
        for n, name in enumerate(random.sample(names, 3))
    ]
    return event(tool_calls=made) + LAST_OF_CALLS


class Upstream:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.text = [event(content=f"word{n} ") for n in range(options.pieces)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await self.answer(json.loads(await reader.readexactly(int(length))), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.options.think)
        if random.random() < self.options.fail:
            writer.write(b"HTTP/1.1 500 No\r\nx-should-retry: false\r\nContent-Type: application/json\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(FAILURE), FAILURE))
            await writer.drain()
            return
        writer.write(STREAM)
        if body["messages"][-1]["role"] != "tool":
            writer.write(calls(body))
        else:
            for piece in self.text:
                if writer.is_closing():
                    raise ConnectionAbortedError
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(self.options.pause)
            writer.write(LAST_OF_TEXT)
        await writer.drain()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--think", type=float, default=0.2, help="seconds before an answer begins")
    parser.add_argument("--pieces", type=int, default=20, help="chunks of a text")
    parser.add_argument("--pause", type=float, default=0.01, help="seconds between them")
    parser.add_argument("--fail", type=float, default=0.0, help="how many requests get a 500, from 0 to 1")
    upstream = Upstream(parser.parse_args())
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, backlog=1024, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
