"""Models behind any endpoint that speaks OpenAI's chat completions.

The `openai` client keeps keys, connections and retries. The bodies, both ways, are ours: what we write
goes out unchanged, and chunks of any shape are read (see `assemble`).
"""

import copy
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, AsyncStream, Omit

from mcphost import net
from mcphost.assemble import Assembler, Reply
from mcphost.config import ModelSpec
from mcphost.dialect import Dialect, dialect_for, named
from mcphost.endpoints import clean_base_url
from mcphost.errors import ConfigError, ModelError
from mcphost.events import usage_json
from mcphost.jsontext import as_list, as_object, dumps
from mcphost.messages import Message
from mcphost.model import Emit
from mcphost.model_errors import Endpoint, is_too_long, server_said, what_takes_room
from mcphost.model_request import Lessons, Request, RequestWriter, ToolChoice, learn
from mcphost.redact import redact_url
from mcphost.trace import Record, nothing

_OPENAI: Final = "https://api.openai.com/v1"
_DRAIN_SECONDS: Final = 0.5
"""How long the end of a body is waited for after `[DONE]`: reading it keeps the connection usable."""
_UNSENT: Final = (
    *(f"X-Stainless-{name}" for name in ("Arch", "Async", "Lang", "OS", "Package-Version", "Runtime")),
    *(f"X-Stainless-{name}" for name in ("Runtime-Version", "Retry-Count", "Read-Timeout")),
)
"""Headers with which the `openai` client would tell every endpoint about this machine."""


class OpenAIModel:
    """A model behind any endpoint with OpenAI's chat completions.

    `base_url` and `dialect` None mean OpenAI's own and the one that the host of the URL speaks. `options`
    are fields of every request (temperature and so on), `extra_body` too, and wins over everything.
    `read_seconds` bounds the silence before and within an answer. What an endpoint refuses and what helps
    is remembered for the life of the object. `record` is told of every request and what came of it.
    Raises `ConfigError` for a URL that cannot be used.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dialect: Dialect | None = None,
        options: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        read_seconds: float = 300.0,
        connect_seconds: float = 10.0,
        max_retries: int = 2,
        record: Record = nothing,
    ) -> None:
        url, query = _split(base_url or _OPENAI)
        timeout = httpx2.Timeout(read_seconds, connect=connect_seconds)
        self.name = name
        self.dialect = dialect or dialect_for(url)
        self._read_seconds = read_seconds
        self._endpoint = Endpoint(name, url, api_key)
        self._fields = (options or {}, extra_body or {})
        self._writer = RequestWriter(name, self.dialect, *self._fields)
        self._lessons = self._writer.first_lessons()
        self._record = record
        self._headers = _headers(url, api_key)
        self._client = AsyncOpenAI(
            api_key=api_key or "none",  # given in any case, so that the environment's key goes nowhere else
            base_url=url,
            default_query=query,
            timeout=timeout,
            max_retries=max_retries,
            http_client=net.client(url, timeout=timeout),
        )

    @classmethod
    def from_spec(cls, spec: ModelSpec, *, record: Record = nothing) -> "OpenAIModel":
        """The model of a resolved spec. Raises `ConfigError`."""
        if spec.name is None:
            raise ConfigError("no model is configured", hint="Name one, such as -m provider/name.")
        try:
            dialect = named(spec.dialect) if spec.dialect else None
        except ValueError as exc:
            raise ConfigError(str(exc)) from None
        return cls(
            spec.name,
            base_url=spec.base_url,
            api_key=spec.api_key,
            dialect=dialect,
            options=spec.options,
            extra_body=spec.extra_body,
            record=record,
        )

    @property
    def base_url(self) -> str:
        return self._endpoint.base_url

    def variant(self, *, name: str | None = None, api_key: str | None = None) -> "OpenAIModel":
        """Another model of the same endpoint, or the same with another key. It shares this one's connections,
        and closing it closes nothing else."""
        other = copy.copy(self)
        endpoint = replace(self._endpoint, model=name or self.name, key=api_key or self._endpoint.key)
        other.name, other._endpoint = endpoint.model, endpoint
        other._writer = RequestWriter(endpoint.model, self.dialect, *self._fields)
        other._lessons = other._writer.first_lessons()
        if api_key is not None:
            other._client = self._client.with_options(api_key=api_key)
            other._headers = _headers(endpoint.base_url, api_key)
        return other

    async def models(self) -> list[Any]:
        """The models that the endpoint lists, as it describes them. Raises `ModelError`."""
        try:
            listed = await self._client.get(
                "/models",
                cast_to=object,
                options={"headers": self._headers, "security": {"bearer_auth": True}},
            )
        except APIStatusError as exc:
            raise self._endpoint.without_key(self._status_error(exc)) from exc
        except APIConnectionError as exc:
            raise self._endpoint.connection_error(exc, read_seconds=self._read_seconds) from exc
        models = as_list((as_object(listed) or {"data": listed}).get("data"))
        if models is None:
            raise ModelError(f"{self._endpoint.who} answered with something else than a list of models")
        return models

    @asynccontextmanager
    async def forwarded(self, fields: Mapping[str, Any]) -> AsyncGenerator[httpx2.Response]:
        """The endpoint's own answer to a request of these `fields`, as it comes. For what a `Reply` cannot
        hold, such as several choices. Raises `ModelError`."""
        options, extra_body = self._fields
        body = {"model": self.name, **options, **fields, **extra_body}
        try:
            async with await self._post(dumps(body).encode()) as stream:
                yield stream.response
        except APIStatusError as exc:
            raise self._endpoint.without_key(self._status_error(exc)) from exc
        except (APIConnectionError, httpx2.RequestError) as exc:
            raise self._endpoint.connection_error(exc, read_seconds=self._read_seconds) from exc

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        emit: Emit,
        options: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Ask once; see `Model`. A refusal that tells how to ask better is asked again, once for each reason.

        Pass the same `tools` list as long as they are the same: its JSON is then written only once.
        """
        try:
            answer = await self._ask(messages, tools, tool_choice, emit, options)
        except ModelError as exc:
            error = self._endpoint.without_key(exc)
            self._record_failure(error)
            if error is exc:
                raise
            raise error from exc.__cause__
        self._record("reply", model=self._endpoint.who, **_as_json(answer))
        return answer

    async def aclose(self) -> None:
        """Close the connections. The model cannot be asked again."""
        await self._client.close()

    async def _ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        emit: Emit,
        options: Mapping[str, Any] | None,
    ) -> Reply:
        lessons, tried = self._lessons, {self._lessons}
        while True:
            request = self._write(messages, tools, tool_choice, lessons, options)
            if self._record is not nothing:  # reading it again costs time
                self._record("request", model=self._endpoint.who, body=json.loads(request.content))
            try:
                stream = await self._post(request.content)
            except APIStatusError as exc:
                room = what_takes_room(messages, tools, len(self._writer.tools_text(tools)))
                error = self._status_error(exc, room)
                learned = _learn(lessons, exc, request)
                if learned is None or learned in tried:
                    raise error from exc
                self._record_failure(self._endpoint.without_key(error))
                lessons = learned
                tried.add(learned)
            except APIConnectionError as exc:
                raise self._endpoint.connection_error(exc, read_seconds=self._read_seconds) from exc
            else:
                self._lessons = lessons
                async with stream:
                    answer = await self._read(stream.response, emit)
                return replace(answer, warnings=request.warnings)

    def _status_error(self, exc: APIStatusError, room: str = "") -> ModelError:
        wait = _seconds(exc.response.headers.get("Retry-After"))
        return self._endpoint.status_error(exc.status_code, exc.body, room=room, retry_after=wait)

    def _record_failure(self, error: ModelError) -> None:
        fields = {"status": error.status, "error": error.message, "text": error.partial}
        self._record("reply", model=self._endpoint.who, **fields)

    def _write(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        tool_choice: ToolChoice,
        lessons: Lessons,
        options: Mapping[str, Any] | None,
    ) -> Request:
        try:
            return self._writer.write(messages, tools, tool_choice, lessons, options)
        except (TypeError, ValueError, RecursionError) as exc:
            message = f"the request to {self._endpoint.who} cannot be written as JSON: {exc}"
            raise ModelError(message, code="unwritable_request") from exc

    async def _post(self, content: bytes) -> AsyncStream[object]:
        return await self._client.post(
            "/chat/completions",
            cast_to=object,
            content=content,
            options={"headers": self._headers, "security": {"bearer_auth": True}},
            stream=True,
            stream_cls=AsyncStream[object],
        )

    async def _read(self, response: httpx2.Response, emit: Emit) -> Reply:
        assembler = Assembler(self._endpoint.who)
        pieces = response.aiter_bytes()
        async with aclosing(pieces):
            while not assembler.ended:
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    break
                except httpx2.RequestError as exc:
                    if assembler.finished:
                        break
                    partial, seconds = assembler.text, self._read_seconds
                    raise self._endpoint.connection_error(exc, read_seconds=seconds, partial=partial) from exc
                for event in assembler.feed(piece):
                    await emit(event)
            for event in assembler.close():
                await emit(event)
            answer = assembler.reply()
            with anyio.move_on_after(_DRAIN_SECONDS), suppress(httpx2.RequestError):
                async for _ in pieces:
                    pass
        return answer


