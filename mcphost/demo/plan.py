"""From a request to the scripted model's reply."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcphost.demo.generic import answer_with_a_tool, introduction
from mcphost.demo.present import results
from mcphost.demo.script import Reply, Say
from mcphost.demo.stops import answer_about_stops
from mcphost.demo.tickets import answer_about_trains
from mcphost.demo.toolbox import Function, read_tools
from mcphost.demo.turn import read
from mcphost.jsontext import as_object


def plan(messages: Sequence[Mapping[str, Any]], tools: object = None, tool_choice: object = None) -> Reply:
    """What comes next. `tool_choice` "none" makes it words, a named function that function's call."""
    turn, functions = read(messages), read_tools(tools)
    if tool_choice == "none":
        return Say(results(turn, turn.steps, functions) if turn.steps else introduction(turn, functions))
    forced = _forced(tool_choice, functions)
    if forced is not None:
        return answer_with_a_tool(turn, functions, forced)
    return (
        answer_about_stops(turn, functions)
        or answer_about_trains(turn, functions)
        or answer_with_a_tool(turn, functions)
    )


def _forced(tool_choice: object, functions: Sequence[Function]) -> Function | None:
    named = as_object((as_object(tool_choice) or {}).get("function")) or {}
    return next((function for function in functions if function.name == named.get("name")), None)
