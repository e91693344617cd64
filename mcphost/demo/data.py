"""What the demo servers know: cities, railway stations, places.

Names, administrative codes and telecodes (the three letters by which China's railway names a station) are
facts. Coordinates are GCJ-02 degrees, as Chinese map services use, good to about a kilometre. Everything
that changes from day to day (trains, seats, weather) is invented, and lives in `timetable` and `weather`.
"""

from dataclasses import dataclass
from typing import Literal

Climate = Literal["north", "yangtze", "south"]


@dataclass(frozen=True, slots=True)
class City:
    """`telecode` is that of the station which stands for the city; `january` and `july` are mean °C."""

    name: str
    pinyin: str
    province: str
    adcode: str
    longitude: float
    latitude: float
    telecode: str
    january: int
    july: int
    climate: Climate

    @property
    def full_name(self) -> str:
        return f"{self.name}市"


@dataclass(frozen=True, slots=True)
class Station:
    name: str
    telecode: str
    pinyin: str
    city: str


@dataclass(frozen=True, slots=True)
class Place:
    """A point of interest. `english` is matched as well as the name."""

    id: str
    name: str
    english: str
    kind: str
    city: str
    address: str
    longitude: float
    latitude: float


CITIES: tuple[City, ...] = (
    City("北京", "Beijing", "北京市", "110000", 116.407, 39.904, "BJP", -3, 27, "north"),
    City("天津", "Tianjin", "天津市", "120000", 117.201, 39.085, "TJP", -3, 27, "north"),
    City("济南", "Jinan", "山东省", "370100", 117.120, 36.652, "JNK", 0, 28, "north"),
    City("郑州", "Zhengzhou", "河南省", "410100", 113.625, 34.747, "ZZF", 1, 28, "north"),
    City("西安", "Xi'an", "陕西省", "610100", 108.940, 34.342, "XAY", 1, 28, "north"),
    City("徐州", "Xuzhou", "江苏省", "320300", 117.284, 34.206, "XCH", 1, 27, "north"),
    City("南京", "Nanjing", "江苏省", "320100", 118.797, 32.060, "NJH", 3, 28, "yangtze"),
    City("无锡", "Wuxi", "江苏省", "320200", 120.312, 31.491, "WXH", 4, 29, "yangtze"),
    City("苏州", "Suzhou", "江苏省", "320500", 120.585, 31.299, "SZH", 4, 29, "yangtze"),
    City("上海", "Shanghai", "上海市", "310000", 121.474, 31.230, "SHH", 5, 29, "yangtze"),
    City("杭州", "Hangzhou", "浙江省", "330100", 120.155, 30.274, "HZH", 5, 29, "yangtze"),
    City("武汉", "Wuhan", "湖北省", "420100", 114.305, 30.593, "WHN", 4, 30, "yangtze"),
    City("广州", "Guangzhou", "广东省", "440100", 113.264, 23.129, "GZQ", 14, 29, "south"),
    City("深圳", "Shenzhen", "广东省", "440300", 114.058, 22.543, "SZQ", 16, 29, "south"),
)

STATIONS: tuple[Station, ...] = (
    Station("北京", "BJP", "beijing", "北京"),
    Station("北京南", "VNP", "beijingnan", "北京"),
    Station("北京西", "BXP", "beijingxi", "北京"),
    Station("天津", "TJP", "tianjin", "天津"),
    Station("天津南", "TIP", "tianjinnan", "天津"),
    Station("济南", "JNK", "jinan", "济南"),
    Station("济南西", "JGK", "jinanxi", "济南"),
    Station("郑州", "ZZF", "zhengzhou", "郑州"),
    Station("郑州东", "ZAF", "zhengzhoudong", "郑州"),
    Station("西安", "XAY", "xian", "西安"),
    Station("西安北", "EAY", "xianbei", "西安"),
    Station("徐州", "XCH", "xuzhou", "徐州"),
    Station("徐州东", "UUH", "xuzhoudong", "徐州"),
    Station("南京", "NJH", "nanjing", "南京"),
    Station("南京南", "NKH", "nanjingnan", "南京"),
    Station("无锡", "WXH", "wuxi", "无锡"),
    Station("无锡东", "WGH", "wuxidong", "无锡"),
    Station("苏州", "SZH", "suzhou", "苏州"),
    Station("苏州北", "OHH", "suzhoubei", "苏州"),
    Station("上海", "SHH", "shanghai", "上海"),
    Station("上海虹桥", "AOH", "shanghaihongqiao", "上海"),
    Station("杭州", "HZH", "hangzhou", "杭州"),
    Station("杭州东", "HGH", "hangzhoudong", "杭州"),
    Station("武汉", "WHN", "wuhan", "武汉"),
    Station("武昌", "WCN", "wuchang", "武汉"),
    Station("汉口", "HKN", "hankou", "武汉"),
    Station("广州", "GZQ", "guangzhou", "广州"),
    Station("广州南", "IZQ", "guangzhounan", "广州"),
    Station("深圳", "SZQ", "shenzhen", "深圳"),
    Station("深圳北", "IOQ", "shenzhenbei", "深圳"),
)

