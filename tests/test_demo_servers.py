"""The two bundled servers, driven as child processes through the SDK's client."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from mcphost.demo.data import CITIES, PLACES, STATIONS
from mcphost.demo.timetable import TRAINS
from mcphost.demo.tool import DATE_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
TRACE = ROOT.parent / "shared" / "trace"
TODAY = date(2025, 8, 1)

RIDE = re.compile(
    r"^(\w+)（train_no: (\w{12})）\S+?\[(\w{3})\] (\d\d:\d\d) 开 → "
    r"\S+?\[(\w{3})\] (\d\d:\d\d) 到(（第2天）)?，"
    r"全程 (\d+)小时(\d\d)分\n  (.+)$",
    re.M,
)


class Server:
    """A running server: its tools as the client lists them, and a way to call one."""

    def __init__(self, portal: Any, client: Client) -> None:
        self._portal, self._client = portal, client
        self.name = client.server_info.name
        self.tools = {t.name: t.model_dump(by_alias=True) for t in portal.call(client.list_tools).tools}

    def __call__(self, tool: str, /, **arguments: Any) -> tuple[bool, str]:
        """Whether it went well, and the text."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        return not result.is_error, "".join(block.text for block in result.content)

    def ok(self, tool: str, /, **arguments: Any) -> str:
        went_well, text = self(tool, **arguments)
        assert went_well, text
        return text

    def json(self, tool: str, /, **arguments: Any) -> Any:
        return json.loads(self.ok(tool, **arguments))

    def refused(self, tool: str, /, **arguments: Any) -> str:
        went_well, text = self(tool, **arguments)
        assert not went_well, text
        return text


def parameters(module: str, today: str = str(TODAY)) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", f"mcphost.demo.{module}"],
        env={DATE_VARIABLE: today},
        cwd=str(ROOT),
    )


@contextmanager
def running(module: str) -> Iterator[Server]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(parameters(module))) as client,
    ):
        yield Server(portal, client)


@pytest.fixture(scope="module")
def trains() -> Iterator[Server]:
    with running("trains") as server:
        yield server


@pytest.fixture(scope="module")
def maps() -> Iterator[Server]:
    with running("maps") as server:
        yield server


def minutes(clock: str) -> int:
    hours, rest = clock.split(":")
    return int(hours) * 60 + int(rest)


# What is listed


def test_trains_lists_eight_tools(trains: Server) -> None:
    assert trains.name == "12306-mcp"
    assert list(trains.tools) == [
        "get-current-date",
        "get-stations-code-in-city",
        "get-station-code-of-citys",
        "get-station-code-by-names",
        "get-station-by-telecode",
        "get-tickets",
        "get-interline-tickets",
        "get-train-route-stations",
    ]


def test_maps_lists_twelve_tools(maps: Server) -> None:
    assert maps.name == "amap-maps"
    assert list(maps.tools) == [
        "maps_regeocode",
        "maps_geo",
        "maps_ip_location",
        "maps_weather",
        "maps_search_detail",
        "maps_bicycling",
        "maps_direction_walking",
        "maps_direction_driving",
        "maps_direction_transit_integrated",
        "maps_distance",
        "maps_text_search",
        "maps_around_search",
    ]


def without_words(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            k: without_words(v) for k, v in schema.items() if k != "description" or not isinstance(v, str)
        }
    return schema


def sentences(tool: Any) -> set[str]:
    """Every description in a tool."""
    properties = tool["inputSchema"]["properties"].values()
    return {tool["description"], *(p["description"] for p in properties if "description" in p)}


