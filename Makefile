# Every target does its own set-up: a clone and Python 3.11 or newer are enough. `make help` lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
PY := $(BIN)/python
WORKERS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
# Read by tests/conftest.py; unset, each law is tried with a few seeded examples.
test-laws: export COMPOSITOR_LAW_EXAMPLES ?= 1000
test-corpus: export COMPOSITOR_CORPUS ?= ../shared/corpus

# Imports without compiled bytecode take twice as long.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH

# A person's text reaches the program through the environment and never through the shell's quoting.
ifdef PROJECT
export COMPOSITOR_DEMO_PROJECT := $(value PROJECT)
endif
ifdef PROMPT
export COMPOSITOR_DEMO_PROMPT := $(value PROMPT)
endif

# $(call pytest,what,arguments): pytest says 5 when it found no test at all, which is never what was meant.
define pytest
	@status=0; $(PY) -m pytest $(2) || status=$$?; \
	if [ $$status -eq 5 ]; then echo "make: no $(1) tests were found; a target without tests is a failure." >&2; fi; \
	exit $$status
endef

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: .venv/.run-stamp ## Show the product at work, without a key (PROJECT=folder, PROMPT="text")
	@$(BIN)/compositor demo

.PHONY: setup
setup: .venv/.dev-stamp ## Make .venv ready for development

.PHONY: check
check: .venv/.dev-stamp ## Lint, format, types, layers, spelling, house rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry src --no-ansi
	$(BIN)/codespell src tests scripts docs $(wildcard benchmarks *.md changelog.d)
	$(PY) -m scripts.requirements_report
	$(call pytest,house,tests/house -q)

.PHONY: test
test: .venv/.dev-stamp ## Every test that needs nothing but the clone, with a seeded part of each law
	$(call pytest,ordinary,tests --ignore=tests/edges --ignore=tests/corpus -q -n $(WORKERS) --durations=10 --durations-min=2)

.PHONY: test-laws
test-laws: .venv/.dev-stamp ## The laws with full counts (COMPOSITOR_LAW_EXAMPLES=1000; COMPOSITOR_LAW_FRESH=1 for new examples)
	$(call pytest,law,tests/properties -q -n $(WORKERS) --timeout=1800)

.PHONY: test-edges
test-edges: .venv/.edges-stamp ## Real servers, child processes, sockets, sandbox; fails when one is missing
	$(call pytest,edge,tests/edges -q)

.PHONY: test-corpus
test-corpus: .venv/.corpus-stamp ## The real inputs (COMPOSITOR_CORPUS=folder); fails when they are missing
	@test -d "$$COMPOSITOR_CORPUS" || { \
		echo "make: the corpus is not at '$$COMPOSITOR_CORPUS'; say where: make test-corpus COMPOSITOR_CORPUS=/path" >&2; exit 1; }
	$(call pytest,corpus,tests/corpus -q -n $(WORKERS) --timeout=600)

.PHONY: coverage
coverage: .venv/.dev-stamp ## Branch coverage of the ordinary tests; under 95% on a law module fails
	@rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest tests --ignore=tests/edges --ignore=tests/corpus -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report
	$(PY) -m scripts.law_coverage

.PHONY: mutate
mutate: .venv/.dev-stamp ## Break the law modules one operator at a time and see that a test notices (MODULE=path)
	$(PY) -m scripts.mutate $(MODULE)

.PHONY: bench
bench: .venv/.dev-stamp ## Counts and ratios, never a verdict
	$(PY) -m benchmarks

.PHONY: bench-peers
bench-peers: .venv/.dev-stamp ## Other clients beside ours, in an environment of their own (installs them from the package index)
	@test -x .venv-peers/bin/python || $(BIN)/uv venv --quiet .venv-peers --python $(PY)
	$(BIN)/uv pip install --quiet --compile-bytecode --python .venv-peers/bin/python --requirement benchmarks/peers/requirements.txt
	$(PY) -m benchmarks.peers

.PHONY: live
live: .venv/.dev-stamp ## Ten cheap calls with your own key: where the real service differs from our tables (never in CI)
	@$(PY) -m scripts.live

.PHONY: docs
docs: .venv/.dev-stamp ## Check the documentation: links, headings, examples that run
	$(PY) -m scripts.check_docs

.PHONY: format
format: .venv/.dev-stamp ## Format the code and fix what can be fixed safely
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: lock
lock: .venv/.dev-stamp ## Write requirements/*.txt anew from pyproject.toml (ARGS=--upgrade for newer versions)
	scripts/lock.sh $(ARGS)

.PHONY: clean
clean: ## Remove the environment and everything that was generated
	rm -rf .venv build dist site htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests scripts -name __pycache__ -type d -exec rm -rf {} +

.venv/.edges-stamp: requirements/servers/package-lock.json

.venv/.%-stamp: requirements/%.txt pyproject.toml scripts/setup.sh
	@scripts/setup.sh $*
