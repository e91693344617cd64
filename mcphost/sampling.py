"""A server's request for a model's answer (`sampling/createMessage`), for the chat API and back. Pure.

Takes the JSON of every revision: content as one block or several, and since 2025-11-25 tools, which the
server runs itself (MCP specification, client/sampling).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcphost.assemble import Reply
from mcphost.content import failed
from mcphost.dialect import Dialect
from mcphost.documents import as_number
from mcphost.jsontext import as_list, as_object
from mcphost.messages import Message
from mcphost.model_request import ToolChoice
from mcphost.naming import Names, ToolKey
from mcphost.offers import chat_content
from mcphost.schema import convert
from mcphost.text import json_text

_STOPS: Final[Mapping[str, str]] = {"length": "maxTokens", "stop": "endTurn", "tool_calls": "endTurn"}
"""Why an answer without calls ended."""
_CHOICES: Final = ("auto", "required", "none")


class Unusable(Exception):
    """A sampling request that breaks the specification; the message is for the server."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the model is asked. `options` are fields of the request, `max_tokens` among them; `raw_names` has
    the server's own name for each function's."""

    messages: list[Message]
    functions: list[dict[str, Any]]
    tool_choice: ToolChoice
    options: Mapping[str, Any]
    max_tokens: int
    raw_names: Mapping[str, str] = field(default_factory=dict[str, str])


def read(params: Mapping[str, Any], dialect: Dialect) -> Request:
    """`CreateMessageRequestParams` for a model of `dialect`. Raises `Unusable`."""
    most = params.get("maxTokens")
    if isinstance(most, float) and most.is_integer():
        most = int(most)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise Unusable("maxTokens must be a whole number above 0")
    entries = [as_object(item) or {} for item in as_list(params.get("messages")) or []]
    tools = _tools(params)
    public = _public_names(tools, entries)
    functions = [_function(public[name], tool, dialect) for name, tool in tools.items()]
    messages: list[Message] = []
    if isinstance(system := params.get("systemPrompt"), str) and system:
        messages.append({"role": "system", "content": system})
    for entry in entries:
        messages += _messages(entry, dialect, public)
    if not any(message["role"] != "system" for message in messages):
        raise Unusable("there are no messages")
    _check_order(messages)
    options: dict[str, Any] = {"max_tokens": most}
    if (temperature := as_number(params.get("temperature"))) is not None:
        options["temperature"] = temperature
    if stops := [stop for stop in as_list(params.get("stopSequences")) or [] if isinstance(stop, str)]:
        options["stop"] = stops
    choice = (as_object(params.get("toolChoice")) or {}).get("mode")
    tool_choice = choice if functions and choice in _CHOICES else None
    raw_names = {public[name]: name for name in tools}
    return Request(messages, functions, tool_choice, options, most, raw_names)


def result(reply: Reply, request: Request, model: str) -> dict[str, Any]:
    """A reply as a `CreateMessageResult`: one block where one is enough, as older revisions have it. Calls
    of a server that brought no tools, which a model may make up, are left out."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    calls = reply.calls if request.functions else ()
    for call in calls:
        name = request.raw_names.get(call.name, call.name)
        blocks.append({"type": "tool_use", "id": call.id, "name": name, "input": _input(call.arguments)})
    stop = "toolUse" if calls else _STOPS.get(reply.finish_reason or "stop", reply.finish_reason)
    only = blocks[0] if len(blocks) == 1 and not calls else blocks or {"type": "text", "text": ""}
    return {"role": "assistant", "content": only, "model": model, "stopReason": stop}


def _input(arguments: str) -> dict[str, Any]:
    try:
        return as_object(json.loads(arguments or "{}")) or {}
    except ValueError:
        return {}


def _tools(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tools that the server brings, by name."""
    tools = [as_object(tool) or {} for tool in as_list(params.get("tools")) or []]
    named = {tool["name"]: tool for tool in tools if isinstance(tool.get("name"), str)}
    if len(named) != len(tools):
        raise Unusable("every tool needs a name of its own")
    return named


def _public_names(tools: Iterable[str], entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The function's name for each tool's, also for tools that were used before and are brought no more."""
    used = [use.get("name") for entry in entries for use in _of_type("tool_use", _blocks(entry))]
    names = [*tools, *(name for name in used if isinstance(name, str))]
    public = Names("plain").assign(ToolKey("", name) for name in names)
    return {key.tool: name for key, name in public.items()}


def _function(name: str, tool: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": str(tool.get("description") or ""),
            "parameters": convert(tool.get("inputSchema"), dialect.schema),
        },
    }


def _messages(entry: Mapping[str, Any], dialect: Dialect, public: Mapping[str, str]) -> list[Message]:
    """One message as those that say the same: the results of tools are messages of their own."""
    role = entry.get("role")
    if role not in ("user", "assistant"):
        raise Unusable(f"a message's role must be user or assistant, not {role!r}")
    blocks = _blocks(entry)
    if not blocks:
        raise Unusable("a message has no content")
    results, uses = _of_type("tool_result", blocks), _of_type("tool_use", blocks)
    if role == "user" and results:
        if len(results) != len(blocks):
            raise Unusable("a message with tool results must hold nothing else")
        return [_tool_message(block, dialect) for block in results]
    others = [block for block in blocks if block not in uses]
    message: Message = {"role": role, "content": chat_content(others, role, dialect)}
    if uses:
        if role != "assistant":
            raise Unusable("only the assistant uses tools")
        message["tool_calls"] = [_call(use, public) for use in uses]
    return [message]


def _blocks(entry: Mapping[str, Any]) -> list[Any]:
    """A message's content, which may be one block by itself."""
    content = entry.get("content")
    blocks = as_list(content)
    return [block for block in ([content] if blocks is None else blocks) if block is not None]


def _of_type(kind: str, blocks: Sequence[Any]) -> list[dict[str, Any]]:
    return [block for item in blocks if (block := as_object(item)) and block.get("type") == kind]


def _call(use: Mapping[str, Any], public: Mapping[str, str]) -> dict[str, Any]:
    name, call_id = use.get("name"), use.get("id")
    if not isinstance(name, str) or not isinstance(call_id, str):
        raise Unusable("a tool use needs an id and a name")
    arguments = json.dumps(as_object(use.get("input")) or {}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": public[name], "arguments": arguments}}


def _tool_message(block: Mapping[str, Any], dialect: Dialect) -> Message:
    if not isinstance(call_id := block.get("toolUseId"), str):
        raise Unusable("a tool result needs a toolUseId")
    content = chat_content(as_list(block.get("content")) or [], "tool", dialect)
    if not content and block.get("structuredContent") is not None:
        content = json_text(block["structuredContent"])
    if block.get("isError") is True:
        content = failed(str(content), None, mode="text")
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _check_order(messages: Sequence[Message]) -> None:
    """Every use of a tool is answered by the very next messages, and nothing else is (specification
    2025-11-25, client/sampling, message constraints)."""
    open_: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_:
                raise Unusable(f"there is no tool use {message['tool_call_id']!r} before its result")
            open_.discard(message["tool_call_id"])
        elif open_:
            raise Unusable(f"the tool use {min(open_)!r} has no result")
        uses = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(uses)) < len(uses):
            raise Unusable("two tool uses in one message have the same id")
        open_ |= set(uses)
    if open_:
        raise Unusable(f"the tool use {min(open_)!r} has no result")
