"""A visitor that listens on this machine for what the page sends back (RFC 8252, section 7.3)."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from html import escape
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from mcphost.oauth.visitor import NotVisited, Visit

Came = Callable[[str], bool]
"""Told of a URL that somebody has come back by: whether it is the one that is waited for."""

Show = Callable[[str, Came], Coroutine[Any, Any, None]]
"""Shows a person the page at a URL. May tell of a URL that the person has found another way to bring back."""

_LARGEST: Final = 16384
_SECONDS: Final = 10.0
_BROKEN: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


class Loopback:
    """Shows the page by `show`, and waits at most `seconds` for somebody to come back from it."""

    def __init__(self, show: Show, *, seconds: float = 300.0) -> None:
        self._show = show
        self._seconds = seconds

    @asynccontextmanager
    async def receiving(self, redirect_uri: str | None) -> AsyncGenerator[Visit]:
        parts = urlsplit(redirect_uri or "http://127.0.0.1:0/callback")
        listener = await _listener(parts.hostname or "", parts.port or 0)
        async with listener:
            port = listener.extra(SocketAttribute.local_port)
            yield _Visit(
                redirect_uri or f"http://127.0.0.1:{port}/callback", listener, self._show, self._seconds
            )


async def _listener(host: str, port: int) -> Any:
    try:
        try:
            return await anyio.create_tcp_listener(local_host=host, local_port=port)
        except OSError:  # a machine without IPv6 cannot have both addresses of `localhost`
            if host != "localhost":
                raise
            return await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as exc:
        reason = f"nothing can be received at port {port}: {exc.strerror or exc}"
        raise NotVisited(
            reason, hint="Another login may be under way; end it, or name another port."
        ) from exc


class _Visit:
    def __init__(self, redirect_uri: str, listener: Any, show: Show, seconds: float) -> None:
        self.redirect_uri = redirect_uri
        self._listener = listener
        self._show = show
        self._seconds = seconds
        self._state: str | None = None
        self._url = ""
        self._came = anyio.Event()

    async def visit(self, url: str) -> str:
        self._state, self._came = _parameter(url, "state"), anyio.Event()
        with anyio.move_on_after(self._seconds):
            async with anyio.create_task_group() as tg:
                tg.start_soon(self._listener.serve, self._answer)
                tg.start_soon(self._show, url, self._arrived)
                await self._came.wait()
                tg.cancel_scope.cancel()
            return self._url
        reason = f"nobody came back from the page within {self._seconds:g} s"
        raise NotVisited(reason, hint="Try again, and give it longer if need be: --timeout SECONDS.")

    def _arrived(self, url: str) -> bool:
        """Take a URL, or its query alone, if it answers this visit. Others' programs may send anything."""
        given = urlsplit(url.strip())
        query = given.query if given.scheme or given.query else given.path
        url = f"{self.redirect_uri}?{query}"
        if self._state is None or _parameter(url, "state") != self._state:
            return False
        self._url = url
        self._came.set()
        return True

    async def _answer(self, stream: ByteStream) -> None:
        """Answer one request, whatever it is."""
        async with stream:
            try:
                with anyio.fail_after(_SECONDS):
                    head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", _LARGEST)
                    method, target, *_ = [*head.decode("latin-1").split("\r\n")[0].split(" "), "", ""]
                    path = urlsplit(self.redirect_uri).path or "/"
                    is_ours = method == "GET" and target.partition("?")[0] == path
                    is_ours = (
                        is_ours and self._state is not None and _parameter(target, "state") == self._state
                    )
                    await stream.send(_page(target) if is_ours else _NOT_HERE)
            except (*_BROKEN, TimeoutError, anyio.DelimiterNotFound, anyio.IncompleteRead, ValueError):
                return
        if is_ours:  # once the page is out: nobody serves it after that
            self._arrived(target)


def _parameter(url: str, name: str) -> str | None:
    return parse_qs(urlsplit(url).query).get(name, [None])[0]


def _page(target: str) -> bytes:
    error = _parameter(target, "error")
    if error is None:
        return _response("200 OK", "You can close this page", "mcphost has what it needs and goes on.")
    reason = _parameter(target, "error_description") or error
    return _response("200 OK", "Access was not granted", reason[:500])


def _response(status: str, title: str, text: str) -> bytes:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>mcphost</title>'
        f'<body style="font-family: sans-serif; margin: 4em auto; max-width: 30em">'
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p></body></html>\n"
    ).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + body


_NOT_HERE = _response(
    "404 Not Found", "Nothing is here", "mcphost waits for the answer to a login, and for nothing else."
)
