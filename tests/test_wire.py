"""What passes through a connection: results as the server sent them, whatever they claim to be."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from mcphost.transport.wire import Wire

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def answering(*results: dict[str, Any]) -> AsyncGenerator[tuple[Any, Any]]:
    """A transport to a server that answers the requests 1, 2, … with these results."""
    answers, read = anyio.create_memory_object_stream[SessionMessage](len(results))
    write, requests = anyio.create_memory_object_stream[SessionMessage](len(results))
    with answers, read, write, requests:
        for number, result in enumerate(results, 1):
            answers.send_nowait(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result=result)))
        yield read, write


def unheard(kind: str, what: Any) -> None:
    pass


async def answers(*exchange: tuple[str, dict[str, Any]]) -> list[Any]:
    """What comes of these requests: the raw result, the error's message, or else what the SDK is to see."""
    transport = answering(*(result for _, result in exchange))
    wire = Wire(transport, probe_seconds=60, trace=unheard, hear=unheard)
    found: list[Any] = []
    async with wire as (read, write):
        for number, (method, _) in enumerate(exchange, 1):
            await write.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method=method)))
        for _ in exchange:
            message = (await read.receive()).message
            if isinstance(message, JSONRPCError):
                found.append(message.error.message)
            else:
                found.append(wire.take(message.result.get("_meta")) or message.result)
    return found


async def test_a_result_of_an_unknown_type_is_an_error_and_not_an_empty_one():
    result: dict[str, Any] = {"resultType": "task", "content": [{"type": "text", "text": "ok"}]}
    (error,) = await answers(("tools/call", result))
    assert error == 'the server\'s answer is malformed: its resultType is "task"'


async def test_a_result_that_asks_for_input_is_the_sdks():
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": {}}
    assert await answers(("tools/call", result)) == [result]


async def test_after_a_handshake_a_result_has_no_type():
    hello = {"protocolVersion": "2025-11-25"}
    result: dict[str, Any] = {"resultType": "table", "content": []}
    assert await answers(("initialize", hello), ("tools/call", result)) == [hello, result]
