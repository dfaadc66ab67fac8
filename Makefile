# Two commands set everything up on a machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
# what the demo needs, what the other commands of the README need, what tests and documentation need as well
SHOWABLE := $(VENV)/.showable
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready
WORKERS ?= 2
# a hundred tests start an interpreter of their own, which reads bytecode in half the time that it takes to write it
unexport PYTHONDONTWRITEBYTECODE
# threads of linear algebra wait for one another in a busy loop: beside other work they take ten times the processor time
OPENBLAS_NUM_THREADS ?= 1
OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS OMP_NUM_THREADS

.PHONY: demo test plain browser test-all fuzz lint size docs dist clean

# how long this takes is told apart from the demo
$(SHOWABLE): pyproject.toml constraints.txt
	@began=$$(date +%s) && $(PYTHON) -m venv $(VENV) && $(PIP) --upgrade pip && $(PIP) --editable ".[compare]" \
	  && echo "installed in $$(($$(date +%s) - began)) s"
	@touch $(SHOWABLE)

$(USABLE): $(SHOWABLE)
	$(PIP) --editable ".[compare,tables,view,video]"
	@touch $(USABLE)

$(READY): $(USABLE)
	$(PIP) --editable ".[compare,tables,view,video,dds,foxglove,rerun,lerobot,learn,tensorboard,policies,cluster,studies,identify,wasm,test,lint,docs]"
	$(PIP) --no-deps example-robot-data
	$(PIP) --no-deps moviepy proglog decorator python-dotenv
	@touch $(READY)

demo: $(SHOWABLE)
	$(BIN)/footfall demo --out out/demo
	@$(MAKE) --no-print-directory $(USABLE)

# every Python file of the repository, cells of notebooks included
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# lines, files and public names of every package; AGAINST=COMMIT also shows the change
size:
	@$(PYTHON) tools/size.py $(if $(AGAINST),--against $(AGAINST))

# the type checker and then the browser, which mostly wait or keep one core, beside the plain tests: any of them fails it
test: $(READY)
	@$(MAKE) --no-print-directory -j 2 plain browser

# LLVM takes a quarter of the time of these tests: here it generates code without optimising it, to the same bits
# (tests/nptrace/test_llvm.py); test-all and the browser tests run optimised code
plain: $(READY)
	NPTRACE_LEVEL=0 $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow and not browser" --durations=20

# what it says comes in one piece, not in between the plain tests
browser: lint
	@mkdir -p out
	@$(BIN)/pytest -m "browser and not slow" >out/browser.txt 2>&1; status=$$?; cat out/browser.txt; exit $$status

test-all: lint
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not browser" --hypothesis-profile random
	$(BIN)/pytest -m browser --hypothesis-profile random

# at most twenty minutes; exit status 1 if a case was lost, or if fewer than 20 000 were run
fuzz: $(READY)
	$(BIN)/python tests/fuzz/campaign.py --seconds 1200 --least 20000 --json out/fuzz.json

docs: $(READY)
	$(BIN)/sphinx-build -q -n -W -b html docs out/docs

# wheel and sdist, tried from another folder on every Python from 3.11 to 3.13 that is here
dist:
	$(PYTHON) tools/check_release.py

clean:
	rm -rf out build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
