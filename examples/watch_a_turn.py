"""The built-in loop, watched: `host.turn` gives every step of a turn as a typed event.

    python examples/watch_a_turn.py servers.json "What is the weather in Suzhou?"

The model is the one that servers.json names, or MCPHOST_MODEL such as deepseek/deepseek-chat.
"""

import asyncio
import sys

from mcphost import Call, Done, Failed, Host, Result, Text


async def main(servers: str, question: str) -> int:
    async with Host.from_config(servers) as host:
        await host.ready()
        async with host.turn(question) as events:
            async for event in events:
                match event:
                    case Call(server=server, tool=tool, arguments=arguments):
                        print(f"[calls {server}/{tool} with {arguments}]")
                    case Result(result):
                        print(f"[{'ok' if result.ok else 'failed'} after {result.seconds:.1f} s]")
                    case Text(text):
                        print(text, end="", flush=True)
                    case Done(usage=usage):
                        print(f"\n[{usage.total_tokens} tokens]")
                    case Failed(error, exit_code):
                        print(f"failed: {error}", file=sys.stderr)
                        return exit_code
                    case _:
                        pass
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
