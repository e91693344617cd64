"""What may decide: hooks are asked, and awaited. Events, which only tell, are in `events`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mcphost.catalog import matches
from mcphost.config import Approve


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that needs approval, and `why`. `read_only`: whether the tool is known to be."""

    id: str
    name: str
    server: str
    tool: str
    arguments: Mapping[str, Any]
    read_only: bool
    why: str


@dataclass(frozen=True, slots=True)
class Allow:
    """Run the call; with other arguments if they are given."""

    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not run the call. The model is told `reason`."""

    reason: str = "the user refused this call"


Decision = Allow | Refuse


class Hooks(Protocol):
    """What a host asks. Implement it to decide; `NoHooks` decides where there is nobody to ask."""

    async def approve(self, asked: Asked) -> Decision:
        """Whether a call that the server's `approve` setting asks about may run."""
        ...


class NoHooks:
    """Refuses whatever would have to be asked."""

    async def approve(self, asked: Asked) -> Decision:
        return Refuse(f"this call needs the user's approval ({asked.why}), and nobody can be asked here")


class AllowAll:
    """Approves whatever is asked: `--yes`."""

    async def approve(self, asked: Asked) -> Decision:
        del asked
        return Allow()


def needs_approval(policy: Approve, tool: str, *, read_only: bool) -> str | None:
    """Why `policy` asks about a call of `tool`, or None when it does not.

    `read_only`: the tool is *known* to only read. A server's word for it counts only where its annotations
    are trusted (MCP specification, "Tools": clients must consider annotations untrusted).
    """
    match policy.mode:
        case "never":
            return None
        case "always":
            return "every call of this server is asked about"
        case "writes":
            return None if read_only else "the tool is not known to be read-only"
        case "only" | "except":
            named = any(matches(tool, pattern) for pattern in policy.tools)
            asks = named if policy.mode == "only" else not named
            return "calls of this tool are asked about" if asks else None
