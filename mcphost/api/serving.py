"""The backend under a server of its own: bound, told about, drained."""

import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.abc
import uvicorn
from starlette.types import ASGIApp
from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

from mcphost.errors import ConfigError
from mcphost.host import Host

logger = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]

_GARBAGE: Final = (2_000, 5, 250)
"""When garbage is looked for: often among the newest, which takes a moment, and rarely among all."""
_BACKLOG: Final = 2048
_IDLE_SECONDS: Final = 75
"""How long a connection without a request is kept: longer than proxies do, so that they close first."""


def check_public(host: str, *, keyed: bool) -> None:
    """Raises `ConfigError` for an address that others reach, where nobody would have to present a key."""
    if not keyed and not is_own(host):
        raise ConfigError(
            f"--host {host} can be reached from elsewhere, and callers would need no key",
            hint="Set one with --serve-key or $MCPHOST_SERVE_KEY, or several with --keys FILE.",
        )


def is_own(host: str) -> bool:
    """Whether an address to listen on is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any free one. Raises `ConfigError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        hint = "Choose another with --port, or 0 for any that is free." if "in use" in reason else None
        raise ConfigError(f"cannot listen on {host} port {port}: {reason}", hint=hint) from None


def url_of(listener: socket.socket) -> str:
    """The base URL for clients."""
    address: tuple[str, int] = listener.getsockname()[:2]
    host, port = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0]), address[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


async def serve_until_told(
    app: ASGIApp,
    host: Host,
    listener: socket.socket,
    *,
    drain: float,
    reload: Work,
    beside: Work,
) -> int:
    """Serve until SIGTERM or Ctrl-C: then no more requests are taken, and those under way have `drain`
    seconds. Another signal ends them at once. SIGHUP has `reload` called; `beside` runs all the while. The
    exit code."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=_IDLE_SECONDS,
    )
    vars(config)["timeout_graceful_shutdown"] = drain  # typed as whole seconds, and used as any
    server = _Server(config)
    async with host, anyio.create_task_group() as tg:
        if sys.platform != "win32":  # there, uvicorn's own way has to do
            await tg.start(_attend, server, reload)
        tg.start_soon(beside)
        tg.start_soon(_settle, host)
        await server.serve(sockets=[listener])
        tg.cancel_scope.cancel()
    return 128 + signal.SIGINT if server.ended_by == signal.SIGINT else 0


async def watch(paths: Sequence[Path], changed: Work) -> None:
    """Have `changed` called whenever one of these files is another, or has been put in place of the old."""
    wanted = {str(path.absolute()) for path in paths}
    folders = {str(path.absolute().parent) for path in paths}
    changes: Any = awatch(
        *folders,
        watch_filter=lambda _, path: path in wanted,
        debounce=400,
        rust_timeout=500,  # milliseconds that ending may have to wait
        recursive=False,
        raise_interrupt=False,
    )
    async for _ in changes:
        await changed()


async def _settle(host: Host) -> None:
    """What is there once all servers have started stays: looking through it for garbage, again and again,
    would keep the event loop busy for a tenth of a second each time."""
    with suppress(ConfigError):
        host.model()  # what the first request would have to wait for
    await host.ready()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


class _Server(uvicorn.Server):
    """Leaves the signals to us."""

    ended_by: signal.Signals | None = None

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        with super().capture_signals() if sys.platform == "win32" else nullcontext():
            yield


async def _attend(
    server: _Server,
    reload: Work,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Do what signals ask for."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGHUP:
                await reload()
                continue
            server.force_exit = server.should_exit
            server.should_exit = True
            server.ended_by = server.ended_by or number
