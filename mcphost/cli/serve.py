"""The HTTP backend: `serve`."""

from pathlib import Path
from typing import Any

import click

from mcphost.cli.shared import shared
from mcphost.terminal.settings import Settings


@click.command(short_help="The HTTP backend, for any OpenAI client.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free one."
)
@click.option("--serve-key", envvar="MCPHOST_SERVE_KEY", metavar="KEY", help="The key that callers present.")
@click.option(
    "--keys",
    "keys_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Several keys, each with a name.",
)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name it may be called by.")
@click.option("--cors-origin", "origins", multiple=True, metavar="URL", help="Whose web pages may call it.")
@click.option("--allow-model", "models", multiple=True, metavar="GLOB", help="Models that may be asked for.")
@click.option("--forward-key", is_flag=True, help="The caller's key is for the model's endpoint.")
@click.option(
    "--keepalive", type=click.FloatRange(min=0.1), default=15.0, metavar="SECONDS", help="Between comments."
)
@click.option("--max-body", type=click.IntRange(min=1), default=16, metavar="MB", help="The largest request.")
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    default=30.0,
    metavar="SECONDS",
    help="What requests get to finish in at the end.",
)
@click.option("--watch", is_flag=True, help="Read the configuration again whenever its files change.")
@click.option("-q", "--quiet", is_flag=True, help="Do not log requests on stdout.")
@shared
def serve(
    settings: Settings,
    host: str,
    port: int,
    serve_key: str | None,
    keys_file: Path | None,
    quiet: bool,
    drain: float,
    max_body: int,
    **allowed: Any,
) -> int:
    """Answer OpenAI's chat completions at /v1, with the tools of the servers.

    A JSON line a request goes to stdout. SIGTERM lets requests finish, within --drain seconds.
    """
    from mcphost.terminal.configure import load_config, with_model

    config = with_model(load_config(settings), settings)

    from mcphost.terminal import serve as world

    place = world.Place(host, port, serve_key, keys_file, drain, max_body * 1024 * 1024)
    return world.serve(config, settings, place, quiet=quiet, **allowed)
