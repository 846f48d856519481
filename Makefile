# `make run` and `make test` set up a fresh machine by themselves. They need only python3 (3.11+) and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Python stores the bytecode of what is imported. Compiling all packages at once would take half a minute.
INSTALL := $(PIP) install --no-compile -c constraints.txt
unexport PYTHONDONTWRITEBYTECODE
# A prefix for the test commands, such as `env HOME=...`. .ci/run sets it to use empty folders.
TEST_ENV ?=

.DEFAULT_GOAL := help
.PHONY: help setup run check quick test every kernels bench pages soak notebooks docs site wasm proofs lint format dist matrix clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.installed  ## make .venv and install everything into it

# What a training run needs.
.venv/.run-installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) pip
	$(INSTALL) -e ".[train]"
	touch $@

# What tests, linters and notebooks need in addition.
.venv/.installed: .venv/.run-installed
	$(INSTALL) -e ".[ray,openspiel,window,play,serve,onnx]" --group dev
	touch $@

# Libraries that `make bench` compares with. If they are missing, it measures the rest.
.venv/.bench-installed: .venv/.installed
	$(INSTALL) --group bench
	touch $@

run: .venv/.run-installed  ## train a small self-play agent, evaluate it, show the result (about two minutes)
	$(BIN)/python training/train.py --config configs/run.yaml

# On two cores a third process gains nothing, because browsers and other programs of the tests need them, too.
PYTEST := $(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check:  ## linters and, at the same time, every test that is not slow
	$(MAKE) --jobs 2 lint quick

quick: setup kernels  ## every test that is not slow, without the linters
	$(PYTEST) -m "not slow"

test:  ## linters and, at the same time, every test
	$(MAKE) --jobs 2 lint every

every: setup kernels  ## every test, without the linters
	$(PYTEST)

kernels: .venv/.run-installed  ## compile the kernels once; otherwise each process of the tests compiles them
	-$(TEST_ENV) $(BIN)/mancala warmup

bench: setup  ## measure turns, steps and frames per second and compare with other libraries
	-$(MAKE) .venv/.bench-installed
	$(BIN)/python benchmarks/run.py --write benchmarks/results.md --history benchmarks/history.csv
	$(MAKE) pages

pages: setup  ## write the generated pages of docs/ again
	$(BIN)/python -m tools.api_pages
	$(BIN)/python -m tools.results
	$(BIN)/python -m tools.make_text_baselines --bots
	$(BIN)/python -m tools.make_reference --write
	$(BIN)/python docs/site/ruleset_pages.py

soak: setup  ## run the fuzz tests for MINUTES=10; resumes where it stopped
	$(BIN)/python tests/support/soak.py --minutes $(or $(MINUTES),10)

notebooks: setup  ## run the notebooks and save their output
	$(BIN)/python notebooks/execute.py

docs: setup  ## build the documentation site into docs/_build/html and check its links
	$(BIN)/python docs/site/make_site.py

site: docs  ## build the documentation and the browser page into docs/_build/html, for any file server

wasm: setup  ## build mancala.wasm from the kernels; needs lld (apt-get) or ziglang (pip)
	$(BIN)/python -m tools.build_wasm.build

proofs: setup  ## check proofs with all checkers, fair openings and puzzles with the solver; needs a C compiler
	$(BIN)/python -m tools.make_proofs
	$(BIN)/python -m tools.make_puzzles --check
	$(BIN)/python -m tools.make_fair_openings --check

lint: setup  ## ruff, pyright, import-linter, codespell (spelling), zizmor (workflows)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/zizmor --offline --quiet .github/workflows

format: setup  ## format the sources with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: setup  ## build the wheel and the source distribution, and test them
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m pytest -q tests/packaging

matrix: setup  ## run the tests with newest and lowest versions, on other Pythons, and on the wheel (noxfile.py)
	$(BIN)/nox

clean:  ## remove everything that setup and runs created
	rm -rf .venv .nox runs build dist docs/_build *.egg-info
