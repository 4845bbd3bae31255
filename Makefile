# Two commands on a fresh machine: make demo, make test. Each makes its environment first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: env demo test test-long check clean

env: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,spark,live,pictures]'
	$(BIN)/python -m compileall -q assignors protocols emulator
	touch $@

demo: env
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: env
	$(BIN)/python -m pytest -q -n 2

test-long: env
	$(BIN)/python -m pytest -q -n 2 -m long

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
