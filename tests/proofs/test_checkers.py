"""The two checkers of proof files: the C program and the Python program, which share no code."""

import hashlib
import itertools
import random
import re
import runpy
import subprocess
import sys
from pathlib import Path

import naive
import pytest
from compiled_checkers import (
    COMPILER,
    Checkers,
    compare,
    is_valid_in_package,
    random_cases,
    recorded_cases,
)
from error_checks import raises
from markdown_tables import rows_by_name
from proof_attacks import assert_true, with_another_byte, with_another_word
from proof_checks import (
    DATA,
    FORMAT_CHANGES,
    ROOT,
    SMALL,
    WORDS,
    WRONG_POSITIONS,
    damaged,
    python_verdict,
    set_position,
)
from recorded_games import RECORDINGS, recorded

from mancala_env import Ruleset, rulesets, solver
from mancala_env.solver.certificate import Proof

FILES = sorted(DATA.glob("*.proof"))
PUBLISHED, MOST_SECONDS = ROOT / "proofs", 10.0
FAIR = PUBLISHED / "fair_openings"


@pytest.fixture(scope="session")
def checkers(tmp_path_factory: pytest.TempPathFactory) -> Checkers:
    if COMPILER is None:
        pytest.skip("no C compiler")
    return Checkers(tmp_path_factory.mktemp("checkers"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.slow
def test_both_checkers_accept_a_proof(checkers: Checkers, path: Path) -> None:
    assert checkers.verdict(path.read_bytes()).splitlines()[0].endswith("exact")


def listed(folder: Path = PUBLISHED) -> dict[Path, list[float]]:
    """Return the times of the three checkers by the files of a page."""
    rows = rows_by_name(folder / "README.md", "Files")
    return {folder / name: [float(cell.strip("> ")) for cell in row[-3:]] for name, row in rows.items()}


def test_the_pages_list_every_published_proof() -> None:
    assert {*listed(), *listed(FAIR)} == {*PUBLISHED.rglob("*.proof")}
    for folder in (PUBLISHED, FAIR):
        page = (folder / "README.md").read_text(encoding="utf-8")
        for path in listed(folder):
            name = path.relative_to(folder).as_posix()
            assert f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" in page, name


@pytest.mark.slow
@pytest.mark.parametrize("path", listed(), ids=lambda path: path.stem)
def test_published_proofs_are_valid(checkers: Checkers, path: Path) -> None:
    """Each checker that needs few seconds, by the page, accepts the file; `make proofs` runs them all."""
    content, verdicts = path.read_bytes(), (checkers.c_verdict, python_verdict, is_valid_in_package)
    found = [
        verdict(content)
        for verdict, each in zip(verdicts, listed()[path], strict=True)
        if each < MOST_SECONDS
    ]
    assert found
    assert all(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.stem.split("-")[0] for path in listed(FAIR)}))
def test_published_proofs_of_fair_openings_are_valid(checkers: Checkers, name: str) -> None:
    """One of the two quick checkers, in turn, accepts each file that it needs few seconds for.

    The checker in Python accepts the quickest file. `make proofs` runs each checker on each file.
    """
    files = {path: times for path, times in listed(FAIR).items() if path.stem.split("-")[0] == name}
    turns = itertools.cycle(((checkers.c_verdict, 0), (is_valid_in_package, 2)))
    for (path, times), (verdict, checker) in zip(files.items(), turns):
        assert times[checker] >= MOST_SECONDS or verdict(path.read_bytes()), path
    quickest = min(files, key=lambda path: files[path][1])
    assert python_verdict(quickest.read_bytes())


