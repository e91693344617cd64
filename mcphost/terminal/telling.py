"""Commands of the chat that tell: tools, servers, prompts, resources, usage, limits, the last call."""

import json
import os
import time
from base64 import b64encode

from mcphost.config import Approve, Limits
from mcphost.errors import ConfigError
from mcphost.messages import ToolResult, Usage
from mcphost.server import Server
from mcphost.terminal.cells import Line, cut, line_width
from mcphost.terminal.output import nearest, note
from mcphost.terminal.room import Room
from mcphost.terminal.spending import written
from mcphost.terminal.steps import short, trouble_of
from mcphost.text import json_line, printable


async def tools(room: Room, rest: str) -> None:
    catalog = room.host.catalog()
    if not rest:
        for server in room.host.servers.values():
            routes = [route for route in catalog.routes.values() if route.server == server.name]
            if routes:
                room.front.print([[("bold", printable(server.name)), ("dim", f" {len(routes)} tools")]])
            about = [(route.name, str(route.definition.get("description") or "")) for route in routes]
            room.front.print(table(about))
        for name, left in catalog.dropped.items():
            room.front.print([[("ansiyellow", f"{name}: left out: {printable('; '.join(left))}")]])
        return
    route = room.host.find(rest)
    if route is None:
        raise ConfigError(f"there is no tool named {rest!r}", hint=nearest(catalog.nearest(rest)))
    room.front.print([[("bold", route.name), ("dim", f" {printable(route.server)}/{printable(route.tool)}")]])
    note(printable(str(route.definition.get("description") or "(no description)")))
    note(json_line(route.schema, indent=2))
    if route.annotations:
        note(f"It says of itself: {json_line(dict(route.annotations))}", style="dim")


async def servers(room: Room, rest: str) -> None:
    if not rest:
        room.front.print(table([(server.name, _how(server)) for server in room.host.servers.values()]))
        return
    what, _, name = rest.partition(" ")
    server = room.host.servers.get(name.strip())
    if what not in ("reconnect", "enable", "disable"):
        raise ConfigError(f"/servers knows no {what!r}", hint="reconnect NAME, enable NAME or disable NAME.")
    if server is None:
        raise ConfigError(f"no server is called {name!r}", hint=f"There is {', '.join(room.host.servers)}.")
    match what:
        case "reconnect":
            await server.reconnect()
        case "enable":
            await server.enable()
        case _:
            await server.disable()
    note(f"{printable(server.name)}: {_how(server)}")


async def prompts(room: Room, rest: str) -> None:
    del rest
    found = await room.host.prompts()
    lines: list[tuple[str, str]] = []
    for prompt in found:
        shown = [each.name if each.required else f"[{each.name}]" for each in prompt.arguments]
        lines.append(
            (f"/{prompt.server}:{prompt.name}", " ".join([*shown, prompt.description or prompt.title]))
        )
    room.front.print(table(lines) if found else [[("dim", "No server offers prompts.")]])


async def resources(room: Room, rest: str) -> None:
    del rest
    found, templates = await room.host.resources(), await room.host.resource_templates()
    lines = [(f"@{each.server}:{each.uri}", each.description or each.title or each.name) for each in found]
    lines += [
        (f"@{each.server}:{each.uri_template}", each.description or each.title or each.name)
        for each in templates
    ]
    room.front.print(table(lines) if lines else [[("dim", "No server offers resources.")]])


async def usage(room: Room, rest: str) -> None:
    del rest
    spending, model = room.talk.spending, room.talk.model_name
    rows = [(f"request {n}", used) for n, used in enumerate(spending.rounds, 1)]
    for name, used in [*rows, ("this turn", spending.turn)]:
        room.front.print(_usage_line(name, used, spending.money_of(used, model)))
    room.front.print(_usage_line("all", spending.session, spending.money()))
    if not spending.money():
        entry = f'"prices": {{"{model}": {{"input": …, "output": …}}}}'
        note(f"No price is known; {entry} in servers.json sets it.", style="dim")
    room.front.print([[("", f"context     {context_text(room)}")]])


def _usage_line(name: str, used: Usage, money: str) -> list[Line]:
    return [[("", f"{name:<12}{written(used)}" + (f", {money}" if money else ""))]]


def context_text(room: Room) -> str:
    """How much of the model's window the conversation takes, as far as that is known."""
    used, size = room.talk.spending.context, room.host.config.model.context_tokens
    if size:
        return f"{used * 100 // size}% of {size:,} tokens"
    return f"{used / 1000:.1f}k tokens" if used >= 1000 else f"{used} tokens"


