"""`mcphost doctor`: what is well and what is not, and how to mend it."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from mcphost.config import Config
from mcphost.doctor import configuration, machine, model, servers
from mcphost.doctor.findings import Finding, Level, exit_code
from mcphost.errors import ConfigError
from mcphost.specs import ModelSpec
from mcphost.terminal.configure import read_config
from mcphost.terminal.output import styled, write, write_json
from mcphost.terminal.settings import Settings
from mcphost.terminal.setup import opened, pending
from mcphost.text import printable

_MARKS: Final[dict[Level, tuple[str, str]]] = {
    "ok": ("✓", "green"),
    "note": ("·", "dim"),
    "warning": ("!", "yellow"),
    "error": ("✗", "red"),
}


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found before anything is started. `model` is to be asked, if it is there."""

    findings: tuple[Finding, ...]
    config: Config | None = None
    model: ModelSpec | None = None
    probe: bool = False


def examined(settings: Settings, *, probe: bool) -> Examined:
    """Look at the files and the settings. Asks about a file that was only found in the working folder."""
    probe = probe or settings.model is not None
    try:
        config = read_config(settings)
    except ConfigError as exc:
        findings = [configuration.unreadable(exc), *configuration.about_folders(), *machine.about_network()]
        return Examined(tuple(findings))
    finding, spec = model.about_model(
        config,
        name=settings.model,
        base_url=settings.base_url,
        api_key=settings.api_key,
        environ=os.environ,
        needed=probe,
    )
    findings = [
        *configuration.about_files(config),
        *configuration.about_folders(),
        *machine.about_network(),
        *machine.about_keyring(config),
        finding,
    ]
    return Examined(tuple(findings), config, spec, probe)


async def doctor(seen: Examined, settings: Settings, *, as_json: bool) -> int:
    """Start the servers, ask the model if that is wanted, and tell all that was found."""
    findings = list(seen.findings)
    if seen.config is not None:
        findings += await _at_work(seen, seen.config, settings)
    if as_json:
        write_json([finding.as_json() for finding in findings], indent=1)
    else:
        _show(findings)
    return exit_code(findings)


async def _at_work(seen: Examined, config: Config, settings: Settings) -> list[Finding]:
    """What shows only when servers, launchers and the model are at work, all at once."""
    launchers: list[Finding] = []
    answers: list[Finding] = []

    async def look_at_launchers() -> None:
        launchers.extend(await machine.about_launchers(config, os.environ))

    async def ask(spec: ModelSpec) -> None:
        answers.append(await model.ask(spec))

    async with opened(config, settings) as host:
        async with anyio.create_task_group() as tg:
            tg.start_soon(look_at_launchers)
            if seen.probe and seen.model is not None:
                tg.start_soon(ask, seen.model)
            await pending(host, lambda: host.ready(settings.wait))
        dialect = model.dialect_of(config, seen.model, os.environ)
        return [*launchers, *servers.about_servers(host, dialect), *answers]


def _show(findings: Sequence[Finding]) -> None:
    for finding in findings:
        mark, style = _MARKS[finding.level]
        about = finding.server or finding.where
        aside = f"  ({finding.where})" if finding.server and finding.level != "ok" else ""
        text = " ".join(printable(f"{about}: {finding.what}").split())
        write(f"{styled(mark, style, sys.stdout)} {text}{styled(printable(aside), 'dim', sys.stdout)}")
        if finding.hint:
            for line in printable(finding.hint).splitlines():
                write(f"    {line}")
    counts = {level: sum(each.level == level for each in findings) for level in ("error", "warning")}
    told = [f"{count} {level}{'s' if count > 1 else ''}" for level, count in counts.items() if count]
    write(f"{' and '.join(told) or 'All is well'}.")
