"""Values for a tool's parameters, found in the text of a question.

What a parameter means is told by its name and its description: a date, a point, a city. A value of that kind
is looked for in the text; None where there is none.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcphost.demo import phrases
from mcphost.demo.dates import find_day, without_days

Schema = Mapping[str, Any]

# meaning, pattern of the parameter's name, pattern of its description
_MEANINGS: tuple[tuple[str, str, str], ...] = (
    ("ip", r"^ip(_?address)?$", r"^IP\b"),
    ("date", r"date$|^day$", r"yyyy-MM-dd|\d{4}-\d\d-\d\d"),
    ("point", r"^(coordinates?|lnglat|lonlat)$", r"坐标|经纬度|经度|longitude|coordinate"),
    ("radius", r"^radius$", r"半径|radius"),
    ("station code", r"telecode$|Telecode$|^(from|to|middle)Station$", r"电报码|station_code"),
    ("station", r"^stationNames?$", r"^车站名|station name"),
    ("city", r"^cit(y|ys|ies|yd)$|^city_?name$", r"^城市|^city"),
    ("place", r"^(address|place|location)$", r"地址|地名|address|place name"),
    ("url", r"^ur[li]$|_ur[li]$", r"^URL|网址"),
    ("path", r"path$|^file(name)?$|^dir(ectory)?$", r"path to|路径"),
    ("email", r"e?mail$", r"e-?mail|邮箱"),
    ("code", r"(?:^|_)id$|[a-z]Id$|No$", r"\bID\b"),
    (
        "text",
        r"^(keywords?|query|q|text|message|content|thought|prompt|input|question|search|expression)$",
        r"$^",
    ),
)
_SHAPES: Mapping[str, str] = {
    "ip": r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"
    r"|(?<![\w:])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])",
    "station code": r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])",
    "url": r"https?://[^\s，。]+",
    "path": r"(?<!\w)(?:~|\.{1,2})?/[\w./-]+|(?<!\w)[\w/-]+(?:\.\w{1,5})+(?!\w)",
    "email": r"(?<!\w)[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "code": r"(?<![A-Za-z0-9])(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{4,}(?![A-Za-z0-9])",
}
_RADIUS = re.compile(r"(\d+(?:\.\d+)?)\s*(公里|千米|km|米|m)(?![a-z])", re.I)
_NEARBY = re.compile(
    r"(?:附近|周边|周围|旁边|[里米]以?内)(?:有|没有|什么|哪些|的)*"
    r"((?!有|没|什么|哪些|好玩|的)[一-鿿]{2,6}?)(?:吗|呢|$|[，。？！,.?])"
)
_NEARBY_IN_ENGLISH = re.compile(r"\b(\w+?)s?\s+(?:near|around)\b")
_ASKING = re.compile(
    r"[，。？！,.?!:：]|天气|气温|怎么样|如何|在哪里?|坐标|经纬度|位置|附近|周边|有(?:什么|哪些|没有)|搜索|搜|找|查询|查|的|吗|呢"
    r"|是多少|预报|冷不冷|热不热|下雨|几度|多少度"
)
_ASKING_IN_ENGLISH = re.compile(
    r"^(?:what|where|how|is|are|the|weather|search|find|coordinates|for|in|of|near|around|nearby|\s)+\b", re.I
)


@dataclass(slots=True)
class Material:
    """What the arguments may be taken from. What is taken is gone, so that two parameters get two values.

    `word` is the tool's short name. `points` are coordinates and `cities` those that were looked up for the
    places of the question, which come before those in its text; `former` are cities spoken of earlier.
    """

    text: str
    word: str = ""
    points: list[str] = field(default_factory=list[str])
    cities: list[str] = field(default_factory=list[str])
    former: list[str] = field(default_factory=list[str])
    quoted: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.points = self.points or phrases.coordinates(self.text)
        self.quoted = phrases.quoted(self.text)


def meaning(name: str, schema: Schema) -> str:
    """What a string parameter holds; "" when neither its name nor its description tells."""
    description = str(schema.get("description") or "")
    return next(
        (
            kind
            for kind, in_name, in_description in _MEANINGS
            if re.search(in_name, name) or re.search(in_description, description)
        ),
        "",
    )


def rest(text: str) -> str:
    """What is left of a question without days and the words of asking: often the thing itself."""
    left = phrases.strip_filler(_ASKING.sub(" ", without_days(text)))
    return " ".join(_ASKING_IN_ENGLISH.sub("", left).split())


def places(text: str) -> list[str]:
    """The places that a question is about: its two ends, what it quotes or names, or what is left of it."""
    ends = [end for end in phrases.route(text) if end]
    if len(ends) == 2:
        return ends
    if quoted := phrases.quoted(text):
        return quoted
    known_cities = phrases.cities(text)
    if points_of_interest := [name for name in phrases.names(text) if name not in known_cities]:
        return points_of_interest
    before = re.match(r"(.+?)(?:的?附近|的?周边|周围|旁边|\s*\d+\s*(?:公里|千米|米)内)", text)
    left = rest(before[1] if before else text)
    return [piece.strip() for piece in re.split(r"和|与|、|\band\b", left) if piece.strip()]


def _joined(found: Sequence[str], schema: Schema) -> str | None:
    """All of `found` when the parameter takes several, separated by |, else the first."""
    if not found:
        return None
    return "|".join(found) if "|" in str(schema.get("description") or "") else found[0]


def _cities(material: Material) -> list[str]:
    if material.cities:
        return material.cities
    if known := phrases.cities(material.text):
        return known
    if match := re.search(r"\b(?:in|of|for|at)\s+([A-Z][\w'’]*(?:\s+[A-Z][\w'’]*)*)", material.text):
        return [match[1]]
    left = rest(material.text)
    return [left] if re.fullmatch(r"[一-鿿]{2,6}|[A-Z][a-z'’]+|\d{6}", left) else material.former[:1]


def _city(material: Material, schema: Schema) -> str | None:
    found = _cities(material)
    material.cities = found[1:] or found
    return _joined(found, schema)


def _place(material: Material, schema: Schema) -> str | None:
    return material.quoted.pop(0) if material.quoted else next(iter(places(material.text)), None)


def _point(material: Material, schema: Schema) -> str | None:
    """The next point; all but the last for a parameter that takes several."""
    if not material.points:
        return None
    several = len(material.points) > 2 and "|" in str(schema.get("description") or "")
    count = len(material.points) - 1 if several else 1
    taken, material.points = material.points[:count], material.points[count:]
    return "|".join(taken)


def _date(material: Material, schema: Schema) -> str | None:
    word = find_day(material.text)
    return word.text if word and re.fullmatch(r"\d{4}-\d\d-\d\d", word.text) else None


def _radius(material: Material, schema: Schema) -> str | None:
    match = _RADIUS.search(material.text)
    if match is None:
        return None
    return str(round(float(match[1]) * (1000 if match[2].lower() in ("公里", "千米", "km") else 1)))


def _station(material: Material, schema: Schema) -> str | None:
    left = re.sub(r"(?:车站)?(?:电报码|代码|编码)|station codes?", " ", rest(material.text))
    return _joined([name for name in re.findall(r"[一-鿿]+?站|[一-鿿]+", left) if len(name) > 1], schema)


_FINDERS: Mapping[str, Callable[[Material, Schema], str | None]] = {
    "city": _city,
    "place": _place,
    "point": _point,
    "date": _date,
    "radius": _radius,
    "station": _station,
}


def _shaped(kind: str, material: Material) -> str | None:
    match = re.search(_SHAPES[kind], material.text)
    if match is None:
        return None
    material.text = material.text.replace(match[0], " ", 1)
    return match[0]


def _free_text(material: Material) -> str | None:
    """Quoted text, or what follows the tool's name or a colon, or what is left of the question."""
    if material.quoted:
        return material.quoted.pop(0)
    begins = rf"\b{re.escape(material.word)}\b[:：]?|[:：]" if material.word else r"[:：]"
    after = re.search(rf"(?:{begins})\s*(\S.*)$", material.text, re.I | re.S)
    return (after[1] if after else rest(material.text)).strip() or None


def nearby(text: str) -> str | None:
    """What is looked for near something: 附近有什么公园, museums near it."""
    match = _NEARBY.search(text) or _NEARBY_IN_ENGLISH.search(text)
    return match[1] if match else None


def find(kind: str, schema: Schema, material: Material) -> str | None:
    """A value of this meaning, taken from the material; free text where the meaning is not known."""
    if kind in _FINDERS:
        return _FINDERS[kind](material, schema)
    return _shaped(kind, material) if kind in _SHAPES else _free_text(material)
