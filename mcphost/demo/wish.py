"""What somebody who asks about trains wants: from the question, and from what was asked before it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from mcphost.demo.data import PLACES
from mcphost.demo.dates import DayWord, Window, find_day, find_window, without_days
from mcphost.demo.phrases import Route, names, route, strip_filler
from mcphost.demo.turn import Turn

_TICKET = re.compile(r"票|\btickets?\b", re.I)
_TRAIN = re.compile(
    r"高铁|动车|城际|火车|列车|车次|特快|快车|\btrains?\b|\brail(?:way)?\b|\bhigh[- ]speed\b", re.I
)
_OTHER = re.compile(
    r"怎么走|多远|距离|开车|驾车|步行|走路|骑|地铁|公交|公共交通|经停|停靠|停哪|代码|电报码|坐标"
    r"|\bhow far\b|\bdistance\b|\bstation codes?\b|\bsubway\b|\bbus\b",
    re.I,
)
_CHANGE = re.compile(r"中转|换乘|转车|\btransfer\b|\bconnections?\b|\bchange trains\b|\binterline\b", re.I)

_FLAGS: tuple[tuple[str, str], ...] = (
    (r"高铁|城际|\bhigh[- ]speed\b|\bbullet\b", "G"),
    (r"动车", "D"),
    (r"直达特快|直特", "Z"),
    (r"(?<!直达)特快", "T"),
    (r"快速列车|快车", "K"),
    (r"复兴号|\bfuxing\b", "F"),
    (r"智能动车|智能高铁", "S"),
)
_SORTS: tuple[tuple[str, str], ...] = (
    (r"最快|用时最短|\bfastest\b|\bquickest\b", "duration"),
    (r"最早到|\barrives? first\b", "arriveTime"),
    (r"最早|\bearliest\b", "startTime"),
)
_NOTHING_ELSE = re.compile(
    r"换乘|中转|转车|如果|改成|换成|出发|[\s，。？！、,.?!的呢吗吧啊有还没要那就和到去从往站市票车]|查|看|怎么样|高铁|动车|火车|特快|最[快早]"
    r"|\b(?:what|how|about|and|of|on|for|the|to|from|in|is|are|there|any|trains?|tickets?|instead)\b",
    re.I,
)

_SIGHTS = frozenset(
    name for place in PLACES for name in (place.name, place.english) if place.kind != "火车站"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """`flags` are 12306's letters for kinds of train, `sort` its `sortFlag`; `change`: by changing trains."""

    origin: str | None = None
    destination: str | None = None
    day: DayWord | None = None
    window: Window | None = None
    flags: str = ""
    sort: str = ""
    change: bool = False

    @property
    def complete(self) -> bool:
        return self.origin is not None and self.destination is not None


def _first(text: str, table: tuple[tuple[str, str], ...]) -> str:
    return next((value for pattern, value in table if re.search(pattern, text, re.I)), "")


def _read(text: str) -> Wish:
    origin, destination = route(text)
    flags = "".join(value for pattern, value in _FLAGS if re.search(pattern, text, re.I))
    return Wish(
        origin,
        destination,
        find_day(text),
        find_window(text),
        flags,
        _first(text, _SORTS),
        _CHANGE.search(text) is not None,
    )


def _about_trains(text: str) -> bool:
    if _OTHER.search(text):
        return False
    if _TICKET.search(text):
        return True
    ends = route(text)
    if ends == Route(None, None):
        return False
    return bool(_TRAIN.search(text) or _CHANGE.search(text)) or _only_a_journey(text, ends)


def _only_a_journey(text: str, ends: Route) -> bool:
    """Whether a message gives the two ends of a way and at most a time: 后天从上海到杭州."""
    sights = _SIGHTS.intersection(ends)
    follows_up = re.search(r"呢\W*$|^那|\b(?:what|how) about\b", text)
    return None not in ends and not sights and not follows_up and only_details(text)


def only_details(text: str) -> bool:
    """Whether a message says nothing but where, when and what kind: 那明天下午呢？"""
    rest = strip_filler(without_days(text))
    for name in names(rest):
        rest = rest.replace(name, " ")
    return not _NOTHING_ELSE.sub("", rest)


def _with_ends(wish: Wish, earlier: Sequence[str]) -> Wish:
    """`wish` with the ends that it leaves open from earlier questions about trains, the newest first."""
    for text in earlier:
        if wish.complete:
            break
        if _about_trains(text):
            origin, destination = route(text)
            wish = replace(wish, origin=wish.origin or origin, destination=wish.destination or destination)
    return wish


def _refined(wish: Wish, text: str) -> Wish:
    """`wish` with what a message adds that gives only details: 那明天下午呢？

    A bare name is where from when only that was open, else where to.
    """
    new, found = _read(text), names(text)
    if len(found) == 1 and new.origin is None and new.destination is None:
        opened = "origin" if wish.origin is None else "destination"
        new = replace(new, **{opened: found[0]})
    return Wish(
        new.origin or wish.origin,
        new.destination or wish.destination,
        new.day or wish.day,
        new.window or wish.window,
        new.flags or wish.flags,
        new.sort or wish.sort,
        new.change or wish.change,
    )


def former_question(turn: Turn) -> str:
    """The last thing that was asked in full before this question; "" when nothing was."""
    return next((text for text in turn.earlier if _about_trains(text) or not only_details(text)), "")


def understand(turn: Turn) -> Wish | None:
    """What trains are asked for; None when the question is about something else.

    A question that gives only details adds them to the last question about trains: the one just before,
    or any earlier one when it speaks of trains itself.
    """
    said = (turn.question, *turn.earlier)
    asked = next((index for index, text in enumerate(said) if _about_trains(text)), None)
    if asked is None or (asked > 0 and not only_details(turn.question)):
        return None
    between = list(takewhile(only_details, said[:asked]))
    if len(between) < asked:  # something else was asked since
        if not _TRAIN.search(turn.question):
            return None
        between = [turn.question]
    wish = _with_ends(_read(said[asked]), said[asked + 1 :])
    for text in reversed(between):
        wish = _refined(wish, text)
    return wish
