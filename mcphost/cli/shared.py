"""The flags that all commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from mcphost.cli.completing import server_names
from mcphost.terminal.logs import log_to_stderr
from mcphost.terminal.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

_SHARED = (
    click.option(
        "-c",
        "--config",
        "configs",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A servers.json. May be repeated; later files win by server.",
    ),
    click.option("-m", "--model", metavar="NAME", help="The model, such as deepseek/deepseek-chat."),
    click.option("--base-url", metavar="URL", help="The model's OpenAI-compatible endpoint."),
    click.option("--api-key", metavar="KEY", help="The model's key; better in its environment variable."),
    click.option(
        "--server",
        "servers",
        multiple=True,
        metavar="NAME",
        shell_complete=server_names,
        help="Only this server. May be repeated.",
    ),
    click.option("--naming", type=click.Choice(["cherry", "mcp", "plain"]), help="How tools are named."),
    click.option("--results", type=click.Choice(["text", "blocks"]), help="How results go to the model."),
    click.option(
        "--wait",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Wait no longer than this for servers.",
    ),
    click.option("-v", "--verbose", is_flag=True, help="Say more, on stderr."),
    click.option(
        "--trace",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Append what is sent and received to FILE, a JSON object a line.",
    ),
)


def shared(command: Command) -> Command:
    """Give a command the flags that all take, as one `Settings`, its first argument. Goes next to it."""

    def with_settings(
        configs: tuple[Path, ...],
        model: str | None,
        base_url: str | None,
        api_key: str | None,
        servers: tuple[str, ...],
        naming: Literal["cherry", "mcp", "plain"] | None,
        results: Literal["text", "blocks"] | None,
        wait: float | None,
        verbose: bool,
        trace: Path | None,
        **rest: Any,
    ) -> Any:
        log_to_stderr(verbose=verbose)
        settings = Settings(configs, model, base_url, api_key, servers, naming, results, wait, verbose, trace)
        return command(settings, **rest)

    with_settings.__name__, with_settings.__doc__ = command.__name__, command.__doc__
    wrapped: Any = with_settings
    for option in reversed(_SHARED):
        wrapped = option(wrapped)
    return wrapped
