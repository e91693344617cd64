"""What the tests with real servers share. `make interop` installs the servers."""

from collections.abc import Generator
from pathlib import Path

import pytest

from . import real_servers
from .commandline import CommandLine


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    if not real_servers.READY.exists():
        pytest.skip("the real servers are not installed: make interop")


@pytest.fixture
def mcphost(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def everything_http(installed: None) -> Generator[str]:
    with real_servers.everything_over("streamableHttp") as url:
        yield url


@pytest.fixture(scope="session")
def everything_sse(installed: None) -> Generator[str]:
    with real_servers.everything_over("sse") as url:
        yield url


@pytest.fixture(scope="session")
def amap_sse(installed: None) -> Generator[str]:
    with real_servers.amap_python_over("sse") as url:
        yield url
