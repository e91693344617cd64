"""What the map server answers about places: one function a tool, from its arguments to its result (JSON).

Nothing is guessed: an address that is not in the data, a point outside the cities covered or a made-up id is
a `Refusal` that says what is known, never the nearest thing that happens to look alike.
"""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from mcphost.demo.data import CITIES, KINDS, PLACES, City, Place, city_names, find_city, spelling
from mcphost.demo.geography import centre, city_around, covered_point, nearest_place, straight, where
from mcphost.demo.tool import Refusal, today, weekday
from mcphost.demo.weather import forecast

Arguments = Mapping[str, Any]

FORECAST_DAYS = 4
MAX_RADIUS = 50_000

_PUBLIC_RESOLVERS: dict[str, str] = {
    "114.114.114.114": "南京",
    "119.29.29.29": "深圳",
    "180.76.76.76": "北京",
    "202.96.209.5": "上海",
    "223.5.5.5": "杭州",
    "223.6.6.6": "杭州",
}
"""Well-known public DNS resolvers and the city of their operator: the only addresses the demo can place."""

_SUFFIXES = re.compile(r"(风景名胜区|风景区|旅游区|景区|门口|附近|塔)$")


def reply(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False)


def known_city(name: str) -> City:
    """Raises `Refusal` for a city that is not in the data."""
    city = find_city(name)
    if city is None:
        raise Refusal(f"没有收录城市 {name!r}。演示数据只有这些：{city_names()}。")
    return city


def _region(city: City) -> dict[str, str]:
    return {"province": city.province, "city": city.full_name, "adcode": city.adcode}


def _brief(place: Place) -> dict[str, str]:
    return {
        "id": place.id,
        "name": place.name,
        "type": place.kind,
        "city": place.city,
        "address": place.address,
        "location": str(where(place)),
    }


def _core(address: str, city: City | None) -> str:
    """An address without what only says in which city it is, as `spelling` has it."""
    core = spelling(re.sub(r"[\s,，。·-]+|^中国|(?:火车|高铁)(?=站$)", "", address))
    for known in (city,) if city else CITIES:
        for name in (known.province, known.full_name, known.pinyin):
            core = core.removeprefix(spelling(name)).removesuffix(spelling(name)) or core
    return core


def _is_called(place: Place, *cores: str) -> bool:
    """Whether one of these is the place's name, its beginning, or its name without the city's."""
    name, english = spelling(place.name), spelling(place.english)
    bare = name.removeprefix(place.city)
    full = {name, english, english.removeprefix("the")} | ({bare} - {place.kind})
    for core in {*cores, *(core.removeprefix(place.city) for core in cores)}:
        short = _SUFFIXES.sub("", core)
        begins = len(short) >= 2 and (name.startswith(short) or bare.startswith(short))
        if (core in full and len(core) >= 2) or (begins and short not in place.kind):
            return True
    return False


def _may_be_in(place: Place, address: str) -> bool:
    """Whether a place lies in the province and the city that an address names, if it names any."""
    text, home = spelling(address), known_city(place.city)
    for known, own in (
        ({city.province for city in CITIES}, home.province),
        ({city.full_name for city in CITIES}, home.full_name),
        ({spelling(city.pinyin) for city in CITIES}, spelling(home.pinyin)),
    ):
        if own not in text and any(name in text for name in known):
            return False
    return True


def geocode(arguments: Arguments) -> str:
    address = arguments["address"]
    city = known_city(arguments["city"]) if arguments.get("city") else None
    whole = find_city(address) or find_city(_core(address, city))
    if whole is not None and city in (None, whole):
        return reply(results=[{**_region(whole), "level": "城市", "location": str(centre(whole))}])
    candidates = [
        place for place in PLACES if (city is None or place.city == city.name) and _may_be_in(place, address)
    ]
    found = [place for place in candidates if _is_called(place, _core(address, city), _core(address, None))]
    if len(found) == 1:
        place = found[0]
        region = _region(known_city(place.city))
        about = {**region, "name": place.name, "level": place.kind, "location": str(where(place))}
        return reply(results=[about])
    if found:
        raise Refusal(f"{address!r} 可以指几个地方，请写全名：{_names(found)}。")
    raise Refusal(f"演示数据里没有 {address!r}，无法给出坐标。{_known(address, city)}")


def _known(address: str, city: City | None) -> str:
    """What one may ask for instead: the places of the city that was meant, else everything."""
    city = city or next((city for city in CITIES if city.name in address), None)
    if city is None:
        return f"已知的城市有{city_names()}；地点有{_names(PLACES)}。"
    return f"{city.name}的地点只有{_names(place for place in PLACES if place.city == city.name)}。"


