"""The disk cache of compiled kernels: never stale, reused if nothing changed, and not required."""

import importlib
import inspect
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numba.core.config
import numpy as np
import pytest
from small_disk import READ_ONLY, largest_file

import mancala_env
from mancala_env.engine import rounds
from mancala_env.engine.jit import decorator, inner
from mancala_env.engine.state import encode, load
from mancala_env.rulesets import lookup
from mancala_env.solver import proof_search
from mancala_env.solver.proofs import Conditions

PACKAGE = Path(mancala_env.__file__).parent

# Hole 4 is empty, hole 5 is an owned hole: neither is legal.
_SEEDS, _OWNER = [1, 1, 1, 1, 0, 2, 2, 1, 1, 1, 1, 1], [-1] * 5 + [0, 0] + [-1] * 5
# A packed game needs no other kernel than that of the legal actions.
_LEGAL = f"""
import json
import numpy as np
from mancala_env import Position, rulesets
from mancala_env.engine import single_game
from pathlib import Path
from mancala_env.engine.jit.decorator import cache_folder
packed = np.array({mancala_env.Position("leyla", _SEEDS, _OWNER).games.tolist()}, np.uint64)
legal = Position._of(rulesets.lookup("leyla"), packed).legal_actions
stats = single_game.legal_actions.stats
print(json.dumps({{
    "legal": legal,
    "package": single_game.__file__,
    "folder": cache_folder(Path(single_game.__file__).resolve()),
    "hits": sum(stats.cache_hits.values()),
    "misses": sum(stats.cache_misses.values()),
}}))
"""