@pytest.mark.parametrize("fixture", ["trains", "maps"])
def test_tools_have_the_recorded_parameters_in_words_of_our_own(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(fixture)
    recorded = TRACE / f"{server.name}.server.json"
    if not recorded.exists():
        pytest.skip("the recorded servers are not here")
    theirs = {tool["name"]: tool for tool in json.loads(recorded.read_text("utf-8"))["tools"]}
    assert list(server.tools) == list(theirs)
    for name, tool in server.tools.items():
        assert without_words(tool["inputSchema"]) == without_words(theirs[name]["inputSchema"])
        assert list(tool["inputSchema"]["properties"]) == list(theirs[name]["inputSchema"]["properties"])
        assert not sentences(tool) & sentences(theirs[name])


@pytest.mark.parametrize("fixture", ["trains", "maps"])
def test_tools_say_that_they_only_read(fixture: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(fixture)
    assert all(tool["annotations"]["readOnlyHint"] for tool in server.tools.values())


def test_an_unknown_tool_is_a_protocol_error(trains: Server) -> None:
    with pytest.raises(MCPError, match="Unknown tool: get-planes"):
        trains("get-planes")


# Trains: dates and stations


def test_the_date_is_the_fixed_one(trains: Server) -> None:
    assert trains.ok("get-current-date") == "2025-08-01"


def test_codes_of_several_cities_come_in_one_answer(trains: Server) -> None:
    assert trains.json("get-station-code-of-citys", citys="苏州|北京市|Shanghai") == {
        "苏州": {"station_code": "SZH", "station_name": "苏州"},
        "北京市": {"station_code": "BJP", "station_name": "北京"},
        "Shanghai": {"station_code": "SHH", "station_name": "上海"},
    }


def test_codes_of_stations_are_found_with_and_without_zhan(trains: Server) -> None:
    found = trains.json("get-station-code-by-names", stationNames="苏州北站|北京南")
    assert [found[name]["station_code"] for name in ("苏州北站", "北京南")] == ["OHH", "VNP"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("get-station-code-of-citys", {"citys": "苏州|火星"}, "火星"),
        ("get-station-code-of-citys", {"citys": "苏州北"}, "苏州北"),
        ("get-station-code-of-citys", {"citys": " | "}, "名称"),
        ("get-station-code-by-names", {"stationNames": "火星站"}, "火星站"),
        ("get-stations-code-in-city", {"city": "火星"}, "火星"),
        ("get-station-by-telecode", {"stationTelecode": "QQQ"}, "QQQ"),
    ],
)
def test_an_unknown_place_is_refused_by_name(
    trains: Server, tool: str, arguments: dict[str, str], named: str
) -> None:
    assert named in trains.refused(tool, **arguments)


def test_every_station_of_every_city_is_known_by_its_telecode(trains: Server) -> None:
    for city in CITIES:
        stations = trains.json("get-stations-code-in-city", city=city.name)
        assert city.telecode in [station["station_code"] for station in stations]
        for station in stations:
            about = trains.json("get-station-by-telecode", stationTelecode=station["station_code"])
            assert (about["city"], about["station_name"]) == (city.name, station["station_name"])


def test_telecodes_are_three_letters_and_unique() -> None:
    codes = [station.telecode for station in STATIONS]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch("[A-Z]{3}", code) for code in codes)


# Trains: tickets


def tickets(
    trains: Server, origin: str = "SZH", destination: str = "BJP", **more: Any
) -> list[re.Match[str]]:
    arguments = {"date": str(TODAY), "fromStation": origin, "toStation": destination, **more}
    return list(RIDE.finditer(trains.ok("get-tickets", **arguments)))


def test_tickets_give_times_that_fit_their_duration(trains: Server) -> None:
    rides = tickets(trains)
    assert len(rides) > 10
    for ride in rides:
        lasts = int(ride[8]) * 60 + int(ride[9])
        assert minutes(ride[6]) + (24 * 60 if ride[7] else 0) - minutes(ride[4]) == lasts


def test_tickets_of_one_day_are_the_same_for_whoever_asks(trains: Server) -> None:
    arguments = {"date": "2025-08-02", "fromStation": "SZH", "toStation": "BJP"}
    first = trains.ok("get-tickets", **arguments)
    assert trains.ok("get-tickets", **arguments) == first
    with running("trains") as another:
        assert another.ok("get-tickets", **arguments) == first
    assert trains.ok("get-tickets", **{**arguments, "date": "2025-08-03"}) != first


def test_every_answer_about_tickets_is_marked_as_demo_data(trains: Server) -> None:
    text = trains.ok("get-tickets", date=str(TODAY), fromStation="SZH", toStation="BJP")
    assert "演示数据" in text.splitlines()[-1]


def test_a_citys_code_means_all_its_stations_and_a_stations_code_only_itself(trains: Server) -> None:
    assert {ride[3] for ride in tickets(trains)} == {"SZH", "OHH"}
    assert {ride[3] for ride in tickets(trains, "OHH")} == {"OHH"}
    assert {ride[5] for ride in tickets(trains, "SZH", "VNP")} == {"VNP"}


