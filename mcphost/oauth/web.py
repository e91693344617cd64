"""Requests to authorization servers. What is sent is secret, and never sent on to where a redirect leads.

Only https, except to the host of a server that its user configured with http. To this machine only if the
configuration names it: what runs here is not to be reached by a server elsewhere that points at it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx2
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import LATEST_PROTOCOL_VERSION

from mcphost import net
from mcphost.endpoints import check_url, is_loopback
from mcphost.specs import AuthSpec
from mcphost.transport.http import read

_LARGEST: Final = 1024 * 1024
_REDIRECTS: Final = 3
TIMEOUT: Final = 30.0
"""For one request, in seconds."""


class Trouble(Exception):
    """Why authorization cannot go on. `passing`: it may work later, as it stands."""

    def __init__(self, reason: str, *, hint: str | None = None, passing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.passing = passing


class Refused(Trouble):
    """The authorization server said no: its `error` (RFC 6749, section 5.2) and its own words for it."""

    def __init__(self, what: str, error: str, description: str) -> None:
        words = f"{error}: {description}" if description else error
        super().__init__(f"{what} was refused ({words})")
        self.error = error


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: its status, its JSON object (empty if it holds none), and whether that is usable."""

    status: int
    data: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def failing(self) -> bool:
        """Whether it says nothing, but that the server has trouble."""
        return self.status >= 500 or self.status == 429

    @property
    def error(self) -> tuple[str, str]:
        """The `error` of it and its description."""
        error = str(self.data.get("error") or f"HTTP {self.status}")
        return error[:200], str(self.data.get("error_description") or "")[:500]


class Web:
    """Makes requests for the server at `server_url`, with these settings."""

    def __init__(self, server_url: str, auth: AuthSpec) -> None:
        self._server_url = server_url
        named = (server_url, auth.issuer, auth.metadata_url, auth.token_url, auth.id_token_url)
        self._local = any(is_loopback(url) for url in named if url is not None)

    async def get(self, url: str) -> Answer:
        """Metadata. A redirect is followed while it stays with the same server."""
        headers = {MCP_PROTOCOL_VERSION_HEADER: LATEST_PROTOCOL_VERSION}
        answer, location = await self._send("GET", url, headers=headers)
        for _ in range(_REDIRECTS):
            if location is None or origin(location) != origin(url):
                break
            url = location
            answer, location = await self._send("GET", url, headers=headers)
        return answer

    async def post(
        self,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A form, or JSON."""
        answer, location = await self._send("POST", url, data=form, json=body, headers=headers)
        if location is not None:
            raise Trouble(
                f"{host(url)} leads elsewhere, to {host(location)}; secrets are not sent on to there"
            )
        return answer

    async def _send(self, method: str, url: str, **content: Any) -> tuple[Answer, str | None]:
        """The answer, and where it leads to if it does."""
        self.check(url)
        headers: dict[str, str] = {"Accept": "application/json", **(content.pop("headers", None) or {})}
        try:
            async with (
                net.client(url, timeout=TIMEOUT) as client,
                client.stream(method, url, headers=headers, **content) as response,
            ):
                body = await read(response, _LARGEST)
        except (httpx2.RequestError, httpx2.InvalidURL) as exc:
            raise Trouble(f"cannot reach {host(url)}: {net.what_failed(exc)}", passing=True) from exc
        if body is None:
            raise Trouble(f"the answer of {host(url)} is larger than {_LARGEST:,} bytes")
        location = str(response.next_request.url) if response.next_request is not None else None
        return Answer(response.status_code, _json_object(body)), location

    def check(self, url: str) -> None:
        """Raises `Trouble` where nothing secret may be sent to `url`."""
        try:
            check_url(url)
        except ValueError as exc:
            raise Trouble(f"an address of the authorization server {exc}") from exc
        own, other = urlsplit(self._server_url), urlsplit(url)
        as_configured = own.scheme.lower() == "http" and own.hostname == other.hostname
        if is_loopback(url):
            if not self._local:
                raise Trouble(f"it leads to this machine, to {host(url)}, and is not followed there")
        elif other.scheme.lower() != "https" and not as_configured:
            raise Trouble(f"{host(url)} is not https, so nothing secret can be sent to it")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        data: Any = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def origin(url: httpx2.URL | str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL; a port that goes without saying is None."""
    parts = httpx2.URL(url)
    return parts.scheme, parts.host, parts.port


def host(url: str) -> str:
    """The host and port of a URL, for messages."""
    return urlsplit(url).netloc.rpartition("@")[2]
