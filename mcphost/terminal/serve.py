"""`mcphost serve`: the backend set up from flags, its log on stdout, and what its operator should know."""

import queue
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from mcphost.api import Settings as Allowed
from mcphost.api import create_app, serving
from mcphost.api.keys import Caller, Key, Keys
from mcphost.api.settings import LOOPBACK
from mcphost.config import Config
from mcphost.errors import ConfigError
from mcphost.events import ServerChanged
from mcphost.host import Host
from mcphost.terminal.configure import load_config, with_model
from mcphost.terminal.output import Closed, complain, note, write_json
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import warn_of
from mcphost.terminal.steps import line_of

_PENDING: Final = 10_000
"""Lines of the log that wait for a slow reader; more are not written."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where it listens, who may call, and how it ends. `drain` is in seconds."""

    host: str
    port: int
    serve_key: str | None
    keys_file: Path | None
    drain: float
    body_bytes: int


def serve(
    config: Config,
    settings: Settings,
    place: Place,
    *,
    quiet: bool,
    hosts: Iterable[str],
    origins: Iterable[str],
    models: Iterable[str],
    forward_key: bool,
    keepalive: float,
    watch: bool,
) -> int:
    """Serve until told to end. The exit code."""
    keys = _keys(place)
    serving.check_public(place.host, keyed=bool(keys))
    named = tuple(hosts)
    allowed = Allowed(
        hosts=(*LOOPBACK, *named) if named or serving.is_own(place.host) else ("*",),
        origins=tuple(origins),
        models=tuple(models) or ("*",),
        keepalive=keepalive,
        body_bytes=place.body_bytes,
        forward_key=forward_key,
    )
    listener = serving.listen(place.host, place.port)
    host = Host(config, save=False, trace=settings.trace)
    log = None if quiet else _Log()
    app = create_app(host, allowed, keys=keys, log=log and log.take)
    note(f"listening at {serving.url_of(listener)}")

    async def reload() -> None:
        try:
            fresh = await anyio.to_thread.run_sync(lambda: with_model(load_config(settings), settings))
        except ConfigError as exc:
            note("the configuration stays as it was:", style="yellow")
            complain(exc)
            return
        await host.reload(fresh)
        note("the configuration was read again")

    async def beside() -> None:
        async with anyio.create_task_group() as tg:
            tg.start_soon(_tell, host)
            if watch:
                tg.start_soon(serving.watch, config.files, reload)

    try:
        return anyio.run(
            partial(
                serving.serve_until_told,
                app,
                host,
                listener,
                drain=place.drain,
                reload=reload,
                beside=beside,
            )
        )
    finally:
        if log is not None:
            log.close()


def _keys(place: Place) -> Keys:
    text = (place.serve_key or "").strip()
    own = [Key.of(text, Caller("serve-key"))] if text else []
    return Keys(own, file=place.keys_file)


async def _tell(host: Host) -> None:
    """Say when all servers are there, and what happens to them later."""
    await host.ready()
    servers = list(host.servers.values())
    warn_of(servers)
    ready = sum(server.state == "ready" for server in servers)
    note(f"{ready} of {sum(server.spec.enabled for server in servers)} servers are ready")
    async with host.watch() as events:
        async for event in events:
            if isinstance(event, ServerChanged) and (line := line_of(event)) is not None:
                note(line)


class _Log:
    """Lines on stdout, written beside the event loop: a reader who is slow keeps nobody waiting."""

    def __init__(self) -> None:
        self._lines: queue.Queue[Mapping[str, Any] | None] = queue.Queue(_PENDING)
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def take(self, line: Mapping[str, Any]) -> None:
        if self._thread.is_alive() and not self._lines.full():
            self._lines.put_nowait(line)

    def close(self) -> None:
        """Write what is left, within a second."""
        if self._thread.is_alive() and not self._lines.full():
            self._lines.put_nowait(None)
        self._thread.join(1)

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                write_json(line)
        except Closed:
            note("nobody reads the log any more")
