"""The weather example, as a process, against a stand-in for the public service."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcphost import Host

from .http_servers import closed_port
from .scripted import ScriptedModel, calls, says

SERVER = Path(__file__).parents[1] / "examples" / "weather" / "server.py"
SUZHOU = {
    "name": "苏州",
    "country_code": "CN",
    "latitude": 31.3,
    "longitude": 120.6,
    "timezone": "Asia/Shanghai",
}
WEATHER = {
    "timezone": "Asia/Shanghai",
    "current": {
        "time": "2026-11-30T12:00",
        "temperature_2m": 9.5,
        "relative_humidity_2m": 60,
        "weather_code": 61,
        "wind_speed_10m": 12,
        "wind_direction_10m": 90,
    },
}
Reply = dict[str, Any] | bytes | int | None
"""A JSON answer, other bytes, a status, or None for no answer at all."""

pytestmark = pytest.mark.anyio


class Service:
    """Answers every request with what `answer` makes of its path and query."""

    def __init__(self, answer: Callable[[str, dict[str, str]], Reply]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        self.url = ""


@contextmanager
def service(answer: Callable[[str, dict[str, str]], Reply]) -> Iterator[Service]:
    made = Service(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            made.asked.append((parts.path, query))
            reply = made.answer(parts.path, query)
            if reply is None:
                made.over.wait(30)
                return
            body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(reply if isinstance(reply, int) else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            made.over.set()
            server.shutdown()


def usual(path: str, query: dict[str, str]) -> Reply:
    if path == "/search":
        return {"results": [SUZHOU]} if query["name"] == "苏州" else {}
    return WEATHER


def host(url: str, **env: str) -> Host:
    env = {"GEOCODING_URL": f"{url}/search", "FORECAST_URL": f"{url}/forecast", **env}
    return Host.from_config(
        {"mcpServers": {"weather": {"command": sys.executable, "args": [str(SERVER)], "env": env}}}
    )


async def called(host: Host, tool: str, **arguments: Any) -> dict[str, Any]:
    return json.loads((await host.call_tool(f"weather/{tool}", arguments)).content)


async def test_a_model_chains_the_two_steps():
    model = ScriptedModel(
        calls(("geocode_city", '{"city": "苏州"}')),
        calls(("get_weather_by_coords", '{"latitude": 31.3, "longitude": 120.6}')),
        says("苏州现在 9.5 度，小雨。"),
    )
    with service(usual) as asked:
        async with host(asked.url) as running:
            await running.ready()
            reply = await running.chat("苏州天气", model=model)
    assert reply.text == "苏州现在 9.5 度，小雨。"
    results = [json.loads(result.content) for result in reply.tool_calls]
    assert results[0]["latitude"] == 31.3
    assert (results[1]["temperature"], results[1]["weather"]) == (9.5, "slight rain")
    assert asked.asked[0][1]["language"] == "zh"
    assert asked.asked[1][1]["latitude"] == "31.3"


async def test_impossible_questions_are_answered_without_asking_the_service():
    with service(usual) as asked:
        async with host(asked.url) as running:
            await running.ready()
            nowhere = await called(running, "get_weather_by_coords", latitude=91, longitude=0)
            nothing = await called(running, "geocode_city", city=" ")
            missing = await called(running, "geocode_city")
    assert nowhere["status"] == nothing["status"] == missing["status"] == "failed"
    assert "no place on Earth" in nowhere["error"]
    assert nowhere["retry"] is False
    assert "city" in missing["error"]
    assert asked.asked == []


async def test_unknown_places_and_unbelievable_ones_are_failures():
    absurd = {"results": [{**SUZHOU, "latitude": 1234}, {"name": "no coordinates"}, "odd"]}
    with service(lambda path, query: absurd if query.get("name") == "Mars" else {}) as asked:
        async with host(asked.url) as running:
            await running.ready()
            for city in ("Mars", "Nowhere"):
                answer = await called(running, "geocode_city", city=city)
                assert (answer["status"], answer["retry"]) == ("failed", False)
                assert city in answer["message_for_user"]


async def test_cities_of_one_name_are_told_apart_by_their_country():
    places = {"results": [{**SUZHOU, "name": "A"}, {**SUZHOU, "name": "B", "country_code": "US"}]}
    with service(lambda path, query: places) as asked:
        async with host(asked.url) as running:
            await running.ready()
            any_country = await called(running, "geocode_city", city="Suzhou")
            american = await called(running, "geocode_city", city="Suzhou", country_code="us")
    assert (any_country["name"], any_country["others"][0]["name"]) == ("A", "B")
    assert american["name"] == "B"


@pytest.mark.parametrize(
    ("reply", "error", "retry"),
    [
        (None, "no answer within 0.2 s", True),
        (b"<html>", "not JSON", True),
        (503, "HTTP 503", True),
        (404, "HTTP 404", False),
        ({"current": {"temperature_2m": 4000}}, "no believable temperature", True),
        ({"current": []}, "no believable temperature", True),
    ],
    ids=["silent", "no JSON", "busy", "gone", "absurd", "empty"],
)
async def test_the_services_trouble_is_an_answer(reply: Reply, error: str, retry: bool):
    with service(lambda path, query: reply) as asked:
        async with host(asked.url, SECONDS="0.2") as running:
            await running.ready()
            answer = await called(running, "get_weather_by_coords", latitude=31, longitude=120)
    assert answer["status"] == "failed"
    assert error in answer["error"]
    assert answer["retry"] is retry


async def test_a_service_that_is_not_there_is_an_answer():
    async with host(f"http://127.0.0.1:{closed_port()}") as running:
        await running.ready()
        answer = await called(running, "geocode_city", city="苏州")
    assert (answer["status"], answer["retry"]) == ("failed", True)
