"""The examples of docs/examples run with tiny budgets, and they are short."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
# Optional libraries. AgileRL conflicts with the others here: `nox -s agilerl` runs its example.
NEEDS = {
    "with_agilerl": "agilerl",
    "with_rllib": "ray",
    "jax_mctx": "mctx",
    "search_jax": "jax",
    "search_onnx": "onnxruntime",
}
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


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_trains_and_is_evaluated(example, tmp_path):
    needed = NEEDS.get(example.stem)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed here")
    # RLlib writes into $HOME, so it gets another one. The others keep theirs, with its kernel cache.
    home = {"HOME": str(tmp_path)} if example.stem == "with_rllib" else {}
    starter = [str(ROOT / "tests/support/plain_tianshou.py")] if example.stem == "with_tianshou" else []
    done = subprocess.run(
        [sys.executable, *starter, str(example), "300"],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | home,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    unit = "simulations" if example.stem.startswith("search") else "steps"
    assert re.search(rf"^[\d,]+ {unit}/s$", done.stdout, re.MULTILINE)
    rates = dict(re.findall(r"^(random|greedy) (\d\.\d+)$", done.stdout, re.MULTILINE))
    assert rates.keys() == {"random", "greedy"}
    assert all(0 < float(rate) < 1 for rate in rates.values())
