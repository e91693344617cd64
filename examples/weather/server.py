"""A small MCP server: the weather at a place, in two steps that a model chains by itself.

`geocode_city` turns a city's name into coordinates, `get_weather_by_coords` turns coordinates into the
weather there now. Both ask Open-Meteo's public services, which need no key. Whatever goes wrong is an answer
that says `"status": "failed"`, what to tell the user, and whether trying again can help.

GEOCODING_URL and FORECAST_URL put other services in place of Open-Meteo's; SECONDS is how long one may take.
"""

import os
from typing import Annotated, Any, cast

import httpx2
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

GEOCODING_URL = os.environ.get("GEOCODING_URL", "https://geocoding-api.open-meteo.com/v1/search")
FORECAST_URL = os.environ.get("FORECAST_URL", "https://api.open-meteo.com/v1/forecast")
SECONDS = float(os.environ.get("SECONDS", "10"))

CODES = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "depositing rime fog",
    51: "light drizzle",
    53: "moderate drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "dense freezing drizzle",
    61: "slight rain",
    63: "moderate rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "heavy freezing rain",
    71: "slight snowfall",
    73: "moderate snowfall",
    75: "heavy snowfall",
    77: "snow grains",
    80: "slight rain showers",
    81: "moderate rain showers",
    82: "violent rain showers",
    85: "slight snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with slight hail",
    99: "thunderstorm with heavy hail",
}
"""WMO weather interpretation codes (code table 4677, as far as Open-Meteo uses it)."""

CURRENT = "temperature_2m,relative_humidity_2m,weather_code,wind_speed_10m,wind_direction_10m"
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=True)

server = MCPServer(
    "weather",
    instructions="For the weather in a city call geocode_city first, and get_weather_by_coords with what it "
    "gives. Ask the user for a city that is missing or could be several. When a result says that it "
    "failed, tell the user so; never make up coordinates or weather.",
)


class Trouble(Exception):
    """A failure to be told: what to say to the user, and whether the same call may succeed later."""

    def __init__(self, error: str, say: str, *, retry: bool) -> None:
        super().__init__(error)
        self.answer = {"status": "failed", "error": error, "message_for_user": say, "retry": retry}


@server.tool(annotations=READ_ONLY)
async def geocode_city(
    city: Annotated[str, Field(description="A city's name in any language, such as 苏州 or Lisbon.")],
    country_code: Annotated[
        str, Field(description="Two letters, such as CN, to tell apart cities of one name.")
    ] = "",
) -> dict[str, Any]:
    """Find a city: its latitude, longitude, time zone and country. The first step to its weather."""
    try:
        name, wanted = city.strip(), country_code.strip().upper()
        if not name:
            raise Trouble("city is empty", "Which city do you mean?", retry=False)
        found = await _get(GEOCODING_URL, name=name, count=10, language="zh" if _is_chinese(name) else "en")
        places = [place for item in _list(found.get("results")) if _is_place(place := _object(item))]
        fitting = [place for place in places if wanted in ("", place.get("country_code"))]
        if not fitting:
            where = f" in {wanted}" if wanted else ""
            raise Trouble(
                f"no place called {name!r}{where}", f"I know no place called {name}{where}.", retry=False
            )
        return {"status": "ok", **_described(fitting[0]), "others": [_described(p) for p in fitting[1:4]]}
    except Trouble as exc:
        return exc.answer


@server.tool(annotations=READ_ONLY)
async def get_weather_by_coords(
    latitude: Annotated[float, Field(description="Degrees north, -90 to 90, from geocode_city.")],
    longitude: Annotated[float, Field(description="Degrees east, -180 to 180, from geocode_city.")],
) -> dict[str, Any]:
    """The weather at coordinates now: temperature (°C), humidity (%), wind (km/h, degrees), and in words."""
    try:
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            raise Trouble(
                f"({latitude}, {longitude}) is no place on Earth: latitude is within ±90, longitude ±180",
                "Those coordinates are not on Earth.",
                retry=False,
            )
        found = await _get(
            FORECAST_URL, latitude=latitude, longitude=longitude, current=CURRENT, timezone="auto"
        )
        now = _object(found.get("current"))
        temperature = now.get("temperature_2m")
        if not isinstance(temperature, int | float) or not -100 <= temperature <= 70:
            raise Trouble(
                f"the service gave no believable temperature: {temperature!r}",
                "The weather service gave an answer that cannot be right.",
                retry=True,
            )
        code = now.get("weather_code")
        return {
            "status": "ok",
            "temperature": temperature,
            "humidity": now.get("relative_humidity_2m"),
            "weather_code": code,
            "weather": CODES.get(code, f"unknown (code {code})") if isinstance(code, int) else "unknown",
            "wind_speed": now.get("wind_speed_10m"),
            "wind_direction": now.get("wind_direction_10m"),
            "time": now.get("time"),
            "timezone": found.get("timezone"),
        }
    except Trouble as exc:
        return exc.answer


async def _get(url: str, **query: Any) -> dict[str, Any]:
    """The JSON object that a service answers with. Raises `Trouble` for anything else."""
    say = "The weather service cannot be reached at the moment."
    try:
        async with httpx2.AsyncClient(timeout=SECONDS) as client:
            response = await client.get(url, params=query)
        data: Any = response.json() if response.is_success else None
    except httpx2.TimeoutException:
        raise Trouble(f"no answer within {SECONDS:g} s", say, retry=True) from None
    except httpx2.RequestError as exc:
        raise Trouble(f"the connection failed: {exc or type(exc).__name__}", say, retry=True) from None
    except ValueError:
        raise Trouble("the service's answer is not JSON", say, retry=True) from None
    if not isinstance(data, dict):
        reason = f"the service answered HTTP {response.status_code}"
        busy = response.status_code == 429 or response.status_code >= 500
        raise Trouble(reason, say, retry=busy)
    return _object(data)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _is_place(place: dict[str, Any]) -> bool:
    """Whether a find has coordinates that can be believed."""
    match place:
        case {"latitude": int() | float() as latitude, "longitude": int() | float() as longitude}:
            return -90 <= latitude <= 90 and -180 <= longitude <= 180
        case _:
            return False


def _described(place: dict[str, Any]) -> dict[str, Any]:
    keys = ("name", "admin1", "country", "country_code", "latitude", "longitude", "timezone")
    return {key: place[key] for key in keys if place.get(key) is not None}


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


if __name__ == "__main__":
    server.run("stdio")
