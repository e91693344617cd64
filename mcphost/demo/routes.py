"""What the map server answers about ways: one function a tool, from its arguments to its result (JSON).

Only the straight line is exact; everything else is an estimate and says so.
"""

from collections.abc import Mapping
from typing import Any

from mcphost.demo.data import STATION_BY_TELECODE, City
from mcphost.demo.geography import (
    CYCLING,
    DRIVING,
    TRANSIT,
    WALKING,
    Point,
    Travel,
    city_around,
    covered_point,
    straight,
)
from mcphost.demo.places import known_city, reply
from mcphost.demo.timetable import clock, scope, trips
from mcphost.demo.tool import Refusal, today

Arguments = Mapping[str, Any]

NOTE = "演示数据没有路网：由直线距离估算，不是导航结果。距离单位米，时间单位秒。"

TRANSIT_WAIT = 10 * 60
STATION_TRANSFER = 45 * 60
"""Seconds allowed for waiting within a city, and for each way between an address and a railway station."""

_KINDS: dict[str, Travel | None] = {"0": None, "1": DRIVING, "3": WALKING}


def _spoken(distance: float, duration: float) -> str:
    minutes = max(1, round(duration / 60))
    time = f"{minutes} 分钟" if minutes < 60 else f"{minutes // 60} 小时 {minutes % 60} 分"
    return f"约 {distance / 1000:.1f} 公里，约 {time}"


def _estimate(travel: Travel, origin: Point, destination: Point) -> tuple[float, float]:
    distance = travel.distance(straight(origin, destination))
    if distance > travel.longest:
        raise Refusal(
            f"{travel.name}太远了：估计有 {distance / 1000:.0f} 公里，"
            f"最多支持 {travel.longest / 1000:.0f} 公里。"
        )
    return distance, travel.duration(distance)


def distance(arguments: Arguments) -> str:
    kind = arguments.get("type") or "1"
    if kind not in _KINDS:
        raise Refusal(f"type 不能是 {kind!r}：0 为直线，1 为驾车，3 为步行。")
    travel = _KINDS[kind]
    destination = covered_point(arguments["destination"])
    results: list[dict[str, object]] = []
    for number, text in enumerate(arguments["origins"].split("|"), 1):
        origin = covered_point(text)
        if travel is None:
            results.append({"origin": number, "distance": round(straight(origin, destination))})
        else:
            metres, seconds = _estimate(travel, origin, destination)
            results.append({"origin": number, "distance": round(metres), "duration": round(seconds)})
    note = NOTE if travel else "地球大圆上的直线距离，单位米。"
    return reply(type=travel.name if travel else "直线", results=results, note=note)


def _direction(travel: Travel, arguments: Arguments) -> str:
    origin, destination = covered_point(arguments["origin"]), covered_point(arguments["destination"])
    metres, seconds = _estimate(travel, origin, destination)
    return reply(
        origin=str(origin),
        destination=str(destination),
        summary=f"{travel.name}{_spoken(metres, seconds)}（估算）",
        distance=round(metres),
        duration=round(seconds),
        note=NOTE,
    )


def cycling(arguments: Arguments) -> str:
    return _direction(CYCLING, arguments)


def walking(arguments: Arguments) -> str:
    return _direction(WALKING, arguments)


def driving(arguments: Arguments) -> str:
    return _direction(DRIVING, arguments)


def _end(arguments: Arguments, point_key: str, city_key: str) -> tuple[Point, City]:
    point, city = covered_point(arguments[point_key]), known_city(arguments[city_key])
    actual = city_around(point)
    if actual != city:
        raise Refusal(f"{point_key} 的坐标 {point} 在{actual.name}，{city_key} 却写的是{city.name}。")
    return point, city


def transit(arguments: Arguments) -> str:
    origin, start = _end(arguments, "origin", "city")
    destination, goal = _end(arguments, "destination", "cityd")
    if start != goal:
        return _by_train(start, goal)
    metres, seconds = _estimate(TRANSIT, origin, destination)
    seconds += TRANSIT_WAIT
    return reply(
        city=start.name,
        summary=f"市内公共交通{_spoken(metres, seconds)}（估算，含候车 {TRANSIT_WAIT // 60} 分钟）",
        distance=round(metres),
        duration=round(seconds),
        note=NOTE,
    )


def _by_train(start: City, goal: City) -> str:
    """Between cities: the fastest direct train of the day, and the ways to and from the stations."""
    trip = min(trips(scope(start.telecode), scope(goal.telecode)), key=lambda t: t.duration, default=None)
    if trip is None:
        raise Refusal(f"{start.name}到{goal.name}没有直达列车，演示数据规划不了这段公共交通。")
    board, leave = (STATION_BY_TELECODE[stop.telecode].name for stop in (trip.board, trip.leave))
    metres = abs(trip.leave.kilometre - trip.board.kilometre) * 1000
    seconds = trip.duration * 60 + 2 * STATION_TRANSFER
    train = f"{trip.train.number} {board} {clock(trip.departure)} → {leave} {clock(trip.arrival)}"
    return reply(
        city=start.name,
        cityd=goal.name,
        summary=f"乘火车 {train}，连同往返车站{_spoken(metres, seconds)}（估算）",
        train=train,
        date=today().isoformat(),
        distance=metres,
        duration=seconds,
        note=f"演示数据：时刻表是虚构的；往来两头车站各按 {STATION_TRANSFER // 60} 分钟计。单位米、秒。",
    )
