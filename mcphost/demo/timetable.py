"""The demo's trains: who runs when, at what price, with how many seats left.

The timetable is invented. Lines have their real stations and, to a few kilometres, their real lengths; train
numbers, times and fares are made up so that they look right and agree with each other: a train's times follow
from its departure, its speed and the distances, a fare from the distance, the seats left from a hash of date,
train, seat and journey, so that whoever asks on one day gets one answer. Every train runs every day.

Minutes count from 00:00 of the day on which the train leaves its first station.
"""

import hashlib
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from mcphost.demo.data import CITY_BY_NAME, STATION_BY_TELECODE, STATIONS

DAY = 24 * 60

_LINES: dict[str, dict[str, int]] = {
    "京沪高铁": {
        "VNP": 0,
        "TIP": 122,
        "JGK": 406,
        "UUH": 692,
        "NKH": 1023,
        "WGH": 1210,
        "OHH": 1237,
        "AOH": 1318,
    },
    "京杭高铁": {"VNP": 0, "TIP": 122, "JGK": 406, "UUH": 692, "NKH": 1023, "HGH": 1279},
    "京广高铁": {"BXP": 0, "ZAF": 693, "WHN": 1229, "IZQ": 2298, "IOQ": 2400},
    "沪西高铁": {"AOH": 0, "OHH": 81, "WGH": 108, "NKH": 295, "UUH": 626, "ZAF": 988, "EAY": 1511},
    "沪杭高铁": {"AOH": 0, "HGH": 159},
    "沪宁城际": {"SHH": 0, "SZH": 84, "WXH": 126, "NJH": 301},
    "沪汉动车": {"AOH": 0, "OHH": 81, "WGH": 108, "NKH": 295, "HKN": 820},
    "京沪线": {
        "BJP": 0,
        "TJP": 137,
        "JNK": 497,
        "XCH": 814,
        "NJH": 1160,
        "WXH": 1335,
        "SZH": 1378,
        "SHH": 1463,
    },
    "京广线": {"BXP": 0, "ZZF": 695, "WCN": 1225, "GZQ": 2294},
    "陇海线": {"SHH": 0, "SZH": 84, "WXH": 126, "NJH": 301, "XCH": 649, "ZZF": 998, "XAY": 1509},
}
"""Kilometres from the line's first station."""