KINDS: dict[str, str] = {"博物馆": "museum", "公园": "park", "景点": "sight", "火车站": "railway station"}
"""Kinds of places, and their English."""

_PLACES = """
故宫博物院|Forbidden City|博物馆|北京|东城区景山前街|116.397|39.918
天坛公园|Temple of Heaven|公园|北京|东城区天坛路|116.411|39.882
颐和园|Summer Palace|公园|北京|海淀区新建宫门路|116.275|40.000
北京南站|Beijing South Railway Station|火车站|北京|丰台区永外大街|116.379|39.865
天津之眼|Tianjin Eye|景点|天津|红桥区永乐桥|117.186|39.153
天津站|Tianjin Railway Station|火车站|天津|河北区新纬路|117.211|39.137
趵突泉|Baotu Spring|公园|济南|历下区趵突泉南路|117.016|36.661
大明湖|Daming Lake|公园|济南|历下区大明湖路|117.024|36.676
河南博物院|Henan Museum|博物馆|郑州|金水区农业路|113.671|34.789
郑州东站|Zhengzhou East Railway Station|火车站|郑州|金水区心怡路|113.779|34.759
大雁塔|Giant Wild Goose Pagoda|景点|西安|雁塔区雁塔路南段|108.964|34.219
西安钟楼|Xi'an Bell Tower|景点|西安|碑林区钟楼环形路口|108.943|34.261
云龙湖|Yunlong Lake|公园|徐州|泉山区湖北路|117.145|34.235
中山陵|Sun Yat-sen Mausoleum|景点|南京|玄武区石象路|118.854|32.058
夫子庙|Confucius Temple|景点|南京|秦淮区贡院街|118.789|32.021
南京南站|Nanjing South Railway Station|火车站|南京|雨花台区玉兰路|118.798|31.969
鼋头渚|Yuantouzhu|公园|无锡|滨湖区鼋渚路|120.223|31.522
拙政园|Humble Administrator's Garden|公园|苏州|姑苏区东北街|120.630|31.324
苏州博物馆|Suzhou Museum|博物馆|苏州|姑苏区东北街|120.628|31.323
虎丘|Tiger Hill|公园|苏州|姑苏区虎丘山门内|120.578|31.336
苏州站|Suzhou Railway Station|火车站|苏州|姑苏区苏站路|120.611|31.329
苏州北站|Suzhou North Railway Station|火车站|苏州|相城区南天成路|120.643|31.423
外滩|The Bund|景点|上海|黄浦区中山东一路|121.491|31.241
东方明珠|Oriental Pearl Tower|景点|上海|浦东新区世纪大道|121.500|31.240
上海虹桥站|Shanghai Hongqiao Railway Station|火车站|上海|闵行区申贵路|121.321|31.195
西湖|West Lake|公园|杭州|西湖区龙井路|120.149|30.242
杭州东站|Hangzhou East Railway Station|火车站|杭州|上城区全福桥路|120.213|30.291
黄鹤楼|Yellow Crane Tower|景点|武汉|武昌区蛇山西坡|114.302|30.545
广州塔|Canton Tower|景点|广州|海珠区阅江西路|113.325|23.107
世界之窗|Window of the World|景点|深圳|南山区深南大道|113.973|22.535
"""


def _place(number: int, row: str) -> Place:
    name, english, kind, city, address, longitude, latitude = row.split("|")
    return Place(f"D{number:05}", name, english, kind, city, address, float(longitude), float(latitude))


PLACES: tuple[Place, ...] = tuple(
    _place(number, row) for number, row in enumerate(_PLACES.split("\n")[1:-1], 1)
)

CITY_BY_NAME = {city.name: city for city in CITIES}
STATION_BY_TELECODE = {station.telecode: station for station in STATIONS}
STATION_BY_NAME = {station.name: station for station in STATIONS}


def spelling(name: str) -> str:
    """A name as it is compared: no case, no blanks, no apostrophes."""
    return "".join(letter for letter in name.lower() if letter not in " '’·")


_CITY_BY_SPELLING = {spelling(s): city for city in CITIES for s in (city.name, city.full_name, city.pinyin)}


def find_city(text: str) -> City | None:
    """The city called `text`: with or without 市, in pinyin, or by its administrative code."""
    by_code = next((city for city in CITIES if city.adcode == text.strip()), None)
    return by_code or _CITY_BY_SPELLING.get(spelling(text))


def city_names() -> str:
    return "、".join(city.name for city in CITIES)
