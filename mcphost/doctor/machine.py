"""What this machine has: the programs that start servers, proxies, a keyring."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import PurePath
from typing import Final
from urllib.request import getproxies

import anyio

from mcphost import net, paths
from mcphost.config import Config, ServerSpec, child_environment
from mcphost.doctor.findings import Finding
from mcphost.errors import ConfigError
from mcphost.redact import redact_url
from mcphost.text import one_line

LAUNCHERS: Final = frozenset("npx node uvx uv python python3 docker podman bun bunx deno".split())
"""Programs that are known to answer `--version` at once and to do nothing else then."""

_SECONDS: Final = 5.0
_OLDEST_NODE: Final = 18


async def about_launchers(config: Config, environ: Mapping[str, str]) -> list[Finding]:
    """The versions of the programs by which servers are started, as each server would find them."""
    users: dict[str, list[ServerSpec]] = {}
    for spec in config.servers.values():
        if spec.type == "stdio" and spec.enabled and spec.command:
            name = PurePath(spec.command).name.removesuffix(".cmd").removesuffix(".exe")
            for program in [spec.command, *(["node"] if name == "npx" else [])]:
                if PurePath(program).name.removesuffix(".cmd").removesuffix(".exe") in LAUNCHERS:
                    path = shutil.which(program, path=paths.command_path(child_environment(spec, environ)))
                    users.setdefault(path or "", []).append(spec)
    users.pop("", None)  # that one is missing, its server says
    found: dict[str, Finding] = {}

    async def look(path: str, specs: list[ServerSpec]) -> None:
        found[path] = await _about_program(path, specs, environ)

    async with anyio.create_task_group() as tg:
        for path, specs in users.items():
            tg.start_soon(look, path, specs)
    return [found[path] for path in users]


async def _about_program(path: str, specs: list[ServerSpec], environ: Mapping[str, str]) -> Finding:
    name = PurePath(path).stem
    servers = ", ".join(dict.fromkeys(spec.name for spec in specs))
    server = specs[0].name if len({spec.name for spec in specs}) == 1 else None
    version = await _version(path, child_environment(specs[0], environ))
    if version is None:
        what = f"`{name} --version` did not answer within {_SECONDS:g} s (it starts {servers})"
        return Finding("warning", what, path, "Run it by hand to see what it waits for.", server)
    what = f"{version if version.lower().startswith(name) else f'{name} {version}'} (for {servers})"
    major = version.removeprefix("v").partition(".")[0]
    if name == "node" and major.isdecimal() and int(major) < _OLDEST_NODE:
        hint = f"Install a newer one: most servers need {_OLDEST_NODE} at least."
        return Finding("warning", f"{what} is old", path, hint, server)
    return Finding("ok", what, path, server=server)


async def _version(path: str, env: Mapping[str, str]) -> str | None:
    """What a program says its version is; None when it says nothing in time."""
    try:
        with anyio.fail_after(_SECONDS):
            ran = await anyio.run_process(
                [path, "--version"], env=dict(env), stdin=subprocess.DEVNULL, check=False
            )
    except (OSError, TimeoutError):
        return None
    said = (ran.stdout or ran.stderr).decode(errors="replace").strip()
    return one_line(said.partition("\n")[0], 80) if said else None


def about_network() -> Iterator[Finding]:
    """The proxies that requests go through, but for those to this machine."""
    for scheme, proxy in getproxies().items():
        if scheme in ("http", "https", "all"):
            without = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
            but = f", but for {without}" if without else ""
            what = f"requests go through the proxy {redact_url(proxy)}{but}"
            yield Finding("note", what, f"{scheme.upper()}_PROXY")
    try:
        net.client_settings("https://example.com")
    except ConfigError as exc:
        yield Finding("error", exc.message, "environment", exc.hint, code=ConfigError.exit_code)


def about_keyring(config: Config) -> Iterator[Finding]:
    """Where logins would be kept, if there is anything to log in to."""
    if any(spec.url and spec.enabled for spec in config.servers.values()) and find_spec("keyring") is None:
        what = "logins are kept in files that only you can read: there is no keyring package"
        hint = "To have them in the system's keyring: pip install 'mcphost[keyring]'."
        yield Finding("note", what, str(paths.data_folder()), hint)
