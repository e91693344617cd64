"""`mcphost demo`: all of it at work, with no key and no network."""

import signal
from pathlib import Path

import pytest

from .program import DEAD, ROOT, SECONDS, Program, Ran

QUESTION = "今天下午从苏州到北京的高铁票还有没"
TRACE = ["get-current-date {}", 'get-station-code-of-citys {"citys": "苏州|北京"}', "get-tickets {"]


def demonstration(folder: Path) -> Program:
    dead = f"http://{DEAD}"
    program = Program(folder, MCPHOST_DEMO_DATE="2025-08-01", HTTP_PROXY=dead, ALL_PROXY=dead)
    program.folder = ROOT  # the bundled servers are modules of the package, wherever that lies
    return program


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    """The demo as it is, with another question, and talked to."""
    questions = f"{QUESTION}\n北京天气怎么样\n"
    runs = (["demo"], ["demo", "北京天气怎么样"], ["demo", "--chat"])
    return demonstration(tmp_path_factory.mktemp("demos")).together(*runs, stdin=[None, None, questions])


def test_the_demo_shows_every_step_and_the_answer(demos: list[Ran]):
    ran = demos[0]
    assert (ran.code, ran.err) == (0, "")
    assert "is no language model" in ran.out
    lines = ran.out.splitlines()
    assert [line.partition(":")[0] for line in lines if " tools, ready in " in line] == [
        "12306-mcp",
        "amap-maps",
    ]
    assert f"> {QUESTION}" in lines
    assert [line for line in lines if line.startswith("request ")] == [f"request {n}" for n in range(1, 5)]
    called = [line for line in lines if line.startswith("→ 12306-mcp/")]
    assert len(called) == 3
    assert all(step in line for step, line in zip(TRACE, called, strict=True))
    assert "✓ 2025-08-01 (" in ran.out
    assert "下午从苏州到北京还有高铁票" in ran.out.partition("request 4")[2]


def test_the_demo_takes_other_questions(demos: list[Ran]):
    ran = demos[1]
    assert (ran.code, ran.err) == (0, "")
    assert "> 北京天气怎么样\n" in ran.out
    assert '→ amap-maps/maps_weather {"city": "北京"}' in ran.out


def test_the_demo_can_be_talked_to(demos: list[Ran]):
    ran = demos[2]
    assert ran.code == 0
    assert "→ 12306-mcp" not in ran.out
    assert "下午从苏州到北京还有高铁票" in ran.out and "北京市" in ran.out
    assert "2 of 2 servers, 20 tools" in ran.err
    assert "→ amap-maps/maps_weather" in ran.err


def test_the_demo_can_be_stopped(tmp_path: Path):
    program = demonstration(tmp_path)
    with program.started("demo") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"A demonstration")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (130, b"")
    assert b"request 4" not in out
    assert program.left() == []
