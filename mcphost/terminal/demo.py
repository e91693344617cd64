"""`mcphost demo`: the main job, on real processes and real HTTP, with no key and no network."""

import os
import sys

from mcphost import config as configuration
from mcphost.config import Config
from mcphost.demo.config import config as demo_config
from mcphost.demo.model import ScriptedModel
from mcphost.errors import McphostError
from mcphost.events import Done, Event, Failed, Round, Text
from mcphost.host import Host
from mcphost.terminal.chat import Opening, chat
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.output import styled, write
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, settled
from mcphost.terminal.steps import line_of

QUESTION = "今天下午从苏州到北京的高铁票还有没"

_ABOUT = (
    "A demonstration: two bundled MCP servers (trains, maps) run as child processes, with made-up but",
    "consistent data. The model is a script behind an OpenAI-compatible endpoint on this machine: it matches",
    "words, and is no language model. Everything between them is what a real model would use.",
)


async def demo(question: str | None, *, as_chat: bool, interrupts: Interrupts) -> int:
    """Answer one question, each step shown on stdout; or talk."""
    with ScriptedModel() as model:
        config = configuration.parse(demo_config(model.base_url), source=None, environ=os.environ)
        if as_chat:
            greeting = (" ".join(_ABOUT), f"Try: {question or QUESTION}", "/help lists the commands.")
            opening = Opening(greeting=greeting, yes=True, wait=True)
            return await chat(config, Settings(), opening, interrupts)
        for line in _ABOUT:
            write(styled(line, "dim", sys.stdout))
        return await _answer(config, question or QUESTION)


async def _answer(config: Config, question: str) -> int:
    async with opened(config, Settings()) as host:
        await settled(host, Settings())
        _introduce(host, question)
        async with host.turn(question) as turn:
            async for event in turn:
                _show(event)
    return 0


def _introduce(host: Host, question: str) -> None:
    write("")
    for server in host.servers.values():
        write(f"{server.name}: {len(server.tools)} tools, ready in {server.seconds:.1f} s")
    write("")
    write(styled(f"> {question}", "bold", sys.stdout))


def _show(event: Event) -> None:
    match event:
        case Round(n):
            write(styled(f"request {n}", "dim", sys.stdout))
        case Text(text):
            write(text, end="")
        case Done():
            write("")
        case Failed(error, exit_code, hint):
            raise McphostError(error, hint=hint, exit_code=exit_code)
        case _:
            if (line := line_of(event)) is not None:
                write(line)
