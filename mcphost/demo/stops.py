"""The part of the script that tells where a train stops, for a train that an earlier ticket result listed."""

import re
from collections.abc import Sequence

from mcphost.demo.script import Reply, Say, call
from mcphost.demo.toolbox import Function, find_tool, is_tool
from mcphost.demo.turn import Turn

_STOPS = re.compile(r"经停|停靠|停哪|哪些站|途经|\bstops?\b", re.I)
_NUMBER = re.compile(r"(?<![A-Za-z0-9])[GDCZTK]\d{1,4}(?!\d)")


def answer_about_stops(turn: Turn, functions: Sequence[Function]) -> Reply | None:
    """The call for a question such as "G902 经停哪些站"; None for others, and once it has been made."""
    tool = find_tool(functions, "get-train-route-stations")
    number = _NUMBER.search(turn.question)
    if tool is None or number is None or not _STOPS.search(turn.question) or turn.steps:
        return None
    ride = re.compile(rf"^{number[0]}（train_no: (\w+)）\S+\[(\w+)\] .*? → \S+\[(\w+)\]", re.M)
    for step in reversed(turn.past):
        if is_tool(step.name, "get-tickets") and (match := ride.search(step.text)):
            return call(
                tool,
                trainNo=match[1],
                fromStationTelecode=match[2],
                toStationTelecode=match[3],
                departDate=str(step.arguments.get("date")),
            )
    if turn.english:
        return Say(f"Please ask for tickets first: I only know {number[0]} from a ticket result.")
    return Say(f"请先查一次有 {number[0]} 的车票：我要从查票结果里才知道它的 train_no 和上下车站。")
