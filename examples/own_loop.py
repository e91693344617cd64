"""A loop of one's own: any OpenAI client, and three lines that bring the MCP tools in.

    python examples/own_loop.py servers.json "What is the weather in Suzhou?"

The client reads OPENAI_BASE_URL and OPENAI_API_KEY; MODEL names the model.
"""

import asyncio
import os
import sys
from typing import Any

from openai import AsyncOpenAI

from mcphost import Host


async def main(servers: str, question: str) -> None:
    client = AsyncOpenAI()
    messages: list[Any] = [{"role": "user", "content": question}]
    async with Host.from_config(servers) as host:  # 1. connect
        await host.ready()
        while True:
            answer = await client.chat.completions.create(
                model=os.environ["MODEL"],
                messages=messages,
                tools=host.tools,  # 2. the tools
            )
            reply = answer.choices[0].message
            messages.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                print(reply.content)
                return
            messages += await host.call_all(reply.tool_calls)  # 3. the calls


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