def test_bounds_of_one_claim(checkers: Checkers) -> None:
    content = re.sub(rb"claim north .*\n", b"", SMALL.read_bytes())
    content = content.rstrip(b"\n").rsplit(b"\n", 1)[0] + b"\n"
    assert checkers.verdict(content).startswith(
        "VALID south at least 12, north at least 0 of 48 seeds: bounds"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("player", [b"south", b"north"])
@pytest.mark.slow
def test_claims_of_more_seeds_are_refused(checkers: Checkers, path: Path, player: bytes) -> None:
    content, count = path.read_bytes(), 0
    for more in (1, 2, 7):
        claim = re.search(rb"claim " + player + rb" (\d+)", content)
        assert claim is not None
        false = content.replace(claim[0], b"claim %s %d" % (player, int(claim[1]) + more))
        count += not checkers.verdict(false)
    assert count == 3


def test_changed_rules_are_refused(checkers: Checkers) -> None:
    content, changes = SMALL.read_bytes().decode(), 0
    for option, words in {**WORDS, "row_width": ("5", "6", "7"), "seeds_per_hole": ("3", "4", "5")}.items():
        for word in words:
            other = re.sub(rf"{option} \S+", f"{option} {word}", content)
            if other != content:
                changes += 1
                assert checkers.verdict(other.encode()) == "", (option, word)
    assert changes == 14


def check_damaged(checkers: Checkers, path: Path, number: int) -> None:
    """Compare the verdicts on damaged files; an accepted one is another proof of the same claims."""
    draw, content = random.Random(path.stem), path.read_bytes()
    valid, num_accepted = checkers.c_verdict(content), 0
    used = solver.Solver(path.stem, memory_mb=256)
    used.value(Proof.from_bytes(content).position)  # the table keeps it
    for _ in range(number):
        other = damaged(content, draw)
        found = checkers.verdict_of_three(other)
        assert found in ("", valid)
        if found and other != content:
            assert assert_true(other, used)
            num_accepted += 1
    assert num_accepted < number


def test_checkers_agree_on_damaged_proofs(checkers: Checkers) -> None:
    check_damaged(checkers, SMALL, 5)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_checkers_agree_on_many_damaged_proofs(checkers: Checkers, path: Path) -> None:
    """`make soak` damages thousands of proofs of other positions. The larger files take longer."""
    check_damaged(checkers, path, 100 if path == SMALL else 2)


@pytest.mark.slow
def test_a_damaged_proof_that_is_accepted_is_true(checkers: Checkers) -> None:
    draw, content = random.Random(SMALL.stem), SMALL.read_bytes()
    many = (damaged(content, draw) for _ in range(200))
    accepted = next(other for other in many if other != content and checkers.c_verdict(other))
    assert checkers.verdict_of_three(accepted)
    assert assert_true(accepted, solver.Solver(SMALL.stem, memory_mb=64))


def test_the_solver_refutes_a_false_claim() -> None:
    """Or the checks above could not fail."""
    content = SMALL.read_bytes().replace(b"claim south 12", b"claim south 13")
    with raises(AssertionError, "claim south 13"):
        assert_true(content, solver.Solver(SMALL.stem, memory_mb=64))


@pytest.mark.slow
def test_damaged_bytes_are_refused(checkers: Checkers) -> None:
    """A byte of the header that is removed, added or replaced gives no valid file, or no stronger claim."""
    content = SMALL.read_bytes()
    valid = checkers.c_verdict(content)
    end, draw = content.index(b"\n\n") + 2, random.Random(3)
    name = range(content.index(b"ruleset ") + 8, content.index(b"\nrow_width"))
    for place in range(end):
        kind, byte = draw.randrange(3), draw.choice(b"\x00\t\n -/09az\r\xff")
        other = bytearray(content)
        if kind == 0:
            del other[place]
        elif kind == 1:
            other.insert(place, byte)
        else:
            other[place] = byte
        if bytes(other) != content and place not in name and place != name.stop:
            got = checkers.verdict(bytes(other))
            assert got in ("", valid), (place, kind, byte)


@pytest.mark.slow
def test_the_c_program_has_no_undefined_behaviour(checkers: Checkers, tmp_path: Path) -> None:
    strict = Checkers(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    try:
        assert strict.check.exists()
    except subprocess.CalledProcessError:
        pytest.skip("the compiler lacks these checks")
    draw = random.Random(5)
    for path in FILES:
        content = path.read_bytes()
        changes = (damaged, with_another_word, with_another_byte) * (8 if path == SMALL else 1)
        for other in [content, *(change(content, draw) for change in changes)]:
            assert strict.c_verdict(other) == checkers.c_verdict(other)


@pytest.mark.parametrize("change", FORMAT_CHANGES)
def test_files_that_differ_from_the_format(checkers: Checkers, change) -> None:
    content = SMALL.read_bytes()
    assert change(content) != content
    assert checkers.verdict(change(content)) == ""


def test_set_positions(checkers: Checkers) -> None:
    assert checkers.verdict(set_position()).startswith(
        "VALID south at least 22, north at least 0 of 46 seeds: bounds"
    )
    for changes in WRONG_POSITIONS:
        assert checkers.verdict(set_position(**changes)) == "", changes
    assert checkers.verdict(
        set_position(owners="S" + "-" * 10 + "S", seeds="4 0 1 0 0 2 0 1 0 0 0 1", stores="20 19")
    )


@pytest.mark.parametrize("name", naive.NAIVE_RULESETS)
def test_turns_equal_the_naive_rules(checkers: Checkers, name: str) -> None:
    draw = random.Random(name)
    compare(checkers, random_cases(naive.NAIVE_RULESETS[name], draw, 100), draw)


@pytest.mark.slow
@pytest.mark.parametrize("name", naive.NAIVE_RULESETS)
def test_many_turns_equal_the_naive_rules(checkers: Checkers, name: str) -> None:
    draw = random.Random(name)
    compare(checkers, random_cases(naive.NAIVE_RULESETS[name], draw, 700), draw, rulesets.lookup(name))


def replay(checkers: Checkers, path: Path, number: int, ruleset: Ruleset | None = None) -> None:
    """Compare the turns of the first recorded games."""
    cases = [case for record in recorded(path)[:number] for case in recorded_cases(record)]
    assert len(cases) > 10 * number
    compare(checkers, cases, random.Random(path.name), ruleset)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name[:-9])
def test_turns_equal_ludiis_games(checkers: Checkers, path: Path) -> None:
    replay(checkers, path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name[:-9])
def test_turns_equal_all_of_ludiis_games(checkers: Checkers, path: Path) -> None:
    replay(checkers, path, 80, rulesets.lookup(path.name[:-9]))


def test_the_python_checker_refuses_a_second_file() -> None:
    command = [sys.executable, str(PUBLISHED / "check.py"), str(FILES[0]), "nosuch.proof"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "usage: python check.py FILE" in ran.stderr


def test_the_python_checker_does_not_call_a_file_invalid_without_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def out_of_memory(path: Path) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Path, "read_bytes", out_of_memory)
    monkeypatch.setattr(sys, "argv", ["check.py", str(FILES[0])])
    monkeypatch.setattr(sys, "setrecursionlimit", lambda most: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(PUBLISHED / "check.py"), run_name="__main__")
    assert ended.value.code == 2
    assert "out of memory" in capsys.readouterr().err
