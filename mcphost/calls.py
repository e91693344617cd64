"""A model's calls, put together from the fragments in which they are streamed.

Endpoints differ in nearly everything: some leave out the index or the id, give every call the same one,
repeat the name in every delta, or send each call whole. What is told apart here stays apart: no fragment
goes to two calls, and no call takes the fragments of another.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from mcphost.jsontext import NotJson, as_list, as_object, loads, same, well_formed
from mcphost.messages import ToolCall

_OWN = ("index", "id", "type", "function")
"""The fields of a call that every endpoint has. All others are its own, to be echoed."""


@dataclass(frozen=True, slots=True)
class _Fragment:
    """What one delta says of one call. Nothing said is None for the index, "" for the rest."""

    index: int | None
    id: str
    name: str
    arguments: str
    extra: dict[str, Any]


@dataclass(slots=True)
class _Slot:
    """One call in the making. `pieces` are those of its arguments, `begun` says that one is not blank.

    `spare_id` is used where the endpoint's own is missing or taken.
    """

    index: int | None = None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    begun: bool = False
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    spare_id: str = field(default_factory=lambda: f"call_{uuid4().hex}")

    def take(self, fragment: _Fragment) -> None:
        self.index = fragment.index if self.index is None else self.index
        self.id = self.id or fragment.id
        self.name = _joined_name(self.name, fragment.name)
        self.pieces.append(fragment.arguments)
        self.begun = self.begun or bool(fragment.arguments.strip())
        self.extra |= fragment.extra

    @property
    def arguments(self) -> str:
        return well_formed("".join(self.pieces))


class CallAssembler:
    """Collects the fragments of one reply's calls."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._legacy = _Slot()

    def __bool__(self) -> bool:
        return bool(self._slots or self._legacy.name)

    def add(self, tool_calls: object, *, whole: bool = False) -> None:
        """Take a delta's `tool_calls`, or with `whole` a message's, in which every item is a call."""
        items = as_list(tool_calls)
        touched: list[_Slot] = []
        for item in map(as_object, [tool_calls] if items is None else items):
            if item is None:
                continue
            fragment = _fragment(item)
            slot = None if whole else self._candidate(fragment)
            if slot is None or _starts_another(slot, fragment, again=any(slot is other for other in touched)):
                slot = _Slot()
                self._slots.append(slot)
            slot.take(fragment)
            touched.append(slot)

    def add_legacy(self, function_call: object) -> None:
        """Take a delta's `function_call`, the form that `tool_calls` has replaced."""
        if isinstance(function_call, dict):
            self._legacy.take(_fragment({"function": function_call}))

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began. The ids are unique, and the same each time."""
        taken: set[str] = set()
        calls: list[ToolCall] = []
        for slot in self._slots or [self._legacy]:
            name = well_formed(slot.name).strip()
            if not name and not slot.begun:
                continue  # a placeholder, as some endpoints send with every delta
            call_id = slot.id if slot.id and slot.id not in taken else slot.spare_id
            taken.add(call_id)
            calls.append(ToolCall(call_id, name, slot.arguments, slot.extra))
        return tuple(calls)

    def _candidate(self, fragment: _Fragment) -> _Slot | None:
        """The call that the fragment belongs to, unless it turns out to start another."""
        recent = self._slots[::-1]
        last = recent[0] if recent else None
        by_id = next((slot for slot in recent if fragment.id and slot.id == fragment.id), None)
        if fragment.index is None:
            if not fragment.id:
                return last
            late_id = last if last and not last.id and not fragment.name else None
            return by_id or late_id
        at_index = next((slot for slot in recent if slot.index == fragment.index), None)
        if at_index is not None:
            return at_index
        if by_id is not None and by_id.index is None:
            return by_id
        unmarked = last is not None and last.index is None and not fragment.id and not fragment.name
        return last if unmarked else None


def _starts_another(slot: _Slot, fragment: _Fragment, *, again: bool) -> bool:
    """Whether a fragment that seems to go on with `slot` is a call of its own; `again`: it is the second
    one for it in one delta.

    A fragment without a name never is: an endpoint may make up a new id for every delta.
    """
    if not fragment.name:
        return False
    if fragment.id and slot.id and fragment.id != slot.id:
        return True
    if not slot.name:
        return False
    other_name = slot.begun and fragment.name != slot.name
    return again or other_name or _is_another_object(slot, fragment.arguments)


def _is_another_object(slot: _Slot, text: str) -> bool:
    """Whether this and the slot's arguments are two whole objects with something in them, and differ."""
    second = _whole(text)
    first = _whole(slot.arguments) if second else {}
    return bool(first) and not same(first, second)


def _whole(text: str) -> dict[str, Any]:
    """The object that `text` is, {} where it is none."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    try:
        value = loads(text)
    except NotJson:
        return {}
    return as_object(value) or {}


def _joined_name(known: str, piece: str) -> str:
    """A name sent whole, in pieces, again and again, or growing."""
    return piece if piece.startswith(known) else known + piece


def _fragment(item: dict[str, Any]) -> _Fragment:
    parts = dict(as_object(item.get("function")) or {})
    name, arguments = parts.pop("name", None), parts.pop("arguments", None)
    extra = {key: value for key, value in item.items() if key not in _OWN and value is not None}
    if others := {key: value for key, value in parts.items() if value is not None}:
        extra["function"] = others
    return _Fragment(
        _index(item.get("index")),
        _id(item.get("id")),
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments),
        extra,
    )


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return well_formed(value).strip() if isinstance(value, str) else ""