# number | line | F: Fuxing, S: intelligent | first departure | km/h between stops | stations in running order
_TRAINS = """
G902|京沪高铁|F|06:36|290|AOH OHH NKH JGK VNP
G906|京沪高铁|FS|08:00|300|AOH OHH NKH VNP
G910|京沪高铁||09:12|275|AOH OHH WGH NKH UUH JGK TIP VNP
G914|京沪高铁|F|10:28|285|AOH OHH NKH UUH JGK VNP
G918|京沪高铁||11:54|275|AOH OHH WGH NKH UUH JGK TIP VNP
G922|京沪高铁|F|13:05|290|AOH OHH NKH JGK VNP
G926|京沪高铁||14:10|275|AOH OHH WGH NKH UUH JGK VNP
G930|京沪高铁|FS|15:00|300|AOH OHH NKH VNP
G934|京沪高铁|F|16:18|285|AOH OHH WGH NKH JGK TIP VNP
G938|京沪高铁||17:06|275|AOH OHH NKH UUH JGK VNP
G942|京沪高铁|FS|18:30|300|AOH OHH NKH VNP
G901|京沪高铁|FS|07:00|300|VNP NKH OHH AOH
G905|京沪高铁||08:15|275|VNP TIP JGK UUH NKH WGH OHH AOH
G909|京沪高铁|F|09:40|285|VNP JGK NKH OHH AOH
G913|京沪高铁||11:20|275|VNP TIP JGK UUH NKH WGH OHH AOH
G917|京沪高铁|F|13:00|290|VNP JGK NKH OHH AOH
G921|京沪高铁|FS|14:30|300|VNP NKH OHH AOH
G925|京沪高铁||16:05|275|VNP JGK UUH NKH WGH OHH AOH
G929|京沪高铁|F|17:50|290|VNP JGK NKH OHH AOH
G952|京杭高铁|F|08:24|285|HGH NKH UUH JGK VNP
G956|京杭高铁||15:16|280|HGH NKH JGK TIP VNP
G951|京杭高铁|F|09:05|285|VNP JGK UUH NKH HGH
G955|京杭高铁||14:48|280|VNP TIP JGK NKH HGH
G961|京广高铁|F|08:00|290|BXP ZAF WHN IZQ IOQ
G963|京广高铁||10:42|280|BXP ZAF WHN IZQ
G965|京广高铁|F|14:13|285|BXP ZAF WHN IZQ IOQ
G962|京广高铁|F|07:40|290|IOQ IZQ WHN ZAF BXP
G964|京广高铁||11:18|280|IZQ WHN ZAF BXP
G966|京广高铁|F|13:55|285|IOQ IZQ WHN ZAF BXP
G967|京广高铁||07:05|280|WHN IZQ IOQ
G968|京广高铁||17:20|280|IOQ IZQ WHN
G972|沪西高铁|F|08:46|280|AOH OHH WGH NKH UUH ZAF EAY
G974|沪西高铁||13:32|275|AOH OHH NKH UUH ZAF EAY
G969|京广高铁||13:20|280|WHN IZQ IOQ
G970|京广高铁||09:05|280|IOQ IZQ WHN
G971|沪西高铁|F|08:10|280|EAY ZAF UUH NKH WGH OHH AOH
G973|沪西高铁||14:25|275|EAY ZAF UUH NKH OHH AOH
G981|沪杭高铁||08:20|260|AOH HGH
G983|沪杭高铁||12:45|260|AOH HGH
G985|沪杭高铁|F|18:05|270|AOH HGH
G982|沪杭高铁||09:30|260|HGH AOH
G984|沪杭高铁||14:50|260|HGH AOH
G986|沪杭高铁|F|20:10|270|HGH AOH
C3802|沪宁城际||07:30|240|SHH SZH WXH NJH
C3806|沪宁城际||11:10|240|SHH SZH WXH NJH
C3810|沪宁城际||16:40|240|SHH SZH WXH NJH
C3814|沪宁城际||19:55|240|SHH SZH NJH
C3801|沪宁城际||08:05|240|NJH WXH SZH SHH
C3805|沪宁城际||12:20|240|NJH WXH SZH SHH
C3809|沪宁城际||17:15|240|NJH WXH SZH SHH
C3813|沪宁城际||20:30|240|NJH SZH SHH
D3070|沪汉动车||06:48|190|AOH OHH NKH HKN
D3072|沪汉动车||07:22|190|AOH OHH WGH NKH HKN
D3076|沪汉动车||14:36|190|AOH OHH NKH HKN
D3071|沪汉动车||08:34|190|HKN NKH WGH OHH AOH
D3075|沪汉动车||15:08|190|HKN NKH OHH AOH
D712|京沪高铁||10:05|205|AOH OHH WGH NKH UUH JGK TIP VNP
D716|京沪高铁||13:40|205|AOH OHH NKH UUH JGK VNP
D711|京沪高铁||10:50|205|VNP TIP JGK UUH NKH WGH OHH AOH
T9110|京沪线||17:08|112|SHH SZH WXH NJH XCH JNK TJP BJP
T9109|京沪线||18:02|112|BJP TJP JNK XCH NJH WXH SZH SHH
Z9235|京广线||16:25|125|BXP ZZF WCN GZQ
Z9236|京广线||15:48|125|GZQ WCN ZZF BXP
K9462|陇海线||13:20|90|SHH SZH WXH NJH XCH ZZF XAY
K9461|陇海线||12:38|90|XAY ZZF XCH NJH WXH SZH SHH
"""

_FARES: dict[str, dict[str, float]] = {
    "高铁": {"商务座": 1.77, "一等座": 0.81, "二等座": 0.507},
    "动车": {"一等座": 0.48, "二等座": 0.31},
    "普速": {"软卧": 0.34, "硬卧": 0.22, "硬座": 0.126},
}
"""Yuan a kilometre. The last seat of each row is also sold without a seat (无座) once it is sold out."""

PLENTY = 20
"""Up to here the seats left are counted out, beyond it there are plenty."""


@dataclass(frozen=True, slots=True)
class Stop:
    """`arrival` is None at the first station, `departure` at the last."""

    telecode: str
    kilometre: int
    arrival: int | None
    departure: int | None


