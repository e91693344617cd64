"""`mcphost login` and `mcphost logout`, with a browser, without one, and on a terminal."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mcphost.config import parse
from mcphost.errors import ConfigError, ConnectFailed
from mcphost.terminal.login import login
from mcphost.terminal.settings import Settings

from .oauth_servers import Protected, protected
from .program import Program, Terminal

BROWSER = """
import sys
import httpx2
print(httpx2.get(sys.argv[1], follow_redirects=True).text, file=sys.stderr)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "browser.py").write_text(BROWSER)
    program = Program(tmp_path, BROWSER=f"{sys.executable} {tmp_path}/browser.py %s")
    yield program
    assert program.left() == []


def config(program: Program, server: Protected, **more: object) -> list[str]:
    return ["-c", program.config(safe={**server.entry(), **more})]


def answer_of(page: str) -> str:
    """Where the page leads to, once somebody has said yes on it."""
    return httpx2.get(page).headers["location"]


def test_a_login_in_the_browser_holds_until_it_is_taken_back(program: Program):
    server = protected()
    files = config(program, server)
    before = program("tools", *files)
    assert before.code == 3
    assert "hint: Log in: mcphost login safe" in before.err
    ran = program("login", "safe", *files)
    assert (ran.code, ran.out) == (0, "safe: 3 tools\n")
    assert "You can close this page" in ran.err and "logged in to safe" in ran.err
    assert program("call", "safe/hello", *files).out == "hello\n"
    tokens = {entry["authorization"] for entry in server.log("mcp")} - {None}
    assert not [token for token in tokens if token.split()[1] in ran.out + ran.err]
    left = program("logout", "safe", *files)
    assert (left.code, left.err) == (0, "logged out of safe\n")
    revoked = [entry["form"] for entry in server.log(path="/revoke")]
    assert [form["token_type_hint"] for form in revoked] == ["refresh_token", "access_token"]
    assert list(program.home.rglob("logins/*.json")) == []
    assert program("tools", *files).code == 3


def test_without_a_browser_the_address_is_printed_for_one_elsewhere(program: Program):
    server = protected()
    arguments = ["login", "safe", "--no-browser", *config(program, server)]
    with program.started(*arguments, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        page = process.stdout.readline().decode().strip()
        assert page.startswith(f"{server.authority}/authorize?")
        httpx2.get(page, follow_redirects=True)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"safe: 3 tools\n")


def test_the_address_that_a_browser_elsewhere_ends_at_can_be_pasted(program: Program):
    server = protected()
    with program.terminal("login", "safe", "--no-browser", *config(program, server), columns=900) as terminal:
        terminal.expect("on this page:")
        page = page_shown(terminal, server)
        terminal.type("http://127.0.0.1/?code=x&state=wrong\n")
        terminal.expect("That is not the address that answers this login.")
        terminal.type(answer_of(page) + "\n")
        terminal.expect("logged in to safe")
        assert terminal.finish() == 0


def page_shown(terminal: Terminal, server: Protected) -> str:
    terminal.expect(f"{server.authority}/authorize?")
    return f"{server.authority}/authorize?" + terminal.expect("\n").removesuffix("\x1b[0m")


def test_a_browser_that_cannot_be_opened_is_no_end(program: Program):
    server = protected()
    program.env["BROWSER"] = "/nowhere/browser %s"
    with program.terminal("login", "safe", *config(program, server), columns=900) as terminal:
        page = page_shown(terminal, server)
        terminal.expect("There is no browser here; open the address above in one.")
        terminal.type(answer_of(page) + "\n")
        terminal.expect("safe: 3 tools")
        assert terminal.finish() == 0


def test_ctrl_c_ends_the_waiting(program: Program):
    server = protected()
    with program.terminal("login", "safe", "--no-browser", *config(program, server), columns=900) as terminal:
        page_shown(terminal, server)
        terminal.expect("paste the address")
        terminal.type(Terminal.INTERRUPT)
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.output
    assert list(program.home.rglob("logins/*.json")) == []


