"""Many servers, continuous parallel calls, and chaos: kills, hangs, floods, cancellations.

    python benchmarks/soak.py [--seconds 120] [--servers 20] [--callers 40] [--seed N]

Fails unless every call was answered once and none ran twice, and memory, open files, child processes and
tasks are at the end what they were after the first quarter. Linux only: it reads /proc.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel

from mcphost import Host

HOWS = ("answer",) * 12 + ("flood", "big", "junk", "hang", "exit")
GROWTH = 1.25


@dataclass
class Tally:
    """What the callers saw, by kind of outcome; and the tokens whose call was answered."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    answered: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    kills: int = 0


@dataclass(frozen=True)
class Footprint:
    memory: int
    files: int
    children: int
    tasks: int

    def __str__(self) -> str:
        return f"{self.memory / 1e6:.0f} MB, {self.files} files, {self.children} children, {self.tasks} tasks"


def children() -> list[int]:
    """The processes whose parent is this one."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def footprint() -> Footprint:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Footprint(
        memory=pages * os.sysconf("SC_PAGE_SIZE"),
        files=len(os.listdir("/proc/self/fd")),
        children=len(children()),
        tasks=len(anyio.get_running_tasks()),
    )


async def caller(host: Host, name: str, stop: anyio.Event, tally: Tally, dice: random.Random) -> None:
    count = 0
    while not stop.is_set():
        count += 1
        token, how = f"{name}-{count}", dice.choice(HOWS)
        server = f"server-{dice.randrange(len(host.servers))}"
        patience = 0.05 if dice.random() < 0.1 else 30.0
        with anyio.move_on_after(patience) as scope:
            result = await host.call_tool(f"{server}/work", {"token": token, "how": how})
            tally.answered[token] += 1
            tally.outcomes["ok" if result.ok else result.cause or "?"] += 1
            if result.ok and not result.content.startswith(token):
                tally.wrong.append(f"{token} got {result.content[:60]!r}")
        if scope.cancelled_caught:
            tally.outcomes["cancelled"] += 1
        await anyio.lowlevel.checkpoint()


async def killer(watched: int, stop: anyio.Event, tally: Tally, dice: random.Random) -> None:
    """Kill a server now and then; never the watchdog, which is the process numbered `watched`."""
    while not stop.is_set():
        await anyio.sleep(dice.uniform(0.1, 0.5))
        alive = [pid for pid in children() if pid != watched]
        if alive:
            try:
                os.kill(dice.choice(alive), signal.SIGKILL)
                tally.kills += 1
            except ProcessLookupError:
                pass


async def load(host: Host, seconds: float, callers: int, watched: int, tally: Tally, seed: str) -> None:
    """Calls and chaos for a while, then quiet until every server is ready again."""
    stop = anyio.Event()
    async with anyio.create_task_group() as tg:
        tg.start_soon(killer, watched, stop, tally, random.Random(f"{seed} killer"))
        for n in range(callers):
            dice = random.Random(f"{seed} {n}")
            tg.start_soon(caller, host, f"{seed}-{n}", stop, tally, dice)
        await anyio.sleep(seconds)
        stop.set()
    for server in host.servers.values():
        with anyio.fail_after(60):
            await server.until("ready")
    await anyio.sleep(1)


def problems(before: Footprint, after: Footprint, tally: Tally, ran: Counter[str]) -> list[str]:
    """What is not as it should be."""
    found = [f"{token} ran {count} times" for token, count in ran.items() if count > 1]
    found += [f"{token} was answered {count} times" for token, count in tally.answered.items() if count > 1]
    found += tally.wrong
    if after.memory > before.memory * GROWTH:
        found.append("memory grew")
    if after.files > before.files + 4:
        found.append("open files grew")
    if after.children != before.children:
        found.append("the number of children changed")
    if after.tasks > before.tasks + 4:
        found.append("tasks grew")
    return found


async def soak(options: argparse.Namespace, log: Path) -> int:
    program = str(Path(__file__).with_name("chaos_server.py"))
    entry = {"command": sys.executable, "args": ["-I", "-S", program, str(log)], "timeout": 2}
    config = {
        "mcpServers": {f"server-{n}": entry for n in range(options.servers)},
        "limits": {"result_chars": 10_000},
    }
    tally = Tally()
    async with Host.from_config(config, save=False) as host:
        await host.ready()
        commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children()}
        watched = next(pid for pid, command in commands.items() if "watchdog" in command)
        await load(host, options.seconds / 4, options.callers, watched, tally, f"{options.seed}-warm")
        before = footprint()
        await load(host, options.seconds * 3 / 4, options.callers, watched, tally, f"{options.seed}-main")
        after = footprint()
    ran = Counter(log.read_text().split())
    print(f"{sum(tally.outcomes.values())} calls: {dict(tally.outcomes)}; {tally.kills} kills")
    print(f"after the first quarter: {before}")
    print(f"at the end:              {after}")
    found = problems(before, after, tally, ran)
    if children():
        found.append("children were left behind")
    for line in found[:20]:
        print(f"PROBLEM: {line}")
    print("failed" if found else "passed")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--callers", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"{options.servers} servers, {options.callers} callers, {options.seconds:g} s, seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(soak, options, Path(folder) / "log")


if __name__ == "__main__":
    sys.exit(main())
