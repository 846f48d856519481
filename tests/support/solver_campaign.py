"""Random positions of random small games, each solved by a Solver that has solved many others before.

    python tests/support/solver_campaign.py --seed 1 --count 100000

Everything is drawn that could make a proof of one position wrong for another: all rule options, owners, seeds
in owned holes (none, few or very many), territories, the stall counter, and few or many free seeds. The
positions of a group differ only in contents, counter and player.

One solver is kept for each ruleset. First it solves deep positions, and every action is compared with
`brute_force`, which stores whole positions. Then it solves about two hundred positions with few lines, which
are compared with `plain_search`, which stores nothing. The plain-Python rules solve some of them as well.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import naive
import numpy as np
from brute_force import Brute, TooLarge
from plain_search import UNKNOWN, plain_values, settle
from twins import naive_rules

from mancala_env import Position, Ruleset, rulesets, solver
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.engine.state import END_COLUMN, RUNNING, State, pack
from mancala_env.errors import MancalaError
from mancala_env.solver.exact import OutOfTime

_DIALS = {
    "direction": rulesets.Direction,
    "owns_on": rulesets.OwnsOn,
    "round_end": rulesets.RoundEnd,
    "match": rulesets.Match,
    "opening": rulesets.Opening,
}
# Positions drawn for one ruleset and its Solver: deep ones, and flat ones with few lines; and the size of a
# group.
_DEEP, _FLAT, _PER_GROUP = 12, 240, 12
_MOST_FREE = 12
# Limits for a position: seconds of the solver, turns of plain search, turns of plain Python.
_SECONDS_EACH, _MOST_TURNS, _MOST_NAIVE = 0.1, 4_000, 300
# One in this many positions is compared by action, and with the plain-Python rules.
_EVERY_ACTION, _EVERY_NAIVE = 4, 401


def random_ruleset(rng: np.random.Generator) -> Ruleset:
    """Draw all rule options of a board with two to four holes per row, until the combination is valid."""
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
    """Drop a number of seeds into some holes at random."""
    board = np.zeros(num_holes, np.int64)
    np.add.at(board, rng.choice(holes, seeds), 1)
    return board


class Frame(NamedTuple):
    """The common part of the positions of a group.

    Attributes:
        owner: Owner of each hole, -1 if it is free.
        territory: The player in whose territory each hole is.
        free: Seeds in the free holes.
    """

    owner: np.ndarray
    territory: np.ndarray
    free: np.ndarray


def random_frame(rng: np.random.Generator, ruleset: Ruleset, most: int) -> Frame | None:
    """Draw owners, territories and free seeds; None if every hole is owned.

    Args:
        rng: Random generator.
        ruleset: The ruleset.
        most: Most free seeds; more are allowed if three holes or fewer are free.
    """
    num_holes = ruleset.num_holes
    owner = rng.choice([-1, -1, 0, 1] if rng.random() < 0.6 else [-1, -1, -1, 1], num_holes)
    if ruleset.landing != "weg":  # owned holes come in opposite pairs
        owner[ruleset.row_width :] = owner[: ruleset.row_width][::-1]
    free_holes = np.flatnonzero(owner < 0)
    if not len(free_holes):
        return None
    territory = np.arange(num_holes) // ruleset.row_width
    if ruleset.match == "territory" and rng.random() < 0.5:
        gained = np.flatnonzero(territory == rng.integers(2))
        gained = gained if ruleset.direction == "anticlockwise" else gained[::-1]
        gained = gained[: int(rng.integers(len(gained)))]
        territory[gained] = 1 - territory[gained]
    most = 18 if len(free_holes) <= 3 else most  # more seeds are feasible only in few holes
    free = _scattered(rng, int(rng.integers(1, min(most, ruleset.total_seeds) + 1)), free_holes, num_holes)
    return Frame(owner, territory, free)


def random_games(rng: np.random.Generator, ruleset: Ruleset, frame: Frame, size: int) -> np.ndarray:
    """Draw contents of owned holes, stall counters and players within a frame.

    Returns:
        Running games, uint64 `[N, NUM_COLUMNS]`, `size` at most.
    """
    shape = size, ruleset.num_holes
    room = ruleset.total_seeds - int(frame.free.sum())
    contents = rng.integers(0, rng.choice([1, 3, 9, 20, 60]) + 1, shape)
    contents *= (frame.owner >= 0) & (rng.random(shape) < 0.6)
    while (over := contents.sum(axis=1) > room).any():
        contents[over, contents[over].argmax(axis=1)] //= 2
    late = rng.random(size) < (0.7 if rng.random() < 0.5 else 0.0)
    player = rng.integers(0, 2, size)
    games = pack(
        State(
            seeds=frame.free + contents,
            owner=np.tile(frame.owner, (size, 1)),
            territory=np.tile(frame.territory, (size, 1)),
            stores=np.zeros((size, 2), np.int16),
            player=player,
            stall=np.where(late, rng.integers(30, 50, size), rng.integers(0, 6, size)),
            end=np.zeros(size, np.int8),
            round=np.ones(size, np.int32),
            starter=np.zeros(size, np.int8),
            debts=np.zeros((size, 2), np.int16),
        )
    )
    settle(ruleset, games)
    return games[games[:, END_COLUMN] == RUNNING]


def random_group(rng: np.random.Generator, ruleset: Ruleset, size: int) -> Iterator[Position]:
    """Draw running positions, `size` at most, that differ only in contents, counters and players."""
    frame = random_frame(rng, ruleset, _MOST_FREE)
    if frame is not None:
        games = random_games(rng, ruleset, frame, size)
        for b in range(len(games)):
            yield Position.from_games(ruleset, games, b)


@dataclass
class Tally:
    """The results of a campaign.

    Attributes:
        compared: Positions whose value was compared.
        by_action: Positions in which every action was compared.
        by_naive: Positions that were also compared with the plain-Python rules.
        too_large: Positions that were too large for brute force.
        unsolved: Positions that the solver did not finish in time, with correct bounds.
        faults: One line for each error.
    """

    compared: int = 0
    by_action: int = 0
    by_naive: int = 0
    too_large: int = 0
    unsolved: int = 0
    faults: list[str] = field(default_factory=list)


def check(position: Position, kept: solver.Solver, brute: Brute, tally: Tally) -> None:
    """Compare the answer of a used solver on one position with brute force."""
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
        tally.by_action += 1
    else:
        tally.unsolved += 1


def naive_value(game: naive.Game) -> int:
    """Return South's final lead after best play, by the rules in plain Python."""
    if game.end:
        south, north = naive.counts(game)
        return south - north
    leads = []
    for action in naive.legal(game):
        after = naive.copy_of(game)
        naive.play(after, action)
        leads.append(naive_value(after))
    return max(leads) if game.player == naive.SOUTH else min(leads)


