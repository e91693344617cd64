"""What modules log, as lines on stderr."""

import logging

from mcphost.terminal.output import note
from mcphost.text import printable


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        level = "warning" if record.levelno == logging.WARNING else record.levelname.lower()
        note(f"{level}: {printable(record.getMessage())}", style="yellow")


def log_to_stderr(*, verbose: bool) -> None:
    """Show our own warnings. The SDK's go with `verbose` only: what matters of them comes as our errors."""
    logging.basicConfig(level=logging.CRITICAL, handlers=[_Notes()], force=True)
    logging.getLogger("mcphost").setLevel(logging.INFO if verbose else logging.WARNING)
    if verbose:
        for name in ("mcp", "client", "openai"):
            logging.getLogger(name).setLevel(logging.WARNING)
