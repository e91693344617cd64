"""What can be read out of a question without understanding it: places, routes, coordinates, quoted text.

Names of cities and stations are those of the demo's data; others are found by where they stand in a sentence.
"""

import re
from typing import NamedTuple

from mcphost.demo.data import CITIES, PLACES, STATIONS
from mcphost.demo.dates import without_days

_LETTER = r"[^\W\d_a-zA-Z的到去从至往吗呢吧怎]"  # of a Chinese name: no particle that would end it
_MEANS = r"高铁|动车|城际|火车|列车|特快|直达|开车|驾车|打车|骑|走路|步行|公交|地铁"
_SEATS = r"商务座|[一二]等座|[软硬][座卧]|无座"
_PARTICLES = r"的|吗|呢|吧|啊|还?有|票|怎|多|要|需|坐|乘|最|余|换乘|中转|附近|之间|如何|查|哪"
_END = rf"(?=\s|$|[，。？！、,.?!]|{_PARTICLES}|{_MEANS}|{_SEATS})"
_ROUTE = re.compile(
    rf"(?P<from>从|由|自)?\s*(?P<a>{_LETTER}{{2,12}}?)\s*(?:出发|坐车|乘车|开车|骑车)?\s*"
    rf"(?:前往|到|去|至|往|飞|→|—+|-+>?|~)\s*(?P<b>{_LETTER}{{2,10}}?){_END}"
)
_TO = re.compile(rf"(?:前往|到|去|往|飞)\s*(?P<b>{_LETTER}{{2,10}}?){_END}")
_FROM = re.compile(rf"(?:从|由)\s*(?P<a>{_LETTER}{{2,10}}?)(?:出发|开|走|{_END[3:-1]})")

_WORD = r"[A-Za-z][\w'’-]*"
_ENGLISH_END = (
    r"(?=\s*(?:[,.?!;]|$)|\s+(?:on|by|at|this|next|in|for|after|before|please|with|and|high|bullet|trains?|tickets?"
    r"|is|are|take|what|which|via|leaving|departing)\b)"
)
_NAMES = rf"{_WORD}(?:\s+{_WORD}){{0,4}}?"
_ENGLISH_ROUTE = re.compile(
    rf"\b(?:from|between)\s+(?P<a>{_NAMES})\s+(?:to|and)\s+(?P<b>{_NAMES}){_ENGLISH_END}", re.I
)
_ENGLISH_PAIR = re.compile(r"\b(?P<a>[A-Z][\w'’]*)\s+to\s+(?P<b>[A-Z][\w'’]*)")
_ENGLISH_TO = re.compile(rf"\bto\s+(?P<b>[A-Z][\w'’]*(?:\s+[A-Z][\w'’]*)*){_ENGLISH_END}")
_ENGLISH_FROM = re.compile(rf"\bfrom\s+(?P<a>[A-Z][\w'’]*(?:\s+[A-Z][\w'’]*)*){_ENGLISH_END}")

_FILLER = re.compile(
    r"^(?:请问|请|麻烦|帮我|帮忙|给我|我们|我|想要|想|需要|要|打算|准备|查一下|查询|查|看一下|看看|看|问一下|问|买一张|买"
    r"|订|告诉|知道|一下|有没有|还有|有|那么|那|坐|乘|下|了|张|趟|把|是|在)+"
)

KNOWN = sorted(
    {
        *(name for city in CITIES for name in (city.name, city.pinyin)),
        *(station.name for station in STATIONS),
        *(name for place in PLACES for name in (place.name, place.english)),
    },
    key=len,
    reverse=True,
)
_KNOWN = re.compile("|".join(rf"\b{re.escape(n)}\b" if n.isascii() else re.escape(n) for n in KNOWN), re.I)
_CITY_NAMES = {name.lower() for city in CITIES for name in (city.name, city.pinyin)}

_COORDINATES = re.compile(r"(?<![\d.])(-?\d{1,3}(?:\.\d+)?)\s*[,，]\s*(-?\d{1,3}(?:\.\d+)?)(?![\d.])")
_QUOTED = re.compile(r"“([^”]+)”|「([^」]+)」|《([^》]+)》|\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")


class Route(NamedTuple):
    """Where from and where to; None for an end that is not said."""

    origin: str | None
    destination: str | None


def names(text: str) -> list[str]:
    """The known cities, stations and places in `text`, each once, as written."""
    return list(dict.fromkeys(match[0] for match in _KNOWN.finditer(text)))


def cities(text: str) -> list[str]:
    """The known cities in `text`, by themselves: not those that are the beginning of a station's name."""
    return [name for name in names(text) if name.lower() in _CITY_NAMES]


def strip_filler(text: str) -> str:
    """A phrase without the words that people begin a request with."""
    return _FILLER.sub("", text.strip())


def _name(phrase: str | None) -> str | None:
    """The name at the end of what was matched: 帮我看看苏州 → 苏州."""
    if phrase is None:
        return None
    phrase = strip_filler(phrase).strip(" '’")
    known = [name for name in names(phrase) if phrase.endswith(name)]
    name = known[-1] if known else phrase
    return name.removesuffix("市") if len(name) > 2 else name or None


def route(text: str) -> Route:
    """The two ends of a way that `text` speaks of, or one of them, or none."""
    text = without_days(text, " , " if text.isascii() else " ")
    for pattern in (_ROUTE, _ENGLISH_ROUTE, _ENGLISH_PAIR):
        if (match := pattern.search(text)) and (a := _name(match["a"])) and (b := _name(match["b"])):
            return Route(a, b)
    origin, destination = (_first(text, "a", _FROM, _ENGLISH_FROM), _first(text, "b", _TO, _ENGLISH_TO))
    return Route(origin, destination)


def _first(text: str, group: str, *patterns: re.Pattern[str]) -> str | None:
    found = (pattern.search(text) for pattern in patterns)
    return next((_name(match[group]) for match in found if match), None)


def coordinates(text: str) -> list[str]:
    """Every `longitude,latitude` in `text`."""
    return [f"{match[1]},{match[2]}" for match in _COORDINATES.finditer(text)]


def quoted(text: str) -> list[str]:
    """What stands in quotation marks, without them."""
    return [next(group for group in match.groups() if group) for match in _QUOTED.finditer(text)]
