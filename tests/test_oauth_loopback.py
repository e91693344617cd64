"""Waiting on this machine for somebody to come back from a page."""

import socket
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import httpx2
import pytest

from mcphost.oauth.loopback import Came, Loopback
from mcphost.oauth.visitor import NotVisited

from .http_servers import closed_port

pytestmark = pytest.mark.anyio
PAGE = "https://login.example/authorize?state=right"


async def came_back_by(
    act: Callable[[str, Came], Coroutine[Any, Any, None]],
    *,
    redirect_uri: str | None = None,
    seconds: float = 20,
) -> str:
    """The query that a visit ends with, when `act` is what happens at the redirect URI meanwhile."""
    address: list[str] = []

    async def show(url: str, came: Came) -> None:
        assert url == PAGE
        await act(address[0], came)

    async with Loopback(show, seconds=seconds).receiving(redirect_uri) as visit:
        address.append(visit.redirect_uri)
        url = await visit.visit(PAGE)
        assert url.startswith(f"{visit.redirect_uri}?")
        return url.partition("?")[2]


async def get(url: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        return await client.get(url)


async def test_somebody_comes_back_and_sees_that_all_is_well():
    seen: list[httpx2.Response] = []

    async def act(address: str, came: Came) -> None:
        del came
        seen.append(await get(f"{address}?state=right&code=x"))

    assert await came_back_by(act) == "state=right&code=x"
    assert seen[0].status_code == 200 and "You can close this page" in seen[0].text
    assert "script" not in seen[0].text
    assert seen[0].headers["content-security-policy"].startswith("default-src 'none'")


async def test_what_went_wrong_is_shown_as_text():
    seen: list[str] = []

    async def act(address: str, came: Came) -> None:
        del came
        seen.append((await get(f"{address}?state=right&error=denied&error_description=<script>no")).text)

    assert "error=denied" in await came_back_by(act)
    assert "&lt;script&gt;no" in seen[0] and "<script>" not in seen[0]


async def test_whatever_else_comes_is_not_the_answer():
    async def act(address: str, came: Came) -> None:
        root = address.removesuffix("/callback")
        for url in (f"{root}/favicon.ico", root, f"{address}?code=x", f"{address}?state=wrong&code=x"):
            assert (await get(url)).status_code == 404
        async with httpx2.AsyncClient() as client:
            assert (await client.post(f"{address}?state=right&code=stolen")).status_code == 404
        assert not came("https://login.example/?state=wrong&code=x")
        assert not came("")
        for junk in (b"", b"\xff\x00\r\n\r\n", b"x" * 20000):
            host, port = root.removeprefix("http://").split(":")
            async with await anyio.connect_tcp(host, int(port)) as stream:
                await stream.send(junk) if junk else None
        await get(f"{address}?state=right&code=right")

    assert await came_back_by(act) == "state=right&code=right"


@pytest.mark.parametrize("form", ["{}?{}", " {}?{}\n", "{1}", "?{1}"])
async def test_an_address_may_be_pasted(form: str):
    async def act(address: str, came: Came) -> None:
        assert came(form.format(address, "code=x&state=right"))

    assert await came_back_by(act) == "code=x&state=right"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_an_address_of_ones_own_is_listened_at(host: str):
    redirect_uri = f"http://{host}:{closed_port()}/some/where"

    async def act(address: str, came: Came) -> None:
        del came
        assert address == redirect_uri
        await get(f"{address}?state=right&code=x")

    assert await came_back_by(act, redirect_uri=redirect_uri) == "state=right&code=x"


async def test_a_port_that_is_taken_is_named():
    async def act(address: str, came: Came) -> None:
        raise AssertionError

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NotVisited, match=f"nothing can be received at port {port}"):
            await came_back_by(act, redirect_uri=f"http://127.0.0.1:{port}/callback")


async def test_nobody_is_waited_for_forever():
    async def act(address: str, came: Came) -> None:
        del address, came
        await anyio.sleep_forever()

    with pytest.raises(NotVisited, match=r"nobody came back from the page within 0\.05 s"):
        await came_back_by(act, seconds=0.05)


async def test_nothing_listens_any_more_after_the_visit():
    addresses: list[str] = []

    async def act(address: str, came: Came) -> None:
        addresses.append(address)
        came("?state=right&code=x")

    await came_back_by(act)
    with pytest.raises(httpx2.ConnectError):
        await get(addresses[0])
