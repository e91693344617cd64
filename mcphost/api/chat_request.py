"""A request for a chat completion: what of it is the model's, what is ours, and what is wrong with it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from mcphost.api.problems import Refused
from mcphost.catalog import Catalog, name_of
from mcphost.config import Approve
from mcphost.jsontext import as_list, as_object
from mcphost.messages import Message
from mcphost.model import ToolChoice

_OURS: Final = frozenset(("model", "messages", "tools", "tool_choice", "stream", "stream_options", "mcphost"))
"""Fields that are read here. All others are the model's, known to us or not."""

_NARROWING: Final = frozenset(("servers", "tools", "max_rounds", "approve", "events"))
_MODES: Final = ("never", "writes", "always")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request, read. `options` are the fields that go to the model as they are.

    `tools` are the caller's own. `servers`, `globs`, `max_rounds` and `approve` narrow what it may use of
    ours, `events` asks to see what happens; all of them stand under `mcphost`.
    """

    messages: list[Message]
    options: Mapping[str, Any]
    model: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: ToolChoice = None
    stream: bool = False
    usage: bool = False
    servers: frozenset[str] | None = None
    globs: tuple[str, ...] | None = None
    max_rounds: int | None = None
    approve: Approve | None = None
    events: bool = False

    @property
    def choices(self) -> int:
        """How many answers are asked for: `n`."""
        n = self.options.get("n")
        return n if isinstance(n, int) else 1

    @property
    def plain(self) -> dict[str, Any]:
        """The request as the upstream itself takes it, where there are no tools."""
        stream = {"stream": True, "stream_options": {"include_usage": self.usage}} if self.stream else {}
        return {"messages": self.messages, **self.options, **stream}

    @property
    def wants_json(self) -> bool:
        """Whether the answer is for a program to parse, so that no other text may stand before it."""
        wanted = as_object(self.options.get("response_format")) or {}
        return wanted.get("type") in ("json_object", "json_schema")


def read_json(data: bytes) -> dict[str, Any]:
    """The object that a body is. Raises `Refused`."""
    try:
        body = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        reason = "nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        raise Refused(400, f"the body is not JSON: {reason}", code="invalid_json") from None
    if not isinstance(body, dict):
        raise Refused(400, "the body must be a JSON object", code="invalid_json")
    return cast("dict[str, Any]", body)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def parse(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request. Raises `Refused`, which names the field that is wrong."""
    for old in ("functions", "function_call"):
        if body.get(old) is not None:
            _wrong(old, f"{old} is not taken: send the functions as `tools`")
    narrowing = _narrowing(body.get("mcphost"))
    n = body.get("n")
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        _wrong("n", "n must be a positive integer")
    stream_options = _optional_object(body, "stream_options")
    return ChatRequest(
        messages=_messages(body.get("messages")),
        options={key: value for key, value in body.items() if key not in _OURS},
        model=_optional(body, "model", str, "a string"),
        tools=_tools(body.get("tools")),
        tool_choice=_tool_choice(body.get("tool_choice")),
        stream=_optional(body, "stream", bool, "true or false") or False,
        usage=stream_options.get("include_usage") is True,
        **narrowing,
    )


def chosen(choice: ToolChoice, catalog: Catalog) -> ToolChoice:
    """A `tool_choice` that names its tools as `catalog` does. Raises `Refused` for one that is not there."""
    if not isinstance(choice, dict):
        return choice
    allowed = as_object(choice.get("allowed_tools"))
    if allowed is not None:
        entries = as_list(allowed.get("tools")) or []
        return choice | {"allowed_tools": allowed | {"tools": [_named(entry, catalog) for entry in entries]}}
    return _named(choice, catalog)


