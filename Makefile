# Two commands do everything on a fresh machine with Python 3.11, pip and git: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TRACES   ?= ../shared/data/traces/dev.jsonl.gz
MESSAGES ?= ../shared/data/messages/dev.jsonl

.PHONY: help venv demo test lint format bench clean

help:
	@echo "make demo    audit the bundled sample sessions: the report, and a page to open"
	@echo "make test    every test, in a virtual environment that is made first if need be"
	@echo "make bench   speed and quality, each against its limit in the same run"
	@echo "make lint    style, types, import direction"
	@echo "make format  put the style right"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Touchline needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: venv
	@$(BIN)/touchline demo

test: venv
	@scripts/test-tools
	$(BIN)/python -m pytest -n 2 --dist loadgroup

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

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
