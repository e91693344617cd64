"""The demo's map and weather server, over stdio: `python -m mcphost.demo.maps`.

Tool names and parameters are those of amap's server, so that what works here works there. It knows the
cities and places of `data`; ways are estimates, the weather is invented, and every answer says so.
"""

from mcphost.demo import places, routes
from mcphost.demo.server import main
from mcphost.demo.tool import DemoTool, Handler, JsonSchema

NAME = "amap-maps"

_FROM = "起点坐标：经度在前，纬度在后，逗号隔开，如 116.397,39.918"
_TO = "终点坐标，写法同起点"


def _tool(name: str, description: str, handler: Handler, *required: str, **parameters: str) -> DemoTool:
    """A tool whose parameters are all strings: `parameters` are their descriptions, in order."""
    schema: JsonSchema = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in parameters.items()},
        "required": list(required),
    }
    return DemoTool(name, description, schema, handler)


TOOLS: tuple[DemoTool, ...] = (
    _tool(
        "maps_regeocode",
        "由经纬度坐标反查所在的省、市和附近的地点。",
        places.regeocode,
        "location",
        location="坐标：经度在前，纬度在后，逗号隔开",
    ),
    _tool(
        "maps_geo",
        "由地址、景点或建筑的名称查它在哪里，给出经纬度坐标。",
        places.geocode,
        "address",
        address="地址或地名，如“故宫”“苏州北站”",
        city="只在这座城市里找",
    ),
    _tool(
        "maps_ip_location",
        "查一个 IP 地址在哪座城市。",
        places.locate_ip,
        "ip",
        ip="IPv4 或 IPv6 地址",
    ),
    _tool(
        "maps_weather",
        "查一座城市今天起几天的天气：阴晴、气温、风力。",
        places.weather,
        "city",
        city="城市名或其行政区划代码",
    ),
    _tool(
        "maps_search_detail",
        "由地点的 ID 取它的详情。",
        places.detail,
        "id",
        id="maps_text_search 或 maps_around_search 结果里的 id",
    ),
    _tool(
        "maps_bicycling",
        "骑车怎么走：估算骑行的路程与时间，500 公里以内。",
        routes.cycling,
        "origin",
        "destination",
        origin=_FROM,
        destination=_TO,
    ),
    _tool(
        "maps_direction_walking",
        "走路怎么走：估算步行的路程与时间，100 公里以内。",
        routes.walking,
        "origin",
        "destination",
        origin=_FROM,
        destination=_TO,
    ),
    _tool(
        "maps_direction_driving",
        "开车怎么走：估算驾车的路程与时间。",
        routes.driving,
        "origin",
        "destination",
        origin=_FROM,
        destination=_TO,
    ),
    _tool(
        "maps_direction_transit_integrated",
        "乘公交、地铁或火车怎么走：估算公共交通的路程与时间，可以跨城市。",
        routes.transit,
        "origin",
        "destination",
        "city",
        "cityd",
        origin=_FROM,
        destination=_TO,
        city="起点所在的城市",
        cityd="终点所在的城市",
    ),
    _tool(
        "maps_distance",
        "量两点之间的距离，可以是直线、驾车或步行。",
        routes.distance,
        "origins",
        "destination",
        origins="起点坐标；有几个时用 | 隔开",
        destination=_TO,
        type="0 直线，1 驾车，3 步行；不填按驾车",
    ),
    _tool(
        "maps_text_search",
        "按关键词搜索地点：景点、公园、博物馆、火车站。",
        places.text_search,
        "keywords",
        keywords="关键词",
        city="只在这座城市里搜",
        types="只要这一类，如“公园”",
    ),
    _tool(
        "maps_around_search",
        "搜索一个坐标周边的地点，由近到远。",
        places.around_search,
        "location",
        keywords="关键词，不填则都列出",
        location="中心点坐标，经度在前",
        radius="半径，单位米，不填为 3000",
    ),
)


if __name__ == "__main__":
    main(NAME, TOOLS)
