# Two commands do everything on a fresh machine with Python 3.11, pip and git: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TRACES   ?= ../shared/data/traces/dev.jsonl.gz
MESSAGES ?= ../shared/data/messages/dev.jsonl
KILLS    ?= 2000

.PHONY: help venv tools demo test soak lint format bench dist clean

help:
	@echo "make demo    a scripted agent is coached, then a brief becomes a program: no key, under 60 s"
	@echo "make test    every test, in a virtual environment that is made first if need be"
	@echo "make soak    the crash matrix with 2,000 kills (KILLS=n for another number)"
	@echo "make bench   speed and quality, each against its limit in the same run"
	@echo "make dist    a wheel and an sdist in dist/, with their sizes and what the wheel needs"
	@echo "make lint    style, types, import direction"
	@echo "make format  put the style right"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Touchline needs Python 3.11 or newer; give one: make PYTHON=python3.12")'
	@echo "Once: a virtual environment in $(VENV), with what Touchline and its tests need. It takes a minute or two."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: venv
	@$(BIN)/touchline demo
	@echo
	@$(BIN)/touchline demo --build

tools:
	@scripts/test-tools

test:
	@$(MAKE) --no-print-directory -j2 venv tools
	@scripts/test

soak: venv tools
	TOUCHLINE_KILLS=$(KILLS) $(BIN)/python -m pytest -s tests/engine/test_crash_matrix.py
	TOUCHLINE_BUILD_KILLS=20 $(BIN)/python -m pytest -s tests/roles/test_build_crash.py

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: venv
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: venv
	$(BIN)/python -m bench --traces $(TRACES) --messages $(MESSAGES)

dist: venv
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python scripts/wheel.py dist

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