@pytest.mark.parametrize(
    ("flags", "numbers"),
    [("G", "G"), ("D", "D"), ("T", "T"), ("GD", "GD"), ("F", "G"), ("S", "G"), ("TK", "T"), ("GDT", "GDT")],
)
def test_filter_flags_keep_these_kinds_of_train(trains: Server, flags: str, numbers: str) -> None:
    assert {ride[1][0] for ride in tickets(trains, trainFilterFlags=flags)} == set(numbers)


def test_intelligent_trains_are_fewer_than_fuxing_and_those_than_all(trains: Server) -> None:
    numbers = [len(tickets(trains, trainFilterFlags=flags)) for flags in ("S", "F", "")]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("flag", "key"),
    [
        ("startTime", lambda ride: minutes(ride[4])),
        ("arriveTime", lambda ride: minutes(ride[6]) + (24 * 60 if ride[7] else 0)),
        ("duration", lambda ride: int(ride[8]) * 60 + int(ride[9])),
    ],
)
def test_sorting_and_its_reverse(trains: Server, flag: str, key: Callable[[re.Match[str]], int]) -> None:
    keys = [key(ride) for ride in tickets(trains, sortFlag=flag)]
    assert keys == sorted(keys)
    back = [key(ride) for ride in tickets(trains, sortFlag=flag, sortReverse=True)]
    assert back == sorted(back, reverse=True)


def test_an_unknown_sort_flag_is_refused(trains: Server) -> None:
    text = trains.refused(
        "get-tickets", date=str(TODAY), fromStation="SZH", toStation="BJP", sortFlag="price"
    )
    assert "startTime" in text


@pytest.mark.parametrize(("limit", "shown"), [(1, 1), (3, 3), (3.0, 3), (0, 14), (100, 14)])
def test_limited_num_limits_what_is_listed(trains: Server, limit: float, shown: int) -> None:
    assert len(tickets(trains, limitedNum=limit)) == shown


@pytest.mark.parametrize(
    ("day", "why"),
    [
        (TODAY - timedelta(days=1), "过去"),
        (TODAY + timedelta(days=16), "还没有开售"),
        ("2025-02-30", "不是有效的日期"),
        ("2025/08/01", "不是有效的日期"),
        ("tomorrow!!", "不是有效的日期"),
        ("明天", "too short"),
    ],
)
def test_days_without_tickets_are_refused_with_the_reason(trains: Server, day: object, why: str) -> None:
    for tool in ("get-tickets", "get-interline-tickets"):
        assert why in trains.refused(tool, date=str(day), fromStation="SZH", toStation="BJP")


def test_the_last_day_on_sale_has_tickets(trains: Server) -> None:
    assert tickets(trains, date=str(TODAY + timedelta(days=15)))


@pytest.mark.parametrize(
    ("origin", "destination", "named"),
    [("苏州", "BJP", "苏州"), ("SZH", "ZZZ", "ZZZ"), ("", "BJP", "电报码"), ("SZH", "OHH", "同一个地方")],
)
def test_wrong_station_codes_are_refused(trains: Server, origin: str, destination: str, named: str) -> None:
    text = trains.refused("get-tickets", date=str(TODAY), fromStation=origin, toStation=destination)
    assert named in text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "fromStation"),
        (
            {"date": "2025-08-01", "fromStation": "SZH", "toStation": "BJP", "trainFilterFlags": "高铁"},
            "trainFilterFlags",
        ),
        ({"date": "2025-08-01", "fromStation": "SZH", "toStation": "BJP", "limitedNum": -1}, "limitedNum"),
        ({"date": "2025-08-01", "fromStation": "SZH", "toStation": "BJP", "seat": "一等"}, "seat"),
        ({"date": 20250801, "fromStation": "SZH", "toStation": "BJP"}, "date"),
    ],
)
def test_arguments_that_miss_the_schema_are_refused(
    trains: Server, arguments: dict[str, Any], named: str
) -> None:
    assert named in trains.refused("get-tickets", **arguments)


def test_no_direct_train_is_said_and_is_no_error(trains: Server) -> None:
    text = trains.ok("get-tickets", date=str(TODAY), fromStation="SZH", toStation="SZQ")
    assert "没有" in text and "get-interline-tickets" in text


def test_no_train_of_a_kind_tells_how_many_others_run(trains: Server) -> None:
    text = trains.ok("get-tickets", date=str(TODAY), fromStation="SZH", toStation="BJP", trainFilterFlags="Z")
    assert "有 14 趟" in text


# Trains: stops and changes