def _as_json(reply: Reply) -> dict[str, Any]:
    """A reply as the record has it: put together, not chunk by chunk."""
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls
        ],
        "usage": usage_json(reply.usage),
        "finish_reason": reply.finish_reason,
    }


def _split(base_url: str) -> tuple[str, dict[str, str]]:
    """A base URL without its query, and that."""
    address, _, query = base_url.strip().partition("?")
    try:
        return clean_base_url(address), dict(parse_qsl(query))
    except ValueError as exc:
        hint = "It begins with http:// or https://, and usually ends in /v1."
        raise ConfigError(f"the model's base URL {exc}: {redact_url(base_url)}", hint=hint) from exc


def _headers(url: str, api_key: str | None) -> dict[str, str | Omit]:
    headers: dict[str, str | Omit] = {
        "Accept": "text/event-stream, application/json",
        "User-Agent": "mcphost",
        **{name: Omit() for name in _UNSENT},
    }
    if not api_key:
        headers["Authorization"] = Omit()
    if urlsplit(url).hostname != "api.openai.com":  # taken from the environment, and no one else's business
        headers |= {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
    return headers


def _seconds(text: str | None) -> float | None:
    """A `Retry-After` in seconds; None for none, and for a date."""
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None


def _learn(lessons: Lessons, exc: APIStatusError, request: Request) -> Lessons | None:
    if exc.status_code not in (400, 422) or is_too_long(exc.status_code, exc.body):
        return None
    return learn(lessons, server_said(exc.body), request.fields)
