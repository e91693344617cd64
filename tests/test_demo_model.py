"""The scripted model: what it decides, and how it says so over HTTP."""

import http.client
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters

from mcphost.demo import maps, trains
from mcphost.demo.config import config
from mcphost.demo.dates import find_day, find_window
from mcphost.demo.matching import choose
from mcphost.demo.model import ScriptedModel
from mcphost.demo.phrases import route
from mcphost.demo.plan import plan
from mcphost.demo.script import Do, Say
from mcphost.demo.tool import DATE_VARIABLE, Refusal
from mcphost.demo.toolbox import is_tool, read_tools
from mcphost.demo.wire import MODEL

ROOT = Path(__file__).resolve().parents[1]
TODAY = date(2025, 8, 1)  # a Friday
QUESTION = "今天下午从苏州到北京的高铁票还有没"

Json = dict[str, Any]


def function(name: str, description: str, schema: Json) -> Json:
    parameters = {key: schema[key] for key in ("type", "properties", "required") if key in schema}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def cherry(server: str, tool: str) -> str:
    prefix = {"12306-mcp": "tool-12306_m-", "amap-maps": "amap_ma-"}[server]
    return prefix + tool.replace("-", "_")


BY_NAME = {cherry(m.NAME, tool.name): tool for m in (trains, maps) for tool in m.TOOLS}
TOOLS = [function(name, tool.description, tool.schema) for name, tool in BY_NAME.items()]


def as_text(text: str) -> str:
    return text


def as_blocks(text: str) -> str:
    return json.dumps([{"type": "text", "text": text}], ensure_ascii=False, separators=(",", ":"))


def as_parts(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


class Chat:
    """A conversation with the script; the tools are called here. `calls` are those of the last turn."""

    def __init__(self, *, results: Callable[[str], object] = as_text, tools: Sequence[Json] = TOOLS) -> None:
        self.messages: list[Json] = []
        self.calls: list[tuple[str, Json]] = []
        self.rounds = 0
        self._results, self._tools = results, tools

    def ask(self, question: str) -> str:
        self.messages.append({"role": "user", "content": question})
        self.calls, self.rounds = [], 0
        while isinstance(reply := plan(self.messages, self._tools), Do):
            self.rounds += 1
            assert self.rounds < 6, "the script goes round in circles"
            self._call(reply)
        self.messages.append({"role": "assistant", "content": reply.text})
        return reply.text

    def _call(self, reply: Do) -> None:
        named = [(f"c{len(self.messages)}_{index}", call) for index, call in enumerate(reply.calls)]
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id, (name, arguments) in named
        ]
        self.messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        for id, (name, arguments) in named:
            self.calls.append((BY_NAME[name].name, dict(arguments)))
            try:
                content = BY_NAME[name](arguments)
            except Refusal as refusal:
                content = json.dumps({"status": "failed", "error": str(refusal), "hint": "换一个试试"})
            self.messages.append({"role": "tool", "tool_call_id": id, "content": self._results(content)})


@pytest.fixture(autouse=True)
def fixed_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATE_VARIABLE, str(TODAY))


@pytest.fixture
def chat() -> Chat:
    return Chat()


# Trains


def test_the_question_takes_date_codes_tickets_and_answer(chat: Chat) -> None:
    answer = chat.ask(QUESTION)
    assert chat.calls == [
        ("get-current-date", {}),
        ("get-station-code-of-citys", {"citys": "苏州|北京"}),
        (
            "get-tickets",
            {"date": "2025-08-01", "fromStation": "SZH", "toStation": "BJP", "trainFilterFlags": "G"},
        ),
    ]
    assert chat.rounds == 3
    assert "2025-08-01" in answer and "演示数据" in answer


def test_the_answer_holds_what_the_tickets_said_and_nothing_else(chat: Chat) -> None:
    answer = chat.ask(QUESTION)
    tickets = chat.messages[-2]["content"]
    listed = re.findall(r"\*\*(\w+)\*\* \S+ (\d\d:\d\d) → \S+ (\d\d:\d\d)，历时 (\S+?)：(.+)", answer)
    assert listed
    for number, start, end, duration, seats in listed:
        assert "12:00" <= start < "18:00"
        row = tickets[tickets.index(f"{number}（") :].split("\nG")[0]
        assert start in row and end in row and duration in row
        assert all(seat in row and "售完" not in seat for seat in seats.split("，"))
    starts = re.findall(r"^(G\d+)（.+?\] (\d\d):\d\d 开", tickets, re.M)
    afternoon = [number for number, hour in starts if 12 <= int(hour) < 18]
    assert set(afternoon) == set(re.findall(r"G\d+", answer))


