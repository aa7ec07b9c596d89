# Everything a person or CI runs, by name. Each target does its own set-up; see `make help`.
SHELL := /bin/bash
BIN := .venv/bin
# Matplotlib would write its settings and font list into the home folder.
export MPLCONFIGDIR := $(CURDIR)/.venv/matplotlib
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadgroup

.PHONY: help demo test test-all check format coverage smoke setup setup-tests setup-train clean
.DEFAULT_GOAL := help

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r name text; do printf '%-12s %s\n' "$$name" "$$text"; done

demo: setup  ## build the starter tasks, evaluate the scripted agents, print the table, write the report
	@$(BIN)/cligym demo

test: setup-tests  ## run the checks and all tests but the slow ones
	@status=0; $(MAKE) --no-print-directory checks || status=1; $(PYTEST) || status=1; exit $$status

test-all: setup-tests setup-train  ## run all tests, also the slow ones and training; keeps the output in docs/results/test-all.txt
	@mkdir -p docs/results
	@set -o pipefail; $(PYTEST) -m "" --color=no 2>&1 | sed -u "s#$(CURDIR)#.#g" | tee docs/results/test-all.txt

check: setup checks  ## format, lint, types, import arrows

.PHONY: checks
checks:
	@status=0; for tool in "ruff format --check --quiet ." "ruff check --quiet ." "mypy" "lint-imports --no-logo"; do \
	    echo "check: $$tool"; $(BIN)/$$tool || status=1; done; exit $$status

format: setup  ## format the code and apply safe lint fixes
	@$(BIN)/ruff check --fix --quiet .; $(BIN)/ruff format .

coverage: setup-tests  ## run the tests with line and branch coverage; 95 % is asked of sandboxes and graders
	@$(PYTEST) --cov --cov-report=term; status=$$?; \
	for room in sandboxes graders; do \
	    $(BIN)/coverage report --include="$$room/*,src/cligym/$$room/*" --format=total --fail-under=95 >/dev/null && \
	    echo "coverage: $$room is at 95 % or more" || { echo "coverage: $$room is below 95 %"; status=1; }; \
	done; exit $$status

smoke: setup  ## build the wheel, install it with core packages only, run it outside the checkout
	@scripts/smoke

setup:  ## make .venv and install what is missing (nothing when nothing changed)
	@scripts/setup

setup-tests:
	@scripts/setup --tests

setup-train:  ## also install torch, transformers, TRL, PEFT (1.5 GB) into .venv
	@scripts/setup --train

clean:  ## remove build outputs and tool caches (not .venv)
	@rm -rf build dist *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage .hypothesis