def test_stops_of_every_ticket_agree_with_its_times(trains: Server) -> None:
    for ride in tickets(trains):
        text = trains.ok(
            "get-train-route-stations",
            trainNo=ride[2],
            fromStationTelecode=ride[3],
            toStationTelecode=ride[5],
            departDate=str(TODAY),
        )
        stops = [line for line in text.splitlines() if re.match(r"\d+\. ", line)]
        assert f"[{ride[3]}]" in stops[0] and f"{ride[4]} 开" in stops[0]
        assert f"[{ride[5]}]" in stops[-1] and f"{ride[6]} 到{ride[7] or ''}" in stops[-1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"trainNo": "G902"}, "train_no"),
        ({"fromStationTelecode": "GZQ"}, "不停"),
        ({"fromStationTelecode": "VNP", "toStationTelecode": "OHH"}, "次序"),
        ({"departDate": "2025-07-31"}, "过去"),
    ],
)
def test_stops_of_a_train_that_is_not_meant_are_refused(
    trains: Server, change: dict[str, str], why: str
) -> None:
    good = {
        "trainNo": "de0000G90201",
        "fromStationTelecode": "OHH",
        "toStationTelecode": "VNP",
        "departDate": str(TODAY),
    }
    assert trains.ok("get-train-route-stations", **good)
    assert why in trains.refused("get-train-route-stations", **{**good, **change})


def test_a_citys_code_finds_the_stop_in_that_city(trains: Server) -> None:
    text = trains.ok(
        "get-train-route-stations",
        trainNo="de0000G90201",
        fromStationTelecode="SZH",
        toStationTelecode="BJP",
        departDate=str(TODAY),
    )
    assert "1. 苏州北[OHH]" in text


def test_a_change_of_trains_adds_up(trains: Server) -> None:
    text = trains.ok(
        "get-interline-tickets", date=str(TODAY), fromStation="SZH", toStation="SZQ", showWZ=True
    )
    plans = re.split(r"^方案", text, flags=re.M)[1:]
    assert plans
    for plan in plans:
        total, wait = (
            int(h) * 60 + int(m) for h, m in re.findall(r"(?:全程|等候) (\d+)小时(\d\d)分", plan)[:2]
        )
        first, second = RIDE.finditer(plan.replace("2025-08-02 乘车 ", ""))
        ridden = sum(int(ride[8]) * 60 + int(ride[9]) for ride in (first, second))
        assert total == ridden + wait
        assert (minutes(second[4]) - minutes(first[6])) % (24 * 60) == wait


def test_a_change_can_be_asked_for_in_one_city(trains: Server) -> None:
    arguments = {"date": str(TODAY), "fromStation": "SZH", "toStation": "SZQ", "showWZ": True}
    assert "汉口" in trains.ok("get-interline-tickets", middleStation="WHN", **arguments)
    assert "没有" in trains.ok("get-interline-tickets", middleStation="TJP", **arguments)
    assert "middle" not in trains.refused("get-interline-tickets", middleStation="QQQ", **arguments)
    one = trains.ok("get-interline-tickets", limitedNum=1, **arguments)
    assert "方案1" in one and "方案2" not in one


def test_trains_run_forwards_and_are_numbered_once() -> None:
    assert len({train.number for train in TRAINS}) == len(TRAINS)
    for train in TRAINS:
        times = [t for stop in train.stops for t in (stop.arrival, stop.departure) if t is not None]
        assert times == sorted(times)


# Maps


@pytest.mark.parametrize(
    ("address", "city", "location"),
    [
        ("故宫", None, "116.397,39.918"),
        ("北京故宫", None, "116.397,39.918"),
        ("江苏省苏州市拙政园", None, "120.63,31.324"),
        ("苏州北站", "苏州", "120.643,31.423"),
        ("苏州火车站", None, "120.611,31.329"),
        ("West Lake, Hangzhou", None, "120.149,30.242"),
        ("the Bund", None, "121.491,31.241"),
        ("苏州", None, "120.585,31.299"),
        ("江苏省苏州市", None, "120.585,31.299"),
        ("Xi'an", None, "108.94,34.342"),
    ],
)
def test_known_addresses_have_coordinates(
    maps: Server, address: str, city: str | None, location: str
) -> None:
    arguments = {"address": address} | ({"city": city} if city else {})
    assert [row["location"] for row in maps.json("maps_geo", **arguments)["results"]] == [location]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"address": "火星"}, "火星"),
        ({"address": ""}, "已知的城市"),
        ({"address": "公园"}, "无法给出坐标"),
        ({"address": "站"}, "无法给出坐标"),
        ({"address": "杭州西湖区文三路"}, "西湖"),  # a road in the district, not the lake
        ({"address": "北京市东城区"}, "北京的地点"),
        ({"address": "北京市西湖"}, "北京的地点"),
        ({"address": "北京西湖"}, "北京的地点"),
        ({"address": "江苏省西湖"}, "无法给出坐标"),
        ({"address": "West Lake, Beijing"}, "无法给出坐标"),
        ({"address": "西湖", "city": "北京"}, "北京的地点"),
        ({"address": "西湖", "city": "火星"}, "没有收录城市"),
    ],
)
def test_an_address_that_is_not_known_is_never_guessed(
    maps: Server, arguments: dict[str, str], said: str
) -> None:
    assert said in maps.refused("maps_geo", **arguments)


