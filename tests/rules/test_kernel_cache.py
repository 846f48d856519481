"""Compiled kernels: never stale on disk, there when nothing changed, dispensable, and without ballast."""

import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import mancala_env
from mancala_env.engine.jit import decorator
from mancala_env.engine.state import encode, load
from mancala_env.rulesets import lookup
from mancala_env.solver import proof_search
from mancala_env.solver.proofs import Conditions

PACKAGE = Path(mancala_env.__file__).parent

# Hole 4 is empty, hole 5 is an owned hole: neither is legal.
_LEGAL = """
import json
from mancala_env import Position
from mancala_env.engine import single_game
from pathlib import Path
from mancala_env.engine.jit.decorator import cache_folder
game = Position("leyla", [1, 1, 1, 1, 0, 2, 2, 1, 1, 1, 1, 1], [-1] * 5 + [0, 0] + [-1] * 5)
legal = game.legal_actions
stats = single_game.legal_actions.stats
print(json.dumps({
    "legal": legal,
    "package": single_game.__file__,
    "folder": cache_folder(Path(single_game.__file__).resolve()),
    "hits": sum(stats.cache_hits.values()),
    "misses": sum(stats.cache_misses.values()),
}))
"""


@pytest.fixture
def site(tmp_path):
    """Return a folder with a copy of the package in it."""
    folder = tmp_path / "site"
    shutil.copytree(PACKAGE, folder / "mancala_env", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(site, cache):
    """Ask a fresh process, with the package in `site`, which holes are legal."""
    variables = os.environ | {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.run(
        [sys.executable, "-c", _LEGAL], env=variables, cwd=site, check=True, capture_output=True, text=True
    )
    answer = json.loads(process.stdout)
    assert Path(answer["package"]).is_relative_to(site)
    return answer


def test_an_edit_in_another_file_is_never_answered_with_old_rules(site, tmp_path):
    cache = tmp_path / "cache"
    first = run(site, cache)
    assert (first["legal"], first["hits"], first["misses"]) == ([0, 1, 2, 3], 0, 1)

    second = run(site, cache)  # nothing has changed: no kernel is compiled
    assert (second["legal"], second["hits"], second["misses"]) == ([0, 1, 2, 3], 1, 0)

    # The compiled kernel is in single_game.py; the rule it calls is in turn.py.
    turn = site / "mancala_env" / "engine" / "turn.py"
    rule = "    return occupied(game.board) & ~(game.owned_south | game.owned_north)\n"
    assert rule in turn.read_text()
    turn.write_text(turn.read_text().replace(rule, "    return occupied(game.board)\n"))
    edited = run(site, cache)
    assert (edited["legal"], edited["hits"], edited["misses"]) == ([0, 1, 2, 3, 5], 0, 1)
    assert edited["folder"] != first["folder"]

    turn.write_text(turn.read_text().replace("    return occupied(game.board)\n", rule))
    back = run(site, cache)  # the old source again, the old cache again
    assert (back["legal"], back["hits"], back["folder"]) == ([0, 1, 2, 3], 1, first["folder"])


def test_a_cache_folder_that_cannot_be_written_is_done_without(site, tmp_path):
    (tmp_path / "file").touch()
    answer = run(site, tmp_path / "file" / "cache")
    assert (answer["legal"], answer["folder"], answer["hits"]) == ([0, 1, 2, 3], None, 0)


def sources_of(name):
    return {str(path.relative_to(PACKAGE)) for path in decorator.kernel_sources(PACKAGE / name)}


def test_the_key_covers_every_file_that_kernels_are_compiled_from():
    rules_of_a_turn = {
        "engine/kernel.py",
        "engine/state.py",
        "engine/turn.py",
        "rulesets.py",  # constants of the board
    }
    assert sources_of("engine/turn.py") >= rules_of_a_turn
    assert sources_of("agents/simple.py") >= rules_of_a_turn | {"engine/chance.py"}
    assert sources_of("batch.py") >= rules_of_a_turn | {"engine/episode.py", "observation/board.py"}


def test_an_edit_of_a_search_agent_leaves_the_compiled_engine_alone():
    assert not any(name.startswith("agents/") for name in sources_of("batch.py"))


def test_no_kernel_escapes_the_key():
    """Every kernel's file is its own key, and every kernel it calls stands in a file of that key."""
    files = [path for path in PACKAGE.rglob("*.py") if b"\n@kernel" in path.read_bytes()]
    assert len(files) >= 7
    for path in files:
        key = {str(source) for source in decorator.kernel_sources(path)}
        name = ".".join(("mancala_env", *path.relative_to(PACKAGE).with_suffix("").parts))
        for function in vars(importlib.import_module(name)).values():
            if hasattr(function, "py_func"):
                assert inspect.getsourcefile(function.py_func) in key


@pytest.mark.parametrize(
    "statement",
    [
        "from mancala_env.rules import two",
        "from mancala_env import rules",
        "from mancala_env import other, rules as r",
        "from mancala_env import (\n    other,\n    rules as r,  # why\n)",
        "import mancala_env.rules",
        "    from mancala_env.rules import two",
        "from mancala_env.rules import (\n    two,\n)",
    ],
)
def test_any_form_of_import_is_followed(statement, tmp_path, monkeypatch):
    package = tmp_path / "mancala_env"
    package.mkdir()
    (package / "game.py").write_text(f"{statement}\n\n@kernel\ndef play():\n    return two()\n")
    (package / "rules.py").write_text("from mancala_env.numbers import TWO\ndef two(): return TWO\n")
    (package / "numbers.py").write_text("TWO = 2\n")
    (package / "window.py").write_text("from mancala_env import game\n")
    monkeypatch.setattr(decorator, "_PACKAGE", package)
    game = package / "game.py"
    assert {path.name for path in decorator.kernel_sources(game)} == {"game.py", "rules.py", "numbers.py"}

    before = decorator.source_digest(game)
    (package / "window.py").write_text("")
    assert decorator.source_digest(game) == before
    (package / "numbers.py").write_text("TWO = 3\n")
    assert decorator.source_digest(game) != before


def test_folders_of_old_sources_are_dropped_after_a_month(tmp_path, monkeypatch):
    monkeypatch.setattr(decorator._numba_config, "CACHE_DIR", str(tmp_path))
    old, recent = tmp_path / "mancala_env" / "old", tmp_path / "mancala_env" / "recent"
    for folder, days in ((old, 31), (recent, 29)):
        folder.mkdir(parents=True)
        then = time.time() - days * 86400
        os.utime(folder, (then, then))
    turn = PACKAGE / "engine" / "turn.py"
    decorator.cache_folder.cache_clear()
    present = decorator.cache_folder(turn)
    decorator.cache_folder.cache_clear()
    assert present is not None
    assert present == str(tmp_path / "mancala_env" / decorator.source_digest(turn))
    assert Path(present).is_dir()
    assert recent.is_dir()
    assert not old.exists()


def test_kernels_count_no_references_to_arrays():
    """A tenth of the solver's time went there: numba leaves it to kernels that return in several places."""
    step: Any = proof_search._take_bound
    anew = numba.njit(**{name: value for name, value in step.targetoptions.items() if name != "nopython"})(
        step.py_func
    )
    nums, turn_nums = (
        np.zeros((2, proof_search.NUM_NUMS), np.int64),
        np.zeros((2, proof_search.NUM_TURN_NUMS), np.int64),
    )
    game = load(mancala_env.Position("leyla").games, 0)
    anew(encode(lookup("leyla")), nums, turn_nums, 0, 0, game, 5, Conditions(0, 0, 0))
    (code,) = anew.inspect_llvm().values()
    assert "call void @NRT_incref" not in code


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is played by a pty")
def test_a_screen_is_told_once_when_kernels_compile_and_not_when_they_are_cached(tmp_path):
    import pty

    def said():
        """Play a turn in a fresh process whose standard error is a terminal; returns what it showed."""
        terminal, child = pty.openpty()
        try:
            subprocess.run(
                [sys.executable, "-c", "import mancala_env; mancala_env.Position('leyla').play(1)"],
                env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)},
                check=True,
                stderr=child,
            )
            os.set_blocking(terminal, False)
            try:
                return os.read(terminal, 4096).decode()
            except BlockingIOError:
                return ""
        finally:
            os.close(terminal)
            os.close(child)

    assert said().count("mancala_env: compiling kernels, once for this version") == 1
    assert said() == ""


def test_a_kernel_may_stand_in_a_file_of_ones_own(tmp_path, monkeypatch):
    """Its cache folder was named by the file's place in the package, and it has none there."""
    file = tmp_path / "own_kernels.py"
    file.write_text(
        "from mancala_env.engine.jit.decorator import kernel\n"
        "from mancala_env.engine.state import num_bits\n\n\n"
        "@kernel\ndef bits_and_one(bits):\n    return num_bits(bits) + 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("own_kernels").bits_and_one(7) == 4
    before = decorator.source_digest(file)
    file.write_text(file.read_text().replace("+ 1", "+ 2"))
    assert decorator.source_digest(file) != before
