"""The conversation as it goes to an endpoint: what a reply leaves in it, and what keeps it acceptable.

Nothing here changes a message or a list that it was given.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from mcphost import arguments, content
from mcphost.assemble import Reply
from mcphost.dialect import Dialect
from mcphost.jsontext import as_list, as_object
from mcphost.messages import Message, ToolCall

_CANCELLED: Final = content.failed(
    "the call was cancelled before it had a result",
    "Whether it took effect is unknown. Call again only if that does no harm.",
    mode="text",
)
_NAME = re.compile(r"[^A-Za-z0-9_-]")


def assistant_message(reply: Reply, dialect: Dialect) -> Message:
    """The assistant message that a reply leaves in the history.

    Arguments in it always parse to an object, and names are such as every endpoint takes back. Reasoning is
    kept under `reasoning_content`; `prepare` decides whether it is sent.
    """
    message: Message = {"role": "assistant"}
    if reply.text.strip() or not reply.calls:
        message["content"] = reply.text
    elif dialect.empty_content != "absent":
        message["content"] = _empty(dialect)
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(call, dialect) for call in reply.calls]
    return message


def prepare(messages: Sequence[Message], dialect: Dialect, *, reasoning: bool | None = None) -> list[Message]:
    """The messages as `dialect` takes them: mended, and with what it wants in assistant messages.

    `reasoning`: whether assistant messages that call carry `reasoning_content` ("" where it was lost). None
    leaves it to the rule: where the dialect echoes it and any message of the conversation has it. Otherwise
    the key is left out of all, since some endpoints refuse a key that they do not know.
    """
    if reasoning is None:
        reasoning = dialect.echo_reasoning and any("reasoning_content" in message for message in messages)
    return [_prepared(message, dialect, reasoning=reasoning) for message in mend(messages)]


def mend(messages: Sequence[Message]) -> list[Message]:
    """Messages in which every call has one result, directly after the message that made it.

    A call without a result gets a cancelled one, results without a call are dropped, late ones are moved up.
    Calls without an id of their own get one, and their results the same. A list that needs nothing comes back
    as it is, else a new one. The older `function_call` is taken as it is.
    """
    mended: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if _role(message) == "tool":
            continue  # every result that has a call was taken with it
        if not _calls(message):
            mended.append(message)
            continue
        end = _next_calling(messages, position)
        block = [later for later in messages[position:end] if _role(later) == "tool"]
        message, block = _identified(message, block)
        mended.append(message)
        mended += _results(_calls(message), block)
        mended += [later for later in messages[position:end] if _role(later) != "tool"]
        position = end
    unchanged = len(mended) == len(messages) and all(
        one is other for one, other in zip(mended, messages, strict=True)
    )
    return messages if unchanged and isinstance(messages, list) else mended


def _results(calls: list[dict[str, Any]], block: list[Message]) -> list[Message]:
    """The tool messages that answer `calls`: as they came if none is missing, else in call order."""
    wanted = [call["id"] for call in calls]
    found: dict[object, Message] = {}
    for message in block:
        if message.get("tool_call_id") in wanted:
            found.setdefault(message["tool_call_id"], message)
    if all(call_id in found for call_id in wanted):
        return list(found.values())
    return [found.get(call_id) or _cancelled(call_id) for call_id in wanted]


def _identified(message: Message, block: list[Message]) -> tuple[Message, list[Message]]:
    """A message and its results, every call with an id of its own; as they are where that is so already.

    Calls that share an id, or have none, take their results in order.
    """
    ids = [call.get("id") for call in _calls(message)]
    if all(isinstance(call_id, str) and call_id for call_id in ids) and len({*map(str, ids)}) == len(ids):
        return message, block
    waiting = list(block)
    calls: list[dict[str, Any]] = []
    results: list[Message] = []
    for call in _calls(message):
        old = call.get("id") or None
        taken = old is None or not isinstance(old, str) or any(old == other["id"] for other in calls)
        new = f"call_{uuid4().hex}" if taken else old
        calls.append(call | {"id": new})
        result = next((each for each in waiting if (each.get("tool_call_id") or None) == old), None)
        if result is not None:
            waiting.remove(result)
            results.append(result | {"tool_call_id": new})
    return message | {"tool_calls": calls}, results


def _cancelled(call_id: object) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": _CANCELLED}


def _next_calling(messages: Sequence[Message], start: int) -> int:
    """Where the next assistant message with calls is: results beyond it are not looked for."""
    return next((n for n in range(start, len(messages)) if _calls(messages[n])), len(messages))


def _role(message: Message) -> object:
    return message.get("role")


def _calls(message: Message) -> list[dict[str, Any]]:
    calls = as_list(message.get("tool_calls")) if _role(message) == "assistant" else None
    return [call for call in map(as_object, calls or ()) if call is not None]


def _empty(dialect: Dialect) -> str | None:
    return None if dialect.empty_content == "null" else ""


def _call(call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    extra = dict(call.extra) if dialect.echo_extra else {}
    name = _NAME.sub("_", call.name)[:64] or "unnamed"
    function = {"name": name, "arguments": arguments.parse(call.arguments).text}
    return {"id": call.id, "function": function | extra.pop("function", {}), "type": "function"} | extra


def _prepared(message: Message, dialect: Dialect, *, reasoning: bool) -> Message:
    """The message itself where nothing is to be done, else a changed copy."""
    if _role(message) == "tool" and message.get("content") is None:
        return message | {"content": ""}
    if _role(message) != "assistant":
        return message
    changed = dict(message)
    calls = _calls(message)
    kept = changed.pop("reasoning_content", None)
    if calls:
        changed["tool_calls"] = [_readable(call) for call in calls]
        if reasoning:
            changed["reasoning_content"] = kept if isinstance(kept, str) else ""
    else:
        changed.pop("tool_calls", None)  # endpoints refuse an empty list
    _fill_content(changed, dialect, calling=bool(calls) or bool(message.get("function_call")))
    return message if changed == message else changed


def _fill_content(message: Message, dialect: Dialect, *, calling: bool) -> None:
    """Put what the dialect wants in place of a content that is null or absent."""
    if message.get("content") is not None:
        return
    if not calling:
        message["content"] = ""
    elif dialect.empty_content == "absent":
        message.pop("content", None)
    else:
        message["content"] = _empty(dialect)


def _readable(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose arguments are the text of an object, as some endpoints parse the history."""
    parts = as_object(call.get("function"))
    if parts is None:
        return call
    given = parts.get("arguments")
    text = given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)
    read = arguments.parse(text).text
    return call if read == given else call | {"function": parts | {"arguments": read}}
