"""Chatting, calling tools, seeing servers: `run`, `chat`, `tools`, `call`, `servers`, `demo`."""

import sys
from pathlib import Path
from typing import Literal

import click

from mcphost.cli.shared import shared
from mcphost.terminal.inputs import arguments_of, prompt_and_attachment, read_stdin, text_or_file
from mcphost.terminal.settings import Settings


@click.command(short_help="One prompt in, one answer out.")
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
@click.option(
    "--approve",
    type=click.Choice(["never", "writes", "always"]),
    default="never",
    help="Which calls to ask about where an entry does not say; without a terminal they are refused.",
)
@click.option(
    "-a",
    "--attach",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Send a file along. May be repeated.",
)
@click.option("--continue", "go_on", is_flag=True, help="Go on with this folder's last conversation.")
@click.option("--no-save", is_flag=True, help="Keep nothing of the conversation on disk.")
@shared
def run(
    settings: Settings,
    prompt: str | None,
    output: Literal["text", "json", "stream-json"],
    quiet: bool,
    system: str | None,
    max_rounds: int | None,
    tool_choice: str | None,
    yes: bool,
    approve: Literal["never", "writes", "always"],
    files: tuple[Path, ...],
    go_on: bool,
    no_save: bool,
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
    from mcphost.terminal.keeping import Keeping, kept

    with kept(Keeping(save=not no_save, go_on=go_on)) as place:
        request = world.Request(
            prompt, attached, text, output, quiet, tool_choice, yes, approve, files, place
        )
        return supervise(lambda interrupts: world.run(config, settings, request, interrupts))


@click.command(short_help="A conversation in the terminal.")
@click.option("--system", metavar="TEXT|@FILE", help="The system prompt.")
@click.option("--yes", is_flag=True, help="Allow calls that would be asked about.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with this folder's last conversation.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[ID]",
    help="Go on with a conversation; without ID, choose.",
)
@click.option("--no-save", is_flag=True, help="Keep nothing of the conversation on disk.")
@shared
def chat(
    settings: Settings, system: str | None, yes: bool, go_on: bool, resume: str | None, no_save: bool
) -> int:
    """A conversation in the terminal. It is kept: `mcphost sessions` shows, searches and deletes.

    \b
    mcphost chat -m deepseek/deepseek-chat
    mcphost chat --continue
    """
    text = text_or_file("--system", system)

    from mcphost.terminal.configure import load_config, with_model

    config = with_model(load_config(settings), settings)

    from mcphost.terminal import chat as world
    from mcphost.terminal.interrupt import run as supervise
    from mcphost.terminal.keeping import Keeping, kept

    with kept(Keeping(save=not no_save, go_on=go_on, resume=resume)) as place:
        opening = world.Opening(
            system=text, yes=yes, wait=not sys.stdin.isatty(), store=place.store, resumed=place.session
        )
        return supervise(lambda interrupts: world.chat(config, settings, opening, interrupts))


@click.command(short_help="Every tool, grouped by server.")
@click.option(
    "--output",
    type=click.Choice(["table", "openai", "mcp"]),
    default="table",
    help="A list to read, the JSON array that a model is sent, or the servers' own definitions.",
)
@shared
def tools(settings: Settings, output: Literal["table", "openai", "mcp"]) -> int:
    """Every tool, grouped by server."""
    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import listing
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: listing.tools(config, settings, output))


@click.command(short_help="One tool call, without a model.")
@click.argument("tool")
@click.argument("arguments", required=False, metavar="[JSON]")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="The result, or all about it."
)
@click.option("--no-validate", is_flag=True, help="Send the arguments unchecked.")
@shared
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


@click.command(short_help="How each server is, and why it failed.")
@click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", help="A list to read, or JSON."
)
@shared
def servers(settings: Settings, output: Literal["table", "json"]) -> int:
    """How each server is: state, protocol, tools, start time, and why it failed (-v: what it wrote)."""
    from mcphost.terminal.configure import load_config, with_dialect

    config = with_dialect(load_config(settings), settings)

    from mcphost.terminal import listing
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: listing.servers(config, settings, output))


@click.command(short_help="The whole loop with no key and no network.")
@click.argument("question", required=False)
@click.option("--chat", "as_chat", is_flag=True, help="A conversation instead of one question.")
def demo(question: str | None, as_chat: bool) -> int:
    """The whole loop on bundled servers and a scripted stand-in for a model: no key, no network."""
    from mcphost.terminal import demo as world
    from mcphost.terminal.interrupt import run as supervise

    return supervise(lambda interrupts: world.demo(question, as_chat=as_chat, interrupts=interrupts))
