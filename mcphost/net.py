"""One way to make HTTP clients, for the model's endpoint and for MCP servers."""

import socket
import ssl
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, cast
from urllib.request import getproxies

import httpx2

from mcphost.endpoints import is_loopback
from mcphost.errors import ConfigError

_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
"""Nobody waits for a connection, as the callers of a backend would for each other."""


@cache
def ssl_context() -> ssl.SSLContext:
    """The one context that all clients share: making one costs as much as a hundred requests."""
    return httpx2.create_ssl_context()


def client_settings(url: str) -> dict[str, Any]:
    """Keyword arguments for an `httpx2.AsyncClient` that talks to `url`: no proxy for loopback addresses.

    Raises `ConfigError` when the environment names a proxy that cannot be used.
    """
    local = is_loopback(url)
    if not local:
        _check_proxies()
    return {"verify": ssl_context(), "trust_env": not local, "limits": _LIMITS}


def client(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout | float | None = None,
    auth: httpx2.Auth | None = None,
    kind: type[httpx2.AsyncClient] = httpx2.AsyncClient,
) -> httpx2.AsyncClient:
    """A client that talks to `url`. `timeout` is in seconds, None for no limit.

    Redirects are not followed: what is sent is meant for the address that was configured. Raises
    `ConfigError` when the environment names a proxy that cannot be used.
    """
    settings = client_settings(url)
    try:
        return kind(
            headers=dict(headers or {}), timeout=timeout, auth=auth, follow_redirects=False, **settings
        )
    except (ValueError, httpx2.InvalidURL) as exc:
        raise ConfigError(f"a proxy of the environment cannot be used: {exc}", hint=_PROXY_HINT) from exc


_PROXY_HINT = "Correct or unset HTTP_PROXY, HTTPS_PROXY and ALL_PROXY."


def _check_proxies() -> None:
    """A SOCKS proxy needs a package that comes with neither `httpx2` nor us."""
    proxies = getproxies()
    for kind in ("http", "https", "all"):
        if proxies.get(kind, "").lower().startswith("socks") and find_spec("socksio") is None:
            raise ConfigError(
                f"{kind.upper()}_PROXY names a SOCKS proxy, and support for those is not installed",
                hint="Install it with `pip install socksio`, or give an HTTP proxy in its place.",
            )


def causes(exc: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and what caused that, into exception groups; the first cause last."""
    yield exc
    if isinstance(exc, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", exc).exceptions:
            yield from causes(inner)
    following = exc.__cause__ or exc.__context__
    if following is not None:
        yield from causes(following)


def what_failed(exc: BaseException) -> str:
    """Why a connection failed, in a few words."""
    chain = list(causes(exc))
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (socket.gaierror, "there is no such host"),
        (ConnectionRefusedError, "the connection was refused"),
        (httpx2.ConnectTimeout, "no answer"),
    )
    for kind, words in kinds:
        if any(isinstance(cause, kind) for cause in chain):
            return words
    return str(chain[-1]) or type(chain[-1]).__name__
