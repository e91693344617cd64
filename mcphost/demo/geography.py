"""Coordinates and distances, and what may be said of a way without a map of the roads.

Points are (longitude, latitude) in degrees, distances in metres, durations in seconds. Distances by road and
durations are estimates: the straight line times a factor, at a usual speed.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from mcphost.demo.data import CITIES, PLACES, City, Place, city_names
from mcphost.demo.tool import Refusal

EARTH_RADIUS = 6_371_009.0

CITY_RADIUS = 60_000.0
"""How far from a city's centre the demo's data reach."""


class Point(NamedTuple):
    longitude: float
    latitude: float

    def __str__(self) -> str:
        return f"{self.longitude:.6g},{self.latitude:.6g}"


@dataclass(frozen=True, slots=True)
class Travel:
    """A way of getting about: `detour` is road over straight line, `speeds` are (up to metres, km/h)."""

    name: str
    detour: float
    speeds: tuple[tuple[float, float], ...]
    longest: float = math.inf

    def distance(self, straight: float) -> float:
        return straight * self.detour

    def duration(self, distance: float) -> float:
        """Every stretch of the way at the speed that goes with it: long drives are mostly motorway."""
        seconds, done = 0.0, 0.0
        for limit, speed in self.speeds:
            stretch = max(0.0, min(distance, limit) - done)
            seconds += stretch / (speed / 3.6)
            done += stretch
        return seconds


WALKING = Travel("步行", 1.2, ((math.inf, 4.5),), longest=100_000)
CYCLING = Travel("骑行", 1.25, ((math.inf, 15.0),), longest=500_000)
DRIVING = Travel("驾车", 1.3, ((10_000, 25.0), (30_000, 50.0), (math.inf, 90.0)))
TRANSIT = Travel("公交", 1.3, ((math.inf, 22.0),))


def straight(a: Point, b: Point) -> float:
    """Metres along the great circle (haversine)."""
    lat_a, lat_b = math.radians(a.latitude), math.radians(b.latitude)
    half_lat, half_lng = (lat_b - lat_a) / 2, math.radians(b.longitude - a.longitude) / 2
    h = math.sin(half_lat) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(half_lng) ** 2
    return 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(h)))


def centre(city: City) -> Point:
    return Point(city.longitude, city.latitude)


def where(place: Place) -> Point:
    return Point(place.longitude, place.latitude)


def parse_point(text: str) -> Point:
    """`longitude,latitude`, checked to be on Earth. Raises `Refusal`."""
    parts = text.replace("，", ",").split(",")
    try:
        longitude, latitude = (float(part) for part in parts)
    except ValueError:
        raise Refusal(f"{text!r} 不是坐标，请写成“经度,纬度”，例如 116.397,39.918。") from None
    if abs(latitude) > 90 >= abs(longitude):
        raise Refusal(f"{text!r} 像是把纬度写在了前面，请写成“经度,纬度”。")
    if not (abs(longitude) <= 180 and abs(latitude) <= 90):  # so that NaN is refused too
        raise Refusal(f"{text!r} 超出了范围：经度在 ±180 之间，纬度在 ±90 之间。")
    return Point(longitude, latitude)


def city_around(point: Point) -> City:
    """The city whose centre is nearest. Raises `Refusal` when none is within `CITY_RADIUS`."""
    city = min(CITIES, key=lambda city: straight(point, centre(city)))
    if straight(point, centre(city)) > CITY_RADIUS:
        raise Refusal(f"坐标 {point} 不在演示数据覆盖的地方。覆盖的是这些城市及其周边：{city_names()}。")
    return city


def covered_point(text: str) -> Point:
    """A coordinate in one of the demo's cities. Raises `Refusal`."""
    point = parse_point(text)
    city_around(point)
    return point


def nearest_place(point: Point) -> Place:
    return min(PLACES, key=lambda place: straight(point, where(place)))
