"""The examples of docs/examples run with tiny budgets, and they are short."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# All are prepared at once, which may take long on a busy machine.
pytestmark = pytest.mark.timeout(1800)
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
# Optional libraries. AgileRL conflicts with the others here: `nox -s agilerl` runs its example.
NEEDS = {
    "with_agilerl": "agilerl",
    "with_rllib": "ray",
    "jax_mctx": "mctx",
    "search_jax": "jax",
    "search_onnx": "onnxruntime",
}
ALONE = ("with_agilerl",)
STEPS = "300"
MOST_LINES = {  # the others have 40
    "alphazero": 150,
    "batch_a2c": 80,
    "jax_mctx": 100,
    "sb3_self_play": 60,
    "search_jax": 60,
    "search_onnx": 60,
    "search_torch": 60,
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(example):
    assert len(example.read_text(encoding="utf-8").splitlines()) <= MOST_LINES.get(example.stem, 40)


def start(*words, **variables):
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=1500,
    )


def is_missing(example):
    needed = NEEDS.get(example.stem)
    return needed is not None and importlib.util.find_spec(needed) is None


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the output and the error of each example but AgileRL's, by its path."""
    together = [str(path) for path in EXAMPLES if path.stem not in ALONE and not is_missing(path)]
    home = str(tmp_path_factory.mktemp("home"))  # RLlib writes into it
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    program = str(ROOT / "tests/support/examples_in_one_process.py")
    done = start(program, *together, "--", STEPS, HOME=home, XDG_CACHE_HOME=cache)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_trains_and_is_evaluated(example, tmp_path, request):
    if is_missing(example):
        pytest.skip(f"{NEEDS[example.stem]} is not installed here")
    if example.stem in ALONE:
        done = start(str(example), STEPS, HOME=str(tmp_path))
        said, error = done.stdout, done.stderr if done.returncode else ""
    else:
        said, error = request.getfixturevalue("results")[str(example)]
    assert error == "", error[-2000:]
    unit = "simulations" if example.stem.startswith("search") else "steps"
    assert re.search(rf"^[\d,]+ {unit}/s$", said, re.MULTILINE)
    rates = dict(re.findall(r"^(random|greedy) (\d\.\d+)$", said, re.MULTILINE))
    assert rates.keys() == {"random", "greedy"}
    assert all(0 < float(rate) < 1 for rate in rates.values())
