"""The command line: parse, build, run. The only place that exits.

A command's world is imported when that command runs, so that help, versions and usage errors are quick.
"""

import gc
import signal
import sys
from difflib import get_close_matches
from typing import Any, Final, NoReturn

import click

from mcphost import __version__
from mcphost.cli.auth import login, logout
from mcphost.cli.bridge import call, chat, demo, run, servers, tools
from mcphost.cli.offers import prompts, read, resources
from mcphost.cli.serve import serve
from mcphost.cli.sessions import sessions
from mcphost.cli.setup import add, completion, doctor, import_, remove
from mcphost.errors import McphostError
from mcphost.terminal.output import Closed, complain, prepare_streams


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


_COMMANDS: Final = (
    run,
    chat,
    tools,
    call,
    prompts,
    resources,
    read,
    servers,
    serve,
    login,
    logout,
    add,
    remove,
    import_,
    doctor,
    completion,
    sessions,
    demo,
)
"""In the order in which one meets them."""

for command in _COMMANDS:
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command line and exit with the code that tells how it went."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
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