@dataclass(frozen=True, slots=True)
class Train:
    """`number` is what passengers know (G902), `train_no` what the railway's systems use, 12 characters."""

    number: str
    flags: str
    stops: tuple[Stop, ...]

    @property
    def train_no(self) -> str:
        return f"de{self.number:0>8}01"

    @property
    def kind(self) -> str:
        return {"G": "高铁", "C": "高铁", "D": "动车"}.get(self.number[0], "普速")

    def matches(self, flags: str) -> bool:
        """Whether any of the filter letters fits; none given fits all. G includes intercity trains (C)."""
        letter = self.number[0]
        own = {"G" if letter == "C" else letter if letter in "GDZTK" else "O", *self.flags}
        return not flags or not own.isdisjoint(flags)


class Seat(NamedTuple):
    name: str
    price: int
    left: int


@dataclass(frozen=True, slots=True)
class Trip:
    """A ride on one train from one of its stops to a later one."""

    train: Train
    board: Stop
    leave: Stop

    @property
    def departure(self) -> int:
        """Minutes from 00:00 of the day of boarding."""
        return (self.board.departure or 0) % DAY

    @property
    def duration(self) -> int:
        return (self.leave.arrival or 0) - (self.board.departure or 0)

    @property
    def arrival(self) -> int:
        """Minutes from 00:00 of the day of boarding; `DAY` and more is a later day."""
        return self.departure + self.duration

    def seats(self, day: date) -> tuple[Seat, ...]:
        """What is left when boarding on `day`."""
        distance = abs(self.leave.kilometre - self.board.kilometre)
        journey = f"{day}|{self.train.train_no}|{self.board.telecode}|{self.leave.telecode}"
        seats = [
            Seat(name, max(1, round(rate * distance)), _left(f"{journey}|{name}"))
            for name, rate in _FARES[self.train.kind].items()
        ]
        cheapest = seats[-1]
        standing = 0 if cheapest.left else _left(f"{journey}|无座")
        return (*seats, Seat("无座", cheapest.price, standing))


def _left(key: str) -> int:
    """Seats left: for half of the keys none, for a third up to `PLENTY`, else more."""
    roll = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4])
    match roll % 6:
        case 0 | 1 | 2:
            return 0
        case 3 | 4:
            return 1 + roll // 6 % PLENTY
        case _:
            return PLENTY + 1 + roll // 6 % 200


def clock(minutes: int) -> str:
    return f"{minutes % DAY // 60:02}:{minutes % 60:02}"


def _train(row: str) -> Train:
    number, line, flags, start, speed, route = row.split("|")
    kilometres = _LINES[line]
    dwell, loss = (2, 3) if number[0] in "GCD" else (6, 4)  # minutes at a stop, and lost by braking for it
    hour, minute = start.split(":")
    now, last = int(hour) * 60 + int(minute), None
    stops: list[Stop] = []
    telecodes = route.split()
    for telecode in telecodes:
        arrival = None
        if last is not None:
            now += round(abs(kilometres[telecode] - kilometres[last]) / int(speed) * 60) + loss
            arrival = now
            now += dwell
        departure = None if telecode == telecodes[-1] else now
        stops.append(Stop(telecode, kilometres[telecode], arrival, departure))
        last = telecode
    return Train(number, flags, tuple(stops))


TRAINS: tuple[Train, ...] = tuple(_train(row) for row in _TRAINS.split("\n")[1:-1])
TRAIN_BY_NO = {train.train_no: train for train in TRAINS}


def scope(telecode: str) -> frozenset[str]:
    """The stations a telecode means in a search: all of a city for the one that stands for it, else itself.

    Raises KeyError for a telecode that no station has.
    """
    station = STATION_BY_TELECODE[telecode]
    if CITY_BY_NAME[station.city].telecode != telecode:
        return frozenset({telecode})
    return frozenset(s.telecode for s in STATIONS if s.city == station.city)


def trips(origins: frozenset[str], destinations: frozenset[str]) -> list[Trip]:
    """Every direct ride between two sets of stations, by departure."""
    found = [
        Trip(train, board, leave)
        for train in TRAINS
        for index, board in enumerate(train.stops)
        if board.telecode in origins
        for leave in train.stops[index + 1 :]
        if leave.telecode in destinations
    ]
    return sorted(found, key=lambda trip: (trip.departure, trip.duration))
