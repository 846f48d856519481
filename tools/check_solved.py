"""Solve the values of the data files again: ``python -m tools.check_solved leyla gabata_i``.

By default proofs are not shared between positions and the book is not used, so that only the rules and
alpha-beta decide. Positions that exceed the time limit are counted. The parts, for each ruleset:

- ``start``: the value of the start in the opening book.
- ``book``: the positions of the book after the start.
- ``positions``: every action of a random sample of the solved positions.

The exit status is 1 if a value differs.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.package_data import rulesets_with
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.book import UNKNOWN, certain_part, load_book
from mancala_env.solver.exact import ILLEGAL, OutOfTime, Solver
from mancala_env.solver.position_sets import positions, rulesets_with_positions

PARTS = ("start", "book", "positions")
Claim = tuple[Position, dict[int | None, int]]
"""A position and its values in a file, by action; the key None is the position's own value."""


@dataclass
class Checked:
    """The result of checking one file.

    Attributes:
        agree: Number of positions whose values agree with the file.
        differ: Descriptions of positions whose values differ.
        unsolved: Number of positions that exceeded the time limit, with bounds that agree.
        nodes: Number of searched nodes.
        seconds: Processor seconds.
    """

    agree: int
    differ: list[str]
    unsolved: int
    nodes: int
    seconds: float


def claims(ruleset: Ruleset, part: str, sample: int, seed: int) -> Iterator[Claim]:
    """Yield positions with their values in a file.

    Args:
        ruleset: The ruleset.
        part: One of PARTS.
        sample: Maximum number of positions per file.
        seed: Random seed of the sample of solved positions.
    """
    book = load_book(ruleset)
    if part == "start" and book is not None and book.rests[0] != UNKNOWN:
        yield Position(ruleset), {None: int(book.rests[0])}
    if part == "book" and book is not None:
        for n in np.flatnonzero((book.rests != UNKNOWN) & (book.depths > 0))[:sample]:
            position = Position.from_games(ruleset, book.games, n)
            yield position, {None: int(book.rests[n]) + certain_part(position.games)}
    if part == "positions" and ruleset.name in rulesets_with_positions():
        solved = positions(ruleset)
        for n in np.sort(np.random.default_rng(seed).permutation(len(solved))[:sample]):
            values = solved.action_values[n]
            legal = np.flatnonzero(values != ILLEGAL)
            yield Position.from_games(ruleset, solved.games, n), {int(a): int(values[a]) for a in legal}


def _bounds(
    solver: Solver, position: Position, seconds: float, is_by_action: bool
) -> dict[int | None, tuple[int, int]]:
    """Return the proved bounds of a position's value, by None, and of its actions if `is_by_action`."""
    if is_by_action:
        solution = solver.solve(position, time_limit=seconds, with_line=False)
        return {None: (solution.lower, solution.upper), **solution.action_bounds}
    solver.deadline = time.monotonic() + seconds
    try:
        value = solver.value(position)
        return {None: (value, value)}
    except OutOfTime:
        return {None: solver.known_bounds(position)}
    finally:
        solver.deadline = np.inf


def check(solver: Solver, claimed: Iterator[Claim], seconds: float) -> Checked:
    """Solve positions again, each for at most `seconds`, and compare the values."""
    started, nodes = time.process_time(), solver.nodes
    result = Checked(0, [], 0, 0, 0.0)
    for position, expected in claimed:
        bounds = _bounds(solver, position, seconds, is_by_action=None not in expected)
        if not all(bounds[action][0] <= value <= bounds[action][1] for action, value in expected.items()):
            found = {action: bounds[action] for action in expected}
            result.differ.append(f"{position.to_text()}: {found}, the file says {expected}")
        elif all(bounds[action][0] == bounds[action][1] for action in expected):
            result.agree += 1
        else:
            result.unsolved += 1
    result.nodes, result.seconds = solver.nodes - nodes, time.process_time() - started
    return result


@in_one_line("check_solved")
def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.check_solved", description=__doc__)
    parser.add_argument("rulesets", nargs="*", help="names of rulesets; by default all with a data file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="parts to check")
    parser.add_argument("--sample", type=int, default=50, help="maximum number of positions per file")
    parser.add_argument("--seconds_each", type=float, default=20.0, help="time limit per position in seconds")
    parser.add_argument(
        "--memory_mb", type=float, default=1024.0, help="size of the transposition table in MB"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed of the sample")
    parser.add_argument(
        "--share_proofs",
        action="store_true",
        help="share proofs between positions, the default of Solver",
    )
    options = parser.parse_args(arguments)
    every = sorted({*rulesets_with("book"), *rulesets_with_positions()})
    wrong = 0
    for ruleset in [lookup(name) for name in options.rulesets or every]:
        for part in options.parts:
            solver = Solver(
                ruleset, memory_mb=options.memory_mb, use_book=False, share_proofs=options.share_proofs
            )
            claimed = claims(ruleset, part, options.sample, options.seed)
            result = check(solver, claimed, options.seconds_each)
            wrong += len(result.differ)
            for line in result.differ:
                print(line)
            if result.agree + len(result.differ) + result.unsolved:
                print(
                    f"{ruleset.name} {part}: {result.agree} agree, {len(result.differ)} differ, "
                    f"{result.unsolved} took too long; {result.nodes / 1e6:.1f} million nodes, "
                    f"{result.seconds:.0f} s",
                    flush=True,
                )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
