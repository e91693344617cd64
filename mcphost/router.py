"""From a model's call to the one result it gets: look up, parse, check, ask, call, flatten.

A tool's trouble is data: whatever goes wrong with a call becomes a failed result that the model can read.
Only cancellation passes through.
"""

import copy
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

import anyio
import anyio.to_thread

from mcphost import arguments, asking, content
from mcphost.catalog import Catalog, Route
from mcphost.config import Approve, Limits, ServerSpec
from mcphost.errors import AuthRequired, ServerError, ServerLost, ToolError
from mcphost.events import Call, Event, Progress, ProgressFn, Result, Warned
from mcphost.hooks import Allow, Asked, Decision, Hooks, Refuse, needs_approval
from mcphost.messages import Attachment, Cause, ToolCall, ToolResult

logger = logging.getLogger(__name__)

Emit = Callable[[Event], Awaitable[None]]


class Callee(Protocol):
    """A server, as far as a call needs it."""

    @property
    def spec(self) -> ServerSpec: ...

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        seconds: float,
        longest: float | None = None,
        repeatable: bool = False,
        progress: ProgressFn | None = None,
    ) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a call cannot run or did not succeed, and what the model may do about it."""

    cause: Cause
    error: str
    hint: str | None = None


class Router:
    """Runs calls. Each gets exactly one result, in the order of the calls.

    `folder`: below it attachments and long texts are saved, None to save nothing. `approve`: the policy for
    servers that have none of their own.
    """

    def __init__(
        self,
        servers: Mapping[str, Callee],
        *,
        limits: Limits,
        hooks: Hooks,
        results: Literal["text", "blocks"],
        folder: Path | None,
        approve: Approve,
    ) -> None:
        self._servers = servers
        self._limits = limits
        self._hooks = hooks
        self._mode: Literal["text", "blocks"] = results
        self._results = folder
        self._folder: Path | None = None
        self._approve = approve
        self._approve_too: Approve | None = None
        self._checkers: dict[tuple[str, str], tuple[object, arguments.Checker]] = {}
        self._output_checks: dict[tuple[str, str], tuple[object, content.OutputCheck]] = {}
        self._unchecked: set[str] = set()
        self._count = itertools.count(1)

    def narrowed(self, servers: Mapping[str, Callee], *, approve: Approve | None, save: bool) -> "Router":
        """The same for other `servers`. It asks about what `approve` names as well, and saves nothing unless
        `save`."""
        other = copy.copy(self)
        other._servers = servers
        other._approve_too = approve
        other._results = self._results if save else None
        return other

    async def call_all(
        self, calls: Sequence[ToolCall], catalog: Catalog, emit: Emit, *, limits: Limits | None = None
    ) -> list[ToolResult]:
        """Run `calls` side by side, at most `limits.parallel` at a time."""
        results: list[ToolResult | None] = [None] * len(calls)
        slots = anyio.Semaphore((limits or self._limits).parallel)

        async def run(index: int, call: ToolCall) -> None:
            async with slots:
                results[index] = await self.call(call, catalog, emit, limits=limits)

        async with anyio.create_task_group() as tg:
            for index, call in enumerate(calls):
                tg.start_soon(run, index, call)
        return [result for result in results if result is not None]

    async def call(
        self,
        call: ToolCall,
        catalog: Catalog,
        emit: Emit,
        *,
        validate: bool = True,
        limits: Limits | None = None,
    ) -> ToolResult:
        """Run one call. `validate=False` sends the arguments unchecked; `limits` go before the host's."""
        limits = limits or self._limits
        began = time.monotonic()
        route = catalog.find(call.name)
        given, problem = self._prepare(call, route, catalog, validate=validate)
        where = (route.server, route.tool) if route else (None, None)
        await emit(Call(call.id, call.name, *where, given))
        outcome: ToolResult | _Problem | None = problem
        if outcome is None:
            assert route is not None and given is not None
            given, outcome = await self._approved(call, route, given, validate=validate)
            began = time.monotonic()  # what the user took to decide is none of the tool's time
            outcome = outcome or await self._run(call, route, given, emit, limits)
        if isinstance(outcome, _Problem):
            outcome = self.refuse(call, outcome.error, outcome.hint, cause=outcome.cause)
        seconds = time.monotonic() - began
        result = replace(outcome, server=where[0], tool=where[1], arguments=given, seconds=seconds)
        for warning in result.warnings:
            await emit(Warned(f"{call.name}: {warning}"))
        await emit(Result(result))
        return result

    def _prepare(
        self, call: ToolCall, route: Route | None, catalog: Catalog, *, validate: bool
    ) -> tuple[Mapping[str, Any] | None, _Problem | None]:
        """The arguments to send, and why they cannot be sent."""
        parsed = arguments.parse(call.arguments)
        if route is None:
            near = catalog.nearest(call.name)
            hint = (
                f"The nearest names are: {', '.join(near)}."
                if near
                else "Use only the tools that are listed."
            )
            return parsed.value, _Problem("unknown", f"there is no tool named {call.name!r}", hint)
        if parsed.value is None:
            return None, _Problem("invalid", parsed.problem or "the arguments are not JSON", _RESEND)
        return self._settled(route, parsed.value) if validate else (parsed.value, None)

    def _settled(self, route: Route, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], _Problem | None]:
        """Arguments as the tool's schema has them, and what of them it does not take."""
        if not route.validate:
            return given, None
        checker = self._checker(route)
        settled = checker.settle(dict(given))
        if checker.warning and route.name not in self._unchecked:
            self._unchecked.add(route.name)
            logger.warning("%s/%s: arguments go unchecked: %s", route.server, route.tool, checker.warning)
        problem = _Problem("invalid", settled.problem, _RESEND) if settled.problem is not None else None
        return settled.arguments, problem

    def _checker(self, route: Route) -> arguments.Checker:
        key = (route.server, route.tool)
        known = self._checkers.get(key)
        if known is None or known[0] is not route.schema:
            known = self._checkers[key] = (route.schema, arguments.check(route.schema))
        return known[1]

    def _output_check(self, route: Route) -> content.OutputCheck:
        key, schema = (route.server, route.tool), route.definition.get("outputSchema")
        known = self._output_checks.get(key)
        if known is None or known[0] is not schema:
            known = self._output_checks[key] = (schema, content.OutputCheck(schema))
        return known[1]

    async def _approved(
        self, call: ToolCall, route: Route, given: Mapping[str, Any], *, validate: bool
    ) -> tuple[Mapping[str, Any], _Problem | None]:
        """The arguments that may be sent, which a hook can have changed, and why they may not."""
        decision = await self._decide(call, route, given)
        if isinstance(decision, Refuse):
            hint = "Go on without it, or say that it was not allowed."
            return given, _Problem("refused", decision.reason, hint)
        if decision.arguments is None:
            return given, None
        return self._settled(route, decision.arguments) if validate else (decision.arguments, None)

    async def _run(
        self, call: ToolCall, route: Route, given: Mapping[str, Any], emit: Emit, limits: Limits
    ) -> ToolResult | _Problem:
        """Call the server, and flatten what it gives."""
        server = self._servers[route.server]

        async def report(progress: float, total: float | None, message: str | None) -> None:
            await emit(Progress(call.id, progress, total, message))

        seconds = server.spec.timeout or limits.call_seconds
        repeatable = any(route.annotations.get(hint) is True for hint in ("readOnlyHint", "idempotentHint"))
        try:
            raw = await server.call(
                route.tool,
                given,
                seconds=seconds,
                longest=server.spec.timeout_max or limits.call_seconds_max,
                repeatable=repeatable,
                progress=report,
            )
        except ServerLost as exc:
            unknown = "; whether the call took effect is unknown" if exc.sent else "; the call was not sent"
            return _Problem("server", f"{exc}{unknown}", _TROUBLE)
        except ServerError as exc:
            cause: Cause = "auth" if isinstance(exc, AuthRequired) else "server"
            return _Problem(cause, str(exc), exc.hint or _TROUBLE)
        except TimeoutError as exc:
            return _Problem("timeout", str(exc), _TROUBLE)
        except ToolError as exc:
            return _Problem("tool", str(exc), exc.hint or _TROUBLE)
        except Exception as exc:  # boundary: no failure of one call may end the turn
            logger.exception("%s/%s: the call failed in an unexpected way", route.server, route.tool)
            return _Problem("tool", f"the call failed: {exc or type(exc).__name__}", _TROUBLE)
        return await self._flattened(call, route, raw, limits.result_chars)

    async def _decide(self, call: ToolCall, route: Route, given: Mapping[str, Any]) -> Decision:
        spec = self._servers[route.server].spec
        read_only = spec.trust_annotations and route.annotations.get("readOnlyHint") is True
        policies = (spec.approve or self._approve, self._approve_too)
        reasons = (needs_approval(each, route.tool, read_only=read_only) for each in policies if each)
        why = next((reason for reason in reasons if reason is not None), None)
        if why is None:
            return Allow()
        asked = Asked(call.id, call.name, route.server, route.tool, given, read_only=read_only, why=why)
        return await asking.approve(self._hooks, asked)

    async def _flattened(
        self, call: ToolCall, route: Route, raw: Mapping[str, Any], limit: int
    ) -> ToolResult:
        flatten = partial(content.flatten, raw, call_id=call.id, mode=self._mode, limit=limit)
        flat = flatten(folder=self._next_folder())
        warnings: list[str] = []
        try:
            if flat.attachments:
                await anyio.to_thread.run_sync(_save, flat.attachments)
        except OSError as exc:
            flat = flatten(folder=None)  # or the model would be told of files that are not there
            warnings.append(f"what came with the result could not be saved: {exc}")
        warnings += flat.warnings
        if (odd := self._output_check(route).warning(raw)) is not None:
            warnings.append(odd)
        return ToolResult(
            call.id,
            call.name,
            flat.ok,
            flat.content,
            attachments=flat.attachments,
            error=flat.error,
            cause=None if flat.ok else "tool",
            raw=raw,
            warnings=tuple(warnings),
        )

    def _next_folder(self) -> Path | None:
        """A folder for one result, inside one that is this host's alone; it need not be there yet."""
        if self._results is None:
            return None
        if self._folder is None:
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid4().hex[:8]}"
            self._folder = self._results / name
        return self._folder / str(next(self._count))

    def refuse(
        self, call: ToolCall, error: str, hint: str | None = None, *, cause: Cause = "refused"
    ) -> ToolResult:
        """The failed result of a call that did not run, or did not succeed."""
        text = content.failed(error, hint, mode=self._mode)
        return ToolResult(call.id, call.name, False, text, error=error, cause=cause)


_RESEND = "Correct the arguments and call again; ask the user for what is not known."
_TROUBLE = "Tell the user about the failure instead of guessing what the result would have been."


def _save(attachments: Sequence[Attachment]) -> None:
    for attachment in attachments:
        if attachment.path is not None:
            attachment.path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            attachment.path.parent.mkdir(exist_ok=True, mode=0o700)
            attachment.path.write_bytes(attachment.data)
