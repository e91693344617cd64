"""Which addresses are this machine, and how clients treat proxies."""

import anyio
import pytest

from mcphost import net
from mcphost.errors import ConfigError

from .endpoint import Endpoint, raw


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:1/v1",
        "http://LOCALHOST.",
        "http://api.localhost/",
        "http://127.0.0.1:8000",
        "https://127.9.9.9/",
        "http://[::1]:80/x",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0:11434/v1",
        "http://user:secret@127.0.0.1/",
    ],
)
def test_loopback_addresses_are_known(url: str) -> None:
    assert net.is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://192.168.1.1/",
        "http://localhost.example.com/",
        "http://127.0.0.1.example.com/",
        "http://example.com/127.0.0.1",
        "http://[::1",
        "127.0.0.1",
        "",
    ],
)
def test_other_addresses_are_not(url: str) -> None:
    assert not net.is_loopback(url)


def test_clients_share_one_ssl_context() -> None:
    assert net.ssl_context() is net.ssl_context()


def test_loopback_goes_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def main() -> None:
        with Endpoint(raw(b"ok", status=403)) as endpoint:
            async with net.client(endpoint.url, headers={"X-A": "1"}, timeout=5) as client:
                assert (await client.post(endpoint.url, content=b"{}")).status_code == 403
            assert endpoint.requests[0].headers["x-a"] == "1"

    anyio.run(main)


def test_redirects_are_not_followed() -> None:
    async def main() -> None:
        moved = raw(b"", status=307, headers={"Location": "/v2"})
        with Endpoint(moved) as endpoint:
            async with net.client(endpoint.url, timeout=5) as client:
                assert (await client.post(endpoint.url, content=b"{}")).status_code == 307

    anyio.run(main)


def test_a_socks_proxy_without_its_package_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setattr(net, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="SOCKS"):
        net.client("https://api.openai.com/v1")
    anyio.run(net.client("http://127.0.0.1:1/v1").aclose)


def test_a_proxy_that_is_no_address_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://[::1")
    with pytest.raises(ConfigError, match="proxy"):
        net.client("https://api.openai.com/v1")
