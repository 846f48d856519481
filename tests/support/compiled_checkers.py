"""The three checkers of proof files: their verdicts, and single turns compared with other rules.

tests/proofs/turns.c plays single turns with the rules of proofs/check.c.
"""

import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import naive
import numba
import numpy as np
from proof_checks import FREE, ROOT, accounts, by_python, numbers_of, options_of, python_verdict

from mancala_env import Position, Ruleset
from mancala_env.engine.state import STORE_COLUMN, encode, load, save
from mancala_env.solver import certificate_walk as walks
from mancala_env.solver.certificate import InvalidProof, Proof, verify

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Checkers:
    """The compiled programs in a folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        self.file = folder / "one.proof"

    @cached_property
    def check(self) -> Path:
        """The program proofs/check.c."""
        return self._compiled(ROOT / "proofs" / "check.c")

    @cached_property
    def turns(self) -> Path:
        """The program tests/proofs/turns.c."""
        return self._compiled(ROOT / "tests" / "proofs" / "turns.c", "-Wno-unused-function")

    def _compiled(self, source: Path, *options: str) -> Path:
        assert COMPILER is not None
        program = self.folder / source.stem
        flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT / 'proofs'}"]
        subprocess.run([COMPILER, *flags, *self.options, *options, "-o", program, source], check=True)
        return program

    def c_verdict(self, content: bytes) -> str:
        """Return what the C program prints about a valid file, or nothing."""
        self.file.write_bytes(content)
        done = subprocess.run([self.check, self.file], capture_output=True, timeout=300)
        assert done.returncode in (0, 1), done
        assert done.stdout.startswith(b"VALID" if done.returncode == 0 else b"INVALID"), done
        return done.stdout.decode("latin-1") if done.returncode == 0 else ""

    def verdict(self, content: bytes) -> str:
        """Return the verdict that the C program and the Python program share."""
        ours = self.c_verdict(content)
        assert ours == python_verdict(content)
        return ours

    def verdict_of_three(self, content: bytes) -> str:
        """Return the verdict that all three checkers share."""
        ours = self.verdict(content)
        assert bool(ours) == is_valid_in_package(content)
        return ours


def is_valid_in_package(content: bytes) -> bool:
    """Return whether the package accepts a file."""
    try:
        verify(Proof.from_bytes(content))
    except InvalidProof:
        return False
    return True


class Case(NamedTuple):
    """A turn, and what follows from it by other rules.

    Attributes:
        before: The position before it.
        hole: The hole that is sown.
        after: The position after it; None if only the counts are known.
        legal: The holes that are legal after it.
        counts: The final counts, if `after` is None.
    """

    before: naive.Game
    hole: int
    after: naive.Game | None
    legal: list[int]
    counts: Sequence[int] = ()


def random_cases(rules: naive.Rules, draw: random.Random, number: int) -> list[Case]:
    """Return the turns of random rounds by naive.py."""
    cases: list[Case] = []
    game = naive.new_game(rules)
    while len(cases) < number:
        if game.end:
            game = naive.new_game(rules)
        action = draw.choice(naive.legal(game))
        cases.append(case_of(game, action))
        naive.play(game, action)
    return cases


def case_of(game: naive.Game, action: int) -> Case:
    """Return a turn by naive.py."""
    after = naive.copy_of(game)
    naive.play(after, action)
    legal = [naive.hole_of(game.rules, after.player, each) for each in naive.legal(after)]
    return Case(naive.copy_of(game), naive.hole_of(game.rules, game.player, action), after, legal)


def recorded_cases(record: dict[str, Any]) -> Iterator[Case]:
    """Yield the turns of a recorded game."""
    rules = naive.NAIVE_RULESETS[record["ruleset"]]
    before = naive.new_game(rules)
    for turn, following in zip(record["turns"], [*record["turns"][1:], record["last"]], strict=True):
        hole = naive.hole_of(rules, turn["mover"], turn["action"])
        after = naive.copy_of(before)
        after.seeds, after.owner, after.stores = turn["seeds"], turn["owner"], turn["stores"]
        after.player = following["mover"]
        free = naive.num_free_seeds(before)
        after.stall = before.stall + 1 if naive.num_free_seeds(after) == free else 0
        legal = [naive.hole_of(rules, following["mover"], action) for action in following["legal"]]
        yield Case(before, hole, after, legal)
        before = after
    last = record["last"]
    yield Case(before, naive.hole_of(rules, last["mover"], last["action"]), None, [], record["count"])


@numba.njit
def play_in_accounts(rules, claim, games, hole):
    """Play a turn of row 0 in the accounts of a claim."""
    save(games, 0, walks.play_in_accounts(rules, claim, load(games, 0), hole))


def _by_package(ruleset: Ruleset, prover: int, cap: int, game: naive.Game, hole: int) -> list[int]:
    """Play a turn with the package; return the numbers that turns.c prints."""
    position = Position(ruleset, game.seeds, game.owner, game.stores, game.player, game.stall)
    rules, line = encode(ruleset), walks.new_line(ruleset, 2)
    claim = walks.Claim(prover, 1, cap, 0, ruleset.total_seeds)
    walks.start(claim, line, position.games)
    play_in_accounts(rules, claim, line.games, hole)
    after = Position._of(ruleset, line.games[:1].copy())
    owners = [FREE if owner < 0 else owner for owner in after.owner.tolist()]
    legal = (np.array(after.legal_actions, int) + ruleset.row_width * after.player) % ruleset.num_holes
    got = int(line.games[0, STORE_COLUMN + prover].astype(np.int64))  # capped accounts can be below 0
    numbers = [int(after.is_over), after.player, after.stall, got]
    return [*numbers, *after.seeds.tolist(), *owners, *legal.tolist()]


def compare(
    checkers: Checkers, cases: Sequence[Case], draw: random.Random, ruleset: Ruleset | None = None
) -> None:
    """Compare turns of one ruleset: exact accounts are equal, capped ones are never better.

    With `ruleset`, the same as that of the cases, the package plays the turns too.
    """
    rules = cases[0].before.rules
    options, drawn, asked = options_of(rules), [], []
    for before, hole, after, *_ in cases:
        prover, cap = draw.randrange(2), draw.choice((255, 255, 255, 0, 1, 2, 3, 4))
        if rules.landing == "uur" or after is None:
            cap = 0 if rules.landing == "uur" and ruleset else 255
        seeds, owners, got = accounts(before, prover, cap)
        drawn.append((prover, cap, seeds, owners, got))
        numbers = [*numbers_of(options), options.total, prover, cap, before.player, before.stall, got]
        asked.append([*numbers, *seeds, *owners, hole])
    text = "\n".join(" ".join(map(str, numbers)) for numbers in asked)
    done = subprocess.run([checkers.turns], input=text, capture_output=True, text=True, check=True)
    answers = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    for case, (prover, cap, seeds, owners, got), answer in zip(cases, drawn, answers, strict=True):
        others = [by_python(options, prover, cap, case.before, seeds, owners, got, case.hole)]
        if ruleset is not None:
            others.append(_by_package(ruleset, prover, cap, case.before, case.hole))
        for other in others:
            if answer[0]:  # the round is over: the next mover does not matter
                other[1] = answer[1]
            assert other == answer, (case, prover, cap)
        _assert_follows(case, prover, cap, answer)


def _assert_follows(case: Case, prover: int, cap: int, answer: list[int]) -> None:
    """Check an answer of turns.c by what follows from the turn by other rules."""
    rules, game = case.before.rules, case.after
    size = 2 * rules.width
    levels, owners, legal = answer[4 : 4 + size], answer[4 + size : 4 + 2 * size], answer[4 + 2 * size :]
    if game is None:
        free = sum(levels[hole] for hole in naive.row(rules, prover) if owners[hole] == FREE)
        assert (answer[0], answer[3] + free) == (1, case.counts[prover])
        return
    exact, owners_after, holdings = accounts(game, prover, cap)
    assert answer[0] == bool(game.end)
    assert game.end or answer[1:3] == [game.player, game.stall]
    assert (owners, legal) == (owners_after, case.legal)
    assert answer[3] == holdings if cap == 255 or rules.landing == "uur" else answer[3] <= holdings
    for hole, level in enumerate(levels):
        if owners[hole] == FREE or cap == 255:
            assert level == exact[hole]
        elif owners[hole] == prover:
            assert level in (game.seeds[hole], cap)
        else:
            assert level <= game.seeds[hole]
