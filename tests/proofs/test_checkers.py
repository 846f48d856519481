"""The two checkers of proof files: the C program and the Python program, which share no code."""

import random
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import naive
import pytest
from proof_checks import (
    DATA,
    FORMAT_CHANGES,
    FREE,
    ROOT,
    SMALL,
    WORDS,
    WRONG_POSITIONS,
    accounts,
    by_python,
    damaged,
    numbers_of,
    options_of,
    python_verdict,
    set_position,
)

FILES = sorted(DATA.glob("*.proof"))


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("checkers")
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT / 'proofs'}"]
    sources = {"check": ROOT / "proofs" / "check.c", "turns": Path(__file__).parent / "turns.c"}
    for name, source in sources.items():
        loose = ["-Wno-unused-function"] if name == "turns" else []
        subprocess.run([compiler, *flags, *loose, "-o", folder / name, source], check=True)
    return SimpleNamespace(folder=folder, check=folder / "check", turns=folder / "turns")


def c_verdict(compiled: SimpleNamespace, content: bytes) -> str:
    file = compiled.folder / "one.proof"
    file.write_bytes(content)
    done = subprocess.run([compiled.check, file], capture_output=True, timeout=300)
    assert done.returncode in (0, 1), done
    assert done.stdout.startswith(b"VALID" if done.returncode == 0 else b"INVALID"), done
    return done.stdout.decode("latin-1") if done.returncode == 0 else ""


def verdict(compiled: SimpleNamespace, content: bytes) -> str:
    ours = c_verdict(compiled, content)
    assert ours == python_verdict(content)
    return ours


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.slow
def test_both_checkers_accept_a_proof(compiled: SimpleNamespace, path: Path) -> None:
    assert verdict(compiled, path.read_bytes()).splitlines()[0].endswith("exact")


