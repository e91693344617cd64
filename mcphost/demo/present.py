"""Results in words: what the scripted model says when its calls have come back.

Nothing is added to what the tools gave. A failure is passed on as one, never talked past.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from mcphost.demo.dates import find_day
from mcphost.demo.toolbox import Function, short_name
from mcphost.demo.turn import Step, Turn, read_json
from mcphost.demo.wish import former_question, only_details
from mcphost.jsontext import as_list, as_object

LONGEST = 6000
"""Characters of one result that are repeated; the rest is left out, and said to be."""

_WEATHER = {
    "dayweather": "白天{}",
    "nightweather": "夜间{}",
    "daytemp": "最高 {}℃",
    "nighttemp": "最低 {}℃",
    "wind": "{}",
    "power": "{}级",
}
_WEATHER_IN_ENGLISH = {
    "dayweather": "day {}",
    "nightweather": "night {}",
    "daytemp": "high {}℃",
    "nighttemp": "low {}℃",
}
_SKY_IN_ENGLISH = {
    "晴": "clear",
    "多云": "cloudy",
    "阴": "overcast",
    "小雨": "light rain",
    "中雨": "rain",
    "雷阵雨": "thunderstorms",
    "小雪": "light snow",
}


def failures(turn: Turn) -> str | None:
    """What went wrong in this turn, None when nothing did."""
    failed = [step for step in turn.steps if step.failure is not None]
    if not failed:
        return None
    head = "That did not work, so I have no answer:" if turn.english else "没有查成，所以无法回答："
    return "\n".join([head, *(f"- {step.name}：{step.failure}" for step in failed)])


def results(turn: Turn, steps: Sequence[Step], functions: Sequence[Function]) -> str:
    """The results of `steps`, one paragraph each, and what failed."""
    good = [step for step in steps if step.failure is None]
    parts = [_one(step, turn, functions, alone=len(good) == 1) for step in good]
    failed = failures(turn)
    return "\n\n".join(parts + ([failed] if failed else []))


def _one(step: Step, turn: Turn, functions: Sequence[Function], *, alone: bool) -> str:
    value = read_json(step.text) if step.text[:1] in "[{" else None
    about = as_object(value)
    forecasts = as_list(about.get("forecasts")) if about else None
    if about and forecasts:
        return _weather(about, forecasts, turn)
    function = next((f for f in functions if f.name == step.name), None)
    name = short_name(function, functions) if function else step.name
    sent = "" if alone or not step.arguments else f"（{json.dumps(step.arguments, ensure_ascii=False)}）"
    head = f"{name}{sent} gave:" if turn.english else f"{name}{sent} 的结果："
    body = step.text if value is None else _body(value)
    if len(body) > LONGEST:
        cut = (
            f"… ({len(body) - LONGEST} more characters)"
            if turn.english
            else f"…（另有 {len(body) - LONGEST} 字从略）"
        )
        body = body[:LONGEST] + cut
    return f"{head}\n{body.strip() or ('(nothing)' if turn.english else '（空）')}"


def _body(value: object) -> str:
    """A JSON result to be read: its own summary and note where it has them, else all of it."""
    about = as_object(value) or {}
    if about.get("summary"):
        return "\n".join(str(about[key]) for key in ("summary", "note") if about.get(key))
    return "\n".join(_lines(value))


def _weather(about: Mapping[str, Any], forecasts: Sequence[Any], turn: Turn) -> str:
    """A weather result: the day that was asked for, else all of them."""
    days = [day for forecast in forecasts if (day := as_object(forecast)) and day.get("date")]
    chosen, missing = _asked_day(days, turn)
    words = _WEATHER_IN_ENGLISH if turn.english else _WEATHER
    comma, colon = (", ", ": ") if turn.english else ("，", "：")
    sky = _SKY_IN_ENGLISH if turn.english else {}
    lines = [
        f"- {day['date']}{colon}"
        + comma.join(
            text.format(sky.get(str(day[key]), day[key])) for key, text in words.items() if key in day
        )
        for day in chosen
    ]
    note = [str(about["note"])] if about.get("note") else []
    return "\n".join([f"{about.get('city', '')}{colon}{missing}".rstrip(), *lines, *note])


def _asked_day(days: Sequence[Mapping[str, Any]], turn: Turn) -> tuple[Sequence[Mapping[str, Any]], str]:
    """The days to show, and what to say when the one that was asked for is not among them."""
    former = former_question(turn) if only_details(turn.question) else ""
    word = find_day(turn.question) or find_day(former)
    if word is None or not days:
        return days, ""
    try:
        asked = word.resolve(date.fromisoformat(str(days[0]["date"]))).isoformat()
    except (ValueError, OverflowError):
        asked = word.text
    chosen = [day for day in days if day["date"] == asked]
    if chosen:
        return chosen, ""
    return days, f"nothing for {asked}, only:" if turn.english else f"没有 {asked} 的，只有："


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_flat(value: Mapping[str, Any]) -> bool:
    return not any(isinstance(item, dict | list) for item in value.values())


def _lines(value: object, indent: str = "") -> list[str]:
    """A JSON value as lines: one for an object without others in it, a bullet for each item of a list."""
    items, pairs = as_list(value), as_object(value)
    if pairs is not None and _is_flat(pairs):
        return [indent + "，".join(f"{key} {_scalar(item)}" for key, item in pairs.items())]
    if pairs is not None:
        lines: list[str] = []
        for key, item in pairs.items():
            below = _lines(item, indent + "  ") if item else [_scalar(item)]
            lines += (
                [f"{indent}{key}: {below[0].strip().removeprefix('- ')}"]
                if len(below) == 1
                else [f"{indent}{key}:", *below]
            )
        return lines
    if items is not None:
        return [indent + "- " + "\n".join(_lines(item, indent + "  ")).lstrip() for item in items]
    return [indent + _scalar(value)]