def _named(entry: Any, catalog: Catalog) -> dict[str, Any]:
    """An entry that names a tool, by the name that the catalog has for it."""
    fields = as_object(entry) or {}
    name = name_of(fields)
    if name is None:
        given = fields.get("name")
        if not isinstance(given, str):
            _wrong(
                "tool_choice", 'tool_choice must name a tool: {"type": "function", "function": {"name": …}}'
            )
        fields, name = {"type": "function", "function": {"name": given}}, given
    if name in catalog.own:
        return fields
    route = catalog.named(name)
    if route is None:
        near = catalog.nearest(name)
        hint = f"; the nearest names are {', '.join(near)}" if near else ""
        _wrong("tool_choice", f"tool_choice names {name!r}, and there is no such tool{hint}")
    return {"type": "function", "function": {"name": route.name}}


def _messages(value: object) -> list[Message]:
    items = as_list(value)
    if not items:
        _wrong("messages", "messages must be a list with at least one message")
    for place, item in enumerate(items):
        message = as_object(item)
        if message is None or not isinstance(message.get("role"), str):
            _wrong(f"messages[{place}]", f"messages[{place}] must be an object with a role")
    return list(items)


def _tools(value: object) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    items = as_list(value)
    if items is None:
        _wrong("tools", "tools must be a list")
    for place, item in enumerate(items):
        entry = as_object(item)
        if entry is None:
            _wrong(f"tools[{place}]", f"tools[{place}] must be an object")
        if entry.get("type", "function") == "function" and name_of(entry) is None:
            _wrong(f"tools[{place}]", f"tools[{place}] is a function without a name")
        if entry.get("type") == "custom":
            _wrong(f"tools[{place}]", f"tools[{place}] is a custom tool; only functions are taken")
    return tuple(items)


def _tool_choice(value: object) -> ToolChoice:
    if value is None or isinstance(value, str):
        return value
    choice = as_object(value)
    if choice is None:
        _wrong("tool_choice", "tool_choice must be a string or an object")
    return choice


def _narrowing(value: object) -> dict[str, Any]:
    """What stands under `mcphost`. An unknown key is refused: a mistyped one would narrow nothing."""
    if value is None:
        return {}
    given = as_object(value)
    if given is None:
        _wrong("mcphost", "mcphost must be an object")
    if unknown := given.keys() - _NARROWING:
        names = ", ".join(sorted(unknown))
        _wrong("mcphost", f"mcphost has no {names}; it takes {', '.join(sorted(_NARROWING))}")
    servers, globs = _strings(given, "servers"), _strings(given, "tools")
    rounds = given.get("max_rounds")
    if rounds is not None and (isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 0):
        _wrong("mcphost.max_rounds", "mcphost.max_rounds must be an integer, 0 or more")
    return {
        "servers": None if servers is None else frozenset(servers),
        "globs": globs,
        "max_rounds": rounds,
        "approve": _approve(given.get("approve")),
        "events": _optional(given, "events", bool, "true or false", "mcphost.") or False,
    }


def _approve(value: object) -> Approve | None:
    if value is None:
        return None
    if isinstance(value, str) and value in _MODES:
        return Approve.model_validate({"mode": value})
    names = _strings({"approve": value}, "approve")
    return Approve(mode="only", tools=names or ())


def _strings(given: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    value = given.get(key)
    if value is None:
        return None
    items = as_list(value)
    if items is None or not all(isinstance(item, str) for item in items):
        modes = f"one of {', '.join(_MODES)}, or " if key == "approve" else ""
        _wrong(f"mcphost.{key}", f"mcphost.{key} must be {modes}a list of strings")
    return tuple(cast("Iterable[str]", items))


def _optional(given: Mapping[str, Any], key: str, kind: type, words: str, where: str = "") -> Any:
    value = given.get(key)
    if value is not None and not isinstance(value, kind):
        _wrong(where + key, f"{where}{key} must be {words}")
    return value


def _optional_object(body: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = body.get(key)
    found = {} if value is None else as_object(value)
    if found is None:
        _wrong(key, f"{key} must be an object")
    return found


def _wrong(param: str, message: str) -> NoReturn:
    raise Refused(400, message, param=param)
