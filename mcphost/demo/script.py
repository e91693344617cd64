"""What the scripted model says next. Pure: everything follows from the request.

`Say` is an answer in words, `Do` the calls to make; the parts of the script give one or the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcphost.demo.toolbox import Function


@dataclass(frozen=True, slots=True)
class Say:
    text: str


class Planned(NamedTuple):
    """A call to make: the function's public name and its arguments."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Do:
    calls: tuple[Planned, ...]


Reply = Say | Do


def call(function: Function, **arguments: Any) -> Do:
    """One call."""
    return Do((Planned(function.name, arguments),))