@pytest.mark.parametrize("results", [as_text, as_blocks, as_parts])
def test_results_may_be_text_blocks_or_parts(results: Callable[[str], object], chat: Chat) -> None:
    assert Chat(results=results).ask(QUESTION) == chat.ask(QUESTION)


@pytest.mark.parametrize(
    ("question", "sent"),
    [
        ("明天上午上海到杭州的高铁票", {"date": "2025-08-02", "fromStation": "SHH", "toStation": "HZH"}),
        ("后天从南京去北京的动车还有票吗", {"date": "2025-08-03", "trainFilterFlags": "D"}),
        ("8月3日晚上广州到武汉", {"date": "2025-08-03", "fromStation": "GZQ", "toStation": "WHN"}),
        ("八月五号从西安到郑州的火车票", {"date": "2025-08-05", "fromStation": "XAY"}),
        ("2025-08-10 天津到济南有什么高铁", {"date": "2025-08-10", "fromStation": "TJP", "toStation": "JNK"}),
        ("下周三从深圳到北京最快的高铁", {"date": "2025-08-06", "sortFlag": "duration"}),
        ("苏州→北京 高铁", {"date": "2025-08-01", "trainFilterFlags": "G"}),
        ("tickets from Suzhou to Beijing tomorrow", {"date": "2025-08-02", "fromStation": "SZH"}),
        ("high-speed trains from suzhou to beijing this afternoon", {"trainFilterFlags": "G"}),
        ("Any train from Shanghai to Xi'an on Aug 4?", {"date": "2025-08-04", "toStation": "XAY"}),
        ("苏州北到北京南的票", {"fromStation": "OHH", "toStation": "VNP"}),
        ("苏州北站到北京的票", {"fromStation": "OHH", "toStation": "BJP"}),
    ],
)
def test_other_ends_days_and_kinds_are_understood(chat: Chat, question: str, sent: Json) -> None:
    chat.ask(question)
    tool, arguments = chat.calls[-1]
    assert tool == "get-tickets"
    assert sent.items() <= arguments.items()


def test_a_city_and_a_station_are_looked_up_side_by_side(chat: Chat) -> None:
    chat.ask("苏州北站到北京的票")
    assert chat.rounds == 3
    assert chat.calls[1:3] == [
        ("get-station-code-of-citys", {"citys": "北京"}),
        ("get-station-code-by-names", {"stationNames": "苏州北站"}),
    ]


def test_no_train_in_that_part_of_the_day_is_said_with_the_others(chat: Chat) -> None:
    answer = chat.ask("凌晨从苏州到北京的高铁票")
    assert "没有高铁" in answer and "G902（06:58）" in answer


def sold_out(messages: Sequence[Json]) -> list[Json]:
    """The same conversation, with every seat in it gone."""
    gone = [dict(message) for message in messages]
    gone[-1]["content"] = re.sub(r"余\d+张|余票充足", "售完", gone[-1]["content"])
    return gone


@pytest.mark.parametrize(
    ("question", "said"), [(QUESTION, "售完"), ("train from Suzhou to Beijing", "sold out")]
)
def test_nothing_left_is_said_plainly(chat: Chat, question: str, said: str) -> None:
    chat.ask(question)
    reply = plan(sold_out(chat.messages[:-1]), TOOLS)
    assert isinstance(reply, Say)
    assert said in reply.text and "**" not in reply.text


def test_an_english_question_is_answered_in_english(chat: Chat) -> None:
    answer = chat.ask("tickets from Suzhou to Beijing tomorrow afternoon")
    assert "trains from Suzhou to Beijing on Saturday 2025-08-02 (afternoon) have seats" in answer
    assert "¥" in answer and "left)" in answer


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("苏州到火星的火车票", "没有收录：火星"),
        ("7月30日苏州到北京的票", "已经过去了"),
        ("8月30日苏州到北京的票", "还没有开售"),
        ("苏州到苏州的高铁票", "同一个地方"),
    ],
)
def test_a_failure_is_passed_on_and_nothing_is_made_up(chat: Chat, question: str, said: str) -> None:
    answer = chat.ask(question)
    assert answer.startswith("没有查成") and said in answer
    assert "余" not in answer