def test_nobody_is_waited_for_longer_than_is_said_and_a_no_is_told(program: Program):
    server = protected(grants=False)
    files = config(program, server)
    slow, refused = program.together(
        ["login", "safe", "--no-browser", "--timeout", "0.1", *files], ["login", "safe", *files]
    )
    assert slow.code == refused.code == 3
    assert slow.error == "error: safe: no authorization: nobody came back from the page within 0.1 s"
    assert "--timeout SECONDS" in slow.err
    assert "access was refused (access_denied: the person said no)" in refused.error


@pytest.mark.parametrize(
    ("entry", "kind", "says"),
    [
        ({"command": "x"}, ConfigError, "safe has no url, and needs no login"),
        (
            {"url": "https://own.example/mcp", "headers": {"Authorization": "Bearer x"}},
            ConfigError,
            "safe has its authorization in servers.json, and needs no login",
        ),
        (
            {"url": "https://off.example/mcp", "auth": False},
            ConfigError,
            "safe: its auth is switched off in servers.json",
        ),
        (
            {"url": "https://broken.example/mcp", "auth": {"client_id": "${UNSET}"}},
            ConfigError,
            "$UNSET is not set",
        ),
        ({"url": "http://127.0.0.1:9/mcp"}, ConnectFailed, "cannot connect to 127.0.0.1:9"),
        ({"url": "http://127.0.0.1:9/sse", "type": "sse"}, ConnectFailed, "cannot connect to 127.0.0.1:9"),
    ],
)
def test_servers_that_cannot_be_logged_in_to_say_why(entry: dict[str, Any], kind: type[Exception], says: str):
    async def main() -> None:
        config = parse({"mcpServers": {"safe": entry}}, source=None, environ={})
        await login(config, Settings(), "safe", browser=False, seconds=1)

    with pytest.raises(kind, match=re.escape(says)):
        anyio.run(main)


def test_a_server_that_there_is_not_is_looked_for_by_its_letters(program: Program):
    ran = program("login", "sefe", "-c", program.config(safe={"url": "https://safe.example/mcp"}))
    assert (ran.code, ran.error) == (2, "error: no server is called 'sefe' (did you mean safe?)")


def test_a_program_that_proves_itself_logs_in_with_nobody_there(program: Program):
    server = protected(methods=["client_secret_post"], clients={"robot": "s3cret-words"})
    auth = {"grant": "client_credentials", "client_id": "robot", "client_secret": "s3cret-words"}
    ran = program("login", "safe", *config(program, server, auth=auth))
    assert (ran.code, ran.out) == (0, "safe: 3 tools\n")
    assert server.pages() == []


def test_logouts_of_everything_of_what_is_gone_and_of_nothing(program: Program):
    server = protected(revokes=False)
    files = config(program, server)
    assert program("login", "safe", *files).code == 0
    nothing, stranger, both = program.together(
        ["logout", "other", "-c", program.config(name="other.json", other={"command": "x"})],
        ["logout", "stranger"],
        ["logout", "safe", "--all"],
    )
    assert (nothing.code, nothing.err) == (0, "other is not logged in\n")
    assert (stranger.code, stranger.error) == (2, "error: nothing is logged in as 'stranger'")
    assert "Logged in: safe." in stranger.err
    assert both.code == 2
    everything = program("logout", "--all")  # servers that no file has any more, too
    assert everything.code == 0
    assert "logged out of safe" in everything.err
    assert f"its tokens hold until they run out: {server.authority} does not offer that" in everything.err
    assert program("logout", "--all").err == "nothing is logged in\n"


def test_a_login_whose_tokens_cannot_be_revoked_is_forgotten_here(program: Program):
    server = protected()
    files = config(program, server)
    assert program("login", "safe", *files).code == 0
    for path in program.home.rglob("logins/*.json"):
        path.write_text(path.read_text().replace(f"{server.authority}/revoke", "http://127.0.0.1:9/revoke"))
    ran = program("logout", "safe", *files)
    assert ran.code == 0
    assert "cannot reach 127.0.0.1:9: the connection was refused" in ran.err
    assert list(program.home.rglob("logins/*.json")) == []
