"""`pip install .` without extras: the commands work or name the missing extra."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEAR_THE_END = "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"


WORKS = [
    (["--help"], "play against|play in the terminal"),
    (["play", "--help"], "--south"),
    (["show", "leyla"], "S6"),
    (["show", "minimax:4"], "alpha-beta"),
    (["rulesets"], "layli_goobalay +2x6"),
    (["solve", NEAR_THE_END], r"value [+-]\d+ for South"),
    (["evaluate", "random", "greedy", "--games", "4", "--no_regret"], "Ratings, layli_goobalay"),
    (["play", "--plain", "--south", "random", "--north", "greedy", "--seed", "1"], "North"),
]
"""Commands that work without extras, and what they say."""
LACKS = [
    (["train"], "train"),
    (["export", "trained", "--safetensors", "x.safetensors"], "train"),
    (["evaluate", "trained"], "train"),
    (["benchmark"], "train"),
    (["evaluate", "random", "greedy", "--report", "r.html"], "evaluation"),
    (["show", "leyla", "--png", "x.png"], "render"),
    (["serve"], "serve"),
]
"""Commands that lack an extra."""
# Runs many command lines in one process, because its start takes most of their time.
PROGRAM = """
import contextlib, io, json, sys
from mancala_env.cli import main

found = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    found.append((status or 0, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""


def required(names):
    """Return the distributions that some distributions need without extras, and these themselves."""
    found, todo = {}, list(names)
    while todo:
        need = todo.pop()
        name = re.split(r"[\s;<>=!~\[(]", need)[0].lower().replace("_", "-")
        if "extra ==" in need or name in found or "sys_platform == 'win32'" in need:
            continue
        found[name] = distribution(name)
        todo += found[name].requires or []
    return found.values()


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Return a folder with the dependencies of the base installation and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for one in required(project["dependencies"]):
        for top in {Path(str(file)).parts[0] for file in one.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(one.locate_file(top))))
    return folder


def python(core, *words, **how):
    """Run Python with the checkout and the core dependencies only."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(core)])
    return subprocess.run(
        [sys.executable, "-S", *words], env=variables, capture_output=True, text=True, cwd=core, **how
    )


@pytest.fixture(scope="module")
def results(core):
    """Return the status, the output and the errors of each command line, by its words."""
    lines = [words for words, _ in (*WORKS, *LACKS)]
    done = python(core, "-c", PROGRAM, json.dumps(lines), stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(zip(map(tuple, lines), json.loads(done.stdout), strict=True))


def test_the_core_has_no_extras(core):
    for name in ("rich", "torch", "matplotlib", "textual", "scipy"):
        done = python(core, "-c", f"import {name}")
        assert f"No module named '{name}'" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    WORKS,
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
@pytest.mark.slow
def test_commands_work_without_extras(results, words, said):
    status, out, err = results[tuple(words)]
    assert (status, err) == (0, "")
    assert re.search(said, out)


@pytest.mark.slow
def test_replay_and_play_work_without_extras(core, tmp_path):
    record = tmp_path / "game.txt"
    game = ["--plain", "--south", "random", "--north", "greedy", "--seed", "1", "--record", str(record)]
    played = python(core, "-m", "mancala_env", "play", *game, stdin=subprocess.DEVNULL)
    assert (played.returncode, played.stderr) == (0, "")
    replayed = python(core, "-m", "mancala_env", "replay", str(record))
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert "South" in replayed.stdout


@pytest.mark.slow
def test_warmup_works_without_extras(core):
    done = python(core, "-m", "mancala_env", "warmup")
    assert (done.returncode, done.stderr.count(" kernels, ")) == (0, 8), done.stderr
    assert "kernels compiled in" in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    LACKS,
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
@pytest.mark.slow
def test_a_missing_extra_is_one_line_with_a_command_that_works_in_a_checkout(results, words, extra):
    status, out, err = results[tuple(words)]
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f'pip install ".[{extra}]"' in err