def test_every_place_is_found_again_where_it_is(maps: Server) -> None:
    for place in PLACES:
        location = maps.json("maps_geo", address=place.name)["results"][0]["location"]
        around = maps.json("maps_regeocode", location=location)
        assert around["city"] == f"{place.city}市"
        assert around["nearest"]["name"] == place.name
        assert maps.json("maps_search_detail", id=place.id)["name"] == place.name


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("31.32,120.63", "纬度写在了前面"),
        ("133.8,-25.2", "不在演示数据覆盖"),
        ("0,0", "不在演示数据覆盖"),
        ("200,39", "超出了范围"),
        ("nan,39", "超出了范围"),
        ("116.4,inf", "像是|超出"),
        ("116.4", "不是坐标"),
        ("北京", "不是坐标"),
        ("1,2,3", "不是坐标"),
        ("", "不是坐标"),
    ],
)
def test_coordinates_that_cannot_be_meant_are_refused(maps: Server, location: str, why: str) -> None:
    for tool in ("maps_regeocode", "maps_around_search"):
        assert re.search(why, maps.refused(tool, location=location))
    assert re.search(why, maps.refused("maps_distance", origins=location, destination="116.4,39.9"))
    assert re.search(why, maps.refused("maps_direction_driving", origin="116.4,39.9", destination=location))


@pytest.mark.parametrize(
    ("ip", "said"),
    [
        ("192.168.1.1", "内网"),
        ("::1", "内网"),
        ("8.8.8.8", "不知道"),
        ("999.1.1.1", "不是 IP"),
        ("", "不是 IP"),
    ],
)
def test_addresses_that_cannot_be_placed_are_refused(maps: Server, ip: str, said: str) -> None:
    assert said in maps.refused("maps_ip_location", ip=ip)


def test_a_public_resolver_is_placed_in_its_operators_city(maps: Server) -> None:
    assert maps.json("maps_ip_location", ip="223.5.5.5")["city"] == "杭州市"


def test_weather_begins_today_and_is_the_same_by_name_code_and_pinyin(maps: Server) -> None:
    by_name = maps.json("maps_weather", city="苏州")
    assert [day["date"] for day in by_name["forecasts"]] == [str(TODAY + timedelta(days=n)) for n in range(4)]
    assert maps.json("maps_weather", city="320500") == by_name
    assert maps.json("maps_weather", city="suzhou") == by_name


def test_weather_fits_the_season(maps: Server) -> None:
    for city in CITIES:
        for day in maps.json("maps_weather", city=city.name)["forecasts"]:
            assert 15 <= day["nighttemp"] < day["daytemp"] <= 40
            assert "雪" not in day["dayweather"] + day["nightweather"]


def test_weather_of_a_city_that_is_not_known_is_refused(maps: Server) -> None:
    assert "火星" in maps.refused("maps_weather", city="火星")


def test_text_search_narrows_by_city_kind_and_words(maps: Server) -> None:
    def found(**arguments: str) -> list[str]:
        return [poi["name"] for poi in maps.json("maps_text_search", **arguments)["pois"]]

    assert found(keywords="公园", city="苏州") == ["拙政园", "虎丘"]
    assert found(keywords="苏州 公园") == ["拙政园", "虎丘"]
    assert found(keywords="苏州", types="博物馆") == ["苏州博物馆"]
    assert found(keywords="museum", city="Beijing") == ["故宫博物院"]
    assert found(keywords="加油站") == []
    assert "没有收录城市" in maps.refused("maps_text_search", keywords="公园", city="火星")


