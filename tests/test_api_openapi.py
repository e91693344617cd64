"""The backend's description of itself: valid, complete, and true."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcphost.api.gate import ROUTES
from mcphost.api.keys import Caller, Key, Keys
from mcphost.api.openapi import document

from .backend import Upstream, backend
from .conftest import rogue
from .endpoint import text

KEYS = Keys([Key.of("the-key", Caller("tester"))])


def test_every_route_is_described():
    assert document(keyed=True)["paths"].keys() >= ROUTES


def test_all_schemas_are_schemas():
    for schema in document(keyed=False)["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_what_needs_a_key_says_so():
    paths: Any = document(keyed=True)["paths"]
    assert paths["/v1/tools"]["get"]["security"] == [{"key": []}]
    assert paths["/healthz"]["get"]["security"] == []
    assert "securitySchemes" not in document(keyed=False)["components"]


def test_the_backend_is_as_it_is_described(tmp_path: Path):
    """schemathesis makes requests of all kinds from the description, and looks at the answers."""
    pytest.importorskip("schemathesis")
    with Upstream(always=text("Hi.")) as upstream:
        with backend(upstream, keys=KEYS, rogue=rogue()) as running:
            command = [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{running.url}/openapi.json"),
                *("--phases", "coverage,fuzzing", "--max-examples", "8"),
                *("--generation-deterministic", "--no-color"),
                # which tools and servers there are, the description does not tell
                *("--exclude-checks", "positive_data_acceptance"),
                *("--header", "Authorization: Bearer the-key"),
            ]
            ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