def _names(places: Iterable[Place]) -> str:
    return "、".join(place.name for place in places)


def regeocode(arguments: Arguments) -> str:
    point = covered_point(arguments["location"])
    city, place = city_around(point), nearest_place(point)
    distance = round(straight(point, where(place)))
    near = {"name": place.name, "address": place.address, "distance": distance} if distance < 5000 else None
    return reply(**_region(city), nearest=near, note="演示数据：按最近的城市中心判断，单位米。")


def locate_ip(arguments: Arguments) -> str:
    try:
        address = ipaddress.ip_address(arguments["ip"].strip())
    except ValueError:
        raise Refusal(f"{arguments['ip']!r} 不是 IP 地址。") from None
    if not address.is_global:
        raise Refusal(f"{address} 是内网或保留地址，无法定位。")
    city = _PUBLIC_RESOLVERS.get(str(address))
    if city is None:
        known = "、".join(_PUBLIC_RESOLVERS)
        raise Refusal(f"演示数据不知道 {address} 在哪里，只认得几个公共 DNS：{known}。")
    return reply(ip=str(address), **_region(known_city(city)), note="演示数据：取其运营方所在的城市。")


def weather(arguments: Arguments) -> str:
    city = known_city(arguments["city"])
    days = (forecast(city, today() + timedelta(days=n)) for n in range(FORECAST_DAYS))
    forecasts = [
        {
            "date": day.day.isoformat(),
            "week": weekday(day.day),
            "dayweather": day.by_day,
            "nightweather": day.by_night,
            "daytemp": day.high,
            "nighttemp": day.low,
            "wind": day.wind + "风",
            "power": day.power,
        }
        for day in days
    ]
    return reply(
        city=city.full_name,
        adcode=city.adcode,
        forecasts=forecasts,
        note="演示数据：按城市与日期推算，不是真实预报。气温为摄氏度，风力为级。",
    )


def detail(arguments: Arguments) -> str:
    wanted = arguments["id"].strip().upper()
    place = next((place for place in PLACES if place.id == wanted), None)
    if place is None:
        raise Refusal(
            f"没有 id 为 {arguments['id']!r} 的地点。"
            f"id 来自 maps_text_search 或 maps_around_search 的结果，形如 {PLACES[0].id}。"
        )
    return reply(**_brief(place), english=place.english, adcode=known_city(place.city).adcode)


def _fits(place: Place, word: str) -> bool:
    word = spelling(word)
    texts = (place.name, place.english, place.kind, KINDS[place.kind], place.address)
    return any(word in spelling(text) for text in texts) or place.kind in word


def _search(places: Iterable[Place], keywords: str) -> list[Place]:
    """Places that one of the words fits. A city among the words narrows the search instead."""
    words = [word for word in re.split(r"[\s,，、|]+", keywords) if word]
    cities = {city.name for word in words if (city := find_city(word))}
    words = [word for word in words if find_city(word) is None]
    inside = [place for place in places if not cities or place.city in cities]
    return [place for place in inside if not words or any(_fits(place, word) for word in words)]


def _found(places: list[dict[str, object]]) -> str:
    kinds = "、".join(KINDS)
    note = "演示数据。" if places else f"演示数据里没有这样的地点。收录的种类有{kinds}。"
    return reply(count=len(places), pois=places, note=note)


def text_search(arguments: Arguments) -> str:
    city = known_city(arguments["city"]) if arguments.get("city") else None
    kinds = [kind for kind in re.split(r"[\s,，、|]+", arguments.get("types") or "") if kind]
    places = [
        place
        for place in _search(PLACES, arguments["keywords"])
        if (city is None or place.city == city.name)
        and (not kinds or any(_fits(place, kind) for kind in kinds))
    ]
    return _found([{**_brief(place)} for place in places])


def _radius(text: str) -> int:
    try:
        radius = int(text)
    except ValueError:
        radius = 0
    if not 1 <= radius <= MAX_RADIUS:
        raise Refusal(f"半径要写成 1 到 {MAX_RADIUS} 之间的米数，不能是 {text!r}。")
    return radius


def around_search(arguments: Arguments) -> str:
    point = covered_point(arguments["location"])
    radius = _radius(arguments.get("radius") or "3000")
    near = [
        (round(straight(point, where(place))), place)
        for place in _search(PLACES, arguments.get("keywords") or "")
    ]
    inside = sorted(((d, place) for d, place in near if d <= radius), key=lambda pair: pair[0])
    return _found([{**_brief(place), "distance": distance} for distance, place in inside])