def test_a_day_that_does_not_exist_is_not_asked_for(chat: Chat) -> None:
    assert "2月30日" in chat.ask("2月30日苏州到北京的票")
    assert chat.calls[-1][0] != "get-tickets"


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("去北京的高铁票", "从哪里出发去北京"),
        ("从苏州出发的高铁", "从苏州去哪里"),
        ("买张火车票", "从哪里到哪里"),
        ("book a ticket", "from where to where"),
        ("ticket to Beijing", "Where do you start"),
    ],
)
def test_a_missing_end_is_asked_for(chat: Chat, question: str, asks: str) -> None:
    assert asks in chat.ask(question)
    assert chat.calls == []


def test_no_direct_train_leads_to_a_change(chat: Chat) -> None:
    assert "get-interline-tickets" in chat.ask("苏州到深圳的高铁票")
    assert "换乘一次" in chat.ask("换乘的呢")
    assert chat.calls[-1][0] == "get-interline-tickets"


def test_stops_are_asked_for_with_what_an_earlier_result_said(chat: Chat) -> None:
    assert "请先查一次" in chat.ask("G910 经停哪些站")
    chat.ask("明天苏州到北京的高铁")
    answer = chat.ask("G910 经停哪些站")
    assert chat.calls == [
        (
            "get-train-route-stations",
            {
                "trainNo": "de0000G91001",
                "fromStationTelecode": "OHH",
                "toStationTelecode": "VNP",
                "departDate": "2025-08-02",
            },
        )
    ]
    assert "南京南" in answer


# Conversations


def last_tickets(chat: Chat) -> Json:
    tool, arguments = chat.calls[-1]
    assert tool == "get-tickets"
    return arguments


def test_follow_ups_change_what_they_say_and_keep_the_rest(chat: Chat) -> None:
    chat.ask(QUESTION)
    answer = chat.ask("那明天上午呢？")
    assert last_tickets(chat)["date"] == "2025-08-02"
    assert last_tickets(chat)["trainFilterFlags"] == "G" and "上午" in answer
    chat.ask("动车呢")
    assert last_tickets(chat)["date"] == "2025-08-02" and last_tickets(chat)["trainFilterFlags"] == "D"
    chat.ask("从上海出发呢")
    assert last_tickets(chat)["fromStation"] == "SHH" and last_tickets(chat)["toStation"] == "BJP"


def test_a_bare_city_answers_what_was_asked(chat: Chat) -> None:
    chat.ask("明天去北京的高铁票")
    chat.ask("苏州")
    assert last_tickets(chat) == {
        "date": "2025-08-02",
        "fromStation": "SZH",
        "toStation": "BJP",
        "trainFilterFlags": "G",
    }
    chat.ask("晚上呢")
    assert last_tickets(chat)["fromStation"] == "SZH"


def test_a_follow_up_belongs_to_the_question_before_it(chat: Chat) -> None:
    chat.ask(QUESTION)
    chat.ask("北京天气怎么样")
    chat.ask("那上海呢")
    assert chat.calls == [("maps_weather", {"city": "上海"})]
    chat.ask("高铁呢")
    assert last_tickets(chat)["toStation"] == "BJP"


def test_the_missing_city_is_taken_from_earlier(chat: Chat) -> None:
    chat.ask("苏州有哪些火车站")
    chat.ask("天气怎么样")
    assert chat.calls == [("maps_weather", {"city": "苏州"})]


def test_results_of_an_earlier_turn_do_not_answer_a_new_question(chat: Chat) -> None:
    chat.ask("北京天气怎么样")
    chat.ask("北京天气怎么样")
    assert len(chat.calls) == 1


