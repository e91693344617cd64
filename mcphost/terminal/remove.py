"""`mcphost remove`: a server taken out of its file."""

from pathlib import Path

from mcphost.errors import ConfigError
from mcphost.server_edit import Sheet
from mcphost.terminal.output import write
from mcphost.terminal.target import Where, holding, tell_others


def remove(name: str, config: Path | None, scope: Where | None) -> int:
    """Take the server out of the file that has it. Raises `ConfigError` where none does."""
    target = holding(name, config, scope)

    def edit(sheet: Sheet) -> str:
        if name not in sheet.servers:
            raise ConfigError(f"no server is called {name!r} in {target.shown} any more")
        return sheet.without_server(name)

    target.change(edit)
    write(f"{name} is no longer in {target.shown}.")
    if config is None and scope is None:
        tell_others(name, target)
    return 0
