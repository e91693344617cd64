"""What an entry's headers hold is for its own server: nobody else gets it, wherever a server points."""

import pytest

from mcphost import Host

from .endpoint import Endpoint, raw
from .http_servers import locked_tools, refusing
from .scripted import ScriptedModel, calls, says

pytestmark = pytest.mark.anyio

STATUS = pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
HEADERS = {"Authorization": "Bearer hunter2-and-some-more"}


def host(kind: str, url: str) -> Host:
    return Host.from_config({"mcpServers": {"safe": {"type": kind, "url": url, "headers": HEADERS}}})


def is_about(status: int, error: object) -> bool:
    """Whether an error says that there was a redirect."""
    return str(status) in str(error) or "Redirect" in str(error)


@STATUS
async def test_a_call_that_is_sent_elsewhere_fails_and_the_turn_goes_on(status: int):
    model = ScriptedModel(calls(("safe-treasure", "{}")), says("done"))
    with Endpoint(raw(b"")) as elsewhere, locked_tools(status, Location=elsewhere.url) as url:
        async with host("http", url) as running:
            await running.ready()
            reply = await running.chat("Go.", model=model)
        assert elsewhere.requests == []
    (result,) = reply.tool_calls
    assert not result.ok
    assert is_about(status, result.error)
    assert "hunter2" not in str(reply.messages)
    assert reply.text == "done"


@STATUS
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_that_is_elsewhere_is_not_gone_to(kind: str, status: int):
    with Endpoint(raw(b"")) as elsewhere, refusing(status, Location=elsewhere.url) as url:
        async with host(kind, url) as running:
            await running.ready()
            error = running.servers["safe"].error
        assert elsewhere.requests == []
    assert is_about(status, error)


async def test_messages_are_not_sent_to_another_origin_than_the_streams():
    with Endpoint(raw(b"")) as elsewhere:
        stream = f"event: endpoint\ndata: {elsewhere.url}\n\n".encode()
        with refusing(200, stream, Content_Type="text/event-stream") as url:
            async with host("sse", url) as running:
                await running.ready()
                error = running.servers["safe"].error
        assert elsewhere.requests == []
    assert "another origin" in str(error)
