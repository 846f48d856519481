# `make run` and `make test` do all the set-up on a fresh machine: only python3 (3.11+) and make are needed.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup run test bench notebooks lint format clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.installed  ## make .venv and install everything into it

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

run: setup  ## train a small self-play agent, evaluate it, show the result (about two minutes)
	$(BIN)/python training/train.py --config configs/run.yaml

test: setup lint  ## everything that must pass
	$(BIN)/python -m pytest

bench: setup  ## measure turns, steps and frames per second beside other libraries
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]" || true
	$(BIN)/python benchmarks/run.py

notebooks: setup  ## run the notebooks again and keep what they print
	$(BIN)/python notebooks/execute.py

lint: setup  ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: setup  ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what set-up and runs made
	rm -rf .venv runs build *.egg-info
