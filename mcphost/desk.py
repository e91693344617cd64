"""Where a host answers what servers ask: for a model's answer, for the user's, for the folders to work in.

Takes and gives the JSON of MCP's requests, whichever revision they came by.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from mcphost.config import Limits
from mcphost.events import Event
from mcphost.hooks import Hooks
from mcphost.model import Model

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REJECTED: Final = -1
"""What MCP's own examples answer with when the user refuses a sampling request."""

logger = logging.getLogger(__name__)


class Refusal(Exception):
    """A server's request is answered with an error: its JSON-RPC `code`, and why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Desk:
    """Answers all servers of a host.

    `model` gives the model that answers for servers; it may raise `ConfigError`. `roots` are file URIs, by
    server. `tell` is told what was refused without anybody having been asked.
    """

    def __init__(
        self,
        *,
        hooks: Hooks,
        limits: Limits,
        model: Callable[[], Model],
        roots: Callable[[str], Sequence[str]],
        tell: Callable[[Event], None],
    ) -> None:
        self._hooks = hooks
        self._limits = limits
        self._model = model
        self._roots = roots
        self._tell = tell

    def roots(self, server: str) -> list[dict[str, Any]]:
        """The roots for a server, as MCP has them."""
        return [{"uri": uri, "name": _name(uri)} for uri in self._roots(server)]


def _name(uri: str) -> str:
    """What people call a folder: its last part."""
    return unquote(urlsplit(uri).path).rstrip("/").rpartition("/")[2] or uri
