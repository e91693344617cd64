"""Journeys with one change of trains, put together from the demo's timetable."""

from datetime import date, timedelta
from typing import NamedTuple

from mcphost.demo.data import STATION_BY_TELECODE, STATIONS
from mcphost.demo.timetable import DAY, Trip, trips


class Change(NamedTuple):
    """A journey with one change. `wait` is in minutes; on `second_day` one boards the second train."""

    first: Trip
    second: Trip
    wait: int
    second_day: date

    @property
    def duration(self) -> int:
        return self.first.duration + self.wait + self.second.duration


SAME_STATION_WAIT = 15
OTHER_STATION_WAIT = 60
LONGEST_WAIT = 4 * 60
"""Minutes for changing within a station, between two of a city's stations, and at most."""

LONGEST_DETOUR = 1.4
"""Journeys that take so many times as long as the shortest are left out."""


def _city(telecode: str) -> str:
    return STATION_BY_TELECODE[telecode].city


def _onward(first: Trip, day: date, seconds: list[Trip]) -> Change | None:
    """The change that arrives first, among `seconds` that leave the city in which `first` ends."""
    options: list[Change] = []
    for second in seconds:
        same = second.board.telecode == first.leave.telecode
        wait = (second.departure - first.arrival) % DAY
        if (SAME_STATION_WAIT if same else OTHER_STATION_WAIT) <= wait <= LONGEST_WAIT:
            later = timedelta(days=(first.arrival + wait) // DAY)
            options.append(Change(first, second, wait, day + later))
    return min(options, key=lambda change: change.duration, default=None)


def changes(
    origins: frozenset[str], destinations: frozenset[str], day: date, *, middle: frozenset[str] | None = None
) -> list[Change]:
    """Journeys with one change, boarding the first train on `day`; the shortest first.

    The change is in a third city (at one of `middle`, where given), within a station or between two of them.
    """
    ends = {_city(telecode) for telecode in origins | destinations}
    found: list[Change] = []
    for city in sorted({station.city for station in STATIONS} - ends):
        stations = frozenset(s.telecode for s in STATIONS if s.city == city)
        stations = stations & middle if middle else stations
        seconds = trips(stations, destinations)
        onward = (_onward(first, day, seconds) for first in trips(origins, stations))
        found += [
            change for change in onward if change is not None and change.first.train != change.second.train
        ]
    shortest = min((change.duration for change in found), default=0)
    sensible = [change for change in found if change.duration <= shortest * LONGEST_DETOUR]
    return sorted(sensible, key=lambda change: change.duration)