def _naive_game(position: Position) -> naive.Game:
    return naive.Game(
        naive_rules(position.ruleset),
        position.seeds.tolist(),
        position.owner.tolist(),
        position.territory.tolist(),
        list(position.stores),
        position.player,
        position.stall,
    )


def check_flat(games: np.ndarray, kept: solver.Solver, brute: Brute, tally: Tally, most: int) -> None:
    """Compare the values of a used solver with plain search, for at most `most` games with few lines."""
    ruleset = kept.ruleset
    values, turns = plain_values(ruleset, games, _MOST_TURNS)
    tally.too_large += int((values == UNKNOWN).sum())
    for b in np.flatnonzero(values != UNKNOWN)[:most]:
        position, expected = Position.from_games(ruleset, games, b), int(values[b])
        number = tally.compared + tally.unsolved
        if number % _EVERY_ACTION == 0:
            check(position, kept, brute, tally)
            continue
        kept.deadline = time.monotonic() + _SECONDS_EACH
        try:
            found = kept.value(position)
        except OutOfTime:
            tally.unsolved += 1
            continue
        finally:
            kept.deadline = np.inf
        said = f"{ruleset!r}: {position.to_text()}"
        if found != expected:
            tally.faults.append(f"{said}: {found}, not {expected}")
        if number % _EVERY_NAIVE == 0 and turns[b] <= _MOST_NAIVE:
            lead = naive_value(_naive_game(position))
            if lead * (1 if position.player == 0 else -1) != expected:
                tally.faults.append(
                    f"{said}: {lead} to South in plain Python, {expected} by the engine's turns"
                )
            tally.by_naive += 1
        tally.compared += 1


def run(seed: int, count: int, told: Callable[[Tally], None] | None = None, room: int = 1 << 18) -> Tally:
    """Compare a number of positions.

    Args:
        seed: Random seed. count: Number of positions to compare, at least. told: Called after each
        ruleset. room: Rows of brute force's table, a power of two. Positions that need more than half
        of them are skipped.
    """
    rng = np.random.default_rng(seed)
    brute, tally = Brute(room), Tally()
    while tally.compared < count:
        ruleset = random_ruleset(rng)
        brute.clear()
        kept = solver.Solver(ruleset, memory_mb=float(rng.choice([0.1, 1, 8])))
        for _ in range(_DEEP // _PER_GROUP):
            for position in random_group(rng, ruleset, _PER_GROUP):
                check(position, kept, brute, tally)
        for _ in range(_FLAT // _PER_GROUP):
            frame = random_frame(rng, ruleset, _MOST_FREE)
            if frame is not None and tally.compared < count:
                games = random_games(rng, ruleset, frame, _PER_GROUP)
                check_flat(games, kept, brute, tally, count - tally.compared)
        if told:
            told(tally)
    return tally


@in_one_line("solver_campaign.py")
def main() -> int:
    """Run a campaign and print the errors; returns the exit status."""
    parser = Parser(prog="python tests/support/solver_campaign.py", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()

    def told(tally: Tally) -> None:
        print(
            f"{tally.compared} compared ({tally.by_action} by action, {tally.by_naive} by plain Python too), "
            f"{tally.too_large} too large, {tally.unsolved} unsolved, "
            f"{len(tally.faults)} wrong",
            flush=True,
        )

    tally = run(options.seed, options.count, told)
    for fault in tally.faults[:20]:
        print(fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
