# Everything here does all of its own set-up: Python 3.11 or newer with venv, and make, are enough.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo chat test check format interop clean

help:
	@echo "make demo      the whole loop on bundled servers: no key, no network"
	@echo "make chat      the same as a conversation"
	@echo "make test      the tests"
	@echo "make check     formatting, lint, types"
	@echo "make interop   real MCP servers from npm and PyPI (needs Node.js >= 20)"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mcphost needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/mcphost demo

chat: $(READY)
	@$(BIN)/mcphost demo --chat

test: $(READY)
	$(BIN)/python -m pytest -q -m 'not interop'

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

interop: $(READY)
	$(BIN)/python -m pytest -q -m interop

clean:
	rm -rf $(VENV) .interop .pytest_cache .ruff_cache .hypothesis
