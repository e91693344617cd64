"""What the train server answers: one function a tool, from its arguments to the text of its result.

All of them raise `Refusal`, with a message that says what would do, when the arguments cannot be meant.
Every answer about trains is marked as demo data.
"""

import json
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, TypeVar

from mcphost.demo.data import STATION_BY_NAME, STATION_BY_TELECODE, STATIONS, Station, city_names, find_city
from mcphost.demo.interline import Change, changes
from mcphost.demo.timetable import DAY, PLENTY, TRAIN_BY_NO, Seat, Train, Trip, clock, scope, trips
from mcphost.demo.tool import Refusal, today, weekday

PRESALE_DAYS = 15
"""How many days ahead tickets are on sale."""

NOTE = "以上为 mcphost 的演示数据：车次、时刻、票价和余票都是虚构的，且列的是全天车次，不看现在几点。"

Arguments = Mapping[str, Any]
Journey = TypeVar("Journey", Trip, Change)


def _day(text: str) -> date:
    try:
        if len(text) != 10:  # fromisoformat takes week dates too
            raise ValueError
        day = date.fromisoformat(text)
    except ValueError:
        raise Refusal(f"{text!r} 不是有效的日期，请写成 yyyy-MM-dd，例如 {today()}。") from None
    last = today() + timedelta(days=PRESALE_DAYS)
    if day < today():
        raise Refusal(f"{day} 已经过去了（今天是 {today()}），查不到票。")
    if day > last:
        raise Refusal(f"{day} 还没有开售：现在只能查 {today()} 到 {last} 之间的票。")
    return day


def _station(telecode: str) -> Station:
    try:
        return STATION_BY_TELECODE[telecode.strip().upper()]
    except KeyError:
        raise Refusal(
            f"没有电报码为 {telecode!r} 的车站。电报码是三个字母，如 SZH；"
            "请先用 get-station-code-of-citys 或 get-station-code-by-names 查到它。"
        ) from None


def _listed(text: str) -> list[str]:
    names = [name.strip() for name in text.replace("｜", "|").split("|") if name.strip()]
    if not names:
        raise Refusal("没有给出名称。")
    return names


def _codes(names: list[str], find: Callable[[str], Station | None], *, known: str) -> str:
    found = {name: find(name) for name in names}
    missing = "、".join(name for name, station in found.items() if station is None)
    if missing:
        raise Refusal(f"没有收录：{missing}。演示数据只有这些：{known}。")
    codes = {name: _code(station) for name, station in found.items() if station}
    return json.dumps(codes, ensure_ascii=False)


def _code(station: Station) -> dict[str, str]:
    return {"station_code": station.telecode, "station_name": station.name}


def _station_of_city(name: str) -> Station | None:
    city = find_city(name)
    return STATION_BY_TELECODE[city.telecode] if city else None


def _station_called(name: str) -> Station | None:
    return STATION_BY_NAME.get(name) or STATION_BY_NAME.get(name.removesuffix("站"))


def get_current_date(arguments: Arguments) -> str:
    return today().isoformat()


def get_stations_in_city(arguments: Arguments) -> str:
    city = find_city(arguments["city"])
    if city is None:
        raise Refusal(f"没有收录城市 {arguments['city']!r}。演示数据只有这些：{city_names()}。")
    return json.dumps(
        [_code(station) for station in STATIONS if station.city == city.name], ensure_ascii=False
    )


def get_city_codes(arguments: Arguments) -> str:
    return _codes(_listed(arguments["citys"]), _station_of_city, known=city_names())


def get_station_codes(arguments: Arguments) -> str:
    known = "、".join(station.name for station in STATIONS)
    return _codes(_listed(arguments["stationNames"]), _station_called, known=known)


def get_station(arguments: Arguments) -> str:
    station = _station(arguments["stationTelecode"])
    about = {
        "station_name": station.name,
        "station_telecode": station.telecode,
        "station_pinyin": station.pinyin,
        "city": station.city,
    }
    return json.dumps(about, ensure_ascii=False)


def _duration(minutes: int) -> str:
    return f"{minutes // 60}小时{minutes % 60:02}分"


def _seat(seat: Seat) -> str:
    left = "售完" if not seat.left else f"余{seat.left}张" if seat.left <= PLENTY else "余票充足"
    return f"{seat.name} {seat.price}元 {left}"


def _stop(telecode: str) -> str:
    return f"{STATION_BY_TELECODE[telecode].name}[{telecode}]"


def _later(minutes: int) -> str:
    days = minutes // DAY
    return f"（第{days + 1}天）" if days else ""


def _trip(trip: Trip, day: date) -> str:
    return (
        f"{trip.train.number}（train_no: {trip.train.train_no}）"
        f"{_stop(trip.board.telecode)} {clock(trip.departure)} 开 → "
        f"{_stop(trip.leave.telecode)} {clock(trip.arrival)} 到{_later(trip.arrival)}，"
        f"全程 {_duration(trip.duration)}\n  {'；'.join(_seat(seat) for seat in trip.seats(day))}"
    )


def _ordered(
    found: list[Journey], arguments: Arguments, keys: Mapping[str, Callable[[Journey], int]]
) -> list[Journey]:
    flag = arguments["sortFlag"]
    if not flag:
        return found
    if flag not in keys:
        raise Refusal(f"sortFlag 不能是 {flag!r}，可用的有 {'、'.join(keys)}，或者留空。")
    return sorted(found, key=keys[flag], reverse=arguments["sortReverse"])


