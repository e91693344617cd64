"""The demo's weather: invented, the same for a city and a day whoever asks, and right for the season.

A day's mean follows a yearly wave through the city's January and July means; how far it strays, and whether
it rains, comes from a hash of city and date.
"""

import hashlib
import math
from dataclasses import dataclass
from datetime import date

from mcphost.demo.data import City, Climate

_DAILY_RANGE: dict[Climate, int] = {"north": 10, "yangtze": 8, "south": 7}
"""Degrees between a day's highest and a night's lowest."""

_WET_MONTHS: dict[Climate, range] = {"north": range(6, 9), "yangtze": range(5, 8), "south": range(4, 10)}
_WET, _DRY = 45, 15
"""Chance of rain in a wet month and in any other, in per cent."""

_WINDS: tuple[str, ...] = ("东", "东南", "南", "西南", "西", "西北", "北", "东北")


@dataclass(frozen=True, slots=True)
class Day:
    """Temperatures in °C; `power` is the wind's force on the Beaufort scale."""

    day: date
    by_day: str
    by_night: str
    high: int
    low: int
    wind: str
    power: str


def _rolls(city: City, day: date) -> bytes:
    return hashlib.sha256(f"{city.adcode}|{day}".encode()).digest()


def _sky(roll: int, mean: float, month: int, climate: Climate) -> str:
    percent = roll * 100 // 256
    if percent >= (_WET if month in _WET_MONTHS[climate] else _DRY):
        return ("晴", "多云", "阴")[roll % 3]
    if mean < 1:
        return "小雪"
    return ("小雨", "中雨", "雷阵雨" if mean > 20 else "小雨")[roll % 3]


def forecast(city: City, day: date) -> Day:
    """The weather in `city` on `day`."""
    rolls = _rolls(city, day)
    wave = math.cos((day.timetuple().tm_yday - 203) / 365 * 2 * math.pi)  # the warmest day is 22 July
    mean = (city.july + city.january) / 2 + (city.july - city.january) / 2 * wave + (rolls[0] % 7 - 3)
    half = _DAILY_RANGE[city.climate] / 2
    return Day(
        day,
        _sky(rolls[1], mean, day.month, city.climate),
        _sky(rolls[2], mean, day.month, city.climate),
        round(mean + half),
        round(mean - half),
        _WINDS[rolls[3] % 8],
        ("1-3", "1-3", "3-4", "4-5")[rolls[4] % 4],
    )
