"""The part of the script for everything but trains: pick a tool, fill it in, call it, present its result."""

import re
from collections.abc import Sequence

from mcphost.demo import phrases
from mcphost.demo.extract import Material, meaning, places
from mcphost.demo.filling import fill, wants_points
from mcphost.demo.matching import choose
from mcphost.demo.present import failures, results
from mcphost.demo.script import Do, Planned, Reply, Say
from mcphost.demo.toolbox import Function, short_name
from mcphost.demo.turn import Step, Turn, read_json
from mcphost.demo.wish import former_question, only_details
from mcphost.jsontext import as_list, as_object

_LISTED = 12
"""How many tools are named when somebody asks for what no tool does."""


def answer_with_a_tool(turn: Turn, functions: Sequence[Function], forced: Function | None = None) -> Reply:
    """The next step towards an answer by the tool that fits best, or by the one that is `forced`."""
    function = forced or _function(turn, functions)
    if function is None:
        return Say(results(turn, turn.steps, functions) if turn.steps else introduction(turn, functions))
    done = [step for step in turn.steps if step.name == function.name]
    if done:
        return Say(results(turn, done, functions))
    if turn.steps and (failed := failures(turn)):
        return Say(failed)
    material = Material(turn.question, short_name(function, functions), former=_former_cities(turn))
    if looking_up := _look_up(turn, function, functions, material):
        return looking_up
    filled = fill(function, material)
    if filled.missing:
        return Say(_ask(turn, function, functions, filled.missing))
    return Do(tuple(Planned(function.name, arguments) for arguments in filled.calls))


def _function(turn: Turn, functions: Sequence[Function]) -> Function | None:
    """The tool for the question; for one that only gives details (那上海呢？), that of the one before."""
    chosen = choose(turn.question, functions)
    if chosen is None and turn.question and only_details(turn.question):
        chosen = choose(former_question(turn), functions)
    return chosen


def _former_cities(turn: Turn) -> list[str]:
    """The cities of the last earlier message that named any."""
    return next((cities for text in turn.earlier if (cities := phrases.cities(text))), list[str]())


def _geocoder(functions: Sequence[Function]) -> tuple[Function, str] | None:
    """A tool that turns a place's name into coordinates, and the parameter that takes the name."""
    for function in functions:
        geo = re.search(r"(?<!re)geo(?:cod|_|$)", function.name, re.I)
        if geo and len(function.required) == 1:
            name = function.required[0]
            if meaning(name, function.properties.get(name, {})) in ("place", "city"):
                return function, name
    return None


def _look_up(
    turn: Turn, function: Function, functions: Sequence[Function], material: Material
) -> Reply | None:
    """Coordinates first, for a tool that needs them when the question has names instead.

    Calls the geocoder for every name at once; once its results are there, puts them into `material`.
    """
    wanted, geocoder = len(wants_points(function)), _geocoder(functions)
    if wanted <= len(material.points) or geocoder is None or geocoder[0] == function:
        return None
    tool, parameter = geocoder
    names = places(turn.question)
    if len(names) < wanted:
        return None
    found = {str(step.arguments.get(parameter)): step for step in turn.steps if step.name == tool.name}
    unknown = [name for name in names if name not in found]
    if unknown:
        return Do(tuple(Planned(tool.name, {parameter: name}) for name in unknown))
    located = [_located(found[name]) for name in names]
    material.points = [point for point, _ in located if point]
    material.cities = [city for _, city in located if city]
    if len(material.points) < wanted:
        return Say(results(turn, list(found.values()), functions))
    return None


def _located(step: Step) -> tuple[str | None, str | None]:
    """The coordinates in a geocoder's result, and the city if it says one."""
    points = phrases.coordinates(step.text)
    about = as_object(read_json(step.text)) or {}
    rows = [row for value in about.values() for item in as_list(value) or [] if (row := as_object(item))]
    city = next((str(row["city"]) for row in [about, *rows] if isinstance(row.get("city"), str)), None)
    return (points[0] if points else None), city


def _ask(turn: Turn, function: Function, functions: Sequence[Function], missing: Sequence[str]) -> str:
    """Ask for what is missing, instead of calling with less than the tool needs."""
    wanted = [(name, str(function.properties.get(name, {}).get("description") or "")) for name in missing]
    lines = [f"- {name}" + (f"：{description}" if description else "") for name, description in wanted]
    name = short_name(function, functions)
    head = f"To use {name} I also need:" if turn.english else f"要用 {name}，还需要知道："
    return "\n".join([head, *lines])


def introduction(turn: Turn, functions: Sequence[Function]) -> str:
    """What this is, and what one may ask."""
    names = [short_name(function, functions) for function in functions]
    more = len(names) - _LISTED
    if turn.english:
        listed = ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
        tools = f"I can call these tools: {listed}." if names else "There are no tools that I could call."
        return (
            "I am a script that stands in for a model, not a language model: I match words with the names "
            f"and descriptions of tools, and none matched. {tools}\nTry: “weather in Beijing”, “tickets from "
            "Suzhou to Beijing tomorrow”, “where is West Lake”, or a tool's name with its arguments."
        )
    listed = "、".join(names[:_LISTED]) + (f" 等 {len(names)} 个" if more > 0 else "")
    tools = f"现有的工具：{listed}。" if names else "眼下没有任何工具可用。"
    return (
        "我是一段代替模型的脚本，不是语言模型：只会拿问题里的字词去对工具的名称和说明，这一句没有对上。\n"
        f"{tools}\n可以这样问：“今天下午从苏州到北京的高铁票还有没”“北京和上海明天天气怎么样”"
        "“从故宫到天坛怎么走”“拙政园附近有什么”，或者写出工具名和参数。"
    )
