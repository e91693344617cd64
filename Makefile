# Everything here does all of its own set-up: Python 3.11 or newer with venv, and make, are enough.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INTEROP := .interop
INTEROP_READY := $(INTEROP)/.ready
PINS := $(addprefix tests/interop/,package.json requirements-time.txt requirements-amap.txt)
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.PHONY: help demo chat test check format interop soak bench clean

help:
	@echo "make demo      the whole loop on bundled servers: no key, no network"
	@echo "make chat      the same as a conversation"
	@echo "make test      the tests"
	@echo "make check     formatting, lint, types"
	@echo "make interop   real MCP servers from npm and PyPI (needs Node.js >= 20)"
	@echo "make bench     what starting, reading and ending cost"
	@echo "make soak      twenty servers, kills, hangs and floods for two minutes"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mcphost needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) --editable '.[dev]'
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

# real servers, each where it disturbs nobody: two of them cannot share an environment with ours
$(INTEROP_READY): $(PINS)
	@node -e 'process.exit(Number(parseInt(process.versions.node) < 20))' && npm --version >/dev/null \
		|| { echo "make interop needs Node.js 20 or newer, with npm" >&2; exit 1; }
	rm -rf $(INTEROP)/node_modules
	mkdir -p $(INTEROP)
	cp tests/interop/package.json $(INTEROP)/
	npm install --prefix $(INTEROP) --no-package-lock --no-audit --no-fund --loglevel=error
	for name in time amap; do \
		$(PYTHON) -m venv --clear $(INTEROP)/$$name && \
		$(INTEROP)/$$name/bin/python $(PIP_INSTALL) -r tests/interop/requirements-$$name.txt || exit 1; \
	done
	@touch $@

# with them, what the schemas of many more real servers must hold to
interop: $(READY) $(INTEROP_READY)
	$(BIN)/python -m pytest -q tests/interop $(wildcard tests/test_schema*.py)

SECONDS_OF_SOAK ?= 120
soak: $(READY)
	$(BIN)/python benchmarks/soak.py --seconds $(SECONDS_OF_SOAK)

bench: $(READY)
	$(BIN)/python benchmarks/lifecycle.py

clean:
	rm -rf $(VENV) .interop .pytest_cache .ruff_cache .hypothesis
