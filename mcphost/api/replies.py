"""How a turn is answered: as a stream, or whole. It runs while its caller is there, and no longer."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import anyio
import anyio.lowlevel
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from mcphost.api.exchange import Exchange
from mcphost.api.gate import refusal
from mcphost.api.problems import Problem, problem_of
from mcphost.api.settings import Settings
from mcphost.api.wire import KEEPALIVE, Chunks, Whole, about
from mcphost.assemble import Assembler
from mcphost.errors import McphostError, ModelError
from mcphost.events import Done, Event, RoundUsage, Warned
from mcphost.openai_model import OpenAIModel
from mcphost.router import Emit

logger = logging.getLogger(__name__)

Run = Callable[[Emit], Awaitable[Done]]
"""Runs the turn."""

_HIGH: Final = 256 * 1024
"""Bytes that may wait for a caller who reads slowly; then the turn waits."""
_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # nginx would gather the chunks
)


class _Reply:
    """An ASGI application for one request, whose body has been read."""

    def __init__(self, exchange: Exchange, settings: Settings) -> None:
        self._exchange = exchange
        self._settings = settings
        self._alive = anyio.CancelScope()
        self._over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._alive:
            async with anyio.create_task_group() as tg:
                tg.start_soon(self._watch, receive)
                await self.answer(scope, receive, send)
                tg.cancel_scope.cancel()

    async def leave(self) -> None:
        """End everything: the caller has left."""
        self._exchange.left = True
        self._alive.cancel()
        await anyio.lowlevel.checkpoint()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not self._over:
            await self.leave()


class _Turn(_Reply):
    """The answer that a turn gives."""

    def __init__(self, run: Run, exchange: Exchange, settings: Settings, warnings: Iterable[str]) -> None:
        super().__init__(exchange, settings)
        self._run = run
        self._warnings = list(warnings)

    async def turn(self, take: Emit) -> Done | Problem:
        """Run the turn, and give how it ended: nothing but cancellation passes."""

        async def emit(event: Event) -> None:
            if isinstance(event, Warned):
                self._warnings.append(event.text)
            self._exchange.note(event)
            await take(event)

        try:
            return await self._run(emit)
        except McphostError as exc:
            return problem_of(exc)
        except Exception as exc:  # boundary: whatever it is, the caller gets an answer
            logger.exception("request %s failed in an unexpected way", self._exchange.id)
            return Problem(500, f"an unexpected error: {type(exc).__name__}", "internal_error")


class WholeReply(_Turn):
    """Answers when the turn is over."""

    def __init__(self, whole: Whole, *turn: Any) -> None:
        super().__init__(*turn)
        self._whole = whole

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def take(event: Event) -> None:
            self._whole.take(event)

        outcome = await self.turn(take)
        if isinstance(outcome, Problem):
            response = refusal(outcome, self._exchange)
        else:
            response = JSONResponse(self._whole.completion(outcome, about(outcome, self._warnings)))
        self._over = True
        await response(scope, receive, send)


class ForwardedReply(_Reply):
    """Hands the upstream's own answer on, byte by byte: for what a turn cannot give."""

    def __init__(
        self, model: OpenAIModel, fields: Mapping[str, Any], exchange: Exchange, settings: Settings
    ) -> None:
        super().__init__(exchange, settings)
        self._model = model
        self._fields = fields

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, reader = False, Assembler()
        try:
            async with self._model.forwarded(self._fields) as response:
                kind = response.headers.get("content-type", "application/json").encode("latin-1")
                headers = [(b"content-type", kind), (b"cache-control", b"no-cache")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                begun = True
                async for piece in response.aiter_bytes():
                    reader.feed(piece)
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        except ModelError as exc:
            problem = problem_of(exc)
            if not begun:
                await refusal(problem, self._exchange)(scope, receive, send)
                return
            self._exchange.fail(problem.code)
            await send({"type": "http.response.body", "body": problem.event(self._exchange.id)})
        else:
            self._over = True
            await send({"type": "http.response.body", "body": b""})
        reader.close()
        self._exchange.note(RoundUsage(1, reader.usage))


class StreamReply(_Turn):
    """Answers as the turn goes on.

    The first byte goes out at once; only a failure that comes as quickly as that still has a status of its
    own. Whatever comes later is told in an event. What comes at the same time is sent together.
    """

    def __init__(self, chunks: Chunks, *turn: Any) -> None:
        super().__init__(*turn)
        self._chunks = chunks
        self._begun = False
        self._waiting: list[bytes] = []
        self._size = 0
        self._news, self._sent = anyio.Event(), anyio.Event()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused: Problem | None = None
        async with anyio.create_task_group() as tg:
            tg.start_soon(self._pump, send)
            outcome = await self.turn(self._take)
            if isinstance(outcome, Done):
                self._put(self._chunks.end(outcome, about(outcome, self._warnings)))
            elif self._begun or self._waiting:
                self._exchange.fail(outcome.code)
                self._put(outcome.event(self._exchange.id))
            else:
                refused = outcome
            self._over = True
            self._news.set()
        if refused is not None:
            await refusal(refused, self._exchange)(scope, receive, send)

    async def _take(self, event: Event) -> None:
        if data := self._chunks.of(event):
            self._put(data)
            if self._size > _HIGH:
                await self._sent.wait()

    def _put(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        self._news.set()

    async def _pump(self, send: Send) -> None:
        """Send what there is, or a comment where there is nothing for a while, until the end."""
        await self._until_news(self._settings.grace)
        while self._waiting or not self._over:
            data, last = b"".join(self._waiting), self._over
            self._waiting, self._size, self._news = [], 0, anyio.Event()
            try:
                with anyio.fail_after(self._settings.stall):
                    await self._send(send, data, last=last)
            except (TimeoutError, OSError):  # whoever takes nothing in is not there any more
                await self.leave()
            self._sent.set()
            self._sent = anyio.Event()
            if last:
                return
            if not await self._until_news(self._settings.keepalive):
                self._waiting.append(KEEPALIVE)

    async def _until_news(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._news.wait()
            return True
        return False

    async def _send(self, send: Send, data: bytes, *, last: bool) -> None:
        if not self._begun:
            self._begun = True
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            data = self._chunks.begin() + data
        await send({"type": "http.response.body", "body": data, "more_body": not last})
