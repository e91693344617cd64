"""`mcphost doctor`: what is well and what is not, and how to mend it."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer

from mcphost import Host, config
from mcphost.dialect import OPENAI
from mcphost.doctor import configuration, machine, servers
from mcphost.doctor.findings import Finding, exit_code

from .conftest import rogue
from .endpoint import Endpoint, failure, text
from .http_servers import refusing
from .program import DEAD, Program, Ran

SECRET = "sk-123456789012345678901234"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


def found(ran: Ran, level: str) -> list[dict[str, Any]]:
    return [finding for finding in ran.json if finding["level"] == level]


# the whole


def test_all_is_well(program: Program):
    ran = program("doctor", "-c", program.config(one=rogue()))
    assert (ran.code, ran.err) == (0, "")
    assert "✓ one: 5 tools, MCP 2025-06-18, rogue 1, ready in " in ran.out
    assert "(for one)" in ran.out and "Python 3." in ran.out
    assert "· model: no model is configured" in ran.out
    assert ran.out.endswith("All is well.\n")


def test_what_is_not_well_is_told_with_how_to_mend_it(program: Program):
    with refusing(401) as locked:
        config = program.config(
            one={**rogue("exit-at-start"), "tiemout": 3},
            two={"command": "no-such-program"},
            three={"url": locked},
            four={**rogue(), "env": {"A": "${NOT_SET}"}},
            five=rogue("bad-tools"),
            six={"command": "x", "enabled": False},
        )
        ran = program("doctor", "-c", config, "--json")
    assert ran.code == 4
    errors = {finding["server"]: finding for finding in found(ran, "error")}
    assert list(errors) == ["one", "two", "three", "four"]
    assert "no licence file found" in errors["one"]["what"]
    assert errors["two"]["what"] == "command not found: no-such-program"
    assert "authorization" in errors["three"]["what"]
    assert "$NOT_SET is not set (used in env.A)" in errors["four"]["what"]
    assert all(finding["hint"] and finding["where"] for finding in errors.values())
    warnings = [finding["what"] for finding in found(ran, "warning")]
    assert any("one.tiemout (did you mean timeout?)" in what for what in warnings)
    assert any(what.startswith("left out: tool ") for what in warnings)
    assert any(finding["server"] == "six" for finding in found(ran, "note"))
    told = program("doctor", "-c", config, "--server", "two")
    assert "✗ two: command not found: no-such-program  (no-such-program)\n    Install it" in told.out
    assert (told.code, told.out.splitlines()[-1]) == (4, "1 error and 1 warning.")


@pytest.mark.parametrize(
    ("codes", "code"),
    [([], 0), ([4, 3], 4), ([3], 3), ([1, 3], 3), ([1], 1), ([1, 2, 4], 2)],
)
def test_the_exit_code_is_that_of_what_matters_first(codes: list[int], code: int):
    findings = [Finding("error", "", "", code=code) for code in codes]
    assert exit_code([*findings, Finding("warning", "", "", code=2)]) == code


def test_a_configuration_that_cannot_be_read_is_one_finding_of_several(program: Program):
    config = program.folder / "broken.json"
    config.write_text('{"mcpServers": {"a": {},,}}')
    ran = program("doctor", "-c", str(config), "--json")
    assert ran.code == 2
    assert [finding["what"] for finding in found(ran, "error")] == [
        f"{config}:1:25: not JSON: there is a comma with nothing before it"
    ]
    assert program("doctor").code == 2


def test_a_strangers_file_starts_nothing_until_it_is_confirmed(program: Program):
    started = program.folder / "started"
    program.config(one={**rogue(), "env": {"ROGUE_STARTED": str(started)}})
    ran = program("doctor")
    assert ran.code == 2
    assert "nobody has confirmed it" in ran.out and "-c ./servers.json" in ran.out
    assert not started.exists()


def test_no_secret_is_shown(program: Program):
    entry = {
        "command": "sh",
        "args": ["-c", 'echo "no $SOME_KEY" >&2; exit 3', "--token", SECRET],
        "env": {"SOME_KEY": SECRET},
    }
    url = {
        "url": f"http://me:{SECRET}@{DEAD}/mcp?key={SECRET}",
        "headers": {"Authorization": f"Bearer {SECRET}"},
    }
    config = program.config(one=entry, two=url)
    for arguments in ([], ["--json"]):
        ran = program("doctor", "-c", config, *arguments, HTTPS_PROXY=f"http://me:{SECRET}@127.0.0.1:1")
        assert ran.code == 4
        assert SECRET not in ran.out + ran.err
        assert "HTTPS_PROXY" in ran.out and "***" in ran.out


# the model


def test_the_model_is_asked_only_when_that_is_wanted(program: Program):
    with Endpoint(text("ready", usage={"prompt_tokens": 9, "completion_tokens": 1})) as endpoint:
        config = program.config(sections={"model": {"name": "scripted", "base_url": endpoint.url}})
        ran = program("doctor", "-c", config)
        assert (ran.code, endpoint.requests) == (0, [])
        assert "scripted, in the dialect openai" in ran.out
        ran = program("doctor", "-c", config, "--probe-model")
        assert ran.code == 0
        assert "it answered in " in ran.out and "for 10 tokens" in ran.out
        assert len(endpoint.requests) == 1 and "tools" not in endpoint.requests[0].body


def test_a_model_that_fails_is_exit_1(program: Program):
    with Endpoint(failure(401, "bad key")) as endpoint:
        flags = ["-m", "scripted", "--base-url", endpoint.url, "--api-key", SECRET]
        ran = program("doctor", "-c", program.config(), *flags, "--json")
    assert ran.code == 1
    (error,) = found(ran, "error")
    assert "answered 401: bad key" in error["what"] and error["hint"]
    ran = program("doctor", "-c", program.config(), "-m", "deepsek/x")
    assert ran.code == 2
    assert "did you mean deepseek?" in ran.out


def test_a_key_that_is_missing_is_an_error_only_for_who_asks_the_model(program: Program):
    config = program.config(sections={"model": "deepseek/deepseek-chat"})
    ran = program("doctor", "-c", config)
    assert ran.code == 0
    assert "! model: no key for deepseek: $DEEPSEEK_API_KEY is not set" in ran.out
    assert program("doctor", "-c", config, "--probe-model").code == 2


# files and folders


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can get to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def about(path: Path, value: object, mode: int = 0o600) -> list[Finding]:
    path.write_text(json.dumps(value))
    path.chmod(mode)
    return [each for each in configuration.about_files(config.load([path], environ={})) if each.level != "ok"]


def test_a_secret_that_everybody_can_read_is_warned_of(open_folder: Path):
    path = open_folder / "servers.json"
    value = {"mcpServers": {"one": {"command": "x", "env": {"SOME_KEY": SECRET}}}}
    (finding,) = about(path, value, 0o644)
    assert (finding.level, finding.server) == ("warning", "one")
    assert "env SOME_KEY: written out" in finding.what and f"chmod 600 {path}" in (finding.hint or "")
    assert about(path, value, 0o600) == []
    open_folder.chmod(0o700)
    assert about(path, value, 0o644) == []
    (open_folder / ".git").mkdir()
    (finding,) = about(path, value)
    assert (finding.level, "Git repository" in finding.what) == ("note", True)
    assert about(path, {"mcpServers": {"one": {"command": "x", "env": {"SOME_KEY": "${K:-}"}}}}) == []


def test_a_file_that_everybody_can_change_is_warned_of(tmp_path: Path):
    (finding,) = about(tmp_path / "servers.json", {"mcpServers": {"one": {"command": "x"}}}, 0o666)
    assert "everybody on this machine can change it" in finding.what
    assert finding.hint == f"chmod o-w {tmp_path / 'servers.json'}"


def test_a_key_that_goes_over_the_network_in_the_clear_is_warned_of(tmp_path: Path):
    def address(url: str) -> dict[str, Any]:
        return {"mcpServers": {"one": {"url": url, "headers": {"Authorization": f"Bearer {SECRET}"}}}}

    (finding,) = about(tmp_path / "servers.json", address("http://example.com/mcp"))
    assert (finding.where, finding.server) == ("example.com", "one")
    assert about(tmp_path / "servers.json", address("https://example.com/mcp")) == []
    assert about(tmp_path / "servers.json", address("http://127.0.0.1:1/mcp")) == []


def test_folders_that_cannot_be_used_are_warned_of(own_home: Path):
    assert list(configuration.about_folders()) == []
    (own_home / ".local").write_text("")
    whats = [finding.what for finding in configuration.about_folders()]
    assert any("results and confirmations cannot be kept" in what for what in whats)
    (own_home / ".config" / "mcphost").mkdir(parents=True)
    (own_home / ".config" / "mcphost").chmod(0o777)
    assert any("that mcphost believes" in finding.what for finding in configuration.about_folders())


# programs


def launchers(folder: Path, **scripts: str) -> list[Finding]:
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    entries = {name: {"command": name, "args": ["x"]} for name in scripts if name != "node"}
    environ = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return anyio.run(
        machine.about_launchers, config.parse({"mcpServers": entries}, source=None, environ={}), environ
    )


def test_versions_of_launchers_are_told_and_an_old_node_is_warned_of(tmp_path: Path):
    findings = launchers(
        tmp_path, npx="echo 8.1.0", node="echo v16.2.0", uvx="echo 'uvx 0.9.1 (abc)'", other="exit 1"
    )
    assert [(finding.level, finding.what) for finding in findings] == [
        ("ok", "npx 8.1.0 (for npx)"),
        ("warning", "node v16.2.0 (for npx) is old"),
        ("ok", "uvx 0.9.1 (abc) (for uvx)"),
    ]
    assert [finding.where for finding in findings] == [
        str(tmp_path / name) for name in ("npx", "node", "uvx")
    ]


def test_a_launcher_that_says_nothing_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "_SECONDS", 0.3)
    (finding,) = launchers(tmp_path, uvx="exec sleep 600")
    assert (finding.level, finding.server) == ("warning", "uvx")
    assert "did not answer within 0.3 s" in finding.what


# tools


def examined(host: Host) -> list[Finding]:
    return [each for each in servers.about_servers(host, OPENAI) if each.level != "ok"]


def test_names_descriptions_and_schemas_are_looked_at(monkeypatch: pytest.MonkeyPatch):
    def server(*names: str, description: str = "") -> MCPServer:
        made = MCPServer("made")
        for name in names:
            made.add_tool(lambda: None, name=name, description=description)
        return made

    async def main() -> None:
        local = {"a": server("search", "read"), "b": server("search", description="x" * 2000)}
        data = {"mcpServers": {"odd": rogue("bad-tools")}, "tools": {"naming": "plain"}}
        async with Host(config.parse(data, source=None, environ={}), local=local) as host:
            await host.ready()
            findings = examined(host)
            collision = next(each for each in findings if "would be called search" in each.what)
            assert "a/search is search_" in collision.what and '"prefix"' in (collision.hint or "")
            cut = next(each for each in findings if "are cut" in each.what)
            assert (cut.server, "1024 characters" in cut.what) == ("b", True)
            schema = next(each for each in findings if "its schema cannot be used" in each.what)
            assert (schema.server, schema.level) == ("odd", "warning")
            monkeypatch.setattr(servers, "_SLOW_SECONDS", 0.0)
            slow = [each for each in examined(host) if "which is slow" in each.what]
            assert [each.server for each in slow] == ["odd", "a", "b"] and all(each.hint for each in slow)

    anyio.run(main)
