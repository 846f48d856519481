# `make run` and `make test` do all the set-up on a fresh machine: only python3 (3.11+) and make are needed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
INSTALL := $(PIP) install -c constraints.txt
# Words before the tests alone, such as `env HOME=...`; .ci/run gives them empty folders.
TEST_ENV ?=

.DEFAULT_GOAL := help
.PHONY: help setup run check test bench soak notebooks docs site wasm lint format dist matrix clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.installed  ## make .venv and install everything into it

# What a training run needs.
.venv/.run-installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) pip
	$(INSTALL) -e ".[train]"
	touch $@

# What tests, linters and notebooks need besides.
.venv/.installed: .venv/.run-installed
	$(INSTALL) -e ".[ray,openspiel,window,play,serve,onnx]" --group dev
	touch $@

# Libraries that figures are compared with. Without them `make bench` measures the rest.
.venv/.bench-installed: .venv/.installed
	$(INSTALL) --group bench
	touch $@

run: .venv/.run-installed  ## train a small self-play agent, evaluate it, show the result (about two minutes)
	$(BIN)/python training/train.py --config configs/run.yaml

check: setup lint  ## linters and every test that is not slow
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test: setup lint  ## everything that must pass
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist loadfile

bench: setup  ## measure turns, steps and frames per second beside other libraries
	-$(MAKE) .venv/.bench-installed
	$(BIN)/python benchmarks/run.py --write benchmarks/results.md --history benchmarks/history.csv

soak: setup  ## attack everything that should hold; MINUTES=10, goes on where it was stopped
	$(BIN)/python tests/support/soak.py --minutes $(or $(MINUTES),10)

notebooks: setup  ## run the notebooks again and keep what they print
	$(BIN)/python notebooks/execute.py

docs: setup  ## build the documentation site into docs/_build/html and check its links
	$(BIN)/python docs/site/make_site.py

site: docs  ## the documentation and the page that plays in the browser, in docs/_build/html: any file server can host it

wasm: setup  ## build mancala.wasm from the kernels; needs lld (apt-get) or ziglang (pip)
	$(BIN)/python -m tools.build_wasm.build

lint: setup  ## ruff, pyright, the order of imports, the workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github/workflows

format: setup  ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: setup  ## build the wheel and the source distribution, and look at them
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m pytest -q tests/packaging

matrix: setup  ## the tests with newest and lowest versions, other Pythons, and the wheel alone (noxfile.py)
	$(BIN)/nox

clean:  ## remove what set-up and runs made
	rm -rf .venv .nox runs build dist docs/_build *.egg-info
