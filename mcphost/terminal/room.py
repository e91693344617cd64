"""What commands of a chat have to do with, and what a command is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from mcphost.config import Approve
from mcphost.host import Host
from mcphost.store import Store
from mcphost.stored import Session
from mcphost.terminal.approvals import Approvals
from mcphost.terminal.front import Front, Shown
from mcphost.terminal.interrupt import Interrupts
from mcphost.terminal.recorder import Recorder
from mcphost.terminal.settings import Settings
from mcphost.terminal.talk import Talk

WRITES: Final = Approve(mode="writes")
"""What a chat asks about where a server's entry says nothing."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a chat begins. `greeting` are lines to show first; `wait` is for all servers before the prompt.
    `store` is where it is kept, None to keep nothing; `resumed` the conversation that goes on."""

    system: str | None = None
    greeting: tuple[str, ...] = ()
    yes: bool = False
    wait: bool = False
    store: Store | None = None
    resumed: Session | None = None


@dataclass(slots=True)
class Room:
    """A chat. `left` is true when the user has said that it is over."""

    host: Host
    talk: Talk
    front: Front
    settings: Settings
    approvals: Approvals
    shown: Shown = field(default_factory=Shown)
    left: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """`/name arguments`. `at_once`: it may be used while a turn runs. `run` gets what follows the name; what
    it raises as `McphostError` is told."""

    name: str
    arguments: str
    about: str
    example: str
    run: Callable[[Room, str], Awaitable[None]]
    at_once: bool = False


def ready_text(host: Host) -> str:
    """`3 of 4 servers, 57 tools`."""
    servers = [server for server in host.servers.values() if server.state != "disabled"]
    ready = sum(server.state == "ready" for server in servers)
    return f"{ready} of {len(servers)} servers, {len(host.catalog().functions)} tools"


def begin(host: Host, front: Front, interrupts: Interrupts, opening: Opening) -> Talk:
    """The conversation of a chat."""
    recorder = Recorder(opening.store, opening.resumed)
    return Talk(host, front, interrupts, recorder, system=opening.system, resumed=opening.resumed)
