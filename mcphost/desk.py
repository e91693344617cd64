"""Where a host answers what servers ask: for a model's answer, for the user's, for the folders to work in.

Takes and gives the JSON of MCP's requests, whichever revision they came by.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from mcphost import asking, elicitation, sampling
from mcphost.config import Limits
from mcphost.errors import McphostError
from mcphost.events import Event, Reasoning, Text, Warned
from mcphost.hooks import Decline, ElicitationAsked, Hooks, Refuse, SamplingAsked
from mcphost.jsontext import as_object
from mcphost.model import Model

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REJECTED: Final = -1
"""What MCP's own examples answer with when the user refuses a sampling request."""

logger = logging.getLogger(__name__)


class Refusal(Exception):
    """A server's request is answered with an error: its JSON-RPC `code`, and why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Desk:
    """Answers all servers of a host.

    `model` gives the model that answers for servers; it may raise `ConfigError`. `roots` are file URIs, by
    server. `tell` is told what was refused without anybody having been asked.
    """

    def __init__(
        self,
        *,
        hooks: Hooks,
        limits: Limits,
        model: Callable[[], Model],
        roots: Callable[[str], Sequence[str]],
        tell: Callable[[Event], None],
    ) -> None:
        self._hooks = hooks
        self._limits = limits
        self._model = model
        self._roots = roots
        self._tell = tell

    async def sample(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """`CreateMessageRequestParams` → `CreateMessageResult`, from the host's model, if the user lets it.

        Raises `Refusal`: for a request that breaks the specification or asks for more than
        `limits.sampling_tokens`, one that the user refuses, and one that the model fails to answer.
        """
        try:
            model = self._model()
            request = sampling.read(params, model.dialect)
        except sampling.Unusable as exc:
            raise Refusal(INVALID_PARAMS, str(exc)) from exc
        except McphostError as exc:
            raise Refusal(INTERNAL_ERROR, f"the host has no model to answer: {exc}") from exc
        most = self._limits.sampling_tokens
        if request.max_tokens > most:
            self._warn(f"{server} asked for an answer of {request.max_tokens} tokens; {most} are allowed")
            raise Refusal(INVALID_PARAMS, f"maxTokens is more than the {most} that this host allows")
        names = tuple(request.raw_names.values())
        asked = SamplingAsked(server, request.messages, request.max_tokens, names)
        decision = await asking.sample(self._hooks, asked)
        if isinstance(decision, Refuse):
            raise Refusal(REJECTED, decision.reason)
        try:
            reply = await model.reply(
                request.messages,
                tools=request.functions,
                tool_choice=request.tool_choice,
                emit=_unheard,
                options=request.options,
            )
        except McphostError as exc:
            self._warn(f"the model failed to answer for {server}: {exc}")
            raise Refusal(INTERNAL_ERROR, "the model failed to answer") from exc
        return sampling.result(reply, request, model.name)

    async def elicit(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """`ElicitRequestParams` → `ElicitResult`, from the user.

        A page that is not safe to be shown is declined without asking. Raises `Refusal` for a form that
        breaks the specification.
        """
        message = params.get("message")
        message = message if isinstance(message, str) else ""
        if params.get("mode") == "url":
            return await self._visit(server, message, params.get("url"))
        schema = as_object(params.get("requestedSchema")) or {}
        try:
            fields = elicitation.fields(schema)
        except elicitation.Unusable as exc:
            raise Refusal(INVALID_PARAMS, str(exc)) from exc
        answer = await asking.elicit(self._hooks, ElicitationAsked(server, message, schema))
        if isinstance(answer, Decline):
            return _declined(answer)
        content = elicitation.with_defaults(fields, answer.content or {})
        if (wrong := elicitation.check(fields, content)) is not None:
            self._warn(f"what was to be sent to {server} does not fit its form: {wrong}")
            return _declined(Decline(cancelled=True))
        return {"action": "accept", "content": content}

    async def _visit(self, server: str, message: str, url: object) -> dict[str, Any]:
        if (wrong := elicitation.url_problem(url)) is not None:
            self._warn(f"{server} wants a page to be visited that is not shown: {wrong}")
            return _declined(Decline())
        answer = await asking.elicit(self._hooks, ElicitationAsked(server, message, url=str(url)))
        return _declined(answer) if isinstance(answer, Decline) else {"action": "accept"}

    def _warn(self, text: str) -> None:
        logger.info("%s", text)
        self._tell(Warned(text))

    def roots(self, server: str) -> list[dict[str, Any]]:
        """The roots for a server, as MCP has them."""
        return [{"uri": uri, "name": _name(uri)} for uri in self._roots(server)]


def _declined(answer: Decline) -> dict[str, Any]:
    return {"action": "cancel" if answer.cancelled else "decline"}


async def _unheard(event: Text | Reasoning) -> None:
    """What the model answers to a server is not for the user to read along."""
    del event


def _name(uri: str) -> str:
    """What people call a folder: its last part."""
    return unquote(urlsplit(uri).path).rstrip("/").rpartition("/")[2] or uri