# Any other tool


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("北京天气怎么样", [("maps_weather", {"city": "北京"})]),
        ("weather in Beijing", [("maps_weather", {"city": "Beijing"})]),
        ("weather in Paris", [("maps_weather", {"city": "Paris"})]),
        ("火星的天气", [("maps_weather", {"city": "火星"})]),
        ("maps_weather 北京", [("maps_weather", {"city": "北京"})]),
        ('maps_weather {"city": "上海"}', [("maps_weather", {"city": "上海"})]),
        ("maps_weather city=320500", [("maps_weather", {"city": "320500"})]),
        ("今天几号", [("get-current-date", {})]),
        ("what day is it today?", [("get-current-date", {})]),
        ("故宫在哪里", [("maps_geo", {"address": "故宫"})]),
        ("where is West Lake", [("maps_geo", {"address": "West Lake"})]),
        ("苏州有哪些火车站", [("get-stations-code-in-city", {"city": "苏州"})]),
        ("苏州北站的电报码是多少", [("get-station-code-by-names", {"stationNames": "苏州北站"})]),
        ("OHH 是哪个站", [("get-station-by-telecode", {"stationTelecode": "OHH"})]),
        ("223.5.5.5 在哪里", [("maps_ip_location", {"ip": "223.5.5.5"})]),
        ("116.397,39.918 是什么地方", [("maps_regeocode", {"location": "116.397,39.918"})]),
        ("搜索苏州的公园", [("maps_text_search", {"keywords": "苏州 公园", "city": "苏州"})]),
        ("maps_search_detail D00018", [("maps_search_detail", {"id": "D00018"})]),
        (
            "北京和上海明天天气怎么样",
            [("maps_weather", {"city": "北京"}), ("maps_weather", {"city": "上海"})],
        ),
    ],
)
def test_a_tool_is_picked_and_filled_from_the_words(
    chat: Chat, question: str, calls: list[tuple[str, Json]]
) -> None:
    chat.ask(question)
    assert chat.calls == calls
    assert chat.rounds == 1


@pytest.mark.parametrize(
    ("question", "places", "tool"),
    [
        ("从故宫到天坛怎么走", ["故宫", "天坛"], "maps_direction_walking"),
        ("从拙政园到苏州博物馆骑车要多久", ["拙政园", "苏州博物馆"], "maps_bicycling"),
        ("从苏州到北京开车多远", ["苏州", "北京"], "maps_direction_driving"),
        ("从故宫到天坛坐地铁怎么走", ["故宫", "天坛"], "maps_direction_transit_integrated"),
        ("how far is it from West Lake to the Bund?", ["West Lake", "the Bund"], "maps_distance"),
        ("拙政园附近有什么", ["拙政园"], "maps_around_search"),
    ],
)
def test_names_are_geocoded_side_by_side_for_a_tool_that_wants_coordinates(
    chat: Chat, question: str, places: list[str], tool: str
) -> None:
    chat.ask(question)
    assert chat.rounds == 2
    *lookups, last = chat.calls
    assert lookups == [("maps_geo", {"address": place}) for place in places]
    assert last[0] == tool
    assert re.fullmatch(r"[\d.]+,[\d.]+", next(iter(last[1].values())))


def test_a_place_that_cannot_be_geocoded_ends_it_there(chat: Chat) -> None:
    assert "火星" in chat.ask("从火星到天坛怎么走")
    assert {tool for tool, _ in chat.calls} == {"maps_geo"}


def test_only_the_day_that_was_asked_for_is_shown(chat: Chat) -> None:
    assert re.findall(r"- (\S+?)：", chat.ask("北京后天天气怎么样")) == ["2025-08-03"]
    assert len(re.findall(r"- \d", chat.ask("北京天气怎么样"))) == 4
    assert "没有 2025-08-20 的" in chat.ask("北京8月20日天气怎么样")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [("天气怎么样", "city"), ("用 maps_distance 算一下", "origins"), ("maps_ip_location", "ip")],
)
def test_what_is_missing_is_asked_for_and_not_called_without(chat: Chat, question: str, wanted: str) -> None:
    assert wanted in chat.ask(question)
    assert chat.calls == []


@pytest.mark.parametrize(
    ("question", "said"),
    [("你好", "不是语言模型"), ("给我讲个笑话", "不是语言模型"), ("hello", "not a language model")],
)
def test_a_question_for_no_tool_is_told_what_this_is(chat: Chat, question: str, said: str) -> None:
    answer = chat.ask(question)
    assert said in answer and "maps_weather" in answer
    assert chat.calls == []


def test_without_tools_there_is_only_the_introduction() -> None:
    reply = plan([{"role": "user", "content": QUESTION}])
    assert isinstance(reply, Say) and "没有任何工具" in reply.text


