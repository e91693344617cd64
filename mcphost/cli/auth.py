"""Who we are to servers on the web: `login`, `logout`."""

from pathlib import Path
from typing import Any

import click

from mcphost.cli.completing import server_names
from mcphost.terminal.logs import log_to_stderr
from mcphost.terminal.settings import Settings

_CONFIG = click.option(
    "-c",
    "--config",
    "configs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A servers.json. May be repeated; later files win by server.",
)
_VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Say more, on stderr.")


@click.command(short_help="Have a server grant access, in the browser.")
@click.argument("server", shell_complete=server_names)
@click.option("--no-browser", is_flag=True, help="Print the page's address instead of opening it.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    metavar="SECONDS",
    help="How long to wait for you to come back from the page.",
)
@_CONFIG
@_VERBOSE
def login(server: str, no_browser: bool, timeout: float, configs: tuple[Path, ...], verbose: bool) -> int:
    """Have SERVER grant access, and keep that for whenever it is used.

    A page opens on which to say yes. Where the browser is on another machine, open the printed address there
    and paste the address that it leads to in the end.
    """
    log_to_stderr(verbose=verbose)

    from mcphost.terminal.configure import load_config

    settings = Settings(configs=configs, verbose=verbose)
    config = load_config(settings)

    from mcphost.terminal import login as world
    from mcphost.terminal.interrupt import run as supervise

    return supervise(
        lambda interrupts: world.login(config, settings, server, browser=not no_browser, seconds=timeout)
    )


@click.command(short_help="Take a login back.")
@click.argument("server", required=False, shell_complete=server_names)
@click.option("--all", "everything", is_flag=True, help="Every login that there is.")
@_CONFIG
@_VERBOSE
def logout(server: str | None, everything: bool, configs: tuple[Path, ...], verbose: bool) -> int:
    """Forget the login of SERVER, and have its authorization server forget it too."""
    if (server is None) is not everything:
        raise click.UsageError("Give either SERVER or --all.")
    log_to_stderr(verbose=verbose)

    from mcphost.terminal import login as world
    from mcphost.terminal.interrupt import run as supervise

    def work(interrupts: Any) -> Any:
        del interrupts
        return world.logout(Settings(configs=configs, verbose=verbose), server)

    return supervise(work)
