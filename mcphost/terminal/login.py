"""`mcphost login` and `mcphost logout`."""

import os
import sys
from pathlib import Path

from mcphost import config as configuration
from mcphost import files
from mcphost.config import Config, ServerSpec
from mcphost.errors import ConfigError, McphostError
from mcphost.oauth.logout import log_out
from mcphost.oauth.loopback import Came, Loopback
from mcphost.oauth.provider import authorization
from mcphost.oauth.store import Logins
from mcphost.paths import user_config
from mcphost.specs import AuthSpec
from mcphost.terminal.ask import Ended, Lines
from mcphost.terminal.browser import open_page
from mcphost.terminal.output import is_interactive, note, styled, write
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, settled
from mcphost.text import printable


async def login(config: Config, settings: Settings, name: str, *, browser: bool, seconds: float) -> int:
    """Get a server's tokens, and see that they let us in. Raises `McphostError`."""
    config = configuration.narrowed(config, [name])
    spec = config.servers[name]
    signing = authorization(spec, visitor=Loopback(_Shown(name, browser=browser).show, seconds=seconds))
    if signing is None or spec.problem:
        raise _unfit(spec)
    await signing.log_in()
    note(f"logged in to {printable(name)}", style="green")
    enabled = config.model_copy(update={"servers": {name: spec.model_copy(update={"enabled": True})}})
    async with opened(enabled, settings) as host:
        await settled(host, settings)
        write(f"{printable(name)}: {len(host.servers[name].tools)} tools")
    return 0


def _unfit(spec: ServerSpec) -> McphostError:
    """Why a server cannot be logged in to."""
    if spec.problem:
        return ConfigError(f"{spec.name}: {spec.problem}", hint=spec.hint)
    if spec.type not in ("http", "sse", "url"):
        return ConfigError(f"{spec.name} has no url, and needs no login")
    if spec.auth is not None:
        return ConfigError(f"{spec.name}: its auth is switched off in servers.json")
    return ConfigError(
        f"{spec.name} has its authorization in servers.json, and needs no login",
        hint='To log in instead, take that out, or add "auth": "oauth".',
    )


class _Shown:
    """Shows a page, in the browser if there is one, and takes an address that is pasted."""

    def __init__(self, name: str, *, browser: bool) -> None:
        self._name = printable(name)
        self._browser = browser

    async def show(self, url: str, came: Came) -> None:
        url = printable(url)
        if self._browser:
            note(f"Grant access to {self._name} on the page that opens now. If none does, go to")
            note(styled(url, "cyan", sys.stderr))
            if not await open_page(url):
                note("There is no browser here; open the address above in one.", style="yellow")
        else:
            note(f"Grant access to {self._name} on this page:")
            write(url)
        if is_interactive():
            await self._pasted(came)

    async def _pasted(self, came: Came) -> None:
        note("With a browser on another machine, paste the address that it leads to in the end.", style="dim")
        lines = Lines()
        try:
            while not came(await lines.line("")):
                note("That is not the address that answers this login.", style="yellow")
        except Ended:
            return


async def logout(settings: Settings, name: str | None) -> int:
    """Forget the logins of a name, or all. Raises `ConfigError` for a name that nothing has."""
    logins = Logins()
    every = await logins.all()
    found = [each for each in every if name is None or each.server == name]
    config = _config(settings)
    if not found and name is not None:
        if config is None or name not in config.servers:
            known = sorted({each.server for each in every})
            raise ConfigError(
                f"nothing is logged in as {name!r}", hint=f"Logged in: {', '.join(known) or 'none'}."
            )
        note(f"{name} is not logged in")
    for each in found:
        spec = config.servers.get(each.server) if config is not None else None
        auth = spec.authorization() if spec is not None and spec.url == each.url else None
        problem = await log_out(each, auth or AuthSpec(), logins=logins)
        note(f"logged out of {printable(each.server)}", style="green")
        if problem is not None:
            note(f"warning: its tokens hold until they run out: {printable(problem)}", style="yellow")
    if not found and name is None:
        note("nothing is logged in")
    return 0


def _config(settings: Settings) -> Config | None:
    """The configuration, where there is one that can be read: it may have a client's secret."""
    found = files.find(environ=os.environ, cwd=Path.cwd(), home_config=user_config())
    paths = settings.configs or ((found.path,) if found is not None else ())
    try:
        return configuration.load(paths, environ=os.environ)
    except ConfigError:
        if settings.configs:
            raise
        return None
