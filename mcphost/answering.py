"""What the server of one connection asks and says on its own, taken to the host's desk and back.

The same whether it comes as a request of its own (revisions with a handshake) or inside a result that
requires input (2026-07-28, SEP-2322).
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import anyio
from mcp.client import ClientRequestContext
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    RequestId,
)

from mcphost.desk import Desk, Refusal
from mcphost.patience import Patience

REFUSED: Final = "mcphost/refused"
"""In the data of an error: it was we who refused what the server asked for."""


_LEFT: Final = 16
"""So many streams that were left may still have something on its way."""


class Answering:
    """Answers one connection's server. Its calls do not run out of time while it is being answered."""

    def __init__(self, server: str, desk: Desk, hear: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._server = server
        self._desk = desk
        self._hear = hear
        self._visited: dict[str, anyio.Event] = {}
        self._left = deque[RequestId](maxlen=_LEFT)
        self.patience = Patience()

    def hear(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification. That a page has been visited is for us, the others are for the host."""
        meta: Any = params.get("_meta")
        if (
            isinstance(meta, dict)
            and cast("dict[str, Any]", meta).get(SUBSCRIPTION_ID_META_KEY) in self._left
        ):
            return
        if method != "notifications/elicitation/complete":
            self._hear(method, params)
        elif (page := self._visited.get(str(params.get("elicitationId")))) is not None:
            page.set()

    def leave(self, subscription: RequestId) -> None:
        """Another stream tells of all that this one does: what may still come on it is not heard."""
        self._left.append(subscription)

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
        """`sampling/createMessage`: the host's model answers."""
        del context
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        try:
            with self.patience.held():
                answer = await self._desk.sample(self._server, asked)
        except Refusal as exc:
            return ErrorData(code=exc.code, message=str(exc), data={REFUSED: True})
        several = isinstance(answer.get("content"), list)
        return (CreateMessageResultWithTools if several else CreateMessageResult).model_validate(answer)

    async def elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """`elicitation/create`: the user answers."""
        del context
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        try:
            with self.patience.held():
                answer = await self._desk.elicit(self._server, asked)
        except Refusal as exc:
            return ErrorData(code=exc.code, message=str(exc), data={REFUSED: True})
        return ElicitResult.model_validate(answer)

    async def roots(self, context: ClientRequestContext) -> ListRootsResult | ErrorData:
        """`roots/list`."""
        del context
        return ListRootsResult.model_validate({"roots": self._desk.roots(self._server)})

    async def visit(self, page: Mapping[str, Any]) -> bool:
        """Have the user visit a page (a URL elicitation) that a call was refused for: whether they agree."""
        self._visited[str(page.get("elicitationId"))] = anyio.Event()
        with self.patience.held():
            try:
                answer = await self._desk.elicit(self._server, {**page, "mode": "url"})
            except Refusal:
                return False
        return answer["action"] == "accept"

    async def visited(self, pages: Iterable[str], seconds: float) -> None:
        """Wait until the server says that the user is done with these pages (ids), at most `seconds`."""
        with self.patience.held(), anyio.move_on_after(seconds):
            for page in pages:
                if page in self._visited:
                    await self._visited[page].wait()

    def forget(self, pages: Iterable[str]) -> None:
        """These pages, by their ids, are of no interest any more."""
        for page in pages:
            self._visited.pop(page, None)
