"""What a model is told with every request, and the server `think` that goes with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcphost import Host
from mcphost.config import parse
from mcphost.errors import ConfigError
from mcphost.instructed import THINK, instructed

from .endpoint import Endpoint, call, calls, text
from .program import Program


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], [{"role": "system", "content": "T"}]),
        (
            [{"role": "user", "content": "u"}],
            [{"role": "system", "content": "T"}, {"role": "user", "content": "u"}],
        ),
        ([{"role": "system", "content": "s"}], [{"role": "system", "content": "s\n\nT"}]),
        ([{"role": "system", "content": ""}], [{"role": "system", "content": "T"}]),
        ([{"role": "developer", "content": "s"}], [{"role": "developer", "content": "s\n\nT"}]),
        (
            [{"role": "system", "content": [{"type": "text", "text": "s"}]}],
            [{"role": "system", "content": [{"type": "text", "text": "s"}, {"type": "text", "text": "T"}]}],
        ),
    ],
)
def test_the_text_is_at_the_end_of_the_system_prompt(messages: list[Any], told: list[Any]):
    before = [dict(message) for message in messages]
    assert instructed(messages, "T") == told
    assert messages == before


def think(tools: object, **servers: Any) -> dict[str, str | None]:
    """The built-in servers by name."""
    config = parse({"mcpServers": servers, "tools": tools}, source=None, environ={})
    return {name: spec.builtin for name, spec in config.servers.items()}


def test_think_in_tools_adds_the_server_unless_it_is_there():
    assert think({"think": True}, a={"command": "x"}) == {"a": None, "think": "think"}
    assert think({"think": False}, a={"command": "x"}) == {"a": None}
    assert think({"think": True}, mine={"builtin": "think"}) == {"mine": "think"}
    assert think({"think": True}, think={"command": "x"}) == {"think": None}
    with pytest.raises(ConfigError, match=r"tools\.think: must be true or false, not a string"):
        think({"think": "yes"})


def test_nobody_is_asked_about_thoughts():
    data = {"mcpServers": {"mine": {"builtin": "think"}, "asked": {"builtin": "think", "approve": "always"}}}
    servers = parse(data, source=None, environ={}).servers
    modes = {name: spec.approve.mode for name, spec in servers.items() if spec.approve}
    assert modes == {"mine": "never", "asked": "always"}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def test_a_run_thinks_and_the_conversation_does_not_show_what_the_model_was_told(program: Program):
    config = program.config(sections={"tools": {"think": True}})
    with Endpoint(calls(call("think", {"thought": "Hm."}, id="c1")), text("Done.")) as endpoint:
        model = ["-m", "scripted", "--base-url", endpoint.url]
        ran = program("run", "-c", config, *model, "--system", "Be brief.", "--output", "json", "Hi")
    assert ran.code == 0, ran.err
    for request in endpoint.requests:
        assert [tool["function"]["name"] for tool in request.body["tools"]] == ["think"]
        assert request.body["messages"][0] == {"role": "system", "content": f"Be brief.\n\n{THINK}"}
    assert ran.json["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (ran.json["text"], ran.json["tool_calls"][0]["ok"]) == ("Done.", True)


def test_the_server_alone_brings_no_system_prompt_but_says_the_same_itself():
    async def main() -> None:
        with Endpoint(text("Done.")) as endpoint:
            model = {"name": "scripted", "base_url": endpoint.url}
            data = {"mcpServers": {"mine": {"builtin": "think"}}, "model": model}
            async with Host.from_config(data) as host:
                await host.ready()
                await host.chat("Hi")
                assert host.servers["mine"].instructions == THINK
            assert [message["role"] for message in endpoint.requests[0].body["messages"]] == ["user"]

    anyio.run(main)
