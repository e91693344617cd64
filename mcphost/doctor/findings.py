"""What a check finds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from mcphost.errors import McphostError, ServerError, ServerLost

Level = Literal["ok", "note", "warning", "error"]

_FIRST = (2, 4, 3, 1)
"""Exit codes, the one that says most first: without a configuration nothing else can be well."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `what` is so, `where`: a file, a program, an address; of which `server`, if it is one's. `hint` says how
    to mend it. `code` is the exit code that goes with an error.
    """

    level: Level
    what: str
    where: str
    hint: str | None = None
    server: str | None = None
    code: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "what": self.what,
            "where": self.where,
            "server": self.server,
            "hint": self.hint,
        }


def of_error(error: McphostError, where: str) -> Finding:
    """An error as a finding."""
    server = error.server if isinstance(error, ServerError) else None
    what = error.reason if isinstance(error, ServerError) else error.message
    code = ServerError.exit_code if isinstance(error, ServerLost) else error.exit_code  # it cannot be reached
    return Finding("error", what, where, error.hint, server, code)


def exit_code(findings: Iterable[Finding]) -> int:
    """0 without errors; else the code of the kind that matters first."""
    codes = {finding.code for finding in findings if finding.level == "error"}
    return next((code for code in _FIRST if code in codes), 0)
