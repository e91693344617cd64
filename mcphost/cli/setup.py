"""Getting set up: `add`, `remove`, `import`, `doctor`, `completion`."""

import re
from pathlib import Path
from typing import Any, Literal

import click

from mcphost.cli.completing import server_names
from mcphost.cli.shared import shared
from mcphost.terminal.logs import log_to_stderr
from mcphost.terminal.settings import Settings

_FILE = click.option(
    "-c",
    "--config",
    "config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file to change.",
)
_SCOPE = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    help="Your own servers.json, or this folder's. The default is yours.",
)


class _Add(click.Command):
    """What comes after the first word of a server's command belongs to it, and needs `--` before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        command = self._command(args)
        if command and any(word.startswith("-") for word in command):
            line = f"mcphost add {args[0]} -- {' '.join(command)}"
            raise click.UsageError(f"-- goes before a command, so that its flags are its own: {line}", ctx)
        return super().parse_args(ctx, args)

    def _command(self, args: list[str]) -> list[str]:
        """The words from the second that is no flag on, where they are no URL or JSON and no `--` comes."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = {name for option in options if not option.is_flag for name in option.opts}
        place, words = 0, 0
        while place < len(args) and args[place] != "--":
            if args[place].startswith("-") and len(args[place]) > 1:
                place += 1 if args[place] in valued else 0
            else:
                words += 1
                if words == 2:
                    is_command = "://" not in args[place] and not re.search(r"^{|\s", args[place])
                    return args[place:] if is_command and "--" not in args[place:] else []
            place += 1
        return []


@click.command(cls=_Add, short_help="Try a server, then write it into servers.json.")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="URL|-- COMMAND [ARG]...")
@click.option(
    "-e",
    "--env",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="A variable for the command; without a value, your own of that name.",
)
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header for the URL."
)
@click.option("--type", type=click.Choice(["http", "sse", "stdio"]), help="How it is reached.")
@click.option(
    "--cwd", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Where it is started."
)
@click.option(
    "--env-file", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Variables for it."
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For a call.")
@_SCOPE
@_FILE
@click.option("--force", is_flag=True, help="Replace a server of that name.")
@click.option("--no-test", is_flag=True, help="Write it without trying it.")
@click.option(
    "--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait no longer for it than this."
)
@click.option("-v", "--verbose", is_flag=True, help="Say more, on stderr.")
def add(
    name: str,
    words: tuple[str, ...],
    env: tuple[str, ...],
    headers: tuple[str, ...],
    type: Literal["http", "sse", "stdio"] | None,
    cwd: Path | None,
    env_file: Path | None,
    timeout: float | None,
    scope: Literal["user", "project"] | None,
    config: Path | None,
    force: bool,
    no_test: bool,
    wait: float | None,
    verbose: bool,
) -> int:
    """Start or reach a server, say what it offers, and write it into your servers.json.

    \b
    mcphost add time -- uvx mcp-server-time
    mcphost add amap-maps -e AMAP_MAPS_API_KEY -- npx -y @amap/amap-maps-mcp-server
    mcphost add docs https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'
    mcphost add git '{"command": "uvx", "args": ["mcp-server-git"]}'

    Where the server cannot be used nothing is written, unless --no-test says so.
    """
    log_to_stderr(verbose=verbose)

    from mcphost.terminal import add as world
    from mcphost.terminal.interrupt import run as supervise
    from mcphost.terminal.target import target
    from mcphost.terminal.typed import Request

    request = Request(
        name,
        words,
        target(config, scope),
        type=type,
        env=env,
        headers=headers,
        cwd=cwd,
        env_file=env_file,
        timeout=timeout,
        force=force,
        test=not no_test,
    )
    addition = world.prepared(request)
    settings = Settings(wait=wait, verbose=verbose)
    return supervise(lambda interrupts: world.add(addition, settings, test=not no_test))


@click.command(short_help="Take a server out of servers.json.")
@click.argument("name", shell_complete=server_names)
@_SCOPE
@_FILE
def remove(name: str, scope: Literal["user", "project"] | None, config: Path | None) -> int:
    """Take a server out of the file that has it: the one that is read in this folder, or your own."""
    from mcphost.terminal.remove import remove as run

    return run(name, config, scope)


@click.command("import", short_help="Take over the servers of another program.")
@click.argument(
    "file", required=False, type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), metavar="[FILE]"
)
@_SCOPE
@_FILE
@click.option("--only", multiple=True, metavar="NAME", help="Only this server. May be repeated.")
@click.option("--force", is_flag=True, help="Replace servers of the same name.")
@click.option("--rename", is_flag=True, help="Give servers whose names are taken others.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def import_(
    file: Path | None,
    scope: Literal["user", "project"] | None,
    config: Path | None,
    only: tuple[str, ...],
    force: bool,
    rename: bool,
    dry_run: bool,
) -> int:
    """Write the servers of FILE into your servers.json, and list what could not be carried over.

    FILE is what Cherry Studio exports, or where Claude, Cursor, VS Code, Cline, Gemini CLI, Windsurf, Codex,
    opencode or Zed keep theirs (`-`: standard input). Without FILE, those on this machine are listed, and
    nothing is changed.

    \b
    mcphost import
    mcphost import ~/.cursor/mcp.json --only github --dry-run
    """
    if force and rename:
        raise click.UsageError("--force replaces what --rename would keep")

    from mcphost.terminal import importing as world
    from mcphost.terminal.target import target

    if file is None:
        return world.list_sources()
    collisions: Any = "replace" if force else "rename" if rename else "keep"
    return world.import_servers(world.Request(file, target(config, scope), only, collisions, dry_run))


@click.command(short_help="What is well and what is not, and how to mend it.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array of what was found.")
@click.option("--probe-model", is_flag=True, help="Ask the configured model something short; -m does too.")
@shared
def doctor(settings: Settings, as_json: bool, probe_model: bool) -> int:
    """Look at the configuration, the programs it needs, the servers and the model, and say how to mend what
    is not well.

    Servers are started. The model is asked something, which may cost money, only with -m or --probe-model.
    """
    from mcphost.terminal import doctor as world
    from mcphost.terminal.interrupt import run as supervise

    seen = world.examined(settings, probe=probe_model)
    return supervise(lambda interrupts: world.doctor(seen, settings, as_json=as_json))


@click.command(short_help="What a shell needs to complete commands.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script by which SHELL completes commands, flags and the names of servers.

    \b
    bash: mcphost completion bash > ~/.local/share/bash-completion/completions/mcphost
    zsh:  mcphost completion zsh > "${fpath[1]}/_mcphost"
    fish: mcphost completion fish > ~/.config/fish/completions/mcphost.fish
    """
    from click.shell_completion import get_completion_class

    from mcphost.terminal.output import write

    found = get_completion_class(shell)
    assert found is not None
    root = click.get_current_context().find_root().command
    write(found(root, {}, "mcphost", "_MCPHOST_COMPLETE").source(), end="")
    return 0