def test_around_search_goes_from_near_to_far_within_the_radius(maps: Server) -> None:
    pois = maps.json("maps_around_search", location="120.63,31.324")["pois"]
    distances = [poi["distance"] for poi in pois]
    assert distances == sorted(distances) and distances[-1] <= 3000
    assert len(maps.json("maps_around_search", location="120.63,31.324", radius="300")["pois"]) == 2
    only = maps.json("maps_around_search", location="120.63,31.324", keywords="博物馆")
    assert [poi["name"] for poi in only["pois"]] == ["苏州博物馆"]


@pytest.mark.parametrize("radius", ["0", "-5", "50001", "3km", "1e3"])
def test_a_radius_that_is_no_distance_is_refused(maps: Server, radius: str) -> None:
    assert "半径" in maps.refused("maps_around_search", location="120.63,31.324", radius=radius)


def test_details_of_an_unknown_id_are_refused(maps: Server) -> None:
    assert "D99999" in maps.refused("maps_search_detail", id="D99999")


SUZHOU, BEIJING, BUND = "120.585,31.299", "116.407,39.904", "121.491,31.241"


def test_the_straight_line_is_shorter_than_walking_and_driving(maps: Server) -> None:
    lines = {
        kind: maps.json("maps_distance", origins="120.63,31.324", destination="120.611,31.329", type=kind)[
            "results"
        ][0]
        for kind in ("0", "1", "3")
    }
    assert 1800 < lines["0"]["distance"] < 1950 and "duration" not in lines["0"]
    assert lines["0"]["distance"] < lines["3"]["distance"] < lines["1"]["distance"]
    assert lines["1"]["duration"] < lines["3"]["duration"]


def test_distance_takes_several_origins_and_drives_when_no_type_is_given(maps: Server) -> None:
    about = maps.json("maps_distance", origins=f"{SUZHOU}|{BEIJING}", destination=BUND)
    assert about["type"] == "驾车"
    near, far = about["results"]
    assert 90_000 < near["distance"] < 130_000 and 1_300_000 < far["distance"] < 1_500_000
    assert 40 < near["distance"] / near["duration"] * 3.6 < 90
    assert "type" in maps.refused("maps_distance", origins=SUZHOU, destination=BUND, type="2")


@pytest.mark.parametrize("tool", ["maps_bicycling", "maps_direction_walking", "maps_direction_driving"])
def test_ways_are_marked_as_estimates(maps: Server, tool: str) -> None:
    about = maps.json(tool, origin="120.63,31.324", destination="120.611,31.329")
    assert "估算" in about["summary"] and "演示数据" in about["note"]
    assert about["distance"] > 1900 and about["duration"] > 0


@pytest.mark.parametrize("tool", ["maps_bicycling", "maps_direction_walking"])
def test_ways_that_are_too_long_for_it_are_refused(maps: Server, tool: str) -> None:
    assert "太远" in maps.refused(tool, origin=SUZHOU, destination=BEIJING)


def test_transit_within_a_city_is_estimated_and_between_cities_takes_a_train(
    maps: Server, trains: Server
) -> None:
    inside = maps.json(
        "maps_direction_transit_integrated",
        origin=SUZHOU,
        destination="120.643,31.423",
        city="苏州",
        cityd="苏州",
    )
    assert "估算" in inside["summary"]
    between = maps.json(
        "maps_direction_transit_integrated", origin=SUZHOU, destination=BEIJING, city="苏州", cityd="北京市"
    )
    number, _, start = between["train"].split(" ")[:3]
    assert (number, start) in [(ride[1], ride[4]) for ride in tickets(trains)]


def test_transit_refuses_points_outside_the_cities_it_is_told(maps: Server) -> None:
    arguments = {"origin": SUZHOU, "destination": BEIJING, "city": "上海", "cityd": "北京"}
    assert "苏州" in maps.refused("maps_direction_transit_integrated", **arguments)


# The process


@pytest.mark.parametrize("module", ["trains", "maps"])
def test_a_server_ends_when_stdin_closes_and_prints_only_the_protocol(module: str) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        },
    }
    done = subprocess.run(
        [sys.executable, "-m", f"mcphost.demo.{module}"],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1]
    assert done.stderr == ""


def test_a_fixed_date_that_is_none_ends_the_server_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATE_VARIABLE, "someday")
    done = subprocess.run(
        [sys.executable, "-m", "mcphost.demo.trains"],
        input="",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f"12306-mcp: {DATE_VARIABLE} must be a date such as 2025-08-01"
