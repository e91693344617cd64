"""The scripted model's side of OpenAI's chat completions format: checking requests, writing replies.

Requests are checked as a strict endpoint checks them, so that a history it would refuse is refused here too.
Token numbers are estimates: a token for every four bytes of UTF-8 JSON.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcphost.demo.script import Do, Reply, Say
from mcphost.jsontext import as_list, as_object

MODEL = "scripted-demo"

PIECE = 12
"""Characters of text, or of a call's arguments, in one chunk of a stream."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool")

Json = dict[str, Any]


class BadRequest(Exception):
    """A request that cannot be answered: HTTP `status`, and what OpenAI's error object says."""

    def __init__(
        self, message: str, *, param: str | None = None, status: int = 400, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code

    def body(self) -> Json:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def check(body: object) -> Json:
    """The request, when it is one that can be answered. Raises `BadRequest`."""
    request = as_object(body)
    if request is None:
        raise BadRequest("The body must be a JSON object.")
    if request.get("model") != MODEL:
        message = f"The model {request.get('model')!r} does not exist; this endpoint only has {MODEL!r}."
        raise BadRequest(message, param="model", status=404, code="model_not_found")
    _check_messages(as_list(request.get("messages")))
    _check_tools(request.get("tools"))
    for key, kind in (("stream", bool), ("stream_options", dict)):
        if not isinstance(request.get(key), kind | None):
            raise BadRequest(f"{key!r} must be a {kind.__name__}.", param=key)
    return request


def _check_messages(messages: Sequence[object] | None) -> None:
    """Roles, contents, and that every call is answered once, right after the message that made it."""
    if not messages:
        raise BadRequest("'messages' must be a list with at least one message.", param="messages")
    waiting: set[object] = set()
    for index, item in enumerate(messages):
        where = f"messages[{index}]"
        message = as_object(item)
        if message is None or message.get("role") not in _ROLES:
            raise BadRequest(f"{where} must be an object with a role among {', '.join(_ROLES)}.", param=where)
        if not isinstance(message.get("content"), str | list | None):
            raise BadRequest(f"{where}.content must be a string or a list of parts.", param=where)
        if message["role"] == "tool":
            _check_answer(message, waiting, where)
        elif waiting:
            raise BadRequest(
                f"{where}: calls without a tool message before it: {_listed(waiting)}.", param=where
            )
        else:
            waiting = _check_calls(message, where)
    if waiting:
        raise BadRequest(f"Calls without a tool message: {_listed(waiting)}.", param="messages")


def _listed(ids: set[object]) -> str:
    return ", ".join(sorted(map(str, ids)))


def _check_answer(message: Json, waiting: set[object], where: str) -> None:
    if message.get("tool_call_id") not in waiting:
        raise BadRequest(f"{where}.tool_call_id answers no call of the message before.", param=where)
    waiting.discard(message["tool_call_id"])


def _check_calls(message: Json, where: str) -> set[object]:
    """The ids of the calls that a message makes."""
    calls = message.get("tool_calls")
    if calls is None or message["role"] != "assistant":
        return set()
    ids: list[object] = []
    for call in as_list(calls) or [None]:
        function = as_object((as_object(call) or {}).get("function")) or {}
        name, arguments, id = (
            function.get("name"),
            function.get("arguments"),
            (as_object(call) or {}).get("id"),
        )
        if not (isinstance(name, str) and isinstance(arguments, str) and isinstance(id, str) and id):
            raise BadRequest(f"{where}.tool_calls: each needs an id and a function.", param=where)
        ids.append(id)
    if len(set(ids)) != len(ids):
        raise BadRequest(f"{where}.tool_calls: two calls have one id.", param=where)
    return set(ids)


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    listed = as_list(tools)
    if not listed:
        raise BadRequest("'tools' must be a list with at least one tool, or left out.", param="tools")
    names: set[str] = set()
    for index, tool in enumerate(listed):
        where = f"tools[{index}]"
        entry = as_object(tool) or {}
        function = as_object(entry.get("function")) or {}
        name = function.get("name")
        if entry.get("type") != "function" or not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadRequest(f"{where} must be a function whose name matches {_NAME.pattern}.", param=where)
        parameters = as_object(function.get("parameters", {"type": "object"}))
        if parameters is None or parameters.get("type") != "object":
            raise BadRequest(f"{where}.function.parameters must have type 'object'.", param=where)
        if name in names:
            raise BadRequest(f"{where}: there already is a function {name!r}.", param=where)
        names.add(name)


def _tokens(value: object) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) // 4)


def _calls(reply: Do, request: Mapping[str, Any]) -> list[Json]:
    """The calls of a reply. Their ids follow from the conversation, and differ from all that are in it."""
    calls: list[Json] = []
    for index, (name, arguments) in enumerate(reply.calls):
        text = json.dumps(arguments, ensure_ascii=False)
        key = f"{len(request['messages'])}|{index}|{name}|{text}"
        id = f"call_{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
        calls.append({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
    return calls


def completion(reply: Reply, request: Mapping[str, Any]) -> Json:
    """A whole `chat.completion`."""
    message: Json = {"role": "assistant", "content": reply.text if isinstance(reply, Say) else ""}
    if isinstance(reply, Do):
        message["tool_calls"] = _calls(reply, request)
    prompt = _tokens(request["messages"]) + _tokens(request.get("tools") or [])
    answer = _tokens(message)
    return {
        "id": f"chatcmpl-{_tokens(request['messages'])}-{len(request['messages'])}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if isinstance(reply, Do) else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _deltas(message: Json) -> Iterator[Json]:
    """A message as a stream tells it: role, text in pieces, each call's name, its arguments in pieces."""
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(message["content"]):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        yield {"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]}
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def chunks(whole: Json, *, include_usage: bool) -> Iterator[Json]:
    """A `chat.completion` as the chunks of a stream. Usage, when asked for, is last, without choices."""
    head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = whole["choices"][0]
    for delta in _deltas(choice["message"]):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if include_usage:
        yield {**head, "choices": [], "usage": whole["usage"]}
