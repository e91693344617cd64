"""The demo's train-ticket server, over stdio: `python -m mcphost.demo.trains`.

Tool names and parameters are those of the server known as 12306-mcp, so that what works here works there.
The trains are those of `timetable`: invented, and marked as demo data in every answer.
"""

from mcphost.demo import railway
from mcphost.demo.server import main
from mcphost.demo.tool import DemoTool, JsonSchema

NAME = "12306-mcp"


def _schema(properties: JsonSchema, *required: str) -> JsonSchema:
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False, "$schema": "http://json-schema.org/draft-07/schema#"}


def _text(description: str, **limits: object) -> JsonSchema:
    return {"type": "string", **limits, "description": description}


_DATE = _text(
    "乘车日，形如 2025-08-01。用户说的若是“明天”之类，先调用 get-current-date 再推算。",
    minLength=10,
    maxLength=10,
)
_CODE = "三个字母的车站电报码，由 get-station-code-of-citys 或 get-station-code-by-names 查得，不能写中文。"
_FLAGS = _text(
    "只看哪些车，字母可连写，留空则全看："
    "G 高铁与城际，D 动车，Z 直达特快，T 特快，K 快速，O 其余，F 复兴号，S 智能动车组。",
    pattern="^[GDZTKOFS]*$",
    maxLength=8,
    default="",
)
_SORT = _text(
    "按什么排：startTime 发车早晚，arriveTime 到达早晚，duration 用时长短；留空用默认次序。", default=""
)
_REVERSE: JsonSchema = {"type": "boolean", "default": False, "description": "给了 sortFlag 时，是否倒着排。"}


def _number(description: str, **limits: float) -> JsonSchema:
    return {"type": "number", **limits, "description": description}


TOOLS: tuple[DemoTool, ...] = (
    DemoTool(
        "get-current-date",
        "今天几号：给出中国（东八区）的当天日期，形如 2025-08-01。要把“明天”“周五”换算成日期时先用它。",
        _schema({}),
        railway.get_current_date,
    ),
    DemoTool(
        "get-stations-code-in-city",
        "列出一座城市里的全部火车站，连同各站的电报码。",
        _schema({"city": _text("城市的中文名，如“苏州”")}, "city"),
        railway.get_stations_in_city,
    ),
    DemoTool(
        "get-station-code-of-citys",
        "由城市名得到能代表整座城市的车站电报码，供查票时填写出发地和到达地。",
        _schema({"citys": _text("城市名；一次查几座时用 | 隔开，如“苏州|北京”")}, "citys"),
        railway.get_city_codes,
    ),
    DemoTool(
        "get-station-code-by-names",
        "由车站名得到该站的电报码，用户点名要某个车站时使用。",
        _schema({"stationNames": _text("车站名；一次查几个时用 | 隔开，如“苏州北|北京南”")}, "stationNames"),
        railway.get_station_codes,
    ),
    DemoTool(
        "get-station-by-telecode",
        "由电报码反查车站：站名、拼音、所在城市。",
        _schema({"stationTelecode": _text("车站电报码，三个大写字母")}, "stationTelecode"),
        railway.get_station,
    ),
    DemoTool(
        "get-tickets",
        "查某一天两地之间的直达火车票：车次、时刻、用时、各席别的票价与余票。",
        _schema(
            {
                "date": _DATE,
                "fromStation": _text("出发地：" + _CODE),
                "toStation": _text("到达地：" + _CODE),
                "trainFilterFlags": _FLAGS,
                "sortFlag": _SORT,
                "sortReverse": _REVERSE,
                "limitedNum": _number("最多列出几趟，0 为不限。", minimum=0, default=0),
            },
            "date",
            "fromStation",
            "toStation",
        ),
        railway.get_tickets,
    ),
    DemoTool(
        "get-interline-tickets",
        "没有合适的直达车时，查换乘一次的走法，连同两段车各自的余票。",
        _schema(
            {
                "date": _DATE,
                "fromStation": _text("出发地：" + _CODE),
                "toStation": _text("到达地：" + _CODE),
                "middleStation": _text("想在哪里换乘，可不填：" + _CODE, default=""),
                "showWZ": {
                    "type": "boolean",
                    "default": False,
                    "description": "某一段只剩无座时，是否也列出来。",
                },
                "trainFilterFlags": _FLAGS,
                "sortFlag": _SORT,
                "sortReverse": _REVERSE,
                "limitedNum": _number("最多列出几种走法。", minimum=1, default=10),
            },
            "date",
            "fromStation",
            "toStation",
        ),
        railway.get_interline_tickets,
    ),
    DemoTool(
        "get-train-route-stations",
        "查一趟列车在两站之间停哪些站，各站几点到、几点开、停多久。",
        _schema(
            {
                "trainNo": _text("列车的 train_no（12 位，见查票结果），不是 G902 这样的车次"),
                "fromStationTelecode": _text("上车站的电报码"),
                "toStationTelecode": _text("下车站的电报码"),
                "departDate": _text("从上车站出发的日子，形如 2025-08-01", minLength=10, maxLength=10),
            },
            "trainNo",
            "fromStationTelecode",
            "toStationTelecode",
            "departDate",
        ),
        railway.get_route_stations,
    ),
)


if __name__ == "__main__":
    main(NAME, TOOLS)
