"""Which servers of another program's file go into one of ours, under which names, and what stays behind."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from mcphost.carrying import Carried, Move, carried
from mcphost.documents import as_list, as_object, suggestion
from mcphost.errors import ConfigError
from mcphost.server_edit import Sheet
from mcphost.sources import Source

Outcome = Literal["added", "replaced", "same", "taken", "impossible"]
"""`same`: it is there already. `taken`: another server has its name. `impossible`: see the problem."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What becomes of one server: `called` so in its file, and `name` in ours."""

    called: str
    name: str
    outcome: Outcome
    carried: Carried


def plan(
    source: Source,
    sheet: Sheet,
    move: Move,
    *,
    only: Collection[str] = (),
    collisions: Literal["keep", "replace", "rename"] = "keep",
) -> list[Planned]:
    """What to do with each server of `source`, in its order. Raises `ConfigError` for a name in `only` that
    no server has."""
    for name in only:
        if name not in source.servers:
            known = ", ".join(source.servers) or "none"
            reason = f"{source.path}: no server is called {name!r}{suggestion(name, source.servers)}"
            raise ConfigError(reason, hint=f"There: {known}.")
    stay = Move(move.target, move.target, move.home)
    present = {name: carried(name, entry.value, stay).entry for name, entry in sheet.servers.items()}
    planned: list[Planned] = []
    for name, entry in source.servers.items():
        if only and name not in only:
            continue
        each = carried(name, entry.value, move)
        new, outcome = _placed(name, each.entry, present, collisions)
        if each.problem is not None:
            new, outcome = name, "impossible"
        elif outcome in ("added", "replaced"):
            present[new] = each.entry
        planned.append(Planned(name, new, outcome, each))
    return planned


def _placed(
    name: str,
    entry: Mapping[str, object],
    present: Mapping[str, Mapping[str, object]],
    collisions: Literal["keep", "replace", "rename"],
) -> tuple[str, Outcome]:
    if name not in present:
        return name, "added"
    if present[name] == entry:
        return name, "same"
    if collisions == "replace":
        return name, "replaced"
    if collisions == "keep":
        return name, "taken"
    number = 2
    while (new := f"{name}-{number}") in present:
        if present[new] == entry:
            return new, "same"
        number += 1
    return new, "added"


def declared_inputs(source: Source) -> dict[str, dict[str, object]]:
    """What VS Code's file says about the values that its user is asked for, by id."""
    items = as_list(source.layout.sections.get("inputs")) or []
    inputs = [as_object(item) or {} for item in items]
    return {str(item["id"]): item for item in inputs if item.get("id")}
