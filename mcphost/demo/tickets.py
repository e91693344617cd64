"""The part of the script that answers questions about trains.

Date → station codes → tickets → answer, one step a request: which step is next shows in the results that are
already there. The answer is put together from the text that the ticket tool gave, and from nothing else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from mcphost.demo.data import CITY_BY_NAME, STATION_BY_NAME
from mcphost.demo.present import failures
from mcphost.demo.script import Do, Planned, Reply, Say, call
from mcphost.demo.tool import weekday
from mcphost.demo.toolbox import Function, find_tool, is_tool
from mcphost.demo.turn import Turn, read_json
from mcphost.demo.wish import Wish, understand
from mcphost.jsontext import as_object

_DATE, _CITIES, _STATIONS = "get-current-date", "get-station-code-of-citys", "get-station-code-by-names"
_TICKETS, _INTERLINE = "get-tickets", "get-interline-tickets"

_RIDE = re.compile(
    r"^(?P<number>\w+)（train_no: \w+）(?P<board>\S+?)\[\w+\] (?P<start>\d\d):(?P<minute>\d\d) 开 → "
    r"(?P<leave>\S+?)\[\w+\] (?P<end>\d\d:\d\d) 到(?P<later>（[^）]*）)?，"
    r"全程 (?P<duration>\S+)\n +(?P<seats>.+)$",
    re.M,
)
_SOLD_OUT = "售完"
_SEATS_IN_ENGLISH = {
    "商务座": "business",
    "一等座": "first class",
    "二等座": "second class",
    "无座": "standing",
    "软卧": "soft sleeper",
    "硬卧": "hard sleeper",
    "硬座": "hard seat",
}
_NOTE_IN_ENGLISH = (
    "(Demo data: all of it is invented, and the whole day is listed, whatever the time is now.)"
)
_KINDS = {"G": ("高铁", "high-speed trains"), "D": ("动车", "D trains")}


@dataclass(frozen=True, slots=True)
class _Ride:
    """One train of a ticket result. `seats` are (name, price, left), each as written there."""

    number: str
    board: str
    leave: str
    minutes: int
    end: str
    duration: str
    seats: tuple[tuple[str, str, str], ...]

    @property
    def start(self) -> str:
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}"

    @property
    def left(self) -> list[tuple[str, str, str]]:
        return [seat for seat in self.seats if seat[2] != _SOLD_OUT]


def _ride(match: re.Match[str]) -> _Ride:
    seats = (seat.split(" ") for seat in match["seats"].split("；"))
    return _Ride(
        match["number"],
        match["board"],
        match["leave"],
        int(match["start"]) * 60 + int(match["minute"]),
        match["end"] + (match["later"] or ""),
        match["duration"],
        tuple((seat[0], seat[1], seat[2]) for seat in seats if len(seat) == 3),
    )


def answer_about_trains(turn: Turn, functions: Sequence[Function]) -> Reply | None:
    """The next step of a question about trains; None when it is none, or the tools for it are missing."""
    tools = {raw: find_tool(functions, raw) for raw in (_DATE, _CITIES, _TICKETS)}
    wish = understand(turn)
    dates, cities, tickets = tools.values()
    if wish is None or dates is None or cities is None or tickets is None:
        return None
    if not wish.complete:
        return Say(_ask(wish, turn.english))
    if failed := failures(turn):
        return Say(failed)
    today_text = _last(turn, _DATE)
    if today_text is None:
        return call(dates)
    codes = _codes(turn)
    if not codes:
        return _look_up(wish, cities, find_tool(functions, _STATIONS))
    return _with_codes(turn, wish, today_text, codes, _ticket_tool(wish, tickets, functions))


def _ticket_tool(wish: Wish, tickets: Function, functions: Sequence[Function]) -> Function:
    return (find_tool(functions, _INTERLINE) if wish.change else None) or tickets


def _last(turn: Turn, *raws: str) -> str | None:
    """The text of the last result of one of these tools in this turn."""
    texts = [step.text for step in turn.steps if any(is_tool(step.name, raw) for raw in raws)]
    return texts[-1] if texts else None


def _ask(wish: Wish, english: bool) -> str:
    if wish.origin is None and wish.destination is None:
        return (
            "Which cities, from where to where?"
            if english
            else "请问从哪里到哪里？例如：明天从苏州到北京的高铁票。"
        )
    if wish.origin is None:
        return (
            f"Where do you start for {wish.destination}?"
            if english
            else f"请问从哪里出发去{wish.destination}？"
        )
    return f"Where do you want to go from {wish.origin}?" if english else f"请问从{wish.origin}去哪里？"


def _is_station(name: str) -> bool:
    """Whether a name is that of one station rather than of a city."""
    bare = name.removesuffix("站")
    return bare not in CITY_BY_NAME and (bare != name or bare in STATION_BY_NAME)


def _look_up(wish: Wish, cities: Function, stations: Function | None) -> Do:
    """Ask for the codes of both ends: in one call, or two side by side for a city and a station."""
    ends = [end for end in (wish.origin, wish.destination) if end]
    named = [end for end in ends if stations and _is_station(end)]
    calls: list[Planned] = []
    if len(named) < len(ends):
        calls.append(Planned(cities.name, {"citys": "|".join(end for end in ends if end not in named)}))
    if stations and named:
        calls.append(Planned(stations.name, {"stationNames": "|".join(named)}))
    return Do(tuple(calls))


def _codes(turn: Turn) -> dict[str, str]:
    """Names and their station codes, from the results of this turn."""
    codes: dict[str, str] = {}
    for step in turn.steps:
        if is_tool(step.name, _CITIES) or is_tool(step.name, _STATIONS):
            for name, about in (as_object(read_json(step.text)) or {}).items():
                codes[name] = str((as_object(about) or {}).get("station_code") or "")
    return codes


def _with_codes(turn: Turn, wish: Wish, today_text: str, codes: dict[str, str], tickets: Function) -> Reply:
    origin, destination = str(wish.origin), str(wish.destination)
    missing = [name for name in (origin, destination) if not codes.get(name)]
    if missing:
        names = "、".join(missing)
        return Say(
            f"I got no station code for {names}."
            if turn.english
            else f"没有查到{names}的车站编码，无法查票。"
        )
    try:
        today = date.fromisoformat(today_text.strip())
        day = wish.day.resolve(today) if wish.day else today
    except (ValueError, OverflowError):
        what = wish.day.text if wish.day else today_text
        return Say(
            f"There is no such day as {what}." if turn.english else f"没有“{what}”这一天，请换个日期。"
        )
    found = _last(turn, _TICKETS, _INTERLINE)
    if found is not None:
        return Say(_answer(wish, found, today, day, english=turn.english))
    arguments = {"date": day.isoformat(), "fromStation": codes[origin], "toStation": codes[destination]}
    options = {"trainFilterFlags": wish.flags, "sortFlag": wish.sort, "showWZ": wish.change}
    return call(tickets, **arguments, **{key: value for key, value in options.items() if value})


def _day_name(today: date, day: date) -> str:
    relative = {0: "今天", 1: "明天", 2: "后天"}.get((day - today).days)
    names = [name for name in (relative, weekday(day)) if name]
    return f"{day}（{'，'.join(names)}）"


def _answer(wish: Wish, text: str, today: date, day: date, *, english: bool) -> str:
    rides = [_ride(match) for match in _RIDE.finditer(text)]
    if not rides or wish.change:
        return text
    window = wish.window
    inside = [ride for ride in rides if window is None or window.start <= ride.minutes < window.end]
    last_line = text.rstrip().rsplit("\n", 1)[-1]
    note = (_NOTE_IN_ENGLISH if english else last_line) if "演示数据" in last_line else ""
    compose = _in_english if english else _in_chinese
    return f"{compose(wish, rides, inside, today, day)}\n\n{note}".rstrip()


def _in_chinese(wish: Wish, rides: list[_Ride], inside: list[_Ride], today: date, day: date) -> str:
    part = wish.window.text if wish.window else ""
    kind = _KINDS.get(wish.flags, ("火车", ""))[0]
    journey = f"{_day_name(today, day)}{part}从{wish.origin}到{wish.destination}"
    if not inside:
        times = "、".join(f"{ride.number}（{ride.start}）" for ride in rides)
        return f"{journey}没有{kind}。这一天其他时段有 {len(rides)} 趟：{times}。"
    open_, full = [r for r in inside if r.left], [r for r in inside if not r.left]
    if not open_:
        listed = "、".join(f"{r.number}（{r.start}–{r.end}）" for r in full)
        return f"{journey}的{kind}票已经售完：{len(full)} 趟车 {listed} 都没有余票。可以换个时段或日期再问。"
    lines = [
        f"{number}. **{r.number}** {r.board} {r.start} → {r.leave} {r.end}，历时 {r.duration}："
        + "，".join(f"{name} {price} {left}" for name, price, left in r.left)
        for number, r in enumerate(open_, 1)
    ]
    sold = f"\n\n已售完：{'、'.join(f'{r.number}（{r.start}）' for r in full)}。" if full else ""
    return (
        f"{journey}还有{kind}票，{len(inside)} 趟车里有 {len(open_)} 趟可买：\n\n" + "\n".join(lines) + sold
    )


def _english(seat: tuple[str, str, str]) -> str:
    name, price, left = seat
    amount = re.sub(r"余(\d+)张", r"\1 left", left).replace("余票充足", "plenty left")
    return f"{_SEATS_IN_ENGLISH.get(name, name)} ¥{price.removesuffix('元')} ({amount})"


def _time(text: str) -> str:
    return re.sub(r"（第(.)天）", r" (day \1)", text).replace("小时", " h ").replace("分", " min")


def _in_english(wish: Wish, rides: list[_Ride], inside: list[_Ride], today: date, day: date) -> str:
    kind = _KINDS.get(wish.flags, ("", "trains"))[1]
    journey = f"from {wish.origin} to {wish.destination} on {day:%A} {day}"
    if wish.window:
        journey += f" ({wish.window.text})"
    if not inside:
        times = ", ".join(f"{ride.number} ({ride.start})" for ride in rides)
        return f"There are no {kind} {journey}. At other times that day: {times}."
    open_, full = [r for r in inside if r.left], [r for r in inside if not r.left]
    if not open_:
        listed = ", ".join(f"{r.number} ({r.start})" for r in full)
        return f"All {kind} {journey} are sold out: {listed}."
    lines = [
        f"{number}. **{r.number}** {r.board} {r.start} → {r.leave} {_time(r.end)}, {_time(r.duration)}: "
        + ", ".join(_english(seat) for seat in r.left)
        for number, r in enumerate(open_, 1)
    ]
    sold = f"\n\nSold out: {', '.join(f'{r.number} ({r.start})' for r in full)}." if full else ""
    return f"{len(open_)} of {len(inside)} {kind} {journey} have seats:\n\n" + "\n".join(lines) + sold
