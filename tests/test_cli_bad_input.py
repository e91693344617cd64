"""What goes wrong is said plainly: what, where, what to do about it; and the exit code tells the kind."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .conftest import rogue
from .endpoint import Endpoint, Script, chunk, failure, raw, stream, text
from .http_servers import refusing
from .program import DEAD, Program, Ran

KEY = "sk-123456789012345678901234"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    assert program.left() == []


# the model

SOON = {"headers": {"retry-after-ms": "1"}}
HTML = raw(b"<!doctype html><title>Welcome</title>", content_type="text/html")

MODEL_FAILURES: dict[str, tuple[list[Script], str, str]] = {
    "401": ([failure(401, "bad key")], "scripted at HOST answered 401: bad key", "--api-key"),
    "404": (
        [failure(404, "no such model")],
        "answered 404: no such model",
        "Check the model's name, scripted",
    ),
    "429": ([failure(429, "slow down", **SOON)] * 3, "answered 429: slow down", "Too many requests"),
    "500": ([failure(500, "oh no", **SOON)] * 3, "answered 500: oh no", "ask again later"),
    "no json": ([raw(b"data: {nonsense\n\n")], "nonsense", ""),
    "html": ([HTML], "<!doctype html>", ""),
    "two empty replies": ([text()] * 2, "answered twice with neither text nor calls (stop)", "Ask again"),
    "cut": ([stream(chunk(content="So far"), done=False, cut=True)], "the connection broke", "Ask again"),
    "ended early": ([stream(chunk(content="So far"), done=False)], "scripted", ""),
}


@pytest.fixture(scope="module")
def model_failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    program = Program(tmp_path_factory.mktemp("models"))
    run = ["run", "-c", program.config(), "-m", "scripted", "--api-key", KEY, "Hi", "--base-url"]
    with ExitStack() as stack:
        endpoints = [stack.enter_context(Endpoint(*script)) for script, _, _ in MODEL_FAILURES.values()]
        runs = program.together(*([*run, endpoint.url] for endpoint in endpoints))
        for endpoint, (script, _, _) in zip(endpoints, MODEL_FAILURES.values(), strict=True):
            assert len(endpoint.requests) == len(script)
    return {
        name: Ran(ran.code, ran.out, ran.err.replace(f"127.0.0.1:{endpoint.port}", "HOST"))
        for name, ran, endpoint in zip(MODEL_FAILURES, runs, endpoints, strict=True)
    }


@pytest.mark.parametrize("name", MODEL_FAILURES)
def test_a_model_that_fails_is_exit_1(model_failures: dict[str, Ran], name: str):
    ran, (_, said, hint) = model_failures[name], MODEL_FAILURES[name]
    assert ran.code == 1
    assert said in ran.error
    assert hint in ran.err
    assert ran.out == ("So far\n" if name in ("cut", "ended early") else "")
    assert "Traceback" not in ran.err and KEY not in ran.err


def test_a_model_that_is_not_there_is_exit_1(program: Program):
    run = [
        "run",
        "-c",
        program.config(),
        "-m",
        "scripted",
        "--base-url",
        f"http://u:{KEY}@{DEAD}/{KEY}",
    ]
    ran = program(*run, "--output", "json", "Hi")
    assert ran.code == 1
    assert f"scripted at {DEAD}: cannot connect: the connection was refused" in ran.error
    assert "hint: Is it running, and on this port?" in ran.err
    assert (ran.json["stop"], ran.json["rounds"]) == ("error", 1)
    assert "the connection was refused" in ran.json["error"]
    assert KEY not in ran.out + ran.err


def test_no_model_at_all_names_three_ways_to_one(program: Program):
    ran = program("run", "-c", program.config(), "Hi")
    assert (ran.code, ran.out) == (2, "")
    assert "no model is configured" in ran.error
    for way in ("-m provider/name", "--base-url URL", '"model": {"name":', "MCPHOST_MODEL", "mcphost demo"):
        assert way in ran.err


def test_a_model_that_runs_on_this_machine_is_named(program: Program):
    with Endpoint() as endpoint:
        ran = program("run", "-c", program.config(), "Hi", OLLAMA_HOST=f"127.0.0.1:{endpoint.port}")
        named = program("run", "-c", program.config(), "--base-url", endpoint.url, "Hi")
    assert (ran.code, ran.out) == (2, "")
    assert "hint: There is one on this machine: -m ollama/scripted" in ran.err
    assert "Three ways to go on" in ran.err
    assert named.code == 2
    assert f"no model is named for {endpoint.url}" in named.error
    assert "-m scripted" in named.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-m", "deepseek/deepseek-chat"], "no key for deepseek: $DEEPSEEK_API_KEY is not set"),
        (["-m", "deepsek/deepseek-chat"], "no provider is called 'deepsek' (did you mean deepseek?)"),
        (["-m", "gpt-5"], "model 'gpt-5': no endpoint is known for it"),
        (["-m", "x", "--base-url", "localhost:11434"], "--base-url must begin with http:// or https://"),
    ],
)
def test_half_a_model_is_no_model(program: Program, flags: list[str], said: str):
    ran = program("run", "-c", program.config(), *flags, "Hi")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.error
    assert "hint: " in ran.err


# files

FILES: dict[str, tuple[str, str]] = {
    '{"mcpServers": {\n  "a": {"command" "x"}\n}}': ("servers.json:2:19: not JSON", ""),
    "": ("servers.json", "not JSON"),
    '{"mcpServers": []': ("servers.json:1:18: not JSON", ""),
    '"servers"': ("servers.json", ""),
    '{"mcpServers": {}, "limits": {"rounds": "many"}}': ("limits.rounds", ""),
    '{"mcpServers": {}, "tools": {"naming": "long"}}': ("tools.naming", "cherry"),
}


@pytest.mark.parametrize("content", FILES)
def test_a_file_that_cannot_be_used_is_named_with_the_place(program: Program, content: str):
    path = program.folder / "servers.json"
    path.write_text(content, encoding="utf-8")
    ran = program("tools", "-c", str(path))
    assert (ran.code, ran.out) == (2, "")
    for said in FILES[content]:
        assert said in ran.err
    assert "Traceback" not in ran.err and "line" not in ran.error.partition("json")[2].partition(":")[0]


@pytest.mark.parametrize(
    ("path", "said"), [("nowhere.json", "there is no such file"), (".", "is a folder, not a file")]
)
def test_a_file_that_is_none_is_said_to_be(program: Program, path: str, said: str):
    ran = program("tools", "-c", path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.error and "hint: " in ran.err


# servers

BROKEN: dict[str, tuple[dict[str, object], str, str]] = {
    "type": ({"type": "pigeon", "command": "x"}, "unknown type 'pigeon'", "stdio, http, sse"),
    "command": ({"type": "stdio"}, "has no command", '"command" and "args"'),
    "neither": ({"timeout": 3}, "has neither a command nor a url", '"url"'),
    "unset": ({**rogue(), "env": {"KEY": "${NO_SUCH_KEY}"}}, "NO_SUCH_KEY is not set", "NO_SUCH_KEY"),
    "absent": ({"command": "no-such-command"}, "command not found: no-such-command", "Install it"),
    "folder": ({**rogue(), "cwd": "/no/such/folder"}, "/no/such/folder", ""),
    "exits": (rogue("exit-at-start"), "(exit status 3): fatal: no licence file found", "Run it by hand"),
    "silent": ({**rogue("never-init"), "start_timeout": 1}, "no answer within 1 s", "start_timeout"),
    "refused": (
        {"url": f"http://{DEAD}/mcp"},
        "cannot connect to 127.0.0.1:",
        "address and port",
    ),
    "address": ({"url": "example.com/mcp"}, "url must begin with http:// or https://", ""),
    "page": ({"type": "http", "url": "PAGE"}, "HTTP 404", "Check `url`"),
    "locked": (
        {"type": "http", "url": "LOCKED"},
        "the server wants authorization (HTTP 401)",
        "Authorization",
    ),
    "list": (rogue("list-error"), "the index is being rebuilt", ""),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run with a server of every kind of trouble, and two that work."""
    program = Program(tmp_path_factory.mktemp("broken"))
    with refusing(401) as locked, refusing(404, b"<html>Nothing here</html>") as page:
        urls = {"PAGE": page, "LOCKED": locked}
        entries = {name: {**entry, **({"url": urls[str(entry["url"])]} if entry.get("url") in urls else {})}
                   for name, (entry, _, _) in BROKEN.items()}  # fmt: skip
        config = program.config(**entries, junk=rogue("junk"), good=rogue())
        return program("tools", "-c", config)


def test_servers_that_work_are_not_stopped_by_those_that_do_not(broken: Ran):
    assert broken.code == 0
    assert [line for line in broken.out.splitlines() if not line.startswith(" ")] == ["junk (5)", "good (5)"]
    assert "Traceback" not in broken.err
    assert "warning: junk: wrote to stdout what is no " in broken.err


@pytest.mark.parametrize("name", BROKEN)
def test_a_server_that_does_not_work_is_told_with_reason_and_hint(broken: Ran, name: str):
    _, said, hint = BROKEN[name]
    lines = broken.err.splitlines()
    [place] = [n for n, line in enumerate(lines) if line.startswith(f"warning: {name}: ") and said in line]
    assert not hint or (lines[place + 1].startswith("hint: ") and hint in lines[place + 1])
