"""Random positions of random small games, each solved by a Solver that has solved many others before.

    python tests/solver/campaign.py --seed 1 --count 100000

What is drawn is what proofs could be carried between wrongly: every dial, the owners of holes, what owned
holes hold (none, few or very many seeds), territories, the stall counter, and few or many free seeds. Groups
of positions differ in contents, counter and player alone.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from brute import Brute, TooLarge

from mancala_env import Position, Ruleset, rulesets, solver
from mancala_env.errors import MancalaError

_DIALS = {
    "direction": rulesets.Direction,
    "owns_on": rulesets.OwnsOn,
    "round_end": rulesets.RoundEnd,
    "match": rulesets.Match,
    "opening": rulesets.Opening,
}
# Positions that one ruleset, and so one Solver, is kept for; and those that differ in little.
_PER_RULESET, _PER_GROUP = 240, 12
_SECONDS_EACH = 0.3


def random_ruleset(rng: np.random.Generator) -> Ruleset:
    """Draw every dial of a board of two to four holes a row, until they go together."""
    while True:
        dials = {dial: str(rng.choice(get_args(choices))) for dial, choices in _DIALS.items()}
        try:
            return Ruleset(
                name="drawn",
                row_width=int(rng.integers(2, 5)),
                seeds_per_hole=int(rng.choice([1, 2, 3, 4, 4, 4, 12, 25])),
                landing=str(rng.choice(["uur", "pair", "pair", "weg", "weg", "weg"])),  # type: ignore[arg-type]
                captures_last=bool(rng.integers(2)),
                ransoms_empty=bool(rng.integers(2)),
                **dials,  # type: ignore[arg-type]
            )
        except MancalaError:
            pass


def _scattered(rng: np.random.Generator, seeds: int, holes: np.ndarray, num_holes: int) -> np.ndarray:
    """Drop so many seeds into some holes at random."""
    board = np.zeros(num_holes, np.int64)
    np.add.at(board, rng.choice(holes, seeds), 1)
    return board


def random_group(rng: np.random.Generator, ruleset: Ruleset, size: int) -> Iterator[Position]:
    """Draw owners, territories and free seeds, then contents, counters and players by turns."""
    num_holes = ruleset.num_holes
    owner = rng.choice([-1, -1, 0, 1] if rng.random() < 0.6 else [-1, -1, -1, 1], num_holes)
    if ruleset.landing != "weg":  # owned holes come in opposite pairs
        owner[ruleset.row_width :] = owner[: ruleset.row_width][::-1]
    free_holes = np.flatnonzero(owner < 0)
    if not len(free_holes):
        return
    territory = np.arange(num_holes) // ruleset.row_width
    if ruleset.match == "territory" and rng.random() < 0.5:
        gained = np.flatnonzero(territory == rng.integers(2))
        gained = gained if ruleset.direction == "anticlockwise" else gained[::-1]
        gained = gained[: int(rng.integers(len(gained)))]
        territory[gained] = 1 - territory[gained]
    # Many free seeds can be looked through only where they lie in few holes.
    most = 18 if len(free_holes) <= 3 else 8
    free = _scattered(rng, int(rng.integers(1, min(most, ruleset.total_seeds) + 1)), free_holes, num_holes)
    room = ruleset.total_seeds - int(free.sum())
    fullness = rng.choice([1, 3, 9, 20, 60])
    late = rng.random() < 0.5
    for _ in range(size):
        contents = np.where(owner >= 0, rng.integers(0, fullness + 1, num_holes), 0)
        contents *= rng.random(num_holes) < 0.6
        while contents.sum() > room:
            contents[contents.argmax()] //= 2
        stall = int(rng.integers(30, 50)) if late and rng.random() < 0.7 else int(rng.integers(0, 6))
        position = Position(
            ruleset,
            free + contents,
            owner,
            player=int(rng.integers(2)),
            stall=stall,
            territory=territory,
        )
        if not position.is_over:
            yield position


@dataclass
class Tally:
    """What a campaign found.

    Attributes:
        compared: Positions whose every action was compared.
        too_large: Positions that brute force could not look through.
        unsolved: Positions the solver took too long for; its bounds held.
        faults: What was wrong, a line each.
    """

    compared: int = 0
    too_large: int = 0
    unsolved: int = 0
    faults: list[str] = field(default_factory=list)


def check(position: Position, kept: solver.Solver, brute: Brute, tally: Tally) -> None:
    """Compare a kept solver's answer on one position with brute force."""
    try:
        expected = brute.action_values(position)
    except TooLarge:
        tally.too_large += 1
        return
    solution = kept.solve(position, time_limit=_SECONDS_EACH, with_line=False)
    bounds = solution.action_bounds
    holds = bounds.keys() == expected.keys() and all(
        low <= expected[action] <= high for action, (low, high) in bounds.items()
    )
    holds = holds and solution.lower <= max(expected.values()) <= solution.upper
    if not holds:
        found = solution.action_values if solution.is_exact else bounds
        tally.faults.append(f"{position.ruleset!r}: {position.to_text()}: {found}, not {expected}")
    elif solution.is_exact:
        tally.compared += 1
    else:
        tally.unsolved += 1


def run(seed: int, count: int, told: Callable[[Tally], None] | None = None, room: int = 1 << 18) -> Tally:
    """Compare at least so many positions.

    Args:
        seed: Decides every position.
        count: Positions to compare.
        told: Called after each ruleset.
        room: Rows of brute force's memory, a power of two; what needs more than half of them is left out.
    """
    rng = np.random.default_rng(seed)
    brute, tally = Brute(room), Tally()
    while tally.compared < count:
        ruleset = random_ruleset(rng)
        brute.clear()
        memory_mb = float(rng.choice([0.1, 1, 8]))
        kept = solver.Solver(ruleset, memory_mb=memory_mb)
        ends = tally.compared + min(_PER_RULESET, count - tally.compared)
        for _ in range(_PER_RULESET // _PER_GROUP):
            for position in random_group(rng, ruleset, _PER_GROUP):
                if tally.compared < ends:
                    check(position, kept, brute, tally)
        if told:
            told(tally)
    return tally


def main() -> int:
    """Run a campaign and say what fell; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()

    def told(tally: Tally) -> None:
        print(
            f"{tally.compared} compared, {tally.too_large} too large, {tally.unsolved} unsolved, "
            f"{len(tally.faults)} wrong",
            flush=True,
        )

    tally = run(options.seed, options.count, told)
    for fault in tally.faults[:20]:
        print(fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