def test_failures_and_successes_are_both_told(chat: Chat) -> None:
    answer = chat.ask("故宫和西海的坐标")
    assert "故宫博物院" in answer or "没有查成" in answer
    assert "没有" in answer and "换一个试试" in answer


FOREIGN = [
    function(
        "fs__read_file",
        "Read the complete contents of a file.",
        {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "The path to read"}},
            "required": ["path"],
        },
    ),
    function(
        "calc__add",
        "Add two numbers.",
        {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    ),
    function(
        "light__switch",
        "Switch a lamp.",
        {
            "type": "object",
            "properties": {"state": {"enum": ["on", "off"]}, "dim": {"type": "boolean"}},
            "required": ["state"],
        },
    ),
    function(
        "demo__echo",
        "Repeat a message.",
        {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    ),
    function("odd__one", "", {"type": "object"}),
]


@pytest.mark.parametrize(
    ("question", "name", "arguments"),
    [
        ("read the file notes/today.txt", "fs__read_file", {"path": "notes/today.txt"}),
        ("add 2 and 40", "calc__add", {"a": 2, "b": 40}),
        ("add a=1.5 b=3", "calc__add", {"a": 1.5, "b": 3}),
        ("switch the lamp off", "light__switch", {"state": "off"}),
        ("echo hello world", "demo__echo", {"message": "hello world"}),
        ('echo "good night"', "demo__echo", {"message": "good night"}),
        ("odd__one", "odd__one", {}),
    ],
)
def test_tools_of_other_servers_are_filled_by_type_and_name(
    question: str, name: str, arguments: Json
) -> None:
    reply = plan([{"role": "user", "content": question}], FOREIGN)
    assert reply == Do(((name, arguments),))


def test_a_forced_tool_is_called_whatever_was_asked() -> None:
    name = cherry("amap-maps", "maps_geo")
    choice = {"type": "function", "function": {"name": name}}
    assert plan([{"role": "user", "content": "北京天气"}], TOOLS, choice) == Do(
        ((name, {"address": "北京"}),)
    )


def test_with_tool_choice_none_the_results_are_told_without_a_call(chat: Chat) -> None:
    chat.ask(QUESTION)
    for end in range(1, len(chat.messages)):
        if chat.messages[end - 1]["role"] != "assistant":
            assert isinstance(plan(chat.messages[:end], TOOLS, "none"), Say)


@pytest.mark.parametrize(
    ("name", "raw", "same"),
    [
        ("tool-12306_m-get_tickets", "get-tickets", True),
        ("mcp__12306-mcp__get-tickets", "get-tickets", True),
        ("get_tickets", "get-tickets", True),
        ("trains-get_tickets_0a1b2c", "get-tickets", True),
        ("tool-12306_m-get_interline_tickets", "get-tickets", False),
        ("budget_tickets", "get-tickets", False),
        ("get_tickets_list", "get-tickets", False),
    ],
)
def test_tools_are_known_by_the_end_of_their_names(name: str, raw: str, same: bool) -> None:
    assert is_tool(name, raw) is same


@pytest.mark.parametrize("scheme", ["mcp__{server}__{tool}", "{tool}"])
def test_other_naming_schemes_lead_to_the_same_calls(scheme: str) -> None:
    tools = [
        function(scheme.format(server=m.NAME, tool=tool.name), tool.description, tool.schema)
        for m in (trains, maps)
        for tool in m.TOOLS
    ]
    reply = plan([{"role": "user", "content": QUESTION}], tools)
    assert reply == Do(((scheme.format(server="12306-mcp", tool="get-current-date"), {}),))
    chosen = choose("北京天气怎么样", read_tools(tools))
    assert chosen is not None and chosen.name == scheme.format(server="amap-maps", tool="maps_weather")


def test_pictures_after_a_rounds_results_are_not_a_new_question(chat: Chat) -> None:
    chat.ask("北京天气怎么样")
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
    reply = plan([*chat.messages[:-1], picture], TOOLS)
    assert isinstance(reply, Say) and "北京市" in reply.text


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=60), st.sampled_from(["苏州", "到", "北京", "明天", "天气", "票", "1,2", "{}"])
        )
    )
)
def test_any_text_gets_a_reply_with_all_that_is_required(pieces: list[str]) -> None:
    reply = plan([{"role": "user", "content": "".join(pieces)}], [*TOOLS, *FOREIGN])
    if isinstance(reply, Do):
        required = {f.name: f.required for f in read_tools([*TOOLS, *FOREIGN])}
        for name, arguments in reply.calls:
            assert set(required[name]) <= set(arguments)
            json.dumps(arguments)


