# Everything here does all of its own set-up: Python 3.11 or newer with venv, and make, are enough.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INTEROP := .interop
INTEROP_READY := $(INTEROP)/.ready
PINS := $(addprefix tests/interop/,package.json requirements-time.txt requirements-amap.txt)
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

CONFORMANCE := .conformance
CONFORMANCE_READY := $(CONFORMANCE)/.ready

.PHONY: help demo chat test check format interop conformance soak load bench clean

help:
	@echo "make demo      the whole loop on bundled servers: no key, no network"
	@echo "make chat      the same as a conversation"
	@echo "make test      the tests"
	@echo "make check     formatting, lint, types"
	@echo "make interop   real MCP servers from npm and PyPI (needs Node.js >= 20)"
	@echo "make conformance  MCP's official conformance suite, with a Host as its client (needs npm)"
	@echo "make bench     what starting, reading and ending cost"
	@echo "make load      200 streams at a time through the backend, then chaos"
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
	$(BIN)/python -m pytest -q -n 4 -m 'not interop'

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

$(CONFORMANCE_READY): tests/conformance/package.json
	@npm --version >/dev/null || { echo "make conformance needs npm" >&2; exit 1; }
	rm -rf $(CONFORMANCE)/node_modules
	mkdir -p $(CONFORMANCE)
	cp tests/conformance/package.json $(CONFORMANCE)/
	npm install --prefix $(CONFORMANCE) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

SUITE = $(CONFORMANCE)/node_modules/.bin/node $(CONFORMANCE)/node_modules/@modelcontextprotocol/conformance/dist/index.js \
	client --command "$(BIN)/python tests/conformance/client.py" --timeout 600000
RESULTS := $(CONFORMANCE)/results

# the suite does not mind if a client crashes after its last check: we do
conformance: $(READY) $(CONFORMANCE_READY)
	rm -rf $(RESULTS)
	$(SUITE) --requirements 2025-11-25 -o $(RESULTS)/2025-11-25
	$(SUITE) --requirements 2026-07-28 -o $(RESULTS)/2026-07-28
	$(SUITE) --suite all --expected-failures tests/conformance/expected_failures.yml -o $(RESULTS)/all
	! grep -r --include=stderr.txt -A 100 '^Traceback' $(RESULTS)

SECONDS_OF_SOAK ?= 120
soak: $(READY)
	$(BIN)/python benchmarks/soak.py --seconds $(SECONDS_OF_SOAK)

REQUESTS_OF_LOAD ?= 10000
load: $(READY)
	$(BIN)/python benchmarks/load.py --requests $(REQUESTS_OF_LOAD)

bench: $(READY)
	$(BIN)/python benchmarks/lifecycle.py

clean:
	rm -rf $(VENV) .interop .conformance .pytest_cache .ruff_cache .hypothesis
