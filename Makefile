# Every target explains itself: `make` or `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup check test test-fast bench lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed build/jars/.resolved ## install everything Pointsman needs into this folder

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Pointsman needs Python 3.11 or newer, this is {v[0]}.{v[1]}. Next: make setup PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

build/jars/.resolved: pom.xml
	@command -v mvn >/dev/null || { echo 'Maven (mvn) was not found; it resolves the Kafka jars. Next: install Maven 3.8+, then run make setup again.' >&2; exit 1; }
	rm -rf build/jars
	mvn -q -B -Pspark dependency:copy-dependencies -DoutputDirectory=build/jars/spark
	mvn -q -B -Pbroker dependency:copy-dependencies -DoutputDirectory=build/jars/broker
	@touch $@

check: setup ## style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test-fast: setup ## the tests that need no process: seconds
	$(BIN)/pytest -m "not broker and not spark and not tables and not browser"

test: check ## set up, then style, types and every test
	$(BIN)/pytest

lock: ## pin the newest versions that pyproject.toml allows into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --no-emit-find-links --group dev pyproject.toml -o requirements.lock

clean: ## remove what set-up made
	rm -rf $(VENV) build