@pytest.fixture
def site(tmp_path):
    """Return a folder that holds a copy of the package."""
    folder = tmp_path / "site"
    shutil.copytree(PACKAGE, folder / "mancala_env", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(site, cache, before=""):
    """Return the legal holes that a new process finds with the package in `site` after `before`."""
    variables = os.environ | {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.run(
        [sys.executable, "-c", before + _LEGAL],
        env=variables,
        cwd=site,
        check=True,
        capture_output=True,
        text=True,
    )
    answer = json.loads(process.stdout)
    assert Path(answer["package"]).is_relative_to(site)
    return answer


@pytest.mark.slow
def test_an_edit_in_another_file_is_never_answered_with_old_rules(site, tmp_path):
    cache = tmp_path / "cache"
    first = run(site, cache)
    assert (first["legal"], first["hits"], first["misses"]) == ([0, 1, 2, 3], 0, 1)

    second = run(site, cache)  # nothing has changed, so no kernel is compiled
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
    back = run(site, cache)  # the old source uses the old cache
    assert (back["legal"], back["hits"], back["folder"]) == ([0, 1, 2, 3], 1, first["folder"])


@pytest.mark.slow
def test_a_cache_folder_that_cannot_be_written_is_done_without(site, tmp_path):
    (tmp_path / "file").touch()
    answer = run(site, tmp_path / "file" / "cache")
    assert (answer["legal"], answer["folder"], answer["hits"]) == ([0, 1, 2, 3], None, 0)


def sources_of(name):
    return {str(path.relative_to(PACKAGE)) for path in decorator.kernel_sources(PACKAGE / name)}


def test_the_key_covers_every_file_that_kernels_are_compiled_from():
    rules_of_a_turn = {
        "engine/jit/decorator.py",
        "engine/board.py",
        "engine/state.py",
        "engine/turn.py",
        "rulesets/__init__.py",  # constants of the board
    }
    assert sources_of("engine/turn.py") >= rules_of_a_turn
    assert sources_of("agents/scripted.py") >= rules_of_a_turn | {"engine/rng.py"}
    assert sources_of("games/batch.py") >= rules_of_a_turn | {"engine/episode.py", "observations/board.py"}


def test_an_edit_of_a_search_agent_leaves_the_compiled_engine_alone():
    assert not any(name.startswith(("agents/", "search/")) for name in sources_of("games/batch.py"))


def test_no_kernel_escapes_the_key():
    """Every kernel's file is in its own key, and so are the files of the kernels that it calls."""
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
    decorator._read.cache_clear()  # as in another process
    assert decorator.source_digest(game) == before
    (package / "numbers.py").write_text("TWO = 3\n")
    decorator._read.cache_clear()
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
    """Reference counting took 10 % of the solver's time. numba adds it to kernels with several returns."""
    step: Any = proof_search._take_bound
    compiled = numba.njit(
        **{name: value for name, value in step.targetoptions.items() if name != "nopython"}
    )(step.py_func)
    ruleset = lookup("leyla")
    game = load(mancala_env.Position(ruleset).games, 0)
    line = proof_search.new_line(ruleset)
    line.nums[0], line.turn_nums[0] = 0, 0
    compiled(encode(ruleset), line, 0, game, 5, Conditions(0, 0, 0))
    (code,) = compiled.inspect_llvm().values()
    assert "call void @NRT_incref" not in code


def errors_of(script, cache, **variables):
    """Run a script in a new process with a kernel cache; return its standard error."""
    kept = {name: value for name, value in os.environ.items() if name != decorator.QUIET}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=kept | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(PACKAGE.parent)} | variables,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
    return done.stderr


_THREE_KERNELS = """
import numpy as np
from mancala_env.engine.board import Board, nth_bit, num_bits, occupied
assert (num_bits(6), nth_bit(6, 1), occupied(Board(*np.uint64([3, 0, 0])))) == (2, 2, 1)
"""
_AT_ONCE = "from mancala_env.engine.jit import decorator as d; d._SILENT_SECONDS = 0\n"


@pytest.mark.slow
def test_one_message_tells_of_compiling_and_none_of_cached_kernels(tmp_path):
    said = errors_of(_AT_ONCE + _THREE_KERNELS, tmp_path / "cache")
    assert (said.count("compiling kernels once"), said.count("\n")) == (1, 1)
    assert errors_of(_AT_ONCE + _THREE_KERNELS, tmp_path / "cache") == ""
    assert errors_of(_AT_ONCE + _THREE_KERNELS, tmp_path / "other", **{decorator.QUIET: "1"}) == ""


@pytest.mark.slow
def test_the_message_says_where_kernels_cannot_be_kept(tmp_path):
    (tmp_path / "file").touch()
    said = errors_of(_AT_ONCE + _THREE_KERNELS, tmp_path / "file" / "cache")
    assert said.count("in each process") == said.count("NUMBA_CACHE_DIR") == 1


def test_a_short_compilation_is_silent(start, capsys, monkeypatch):
    announcer = decorator._Announcer()
    monkeypatch.setattr(announcer, "is_silent", False)
    event = SimpleNamespace(data={"dispatcher": proof_search._take_bound})
    for _ in range(3):
        announcer.on_start(event)
        announcer.on_end(event)
    assert capsys.readouterr().err == ""
    announcer._seconds = decorator._SILENT_SECONDS
    for _ in range(3):
        announcer.on_start(event)
        announcer.on_end(event)
    assert capsys.readouterr().err.count("compiling kernels") == 1


def test_one_version_of_an_inner_kernel_serves_all_integers(start, tmp_path):
    """Other kernels call it with literals, small integers and int64."""
    (tmp_path / "callers.py").write_text(
        "import numpy as np\nfrom two_kernels import kernel, one_more\n\n\n"
        "@kernel\ndef sums(numbers, large):\n"
        "    return one_more(1) + one_more(numbers[0]) + one_more(len(numbers)), one_more(large)\n"
    )
    for num_kept in (0, 1):
        start()
        sys.modules.pop("callers", None)
        callers = importlib.import_module("callers")
        found = callers.sums(np.array([-3], np.int8), 0.5)
        assert found == (2 - 2 + 2, 1.5)
        assert num_hits(callers.sums) == num_kept
    names = [path.name for path in files_of(tmp_path) if "-inner" in path.name]
    assert len(names) == 2
    sys.modules.pop("callers", None)


def test_kernels_that_combine_turns_are_optimised_lightly():
    """A module that was renamed would be optimised fully, without an error."""
    for name in inner._COMBINING:
        assert importlib.import_module(name).kernel is decorator.kernel
    version = decorator._inner_version(inspect.unwrap(rounds.match_margin), {"nogil": True}, None)
    game = load(mancala_env.Position("leyla").games, 0)
    version.compile(tuple(map(numba.typeof, (encode(lookup("leyla")), game, True))))
    (compiled,) = version.overloads.values()
    assert compiled.library.is_light


def test_a_kernel_may_be_in_a_file_of_the_user(tmp_path, monkeypatch):
    """A file outside the package has a cache folder, too."""
    file = tmp_path / "own_kernels.py"
    file.write_text(
        "from mancala_env.engine.jit.decorator import kernel\n"
        "from mancala_env.engine.board import num_bits\n\n\n"
        "@kernel\ndef bits_and_one(bits):\n    return num_bits(bits) + 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("own_kernels").bits_and_one(7) == 4
    before = decorator.source_digest(file)
    file.write_text(file.read_text().replace("+ 1", "+ 2"))
    decorator._read.cache_clear()
    assert decorator.source_digest(file) != before


_OWN_KERNELS = """
from mancala_env.engine.jit.decorator import kernel


@kernel
def one_more(number):
    return number + 1


@kernel
def two_more(number):
    return number + 2
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Return a function that loads a file with two kernels, as a new process does."""
    (tmp_path / "two_kernels.py").write_text(_OWN_KERNELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(decorator._numba_config, "CACHE_DIR", str(tmp_path / "cache"))

    def load_again():
        decorator.cache_folder.cache_clear()
        sys.modules.pop("two_kernels", None)
        return importlib.import_module("two_kernels")

    yield load_again
    sys.modules.pop("two_kernels", None)
    decorator.cache_folder.cache_clear()


def num_hits(function):
    return sum(function.stats.cache_hits.values())


def files_of(tmp_path):
    return sorted(path for path in (tmp_path / "cache").rglob("*") if not path.is_dir())


def test_a_kernel_is_compiled_once_for_each_signature(start):
    first = start()
    assert (first.one_more(1), first.one_more(0.5)) == (2, 1.5)
    assert num_hits(first.one_more) == 0
    second = start()
    assert (second.one_more(0.5), second.one_more(1)) == (1.5, 2)
    assert num_hits(second.one_more) == 2
    assert second.two_more(1) == 3
    assert num_hits(second.two_more) == 0


@pytest.mark.parametrize("size", [0, 16, 1000])
def test_a_full_disk_costs_the_cache_only(start, tmp_path, size):
    with largest_file(size):
        assert start().one_more(1) == 2
    assert files_of(tmp_path) == []  # no incomplete file is left
    assert start().one_more(1) == 2
    last = start()
    assert (last.one_more(1), num_hits(last.one_more)) == (2, 1)


@pytest.mark.slow
def test_the_rules_are_there_on_a_full_disk(site, tmp_path):
    pytest.importorskip("resource")
    full = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    full += "sys.dont_write_bytecode = True\n"  # Python does not notice an incomplete file of bytecode
    answer = run(site, tmp_path / "cache", full)
    assert (answer["legal"], answer["hits"]) == ([0, 1, 2, 3], 0)


def emptied(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def halved(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def zeroed(path):
    """Write zeros, as a crash of the machine leaves for data that was not on the disk yet."""
    content = path.read_bytes()
    path.write_bytes(content[:-4096] + bytes(4096))


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def garbled(path):
    path.write_bytes(np.random.default_rng(1).bytes(5000))


def of_somebody_else(path):
    """Replace the file with the compiled code of another kernel."""
    other = next(
        other for other in path.parent.iterdir() if "two_more" in other.name and other.suffix == ".nbc"
    )
    path.write_bytes(other.read_bytes())


def unreadable(path):
    """Replace the file with a link to itself, which even root cannot read."""
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize(
    "damage", [emptied, cut, halved, zeroed, flipped, garbled, of_somebody_else, unreadable]
)
def test_a_damaged_file_is_compiled_again(start, tmp_path, damage):
    first = start()
    assert (first.one_more(1), first.two_more(1)) == (2, 3)
    damaged = [path for path in files_of(tmp_path) if "one_more" in path.name]
    assert damaged
    for path in damaged:
        damage(path)
    second = start()
    assert (second.one_more(1), second.two_more(1)) == (2, 3)
    assert num_hits(second.one_more) == 0
    third = start()
    assert (third.one_more(1), num_hits(third.one_more)) == (2, 1), "the damaged file is still there"


def test_a_file_that_cannot_be_replaced_is_done_without(start, tmp_path):
    assert start().one_more(1) == 2
    for path in files_of(tmp_path):
        path.unlink()
        path.mkdir()
        (path / "kept").touch()
    for _ in range(2):
        again = start()
        assert (again.one_more(1), num_hits(again.one_more)) == (2, 0)


def test_a_pickle_that_does_not_fit_is_compiled_again(start, monkeypatch):
    """This happens after an upgrade of a library that renames classes stored in the file."""
    assert start().one_more(1) == 2

    def refuse(*_):
        raise ModuleNotFoundError("no module named numpy.core")

    with monkeypatch.context() as patch:
        patch.setattr(pickle, "loads", refuse)
        again = start()
        assert (again.one_more(1), num_hits(again.one_more)) == (2, 0)


@pytest.mark.parametrize("name", ["numba", "llvmlite", "numpy"])
def test_code_of_another_version_of_a_library_is_not_used(start, monkeypatch, name):
    from mancala_env.engine.jit import cache

    assert start().one_more(1) == 2
    at = ["numba", "llvmlite", "numpy"].index(name)
    other = tuple("0.0" if i == at else version for i, version in enumerate(cache._VERSIONS))
    monkeypatch.setattr(cache, "_VERSIONS", other)
    again = start()
    assert (again.one_more(1), num_hits(again.one_more)) == (2, 0)


def test_code_compiled_with_other_settings_of_numba_is_not_used(start, monkeypatch):
    """The build of mancala.wasm compiles without optimisation; the games must not run that code."""
    assert start().one_more(1) == 2
    monkeypatch.setattr(numba.core.config, "LOOP_VECTORIZE", 0)
    again = start()
    assert (again.one_more(1), num_hits(again.one_more)) == (2, 0)


def test_a_folder_that_is_removed_meanwhile_is_made_again(start, tmp_path):
    first = start()
    assert first.one_more(1) == 2
    shutil.rmtree(tmp_path / "cache")
    assert (first.one_more(0.5), first.two_more(1)) == (1.5, 3)
    again = start()
    assert (again.one_more(0.5), again.two_more(1)) == (1.5, 3)
    assert (num_hits(again.one_more), num_hits(again.two_more)) == (1, 1)


@pytest.mark.slow
def test_a_read_only_folder_is_read(site, tmp_path):
    cache = tmp_path / "cache"
    run(site, cache)
    before = files_of(tmp_path)
    answer = run(site, cache, READ_ONLY)
    assert (answer["legal"], answer["hits"], answer["misses"]) == ([0, 1, 2, 3], 1, 0)
    for path in before:
        emptied(path)
    answer = run(site, cache, READ_ONLY)
    assert (answer["legal"], answer["hits"]) == ([0, 1, 2, 3], 0)
    assert files_of(tmp_path) == before


@pytest.mark.slow
def test_processes_that_start_together_share_a_cache(tmp_path):
    """Each process rewrites numba's index file, so that one process loses the entries of another."""
    (tmp_path / "two_kernels.py").write_text(_OWN_KERNELS)
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    variables["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{PACKAGE.parent}"

    def begin(call):
        script = f"from two_kernels import *; print({call}, sum(one_more.stats.cache_hits.values()))"
        return subprocess.Popen(
            [sys.executable, "-c", script], env=variables, cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )

    calls = ["one_more(1)", "one_more(0.5)", "one_more(1j)", "one_more(1)"]
    together = [begin(call) for call in calls]
    for process, value in zip(together, ["2", "1.5", "(1+1j)", "2"]):
        assert process.communicate()[0].split()[0] == value
    after = begin("(one_more(1), one_more(0.5), one_more(1j))")
    assert after.communicate()[0].split()[-1] == "3"


def test_a_closure_is_not_cached(tmp_path, monkeypatch):
    """Values of a closure are compiled into the kernel, but they are not in the digest of its sources."""
    monkeypatch.setattr(decorator._numba_config, "CACHE_DIR", str(tmp_path / "cache"))
    decorator.cache_folder.cache_clear()

    def adder(amount):
        @decorator.kernel
        def add(number):
            return number + amount

        return add

    assert (adder(1)(1), adder(2)(1)) == (2, 3)
    assert files_of(tmp_path) == []
    decorator.cache_folder.cache_clear()
