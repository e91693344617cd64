"""What all tests share. Nobody's own settings, keys or proxies take part."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .full_servers import WAYS, Full, FullServers

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Recorded conversations and tool lists, beside a checkout. Tests that read them are skipped without."""

ROGUE = Path(__file__).parent / "servers" / "rogue.py"


# how long it takes to make an example tells of the machine, and not of us
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder of its own for every test, and an environment without keys and proxies."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("XDG_", "MCPHOST_", "OPENAI_")) or name.upper().endswith(("_PROXY", "_API_KEY")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    yield home


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings; skips the test where it is absent."""
    if not (SHARED / "trace").is_dir():
        pytest.skip("no recordings beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def full_servers() -> Iterator[FullServers]:
    """What makes full test servers."""
    with FullServers() as servers:
        yield servers


@pytest.fixture(params=WAYS, ids=str)
def full(request: pytest.FixtureRequest, full_servers: FullServers) -> Full:
    """The full test server, in each way that it may be reached."""
    return Full(request.param, full_servers)


def rogue(*faults: str) -> dict[str, object]:
    """A servers.json entry for the misbehaving test server."""
    return {"command": sys.executable, "args": [str(ROGUE), *faults]}
