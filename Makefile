# Two commands need nothing prepared but Python 3.11 or newer: `make serve` and `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DOCS   ?=
PORT   ?= 8000
ARGS   ?=

# The tests start many processes; without it each of them compiles the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install serve test check bench eval format clean

install: $(VENV)/.dev

serve: $(VENV)/.runtime
	@$(BIN)/turnwire serve --port $(PORT) $(if $(DOCS),--docs "$(DOCS)") $(ARGS)

# On all cores, up to four; what is left of a slow file goes to whoever is free.
WORKERS := -n logical --maxprocesses 4 --dist worksteal

# `make test ARGS="tests/engine -x"` runs a part, without the account of what was covered.
test: $(VENV)/.dev
	@$(BIN)/python -m tests.needs
ifeq ($(strip $(ARGS)),)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(WORKERS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report
else
	$(BIN)/python -m pytest $(ARGS)
endif

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m tools.typescript --check
	$(BIN)/python -m evaluation.check

bench: $(VENV)/.dev
	$(BIN)/python -m bench.run $(ARGS)

eval: $(VENV)/.dev
	$(BIN)/python -m evaluation.run $(ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .turnwire

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("turnwire needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

# Both stamps also make the command line point at this checkout.
$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.runtime

# Needs uv. Names no registry, so that the files work behind any mirror.
.PHONY: lock
LOCK := uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --quiet
lock:
	$(LOCK) pyproject.toml requirements/build.in -o requirements/runtime.txt
	$(LOCK) pyproject.toml requirements/build.in --extra dev -o requirements/dev.txt