# Days and routes


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("今天", "2025-08-01"),
        ("明早", "2025-08-02"),
        ("大后天", "2025-08-04"),
        ("三天后", "2025-08-04"),
        ("3号", "2025-08-03"),
        ("下个月3号", "2025-09-03"),
        ("周五", "2025-08-01"),
        ("周日", "2025-08-03"),
        ("下周三", "2025-08-06"),
        ("上周三", "2025-07-23"),
        ("8月3日", "2025-08-03"),
        ("1月2日", "2026-01-02"),
        ("八月二十三号", "2025-08-23"),
        ("2025年8月9日", "2025-08-09"),
        ("2025/8/9", "2025-08-09"),
        ("tomorrow", "2025-08-02"),
        ("the day after tomorrow", "2025-08-03"),
        ("next Friday", "2025-08-08"),
        ("Sunday", "2025-08-03"),
        ("Aug 3rd", "2025-08-03"),
        ("3 August", "2025-08-03"),
        ("in 2 days", "2025-08-03"),
    ],
)
def test_days_are_resolved_from_today(text: str, day: str) -> None:
    word = find_day(f"从苏州{text}到北京" if not text.isascii() else f"from A {text} to B")
    assert word is not None and str(word.resolve(TODAY)) == day


@pytest.mark.parametrize("text", ["2月30日", "2025-13-01"])
def test_a_day_that_does_not_exist_is_a_value_error(text: str) -> None:
    word = find_day(text)
    assert word is not None
    with pytest.raises(ValueError, match=r"must be|range"):
        word.resolve(TODAY)


@pytest.mark.parametrize("text", ["苏州到北京", "1号线怎么走", "3 marbles", "2 decades", "一天", "几号"])
def test_what_is_no_day_is_not_taken_for_one(text: str) -> None:
    assert find_day(text) is None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("上午", 6, 12),
        ("下午", 12, 18),
        ("今晚", 18, 24),
        ("三点以后", 15, 24),
        ("下午四点后", 16, 18),
        ("上午10点之前", 6, 10),
        ("after 3 pm", 15, 24),
        ("before 9:00", 0, 9),
        ("tomorrow morning", 5, 12),
    ],
)
def test_parts_of_the_day(text: str, start: int, end: int) -> None:
    window = find_window(text)
    assert window is not None and (window.start, window.end) == (start * 60, end * 60)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (QUESTION, ("苏州", "北京")),
        ("帮我看看后天苏州去上海还有票吗", ("苏州", "上海")),
        ("我想明天下午坐高铁从苏州去北京", ("苏州", "北京")),
        ("成都到拉萨的火车票", ("成都", "拉萨")),
        ("苏州市到北京市的高铁", ("苏州", "北京")),
        ("苏州到北京二等座多少钱", ("苏州", "北京")),
        ("去北京的高铁票", (None, "北京")),
        ("从苏州出发", ("苏州", None)),
        ("I want to go to Beijing tomorrow", (None, "Beijing")),
        ("Suzhou to Beijing tickets", ("Suzhou", "Beijing")),
        ("from Xi'an to Zhengzhou on Friday", ("Xi'an", "Zhengzhou")),
        ("天气怎么样", (None, None)),
    ],
)
def test_both_ends_of_a_way_are_read(text: str, ends: tuple[str | None, str | None]) -> None:
    assert tuple(route(text)) == ends


