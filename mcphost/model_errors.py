"""What went wrong at a model endpoint, in words: what it said, and what to do about it."""

import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from mcphost.dialect import provider_at
from mcphost.endpoints import is_loopback
from mcphost.errors import ModelError
from mcphost.messages import Message
from mcphost.net import causes
from mcphost.redact import MASK, SHORTEST
from mcphost.text import json_text, one_line, size_text

_SAID = 400
_LARGEST = 3

_TOO_LONG = re.compile(
    r"context[_ -]?(?:length|window|size|limit)|maximum (?:context|prompt|input)|input (?:length|token count)"
    r"|(?:prompt|input|message|messages|conversation|request) (?:is|are|tokens) too (?:long|large)"
    r"|too many (?:input |prompt )?tokens|token limit|prompt contains .{0,40}too large"
    r"|reduce the length|request too large for model|string_above_max_length|超长",
    re.IGNORECASE,
)
"""The names that endpoints have for a conversation that does not fit."""


def server_said(body: object) -> str:
    """The message inside an error body of any shape, on one line; "" where there is none."""
    return one_line(_message(body), _SAID)


def is_too_long(status: int, body: object) -> bool:
    """Whether a refusal means that the conversation does not fit into the model's context."""
    return status in (400, 413, 422) and _TOO_LONG.search(json_text(body)) is not None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Which model, where, for messages about it. `key` is kept out of all of them."""

    model: str
    base_url: str
    key: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def who(self) -> str:
        return f"{self.model} at {self.host}"

    def without_key(self, error: ModelError) -> ModelError:
        """`error`, or where it quotes the key one that does not: endpoints repeat what they refuse."""
        if not self.key or len(self.key) < SHORTEST or self.key not in f"{error.message}{error.hint}":
            return error
        hint = error.hint and error.hint.replace(self.key, MASK)
        message = error.message.replace(self.key, MASK)
        return ModelError(
            message,
            status=error.status,
            code=error.code,
            retry_after=error.retry_after,
            partial=error.partial,
            hint=hint,
        )

    def status_error(
        self, status: int, body: object, *, room: str = "", retry_after: float | None = None
    ) -> ModelError:
        """An answer with an HTTP error. `room` says what takes the room, for a conversation too long."""
        said = server_said(body) or "no reason given"
        if is_too_long(status, body):
            message = f"the conversation is too long for {self.who}: {said}"
            return ModelError(message, status=status, code="context_length_exceeded", hint=room or None)
        message, hint = f"{self.who} answered {status}: {said}", self._hint(status, said.lower())
        return ModelError(message, status=status, code=_code(body), retry_after=retry_after, hint=hint)

    def connection_error(self, exc: BaseException, *, read_seconds: float, partial: str = "") -> ModelError:
        """No answer, or one that broke off. `exc` may hold the reason in its causes."""
        chain = list(causes(exc))
        reason, hint = self._reason(chain, read_seconds)
        late = any(isinstance(cause, httpx2.TimeoutException) for cause in chain)
        code = "timeout" if late else None
        return ModelError(f"{self.who}: {reason}", code=code, partial=partial, hint=hint)

    def _hint(self, status: int, said: str) -> str | None:
        match status:
            case 401 | 403:
                sent = "The key was not accepted" if self.key else "No key was sent"
                return f"{sent}: set {key_variable(self.base_url)} or pass --api-key."
            case 402:
                return "The account has no balance left."
            case 404 | 405:
                return f"Check the model's name, {self.model}, and the base URL, {self._shown_url()}."
            case 429 if any(word in said for word in ("quota", "billing", "balance")):
                return "The account's quota is used up: check its plan and billing."
            case 429:
                return "Too many requests for this key: wait a little and ask again."
            case _ if status >= 500:
                return "The endpoint itself failed; ask again later."
            case _:
                return None

    def _shown_url(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{self.host}{parts.path}"

    def _reason(self, causes: list[BaseException], read_seconds: float) -> tuple[str, str | None]:
        def any_of(*kinds: type[BaseException]) -> BaseException | None:
            return next((cause for cause in causes if isinstance(cause, kinds)), None)

        behind_proxy = not is_loopback(self.base_url) and bool(set(getproxies()) & {"http", "https", "all"})
        proxy = " A proxy of the environment is in use; NO_PROXY keeps a host off it." if behind_proxy else ""
        if refused := any_of(httpx2.ProxyError):
            return f"the proxy refused: {refused}", "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY." + proxy
        if any_of(httpx2.ConnectTimeout):
            return "cannot connect: no answer", f"Check the network and the base URL.{proxy}"
        if any_of(socket.gaierror):
            return f"there is no host {self.host}", f"Check the base URL and the network.{proxy}"
        if failed := any_of(ssl.SSLError):
            return f"no secure connection: {failed}", "Check the base URL's scheme and the certificates."
        if any_of(ConnectionRefusedError):
            return "cannot connect: the connection was refused", f"Is it running, and on this port?{proxy}"
        if any_of(httpx2.ConnectError):
            return f"cannot connect: {causes[-1]}", f"Check the base URL and the network.{proxy}"
        if any_of(httpx2.TimeoutException):
            return f"nothing came for {read_seconds:g} seconds", "Ask again; the model may be overloaded."
        detail = str(causes[-1]) or type(causes[-1]).__name__
        return f"the connection broke: {detail}", "Ask again. Nothing of the unfinished answer was run."


def key_variable(base_url: str) -> str:
    """The environment variable that usually holds the key for this endpoint."""
    provider = provider_at(base_url)
    return (provider and provider.key) or "OPENAI_API_KEY"


def what_takes_room(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], tools_size: int) -> str:
    """A sentence on the largest parts of a request, the largest first. `tools_size` is in characters."""
    parts = [
        (len(json_text(message)), f"message {n} ({_label(message)})") for n, message in enumerate(messages, 1)
    ]
    parts = sorted(parts, key=lambda part: -part[0])[:_LARGEST]
    if tools:
        parts.append((tools_size, "1 tool" if len(tools) == 1 else f"{len(tools)} tools"))
    shown = ", ".join(
        f"{label} {size_text(size)}" for size, label in sorted(parts, key=lambda part: -part[0])
    )
    return f"What takes the room: {shown}. Begin a new conversation, or use `include` to send fewer tools."


def _label(message: Message) -> str:
    role = message.get("role")
    return "a tool's result" if role == "tool" else str(role)


def _message(body: object) -> str:
    match body:
        case str():
            return body
        case list():
            return "; ".join(_message(item) for item in cast("list[object]", body)[:5])
        case dict():
            fields = cast("dict[str, Any]", body)
            for key in ("error", "message", "detail", "msg", "error_msg", "error_description", "reason"):
                if text := _message(fields.get(key)):
                    return _with_raw(text, fields.get("metadata"))
            return json_text(fields) if fields else ""
        case _:
            return ""


def _code(body: object) -> str | None:
    """An endpoint's own word for what is wrong, such as `model_not_found`."""
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    inner = fields.get("error")
    code = (cast("dict[str, Any]", inner) if isinstance(inner, dict) else fields).get("code")
    return code if isinstance(code, str) and code else None


def _with_raw(text: str, metadata: object) -> str:
    """With what the provider behind a gateway said, which OpenRouter puts under `metadata.raw`."""
    raw = _message(cast("dict[str, Any]", metadata).get("raw")) if isinstance(metadata, dict) else ""
    return f"{text}: {raw}" if raw and raw not in text else text
