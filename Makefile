# Every target explains itself: `make` or `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo setup tools page chromium check test test-fast test-page test-readme test-tokens pictures bench bench-peers bench-switch bench-tables bench-page sbom audit lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: setup ## see it all at work: broker, feed, pipeline, tables and page, until Ctrl-C
	@$(BIN)/pointsman demo

setup: tools $(VENV)/.installed build/jars/.resolved page ## install everything Pointsman needs into this folder

# Said at once, and not after minutes of installing something else.
tools:
	@missing=0; \
	test build/jars/.resolved -nt pom.xml || command -v mvn >/dev/null || { missing=1; \
	  echo 'Maven (mvn) was not found; it resolves the Kafka jars. Next: install Maven 3.8+, then run make setup again.' >&2; }; \
	test web/node_modules/.installed -nt web/package-lock.json || command -v npm >/dev/null || { missing=1; \
	  echo 'npm was not found; it builds the page. Next: install Node 20.19 or newer, then run make setup again.' >&2; }; \
	exit $$missing

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Pointsman needs Python 3.11 or newer, this is {v[0]}.{v[1]}. Next: make setup PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

build/jars/.resolved: pom.xml | tools
	rm -rf build/jars
	mvn -q -B -Pspark dependency:copy-dependencies -DoutputDirectory=build/jars/spark
	mvn -q -B -Pbroker dependency:copy-dependencies -DoutputDirectory=build/jars/broker
	@touch $@

page: src/pointsman/web/page/index.html ## build the page that `pointsman web` serves

web/node_modules/.installed: web/package.json web/package-lock.json | tools
	# Not `npm ci`: it asks for every platform's optional packages, which a company's mirror may not hold.
	cd web && npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

src/pointsman/web/page/index.html: web/node_modules/.installed $(shell find web/src web/projects web/public -type f 2>/dev/null) web/angular.json
	cd web && NG_CLI_ANALYTICS=false npm run --silent build
	@touch $@

chromium: ## find Chromium for the browser tests, or install it where apt-get can
	@command -v chromium >/dev/null || { \
	  echo 'installing Chromium for the browser tests'; \
	  apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  { echo 'Chromium was not found and could not be installed. Next: install the package chromium, then run make test again.' >&2; exit 1; }

check: setup ## style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test-fast: setup ## the tests that need no process: seconds
	$(BIN)/pytest -m "not broker and not spark and not tables and not browser"

test-tokens: setup ## tokens that expire every 30 s for five minutes, the provider down for one (about a quarter of an hour)
	TOKENS=full $(BIN)/pytest -s tests/secured/test_tokens.py

test-page: setup ## the page's own tests
	cd web && NG_CLI_ANALYTICS=false npm test --silent

test-readme: setup ## follow the README in a fresh clone with a fresh home (minutes; its ports must be free)
	$(BIN)/python -m tests.end_to_end.readme

pictures: setup chromium ## take the screenshots of docs/images anew
	$(BIN)/python -m tests.web.screenshots docs/images

# Much of a test with Java is waiting for it, so those without run beside the others. What they say comes last.
LIGHT := not spark and not tables and not browser
test: tools ## set up, then style, types and every test
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target setup chromium
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check test-page
	@mkdir -p build
	@$(BIN)/pytest -m '$(LIGHT)' >build/test-light.log 2>&1 & light=$$!; \
	trap 'kill $$light' INT TERM; \
	$(BIN)/pytest -m 'not ($(LIGHT))'; others=$$?; \
	wait $$light; code=$$?; cat build/test-light.log; \
	exit $$((others || code))

bench: setup ## measure what the pipeline promises (about an hour; BENCH=--quick to try)
	$(BIN)/python -m benchmarks.pipeline $(BENCH)

build/bench-peers/.installed: benchmarks/peers-requirements.txt benchmarks/peers-pom.xml
	test -x build/bench-peers/venv/bin/python || $(PYTHON) -m venv build/bench-peers/venv
	build/bench-peers/venv/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers-requirements.txt
	mvn -q -B -f benchmarks/peers-pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/build/bench-peers/jars
	@touch $@

bench-peers: setup build/bench-peers/.installed ## the same, with Flink SQL among what it is compared with
	$(BIN)/python -m benchmarks.pipeline --peers yes $(BENCH)

bench-switch: setup ## measure how long a switch takes, beside native Deephaven (about a quarter of an hour; BENCH=--quick to try)
	$(BIN)/python -m benchmarks.switch $(BENCH)

bench-tables: setup chromium ## measure what the tables server promises, beside native Deephaven (about an hour; BENCH=--quick to try)
	$(BIN)/python -m benchmarks.tables $(BENCH)

bench-page: setup chromium ## measure the page on a table of a million rows (about five minutes; BENCH='--rows 100000' to try)
	$(BIN)/python -m benchmarks.page $(BENCH)

sbom: setup ## write build/sbom.json: every package, page library and jar, in CycloneDX
	$(BIN)/python -m supply_chain.sbom build/sbom.json

audit: sbom ## ask for known vulnerabilities of all of them (OSV_API names the service that is asked)
	$(BIN)/python -m supply_chain.audit build/sbom.json

lock: ## pin the newest versions that pyproject.toml allows into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --no-emit-find-links --group dev pyproject.toml -o requirements.lock

clean: ## remove what set-up made
	rm -rf $(VENV) build