# HTTP


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def request(
    model: ScriptedModel,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Status and body of one request on its own connection."""
    connection = http.client.HTTPConnection(model.base_url.split("/")[2], timeout=30)
    try:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, data, headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def ask(endpoint: ScriptedModel, /, **more: Any) -> tuple[int, Any]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "tools": TOOLS, **more}
    status, text = request(endpoint, "POST", "/v1/chat/completions", body)
    return status, text if text.startswith("data:") else json.loads(text)


def events(text: str) -> list[Json]:
    lines = text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def test_the_model_is_listed(model: ScriptedModel) -> None:
    status, text = request(model, "GET", "/v1/models")
    assert status == 200
    assert [entry["id"] for entry in json.loads(text)["data"]] == [MODEL]


def test_a_whole_answer_has_calls_and_usage(model: ScriptedModel) -> None:
    status, body = ask(model)
    assert status == 200
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert [c["function"] for c in choice["message"]["tool_calls"]] == [
        {"name": "tool-12306_m-get_current_date", "arguments": "{}"}
    ]
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


def test_a_stream_is_the_whole_answer_in_pieces(model: ScriptedModel) -> None:
    messages = [{"role": "user", "content": "北京和上海的天气"}]
    _, whole = ask(model, messages=messages)
    status, text = ask(model, messages=messages, stream=True, stream_options={"include_usage": True})
    assert status == 200
    *chunks, finish, usage = events(text)
    calls: dict[int, Json] = {}
    for chunk in chunks:
        for delta in chunk["choices"][0]["delta"].get("tool_calls", []):
            if delta["index"] in calls:
                calls[delta["index"]]["function"]["arguments"] += delta["function"]["arguments"]
            else:
                calls[delta["index"]] = {k: v for k, v in delta.items() if k != "index"}
    assert list(calls.values()) == whole["choices"][0]["message"]["tool_calls"]
    assert len(chunks) > 1 + 2 * len(calls)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == [] and usage["usage"] == whole["usage"]


def test_text_streams_in_pieces_and_usage_only_when_asked_for(model: ScriptedModel) -> None:
    _, whole = ask(model, messages=[{"role": "user", "content": "你好"}])
    _, text = ask(model, messages=[{"role": "user", "content": "你好"}], stream=True)
    chunks = events(text)
    said = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert said == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert not any("usage" in chunk for chunk in chunks)


def test_the_same_request_gets_the_same_reply(model: ScriptedModel) -> None:
    first, second = ask(model)[1], ask(model)[1]
    assert first["choices"] == second["choices"]


def call(id: str = "c1", **more: Any) -> Json:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}, **more}


USER: Json = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"model": "gpt-x"}, 404, "does not exist"),
        ({"messages": []}, 400, "'messages'"),
        ({"messages": "hi"}, 400, "'messages'"),
        ({"messages": [{"role": "wizard", "content": ""}]}, 400, "messages[0]"),
        ({"messages": ["hi"]}, 400, "messages[0]"),
        ({"messages": [{"role": "user", "content": 5}]}, 400, "messages[0].content"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [call()]}]}, 400, "c1"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [call()]}, USER]}, 400, "c1"),
        ({"messages": [USER, {"role": "tool", "tool_call_id": "c1", "content": ""}]}, 400, "answers no call"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [call(), call()]}]}, 400, "one id"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [call(id="")]}]}, 400, "needs an id"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [call(function={})]}]}, 400, "needs an id"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": {}}]}, 400, "needs an id"),
        ({"tools": []}, 400, "'tools'"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, 400, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "a" * 65}}]}, 400, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": {}}}]}, 400, "'object'"),
        ({"tools": [{"type": "function", "function": {"name": "a"}}] * 2}, 400, "already"),
        ({"stream": "yes"}, 400, "'stream'"),
        ({"stream": False, "stream_options": 1}, 400, "'stream_options'"),
    ],
)
def test_a_bad_request_is_refused_in_openais_shape(
    model: ScriptedModel, change: Json, status: int, said: str
) -> None:
    got, body = ask(model, **change)
    assert got == status
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert said in body["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/chat/completions", b"{not json", 400),
        ("POST", "/v1/chat/completions", b"[]", 400),
        ("POST", "/v1/chat/completions", b"[" * 100_000, 400),
        ("POST", "/v1/chat/completions", b"\xff\xfe", 400),
        ("POST", "/v1/completions", b"{}", 404),
        ("GET", "/v1/chat/completions", None, 404),
        ("GET", "/", None, 404),
        ("DELETE", "/v1/models", None, 405),
    ],
)
def test_what_is_no_request_gets_a_json_error(
    model: ScriptedModel, method: str, path: str, body: bytes | None, status: int
) -> None:
    got, text = request(model, method, path, body)
    assert got == status
    assert json.loads(text)["error"]["message"]


def test_histories_with_fields_of_other_hosts_are_taken(model: ScriptedModel) -> None:
    made = {"role": "assistant", "content": None, "function_call": None, "tool_calls": [call(index=0)]}
    answer = {"role": "tool", "name": "f", "tool_call_id": "c1", "content": "{}"}
    status, _ = ask(model, messages=[{"role": "system", "content": ""}, USER, made, answer])
    assert status == 200


def test_one_connection_serves_several_requests(model: ScriptedModel) -> None:
    connection = http.client.HTTPConnection(model.base_url.split("/")[2], timeout=30)
    body = {"model": MODEL, "messages": [USER], "stream": True}
    for _ in range(2):
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        assert events(connection.getresponse().read().decode())
    connection.close()


def test_closing_ends_connections_that_are_kept_alive() -> None:
    model = ScriptedModel().start()
    connection = http.client.HTTPConnection(model.base_url.split("/")[2], timeout=30)
    connection.request("GET", "/v1/models")
    connection.getresponse().read()
    model.close()
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.request("GET", "/v1/models")
        connection.getresponse()
    connection.close()


def test_starting_and_closing_twice_is_harmless() -> None:
    model = ScriptedModel()
    with pytest.raises(RuntimeError):
        _ = model.base_url
    assert model.start().base_url == model.start().base_url
    model.close()
    model.close()


def test_closing_ends_a_slow_stream() -> None:
    model = ScriptedModel(pause=60).start()
    connection = http.client.HTTPConnection(model.base_url.split("/")[2], timeout=30)
    connection.request(
        "POST", "/v1/chat/completions", json.dumps({"model": MODEL, "messages": [USER], "stream": True})
    )
    response = connection.getresponse()
    assert response.readline()
    model.close()
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        response.read()
    connection.close()


# All of it together


def test_the_whole_chain_with_real_servers_and_the_openai_client(model: ScriptedModel) -> None:
    assert anyio.run(converse, model.base_url) == [
        ["tool-12306_m-get_current_date"],
        ["tool-12306_m-get_station_code_of_citys"],
        ["tool-12306_m-get_tickets"],
        [],
    ]


async def converse(base_url: str) -> list[list[str]]:
    """The tools that each reply called, up to the answer."""
    servers = config(base_url)["mcpServers"]
    parameters = {
        name: StdioServerParameters(
            command=entry["command"], args=entry["args"], env={DATE_VARIABLE: str(TODAY)}, cwd=str(ROOT)
        )
        for name, entry in servers.items()
    }
    async with Client(parameters["12306-mcp"]) as train, Client(parameters["amap-maps"]) as map:
        tools: list[Any] = []
        routes: dict[str, tuple[Client, str]] = {}
        for name, client in (("12306-mcp", train), ("amap-maps", map)):
            for tool in (await client.list_tools()).tools:
                public = cherry(name, tool.name)
                tools.append(function(public, tool.description or "", tool.input_schema))
                routes[public] = (client, tool.name)
        transport = openai.DefaultAsyncHttpxClient(trust_env=False)
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none", http_client=transport) as api:
            return await rounds(api, tools, routes)


async def rounds(
    api: openai.AsyncOpenAI, tools: list[Any], routes: Mapping[str, tuple[Client, str]]
) -> list[list[str]]:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    made: list[list[str]] = []
    while True:
        reply = await api.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        made.append([call.function.name for call in message.tool_calls or [] if call.type == "function"])
        if not message.tool_calls:
            assert message.content and "G922" in message.content
            return made
        for call in message.tool_calls:
            assert call.type == "function"
            client, tool = routes[call.function.name]
            result = await client.call_tool(tool, json.loads(call.function.arguments))
            content = [block.model_dump(mode="json", exclude_none=True) for block in result.content]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(content)})


def test_the_configuration_names_servers_and_model() -> None:
    made = config("http://127.0.0.1:1/v1")
    assert made["model"] == {
        "name": MODEL,
        "base_url": "http://127.0.0.1:1/v1",
        "api_key": "none",
        "dialect": "deepseek",
    }
    entries = made["mcpServers"]
    assert [(name, entry["command"], entry["args"]) for name, entry in entries.items()] == [
        ("12306-mcp", sys.executable, ["-m", "mcphost.demo.trains"]),
        ("amap-maps", sys.executable, ["-m", "mcphost.demo.maps"]),
    ]
