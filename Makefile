# Two commands set everything up on a machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test test-all lint docs clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt pip
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --editable ".[compare,control,tables,view,learn,cluster,studies,video,test,lint,docs]"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps example-robot-data
	@touch $(READY)

demo: $(READY)
	$(BIN)/footfall demo --out out/demo

lint: $(READY)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow and not browser"
	$(BIN)/pytest -m "browser and not slow"

test-all: lint
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not browser"
	$(BIN)/pytest -m browser

docs: $(READY)
	$(BIN)/sphinx-build -q -W -b html docs out/docs

clean:
	rm -rf out build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
