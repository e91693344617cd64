"""Streams on which a server without a handshake tells of changes (MCP 2026-07-28, `subscriptions/listen`)."""

from collections.abc import Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.client import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import RequestId

from mcphost.backoff import STEADY_SECONDS, pause

_LISTS: Final = ("tools", "prompts", "resources")


class Listening:
    """Holds one stream open for all that is listened to, and opens it again when it ends.

    What comes on it is taken by the connection's `Wire`; `missed` is told when something may have been
    missed, since nothing is sent again; `left` of a stream that another has taken the place of.
    """

    def __init__(
        self,
        client: Client,
        tasks: TaskGroup,
        *,
        missed: Callable[[], None],
        left: Callable[[RequestId], None],
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._missed = missed
        self._left = left
        self._changing = {f"{what}_list_changed": True for what in _LISTS if _changes(client, what)}
        self._scope: anyio.CancelScope | None = None
        self._stream: RequestId | None = None
        self._one_at_a_time = anyio.Lock()

    async def to(self, uris: frozenset[str]) -> frozenset[str]:
        """Listen to the lists that may change, and to these resources: those of them that the server agrees
        to tell of. Raises the SDK's errors when it refuses."""
        async with self._one_at_a_time:  # each replaces the stream of the one before
            before, self._scope, stream = self._scope, None, self._stream
            try:
                honored = await self._open(uris)
            except BaseException:
                self._scope = before
                raise
            if before is not None:
                before.cancel()
            if stream is not None:
                self._left(stream)
            return honored

    async def _open(self, uris: frozenset[str]) -> frozenset[str]:
        if not uris and not self._changing:
            return frozenset()
        return await self._tasks.start(self._hold, uris)

    async def _hold(
        self, uris: frozenset[str], *, task_status: TaskStatus[frozenset[str]] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        opened = False
        failures = 0
        with anyio.CancelScope() as scope:
            while True:
                began = anyio.current_time()
                try:
                    async with self._client.listen(
                        **self._changing, resource_subscriptions=sorted(uris)
                    ) as stream:
                        self._stream = stream.subscription_id
                        if opened:
                            self._missed()
                        else:
                            opened, self._scope = True, scope
                            task_status.started(frozenset(stream.honored.resource_subscriptions or ()))
                        async for _ in stream:
                            pass
                except (MCPError, SubscriptionLost, TimeoutError):
                    if not opened:
                        raise
                failures = 1 if anyio.current_time() - began > STEADY_SECONDS else failures + 1
                await anyio.sleep(pause(failures))


def _changes(client: Client, what: str) -> bool:
    """Whether the server says that it tells of changes of a list."""
    declared = getattr(client.server_capabilities, what)
    return declared is not None and declared.list_changed is True