async def limits(room: Room, rest: str) -> None:
    now = room.talk.tuning.limits
    if not rest:
        room.front.print(table([(name, f"{value:,}") for name, value in now.model_dump().items()]))
        return
    name, _, value = rest.partition(" ")
    if name not in Limits.model_fields:
        raise ConfigError(f"there is no limit {name!r}", hint=f"There is {', '.join(Limits.model_fields)}.")
    whole = isinstance(getattr(now, name), int)
    try:
        number = int(value) if whole else float(value)
    except ValueError:
        number = 0
    if not 0 < number < 1e12:
        raise ConfigError(f"{name} must be {'a whole' if whole else 'a'} number above 0, not {value!r}")
    room.talk.tuning.limits = now.model_copy(update={name: number})
    note(f"{name} is {number:,} from the next turn on.")


async def last(room: Room, rest: str) -> None:
    results = room.talk.results
    place = int(rest) if rest.isdecimal() and int(rest) else 1
    if len(results) < place:
        raise ConfigError("there was no call yet" if not results else f"there were only {len(results)} calls")
    await room.front.paged(whole(results[-place]))


def whole(result: ToolResult) -> str:
    """All about a call: its arguments and its result, JSON laid out."""
    head = f"{result.server}/{result.tool}" if result.server else result.name
    how = "ok" if result.ok else f"failed: {result.error}"
    parts = [
        f"{head} · {how} · {result.seconds:.2f} s",
        json_line(result.arguments, indent=2),
        _laid_out(result.content),
    ]
    parts += [f"{each.kind} {each.mime_type}: {each.path}" for each in result.attachments if each.path]
    return "\n\n".join(printable(part) for part in parts)


def _laid_out(text: str) -> str:
    try:
        return json_line(json.loads(text), indent=2)
    except ValueError:
        return text


async def reasoning(room: Room, rest: str) -> None:
    del rest
    room.shown.reasoning = not room.shown.reasoning
    thought = next(
        (str(m["reasoning_content"]) for m in reversed(room.talk.messages) if m.get("reasoning_content")), ""
    )
    if room.shown.reasoning and thought:
        room.front.print([[("dim italic", line)] for line in printable(thought).splitlines()])
    note("Reasoning is shown from now on." if room.shown.reasoning else "Reasoning is folded from now on.")


async def copied(room: Room, rest: str) -> None:
    del rest
    answer = room.talk.last_answer()
    if not answer:
        raise ConfigError("there is no answer yet to copy")
    code = b64encode(answer.encode("utf-8", "replace")).decode("ascii")
    if not room.front.raw(f"\x1b]52;c;{code}\x07"):
        raise ConfigError("there is no terminal that could copy it")
    note(f"{len(answer)} characters went to the terminal's clipboard, where it allows that (OSC 52).")


async def approve(room: Room, rest: str) -> None:
    approvals = room.approvals
    match rest.split():
        case []:
            mode = room.talk.tuning.approve
            how = (
                "none"
                if approvals.yes
                else f"those of each server's setting{f', and {mode.mode}' if mode else ''}"
            )
            note(f"Calls that are asked about: {how}.")
            for server, tool in sorted(approvals.allowed - set(approvals.remembered.tools())):
                note(f"{printable(server)}/{printable(tool)} may run until you leave")
            for server, tool in approvals.remembered.tools():
                note(f"{printable(server)}/{printable(tool)} always may run")
        case ["always" | "writes" as mode]:
            approvals.yes = False
            room.talk.tuning.approve = Approve(mode="always") if mode == "always" else None
            note("You are asked about every call." if mode == "always" else "You are asked about writes.")
        case ["never"]:
            approvals.yes = True
            note("Calls run without being asked about, until /approve writes.")
        case ["forget", *names]:
            known = approvals.allowed | set(approvals.remembered.tools())
            wanted = known if not names else {tuple(name.split("/", 1)) for name in names} & known
            if not wanted:
                raise ConfigError(
                    "there is nothing of that name to forget", hint="/approve lists what may run."
                )
            for server, tool in wanted:
                approvals.allowed.discard((server, tool))
                approvals.remembered.remove(server, tool)
                note(f"{printable(server)}/{printable(tool)} is asked about again")
        case _:
            raise ConfigError(
                f"/approve knows no {rest!r}", hint="writes, always, never, or forget [SERVER/TOOL]."
            )


def table(rows: list[tuple[str, str]]) -> list[Line]:
    """Names and what is about them, side by side; on a narrow terminal one line cut short."""
    columns = _columns()
    size = min(max((line_width([("", name)]) for name, _ in rows), default=0), columns // 2)
    lines: list[Line] = []
    for name, about in rows:
        head = cut([("", printable(name))], max(size, columns // 2))
        gap = " " * max(size - line_width(head) + 2, 2)
        lines.append(cut([*head, ("", gap), ("dim", short(about, 1000))], columns))
    return lines


def _columns() -> int:
    for stream in (2, 1):
        try:
            return os.get_terminal_size(stream).columns or 100
        except OSError:
            pass
    return 100


def _how(server: Server) -> str:
    if server.error is not None:
        return f"{server.state}: {trouble_of(server)}"
    if server.state != "ready":
        return server.state
    since = time.strftime("%H:%M:%S", time.localtime(server.since))
    return f"{server.state}, {len(server.tools)} tools, since {since}"
