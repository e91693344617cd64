"""Which tool a question is about: the one whose name and description share most words with it.

Words are English words and pairs of Chinese characters. A word counts the more the fewer tools have it, and
three times as much in a tool's name. A table of everyday expressions says which words people mean by them.
"""

import re
from collections import Counter
from collections.abc import Sequence

from mcphost.demo.dates import without_days
from mcphost.demo.toolbox import Function, short_name

NAME_WEIGHT = 3.0
ENOUGH = 0.9
"""The score that a tool needs to be taken."""

_EVERYDAY: tuple[tuple[str, str], ...] = (
    (
        r"天气|气温|多少度|冷不冷|热不热|下雨|下雪|带伞|\bweather\b|\bforecast\b|\brain|\btemperature\b",
        "weather 天气",
    ),
    (r"几号|星期几|周几|日期|\bwhat (?:day|date)\b|\bdate\b|\btoday\b(?=\W*$)", "current date 日期"),
    (r"怎么走|怎么去|路线|\bdirections?\b|\broute\b|\bget (?:from|to)\b|\bgo from\b", "direction 怎么走"),
    (r"开车|驾车|打车|自驾|\bdriv|\bby car\b", "driving direction 驾车"),
    (r"走路|步行|走过去|走着|\bwalk|\bon foot\b", "walking direction 步行"),
    (r"骑车|骑行|自行车|单车|\bbik|\bcycl|\bbicycl", "bicycling 骑行"),
    (
        r"公交|地铁|公共交通|\btransit\b|\bbus\b|\bsubway\b|\bmetro\b|\bpublic transport",
        "transit direction 公交",
    ),
    (r"多远|距离|多少公里|\bhow far\b|\bdistance\b", "distance 距离"),
    (r"附近|周边|周围|旁边|[里米]以?内|\bnearby\b|\baround\b|\bnear\b", "around 周边"),
    (r"在哪|坐标|经纬度|位置|\bwhere\b|\bcoordinates?\b|\blocate\b|\blocation\b", "geo 坐标"),
    (r"有(?:什么|哪些)|搜索?|找|\bsearch\b|\bfind\b|\blook for\b", "search 搜索"),
    (r"详情|详细|\bdetails?\b", "detail 详情"),
    (r"站.*(?:代码|编码|电报码)", "station code names 电报码"),
    (r"\bstation codes?\b", "station code"),
    (r"\b[A-Z]{3}\s*(?:站|是哪)|\bstation [A-Z]{3}\b", "telecode 反查"),
    (r"\d+(?:\.\d+){3}|(?<![A-Za-z])IP(?![A-Za-z])", "ip location"),
    (r"\d\.\d+\s*[,，]\s*\d+\.\d+.*(?:哪|什么地方|地址)|\bwhere is \d|\baddress of \d", "regeocode 反查"),
    (
        r"(?:哪些|几个|所有|全部).*(?:火车站|车站)|\bstations in\b|\b(?:all|which) stations\b",
        "stations in city 火车站",
    ),
    (r"经停|停靠|停哪|哪些站|\bstops?\b", "route stations 停哪"),
    (r"思考|想一想|\bthink\b", "think"),
)
_STOP = frozenset(
    "a an the of in on at to for from by with is are was be do does did can could would will please me my i "
    "you it what which who how when there this that these those and or not any some show tell give get know "
    "want need tool use call run".split()
)
_STOP_PAIRS = frozenset(
    ["一个", "一下", "什么", "怎么", "多少", "哪些", "可以", "请问", "帮我", "我想", "看看", "告诉", "的是"]
)
_ENGLISH = re.compile(r"[a-z]+|\d+")
_CHINESE = re.compile(r"[一-鿿]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def words(text: str) -> set[str]:
    """The words of `text` that can tell tools apart."""
    english = {
        _stem(w) for w in _ENGLISH.findall(_CAMEL.sub(" ", text).lower()) if w not in _STOP and len(w) > 1
    }
    runs: list[str] = _CHINESE.findall(text)
    pairs = {run[i : i + 2] for run in runs for i in range(len(run) - 1)}
    return english | (pairs - _STOP_PAIRS)


def asked_words(question: str) -> set[str]:
    """The words of a question, with what everyday expressions stand for. Days do not count."""
    meant = [meaning for pattern, meaning in _EVERYDAY if re.search(pattern, question, re.IGNORECASE)]
    return words(without_days(question)) | words(" ".join(meant))


def _named(question: str, functions: Sequence[Function]) -> Function | None:
    """The tool whose name is written out in the question; the longest where one holds another."""
    said = question.lower().replace("-", "_")
    names = [
        (name.lower().replace("-", "_"), f) for f in functions for name in (f.name, short_name(f, functions))
    ]
    found = [
        (name, f)
        for name, f in names
        if len(name) > 2 and re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", said)
    ]
    return max(found, key=lambda pair: len(pair[0]), default=("", None))[1]


def choose(question: str, functions: Sequence[Function]) -> Function | None:
    """The tool that fits best, None when none does."""
    if named := _named(question, functions):
        return named
    asked = asked_words(question)
    in_names = [words(short_name(function, functions)) for function in functions]
    in_all = [names | words(f.description) for names, f in zip(in_names, functions, strict=True)]
    known_to = Counter(word for every in in_all for word in every)
    scores = [
        sum((NAME_WEIGHT if word in names else 1.0) / known_to[word] for word in asked & every)
        for names, every in zip(in_names, in_all, strict=True)
    ]
    best = max(range(len(functions)), key=lambda index: scores[index], default=None)
    return functions[best] if best is not None and scores[best] >= ENOUGH else None