def _ends(arguments: Arguments) -> tuple[date, Station, Station]:
    day = _day(arguments["date"])
    origin, destination = _station(arguments["fromStation"]), _station(arguments["toStation"])
    if scope(origin.telecode) & scope(destination.telecode):
        raise Refusal(f"出发地 {origin.name} 与到达地 {destination.name} 是同一个地方。")
    return day, origin, destination


def get_tickets(arguments: Arguments) -> str:
    day, origin, destination = _ends(arguments)
    journey = f"{day} {weekday(day)} {origin.name} → {destination.name}"
    every = trips(scope(origin.telecode), scope(destination.telecode))
    found = [trip for trip in every if trip.train.matches(arguments["trainFilterFlags"])]
    if not found:
        other = f"不按 {arguments['trainFilterFlags']} 筛选时有 {len(every)} 趟。" if every else ""
        return (
            f"{journey}：没有符合条件的直达车次。{other or '可以用 get-interline-tickets 查换乘一次的走法。'}"
        )
    found = _ordered(
        found,
        arguments,
        {
            "startTime": lambda t: t.departure,
            "arriveTime": lambda t: t.arrival,
            "duration": lambda t: t.duration,
        },
    )
    shown = found[: int(arguments["limitedNum"]) or None]
    head = f"{journey}，共 {len(found)} 趟直达" + (f"，列出 {len(shown)} 趟" if shown != found else "")
    return "\n".join([head, *(_trip(trip, day) for trip in shown), NOTE])


def _only_standing(change: Change, day: date) -> bool:
    for trip, boarding in ((change.first, day), (change.second, change.second_day)):
        *seats, standing = trip.seats(boarding)
        if standing.left and not any(seat.left for seat in seats):
            return True
    return False


def _change(number: int, change: Change, day: date) -> str:
    at, to = _stop(change.first.leave.telecode), _stop(change.second.board.telecode)
    where = f"在 {at} 站内换乘" if at == to else f"从 {at} 换到 {to}"
    second = change.second_day
    return "\n".join(
        [
            f"方案{number}：全程 {_duration(change.duration)}，{where}，等候 {_duration(change.wait)}",
            _trip(change.first, day),
            ("" if second == day else f"{second} 乘车 ") + _trip(change.second, second),
        ]
    )


def get_interline_tickets(arguments: Arguments) -> str:
    day, origin, destination = _ends(arguments)
    middle = scope(_station(arguments["middleStation"]).telecode) if arguments["middleStation"] else None
    flags = arguments["trainFilterFlags"]
    every = [
        change
        for change in changes(scope(origin.telecode), scope(destination.telecode), day, middle=middle)
        if change.first.train.matches(flags) and change.second.train.matches(flags)
    ]
    found = every if arguments["showWZ"] else [change for change in every if not _only_standing(change, day)]
    journey = f"{day} {weekday(day)} {origin.name} → {destination.name}"
    if not found:
        standing = f"有 {len(every)} 种走法的某一段只剩无座，showWZ 为 true 时列出。" if every else ""
        return f"{journey}：没有合适的换乘一次的走法。{standing}"
    found = _ordered(
        found,
        arguments,
        {
            "startTime": lambda c: c.first.departure,
            "arriveTime": lambda c: c.first.departure + c.duration,
            "duration": lambda c: c.duration,
        },
    )
    shown = found[: int(arguments["limitedNum"])]
    head = f"{journey}，换乘一次，共 {len(found)} 种走法" + (
        f"，列出 {len(shown)} 种" if shown != found else ""
    )
    return "\n".join([head, *(_change(n, change, day) for n, change in enumerate(shown, 1)), NOTE])


def _stop_of(train: Train, telecode: str) -> int:
    """Where in its run a train stops at this station, or else in the city that the code stands for."""
    station = _station(telecode)
    codes = [stop.telecode for stop in train.stops]
    if station.telecode in codes:
        return codes.index(station.telecode)
    near = scope(station.telecode)
    index = next((i for i, code in enumerate(codes) if code in near), None)
    if index is None:
        raise Refusal(
            f"{train.number} 不停 {station.name}。它停靠：{'、'.join(_stop(code) for code in codes)}。"
        )
    return index


def get_route_stations(arguments: Arguments) -> str:
    day = _day(arguments["departDate"])
    train = TRAIN_BY_NO.get(arguments["trainNo"].strip())
    if train is None:
        raise Refusal(
            f"没有 train_no 为 {arguments['trainNo']!r} 的列车。"
            "要填的是 get-tickets 结果里 12 位的 train_no，不是 G902 这样的车次。"
        )
    first = _stop_of(train, arguments["fromStationTelecode"])
    last = _stop_of(train, arguments["toStationTelecode"])
    if first >= last:
        raise Refusal(
            f"{train.number} 不从 {_stop(train.stops[first].telecode)} 开往所给的到达站，请检查次序。"
        )
    base = (train.stops[first].departure or 0) // DAY * DAY
    head = f"{train.number}（train_no: {train.train_no}）{day} {weekday(day)}"
    whole = f"全程 {_stop(train.stops[0].telecode)} → {_stop(train.stops[-1].telecode)}，所查区间停靠："
    lines = [f"{head}，{whole}"]
    for number, stop in enumerate(train.stops[first : last + 1], 1):
        events = ((stop.arrival, "到"), (stop.departure, "开"))
        times = [f"{clock(m)} {verb}{_later(m - base)}" for m, verb in events if m is not None]
        stay = (
            ""
            if stop.arrival is None or stop.departure is None
            else f"，停 {stop.departure - stop.arrival} 分"
        )
        lines.append(f"{number}. {_stop(stop.telecode)} {'，'.join(times)}{stay}")
    return "\n".join([*lines, NOTE])