def test_bounds_of_one_claim(compiled: SimpleNamespace) -> None:
    content = re.sub(rb"claim north .*\n", b"", SMALL.read_bytes())
    content = content.rstrip(b"\n").rsplit(b"\n", 1)[0] + b"\n"
    assert verdict(compiled, content).startswith(
        "VALID south at least 12, north at least 0 of 48 seeds: bounds"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("player", [b"south", b"north"])
@pytest.mark.slow
def test_claims_of_more_seeds_are_refused(compiled: SimpleNamespace, path: Path, player: bytes) -> None:
    content, count = path.read_bytes(), 0
    for more in (1, 2, 7):
        claim = re.search(rb"claim " + player + rb" (\d+)", content)
        assert claim is not None
        false = content.replace(claim[0], b"claim %s %d" % (player, int(claim[1]) + more))
        count += not verdict(compiled, false)
    assert count == 3


def test_changed_rules_are_refused(compiled: SimpleNamespace) -> None:
    content, changes = SMALL.read_bytes().decode(), 0
    for option, words in {**WORDS, "row_width": ("5", "6", "7"), "seeds_per_hole": ("3", "4", "5")}.items():
        for word in words:
            other = re.sub(rf"{option} \S+", f"{option} {word}", content)
            if other != content:
                changes += 1
                assert verdict(compiled, other.encode()) == "", (option, word)
    assert changes == 14


def check_damaged(compiled: SimpleNamespace, path: Path, number: int) -> None:
    """Compare the verdicts on damaged files; an accepted one is another proof of the same claims."""
    draw, content = random.Random(path.stem), path.read_bytes()
    valid = c_verdict(compiled, content)
    results = {verdict(compiled, damaged(content, draw)) for _ in range(number)}
    assert results <= {"", valid}
    assert "" in results


def test_checkers_agree_on_damaged_proofs(compiled: SimpleNamespace) -> None:
    check_damaged(compiled, SMALL, 10)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_checkers_agree_on_many_damaged_proofs(compiled: SimpleNamespace, path: Path) -> None:
    check_damaged(compiled, path, 200 if path == SMALL else 20)


@pytest.mark.slow
def test_damaged_bytes_are_refused(compiled: SimpleNamespace) -> None:
    """A byte of the header that is removed, added or replaced gives no valid file, or no stronger claim."""
    content = SMALL.read_bytes()
    valid = c_verdict(compiled, content)
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
            got = verdict(compiled, bytes(other))
            assert got == "" or "bounds" in got or got == valid, (place, kind, byte)


@pytest.mark.parametrize("change", FORMAT_CHANGES)
def test_files_that_differ_from_the_format(compiled: SimpleNamespace, change) -> None:
    content = SMALL.read_bytes()
    assert change(content) != content
    assert verdict(compiled, change(content)) == ""


def test_set_positions(compiled: SimpleNamespace) -> None:
    assert verdict(compiled, set_position()).startswith(
        "VALID south at least 22, north at least 0 of 46 seeds: bounds"
    )
    for changes in WRONG_POSITIONS:
        assert verdict(compiled, set_position(**changes)) == "", changes
    assert verdict(
        compiled, set_position(owners="S" + "-" * 10 + "S", seeds="4 0 1 0 0 2 0 1 0 0 0 1", stores="20 19")
    )


def compare_turns(compiled: SimpleNamespace, name: str, num_turns: int) -> None:
    """Compare random turns with naive.py: exact accounts are equal, capped ones never better."""
    rules, draw = naive.NAIVE_RULESETS[name], random.Random(name)
    options, cases, asked = options_of(rules), [], []
    game = naive.new_game(rules)
    while len(cases) < num_turns:
        if game.end:
            game = naive.new_game(rules)
        prover, cap = (
            draw.randrange(2),
            255 if rules.landing == "uur" or draw.random() < 0.5 else draw.randrange(5),
        )
        seeds, owners, got = accounts(game, prover, cap)
        mover, stall = game.player, game.stall
        hole = naive.hole_of(rules, mover, draw.choice(naive.legal(game)))
        before = naive.copy_of(game)
        naive.play(game, naive.action_of(rules, mover, hole))
        asked.append(
            [*numbers_of(options), options.total, prover, cap, mover, stall, got, *seeds, *owners, hole]
        )
        cases.append((before, naive.copy_of(game), prover, cap, seeds, owners, got, hole))
    text = "\n".join(" ".join(map(str, numbers)) for numbers in asked)
    done = subprocess.run([compiled.turns], input=text, capture_output=True, text=True, check=True)
    answers = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert len(answers) == len(cases)
    for (before, game, prover, cap, seeds, owners, got, hole), answer in zip(cases, answers, strict=True):
        other = by_python(options, prover, cap, before, seeds, owners, got, hole)
        if answer[0]:  # the round is over: the next mover does not matter
            other[1] = answer[1]
        assert other == answer
        exact, owners_after, holdings = accounts(game, prover, cap)
        size = 2 * rules.width
        legal = [naive.hole_of(rules, game.player, action) for action in naive.legal(game)]
        assert answer[0] == bool(game.end)
        assert game.end or answer[1:3] == [game.player, game.stall]
        assert answer[4 + size :] == owners_after + legal
        assert answer[3] == holdings if cap == 255 else answer[3] <= holdings
        for hole, level in enumerate(answer[4 : 4 + size]):
            if owners_after[hole] == FREE or cap == 255:
                assert level == exact[hole]
            elif owners_after[hole] == prover:
                assert level in (game.seeds[hole], cap)
            else:
                assert level <= game.seeds[hole]


@pytest.mark.parametrize("name", naive.NAIVE_RULESETS)
def test_turns_equal_the_naive_rules(compiled: SimpleNamespace, name: str) -> None:
    compare_turns(compiled, name, 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", naive.NAIVE_RULESETS)
def test_many_turns_equal_the_naive_rules(compiled: SimpleNamespace, name: str) -> None:
    compare_turns(compiled, name, 700)
