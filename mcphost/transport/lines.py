"""Lines of any length out of a stream of bytes, and the JSON-RPC messages that they are."""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

_ENDS = 1024
_ID = rb'"id"\s*:\s*(-?\d+|"[^"\\]{1,100}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a line that cannot be read whole."""

    head: bytes
    tail: bytes

    def failure(self, why: str) -> list[JSONRPCMessage]:
        """The failure of the request that the line answered, if its id can be seen at either end."""
        found = _ID_FIRST.match(self.head) or _ID_LAST.search(self.tail)
        if found is None:
            return []
        error = ErrorData(code=INTERNAL_ERROR, message=f"the answer {why}")
        return [JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=error)]


def _ends(line: bytes) -> Ends:
    return Ends(line[:_ENDS], line[-_ENDS:])


class Line:
    """A line on its way, of which no more than `limit` bytes are kept: beyond that, its ends."""

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._parts: list[bytes] = []
        self._head = b""

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self._parts.append(piece)
        if self.size > self._limit:
            kept = b"".join(self._parts)
            self._head = self._head or kept[:_ENDS]
            self._parts = [kept[-_ENDS:]]

    def end(self) -> bytes | Ends:
        kept = b"".join(self._parts)
        line = kept if self.size <= self._limit else Ends(self._head, kept[-_ENDS:])
        self.size, self._parts, self._head = 0, [], b""
        return line


def parse_line(line: bytes) -> tuple[list[JSONRPCMessage], str | None]:
    """The messages of one line, and what is wrong with it (its beginning quoted) or None."""
    line = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not line:
        return [], None
    try:
        return [jsonrpc_message_adapter.validate_json(line, by_name=False)], None
    except ValidationError:
        pass
    text = line.decode(errors="replace")
    try:
        data: Any = json.loads(text)
    except RecursionError:
        return _ends(line).failure("is nested too deeply"), _quote(text)
    except ValueError:
        return [], _quote(text)
    batch = cast("list[Any]", data) if isinstance(data, list) else [data]
    messages = [message for item in batch if (message := _repaired(item)) is not None]
    return messages, None if len(messages) == len(batch) else _quote(text)


def _repaired(data: Any) -> JSONRPCMessage | None:
    """A message that is valid but for its text's encoding or a missing `jsonrpc`; or one that fails the
    request which it answers."""
    if not isinstance(data, dict):
        return None
    message: dict[str, Any] = {"jsonrpc": "2.0", **cast("dict[str, Any]", data)}
    try:
        return jsonrpc_message_adapter.validate_python(_encodable(message), by_name=False)
    except (ValidationError, RecursionError):
        pass
    request_id = message.get("id")
    if (
        not isinstance(request_id, int | str)
        or not message.keys() & {"result", "error"}
        or "method" in message
    ):
        return None
    error = message.get("error")
    said = error if isinstance(error, str) else _quote(json.dumps(message, ensure_ascii=False))
    failure = ErrorData(code=INTERNAL_ERROR, message=f"the server's answer is malformed: {said}")
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=failure)


def own_code(code: int) -> int:
    """A server's error code, unless it is one by which the SDK marks errors of its own making."""
    return INTERNAL_ERROR if code in (CONNECTION_CLOSED, REQUEST_TIMEOUT) else code


def _encodable(data: Any) -> Any:
    """`data` with lone surrogates replaced, which are valid in JSON's escapes and in no encoding."""
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def _quote(text: str) -> str:
    return repr(text[:120] + ("…" if len(text) > 120 else ""))
