"""The command line: parse, build, run. The only place that exits.

A command's world is imported when that command runs, so that help, versions and usage errors are quick.
"""

import gc
import signal
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import click

from mcphost import __version__
from mcphost.errors import McphostError
from mcphost.terminal.inputs import arguments_of, prompt_and_attachment, read_stdin, text_or_file
from mcphost.terminal.logs import log_to_stderr
from mcphost.terminal.output import Closed, complain, prepare_streams
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
        "--server", "servers", multiple=True, metavar="NAME", help="Only this server. May be repeated."
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


def _shared(command: Command) -> Command:
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


class _Commands(click.Group):
    """Commands in the order in which one meets them; a mistyped one gets a suggestion."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as exc:
            near = get_close_matches(args[0], self.commands, n=1)
            if near:
                raise click.UsageError(f"{exc.message} Did you mean {near[0]!r}?", ctx) from None
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="mcphost %(version)s")
def cli() -> None:
    """Connect MCP servers to any model that speaks OpenAI-style function calling.

    \b
    mcphost demo                          the whole loop, with no key and no network
    mcphost tools -c servers.json         what the servers of a file offer
    mcphost call amap-maps/maps_geo '{"address": "…"}'
    mcphost run -m deepseek/deepseek-chat "…"
    """


@cli.command(short_help="One prompt in, one answer out.")
@click.argument("prompt", required=False)
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    help="The answer, one JSON object, or a JSON object an event.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not show calls and results on stderr.")
@click.option("--system", metavar="TEXT|@FILE", help="The system prompt.")
@click.option("--max-rounds", type=click.IntRange(min=1), metavar="N", help="Rounds that may call tools.")
@click.option("--tool-choice", metavar="CHOICE", help="auto, none, required, or a tool's name.")
@click.option("--yes", is_flag=True, help="Allow calls that would be asked about.")
@_shared
def run(
    settings: Settings,
    prompt: str | None,
    output: Literal["text", "json", "stream-json"],
    quiet: bool,
    system: str | None,
    max_rounds: int | None,
    tool_choice: str | None,
    yes: bool,
) -> int:
    """One turn: PROMPT goes to the model, its calls to the servers, the answer to stdout.

    Without PROMPT, or with `-`, it is read from standard input. What is piped in beside a PROMPT is
    attached to it.
    """
    prompt, attached = prompt_and_attachment(prompt)
    text = text_or_file("--system", system)

    from mcphost.terminal.configure import load_config, with_model

    config = with_model(load_config(settings), settings)
    if max_rounds is not None:
        limits = config.limits.model_copy(update={"rounds": max_rounds})
        config = config.model_copy(update={"limits": limits})

    from mcphost.terminal import run as world
    from mcphost.terminal.interrupt import run as supervise

    request = world.Request(prompt, attached, text, output, quiet, tool_choice, yes)
    return supervise(lambda interrupts: world.run(config, settings, request))


@cli.command(short_help="A conversation in the terminal.")
@click.option("--system", metavar="TEXT|@FILE", help="The system prompt.")
@click.option("--yes", is_flag=True, help="Allow calls that would be asked about.")
@_shared
def chat(settings: Settings, system: str | None, yes: bool) -> int:
    """A conversation in the terminal."""
    text = text_or_file("--system", system)

    from mcphost.terminal.configure import load_config, with_model

    config = with_model(load_config(settings), settings)

    from mcphost.terminal import chat as world
    from mcphost.terminal.interrupt import run as supervise

    opening = world.Opening(system=text, yes=yes, wait=not sys.stdin.isatty())
    return supervise(lambda interrupts: world.chat(config, settings, opening, interrupts))


@cli.command(short_help="Every tool, grouped by server.")
@click.option(
    "--output",
    type=click.Choice(["table", "openai", "mcp"]),
    default="table",
    help="A list to read, the JSON array that a model is sent, or the servers' own definitions.",
)
@_shared
def tools(settings: Settings, output: Literal["table", "openai", "mcp"]) -> int:
    """Every tool, grouped by server."""
    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import listing
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: listing.tools(config, settings, output))


@cli.command(short_help="One tool call, without a model.")
@click.argument("tool")
@click.argument("arguments", required=False, metavar="[JSON]")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="The result, or all about it."
)
@click.option("--no-validate", is_flag=True, help="Send the arguments unchecked.")
@_shared
def call(
    settings: Settings, tool: str, arguments: str | None, output: Literal["text", "json"], no_validate: bool
) -> int:
    """Call TOOL without a model, with a JSON object as its arguments (`-` reads it from standard input).

    TOOL is a name that `mcphost tools` shows, or server/tool, which starts only that server.
    """
    given = arguments_of(read_stdin() if arguments == "-" else arguments or "")

    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import call as world
    from mcphost.terminal.interrupt import run as supervise

    return supervise(
        lambda interrupts: world.call(config, settings, tool, given, output=output, validate=not no_validate)
    )


@cli.command(short_help="How each server is, and why it failed.")
@click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", help="A list to read, or JSON."
)
@_shared
def servers(settings: Settings, output: Literal["table", "json"]) -> int:
    """How each server is: state, protocol, tools, start time, and why it failed (-v: what it wrote)."""
    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import listing
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: listing.servers(config, settings, output))


@cli.command(short_help="The whole loop with no key and no network.")
@click.argument("question", required=False)
@click.option("--chat", "as_chat", is_flag=True, help="A conversation instead of one question.")
def demo(question: str | None, as_chat: bool) -> int:
    """The whole loop on bundled servers and a scripted stand-in for a model: no key, no network."""
    from mcphost.terminal import demo as world
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: world.demo(question, as_chat=as_chat, interrupts=interrupts))


def main() -> NoReturn:
    """Run the command line and exit with the code that tells how it went."""
    gc.set_threshold(100_000)  # imports make much that stays; looking through it costs a fifth of their time
    prepare_streams()
    code = _exit_code()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and told; Ctrl-C comes too late to change that
    gc.freeze()  # else the interpreter looks through everything once more as it ends: a tenth of a second
    sys.exit(code)


def _exit_code() -> int:
    try:
        return int(cli.main(prog_name="mcphost", standalone_mode=False) or 0)
    except click.ClickException as exc:
        exc.show()
        return exc.exit_code
    except McphostError as exc:
        complain(exc)
        return exc.exit_code
    except Closed:
        return 0
    except (click.Abort, KeyboardInterrupt):
        return 130
