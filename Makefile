# Everything runs from the checkout's own .venv. `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.up-to-date
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help venv test lint format bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

venv: $(STAMP) ## create .venv with the pinned tools and the `mooring` command

# Hashes cover every download; the package itself is built with the pinned hatchling, not in an
# isolated environment that would fetch one of its own.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mooring needs Python 3.11 or later; choose one with make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

test: venv ## run every test
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

lint: venv ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: venv ## sort imports and format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: venv ## run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove .venv and every cache
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
