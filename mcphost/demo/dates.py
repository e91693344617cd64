"""Days and times of day in what people write, Chinese or English."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

Match = re.Match[str]


@dataclass(frozen=True, slots=True)
class DayWord:
    """A day as it was written. `resolve` makes a date of it, from today's; ValueError: no such day."""

    text: str
    resolve: Callable[[date], date]


class Window(NamedTuple):
    """A part of the day in minutes from 00:00, `end` excluded, and how it was called."""

    text: str
    start: int
    end: int


_DIGITS = {digit: number for number, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5}
_ENGLISH_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _number(text: str) -> int:
    """3, 十三, 二十, 三十一 as an int."""
    if text.isascii():
        return int(text)
    tens, ten, units = text.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + (_DIGITS[units] if units else 0)


_N = r"(\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二两三四五六七八九])"


def _month_day(today: date, month: int, day: int) -> date:
    """That day this year; next year's when it was more than half a year ago."""
    found = date(today.year, month, day)
    return found if (today - found).days < 183 else date(today.year + 1, month, day)


def _day_of_month(today: date, day: int) -> date:
    """That day of this month, or of the next when it is over."""
    return today.replace(day=day) if day >= today.day else _next_month(today, day)


def _next_month(today: date, day: int) -> date:
    return (today.replace(day=1) + timedelta(days=32)).replace(day=day)


def _weekday(today: date, weekday: int, weeks: int) -> date:
    """`weeks` 0: the coming one, today included; n: that of the n-th week from now. Weeks begin on Monday."""
    if not weeks:
        return today + timedelta(days=(weekday - today.weekday()) % 7)
    return today + timedelta(days=weekday - today.weekday() + 7 * weeks)


def _after(days: int) -> Callable[[Match], Callable[[date], date]]:
    return lambda match: lambda today: today + timedelta(days=days)


_RULES: tuple[tuple[str, Callable[[Match], Callable[[date], date]]], ...] = (
    (
        r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*[日号]?",
        lambda m: lambda today: date(int(m[1]), int(m[2]), int(m[3])),
    ),
    (rf"下个?月\s*{_N}\s*[日号]", lambda m: lambda today: _next_month(today, _number(m[1]))),
    (rf"{_N}\s*月\s*{_N}\s*[日号]?", lambda m: lambda today: _month_day(today, _number(m[1]), _number(m[2]))),
    (
        rf"{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b",
        lambda m: lambda today: _month_day(today, _MONTHS.index(m[1][:3].lower()) + 1, int(m[2])),
    ),
    (
        rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}",
        lambda m: lambda today: _month_day(today, _MONTHS.index(m[2][:3].lower()) + 1, int(m[1])),
    ),
    (r"大后天", _after(3)),
    (r"后天|\bday after tomorrow\b", _after(2)),
    (r"明[天日早晚]|\btomorrow\b", _after(1)),
    (r"今[天日早晚]|\btoday\b|\btonight\b|\bthis (?=morning|afternoon|evening)", _after(0)),
    (r"前天", _after(-2)),
    (r"昨[天日]|\byesterday\b", _after(-1)),
    (rf"{_N}\s*天(?:之?后|以后)", lambda m: lambda today: today + timedelta(days=_number(m[1]))),
    (r"\bin (\d{1,2}) days?\b", lambda m: lambda today: today + timedelta(days=int(m[1]))),
    (
        r"(上|下*)个?(?:周|星期|礼拜)([一二三四五六日天末])",
        lambda m: lambda today: _weekday(today, _WEEKDAYS[m[2]], -1 if m[1] == "上" else len(m[1])),
    ),
    (
        r"\b(next\s+)?(mon|tue|wed|thu|fri|sat|sun)[a-z]*day\b",
        lambda m: lambda today: _weekday(today, _ENGLISH_WEEKDAYS.index(m[2].lower()), 1 if m[1] else 0),
    ),
    (rf"{_N}\s*[号日](?![线楼院门])", lambda m: lambda today: _day_of_month(today, _number(m[1]))),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE), rule) for pattern, rule in _RULES]

_PARTS: tuple[tuple[str, int, int], ...] = (
    (r"凌晨", 0, 6),
    (r"一?大?清[早晨]|早上|早晨|早间|[今明]早|\bmorning\b", 5, 12),
    (r"上午", 6, 12),
    (r"中午|\bnoon\b", 11, 14),
    (r"下午|午后|\bafternoon\b", 12, 18),
    (r"傍晚", 17, 20),
    (r"晚上|夜里|夜间|晚间|[今明]晚|\bevening\b|\btonight\b|\bnight\b", 18, 24),
)
_HOUR = re.compile(
    r"(?:(?P<n>\d{1,2}|十[一二]?|[一二两三四五六七八九])(?:[点时](?P<half>半)?|[:：](?P<m>\d\d))钟?"
    r"(?P<zh>以?之?[后前])|\b(?P<en>after|before)\s+(?P<h>\d{1,2})(?::(?P<em>\d\d))?\s*(?P<half_day>[ap]m)?)",
    re.IGNORECASE,
)


def find_days(text: str) -> Iterator[DayWord]:
    """The days that `text` names, one for each piece of it, those with most detail first."""
    for pattern, rule in _COMPILED:
        for match in pattern.finditer(text):
            yield DayWord(match[0].strip(), rule(match))
        text = pattern.sub(" ", text)


def find_day(text: str) -> DayWord | None:
    return next(find_days(text), None)


def _part(text: str) -> Window | None:
    for pattern, start, end in _PARTS:
        if match := re.search(pattern, text, re.IGNORECASE):
            return Window(match[0], start * 60, end * 60)
    return None


def find_window(text: str) -> Window | None:
    """The part of the day that `text` asks for: 下午, 三点以后, after 3 pm, tonight.

    Three o'clock without more is in the afternoon: few people ask for trains before six.
    """
    part, hour = _part(text), _HOUR.search(text)
    if hour is None:
        return part
    at = _number(hour["n"] or hour["h"]) * 60 + int(hour["m"] or hour["em"] or (30 if hour["half"] else 0))
    half_day = (hour["half_day"] or "").lower()
    late = part.start >= 12 * 60 if part else half_day == "pm" or (not half_day and at < 6 * 60)
    at += 12 * 60 if late and at < 12 * 60 else 0
    begins = (hour["zh"] or "").endswith("后") or (hour["en"] or "").lower() == "after"
    start, end = (at, part.end if part else 24 * 60) if begins else (part.start if part else 0, at)
    return Window(hour[0] if part is None else f"{part.text} {hour[0]}", start, end)


def without_days(text: str, gap: str = " ") -> str:
    """`text` with its days and times of day taken out, so that the rest can be read."""
    patterns = [_HOUR, *(pattern for pattern, _ in _COMPILED), *(re.compile(p, re.I) for p, _, _ in _PARTS)]
    for pattern in patterns:
        text = pattern.sub(gap, text)
    return text
