"""What may decide: hooks are asked, and awaited. Events, which only tell, are in `events`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcphost.catalog import matches
from mcphost.config import Approve
from mcphost.messages import Message


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


@dataclass(frozen=True, slots=True)
class SamplingAsked:
    """A server wants the host's model to answer `messages` (OpenAI chat messages, the system prompt first),
    in at most `max_tokens` tokens. `tools` are the names of the functions that the model may call in its
    answer, which the server would run itself."""

    server: str
    messages: Sequence[Message]
    max_tokens: int
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ElicitationAsked:
    """A server wants something from the user: a form to be filled in, or a page to be visited.

    `message` says why, in the server's words. `schema` describes the form's fields (MCP specification,
    "Elicitation", restricted JSON Schema: an object of strings, numbers, booleans and choices), and is empty
    when there is a `url`. That is never opened before the user has agreed to it.
    """

    server: str
    message: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Accept:
    """The user agrees: `content` is the form as filled in, None for a page."""

    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Decline:
    """The user says no; or, with `cancelled`, closed the question without an answer."""

    cancelled: bool = False


Answer = Accept | Decline


class Hooks(Protocol):
    """What a host asks. Implement it to decide; `NoHooks` decides where there is nobody to ask.

    Whoever subclasses it need only implement `approve`: the others then refuse and decline.
    """

    async def approve(self, asked: Asked) -> Decision:
        """Whether a call that the server's `approve` setting asks about may run."""
        ...

    async def sample(self, asked: SamplingAsked) -> Decision:
        """Whether a server may have the host's model answer. An `Allow`'s arguments are not looked at."""
        return Refuse(f"{asked.server} wants the model to answer, and nobody can be asked whether it may")

    async def elicit(self, asked: ElicitationAsked) -> Answer:
        """What the user answers to a server's question."""
        del asked
        return Decline()

    async def more_rounds(self, rounds: int) -> int:
        """The model still calls tools after `rounds` rounds, the limit: how many more may. With 0 it answers
        from what is there."""
        del rounds
        return 0


class NoHooks(Hooks):
    """Refuses whatever would have to be asked."""

    async def approve(self, asked: Asked) -> Decision:
        return Refuse(f"this call needs the user's approval ({asked.why}), and nobody can be asked here")


class AllowAll(Hooks):
    """Approves whatever is asked: `--yes`. Questions to the user are declined all the same."""

    async def approve(self, asked: Asked) -> Decision:
        del asked
        return Allow()

    async def sample(self, asked: SamplingAsked) -> Decision:
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
