"""Solve anew what the data files say: ``python -m tools.check_solved leyla gabata_i``.

By default proofs are not shared between positions and no book is asked, so that nothing the files were made
with decides but the rules and alpha-beta. What takes too long is counted, not judged. For each ruleset named,
or all:

- ``start``: the value of the start, with the book's where there is one.
- ``book``: the positions of the book, from the first turn on.
- ``positions``: every action of a sample of the solved positions, drawn by a seed.

The exit status is 1 where a value differs.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.book import UNKNOWN, certain_part, load_book, rulesets_with_book
from mancala_env.solver.exact import ILLEGAL, OutOfTime, Solver
from mancala_env.solver.position_sets import positions, rulesets_with_positions

PARTS = ("start", "book", "positions")
Claim = tuple[Position, dict[int | None, int]]
"""A position and what a file says of it: values by action, None for the position's own."""


@dataclass
class Checked:
    """What became of the values of one file.

    Attributes:
        agree: Positions solved anew, with the values of the file.
        differ: Those with others, as text.
        unsolved: Positions that took too long; the bounds found agree.
        nodes: Positions searched.
        seconds: Processor seconds.
    """

    agree: int
    differ: list[str]
    unsolved: int
    nodes: int
    seconds: float


def claims(
    ruleset: Ruleset, part: str, sample: int, seed: int
) -> Iterator[tuple[Position, dict[int | None, int]]]:
    """Yield positions with what a file says of them: values by action, None for the position's own.

    Args:
        ruleset: The ruleset.
        part: One of PARTS.
        sample: Most positions of a file.
        seed: Draws the solved positions.
    """
    book = load_book(ruleset)
    if part == "start" and book is not None and book.rests[0] != UNKNOWN:
        yield Position(ruleset), {None: int(book.rests[0])}
    if part == "book" and book is not None:
        for n in np.flatnonzero((book.rests != UNKNOWN) & (book.depths > 0))[:sample]:
            position = Position.from_games(ruleset, book.games, n)
            yield position, {None: int(book.rests[n]) + certain_part(position)}
    if part == "positions" and ruleset.name in rulesets_with_positions():
        solved = positions(ruleset)
        for n in np.sort(np.random.default_rng(seed).permutation(len(solved))[:sample]):
            values = solved.action_values[n]
            legal = np.flatnonzero(values != ILLEGAL)
            yield Position.from_games(ruleset, solved.games, n), {int(a): int(values[a]) for a in legal}


def _bounds(
    solver: Solver, position: Position, seconds: float, is_by_action: bool
) -> dict[int | None, tuple[int, int]]:
    """Return what is proved of a position, under None, and of its actions where they are asked about."""
    if is_by_action:
        solution = solver.solve(position, time_limit=seconds, with_line=False)
        return {None: (solution.lower, solution.upper), **solution.action_bounds}
    proved = [solver.known_bounds(position)]
    solver.deadline = time.monotonic() + seconds
    with suppress(OutOfTime):
        solver.narrow(position, *proved[0], narrowed=lambda lower, upper: proved.append((lower, upper)))
    solver.deadline = np.inf
    return {None: proved[-1]}


def check(solver: Solver, claimed: Iterator[Claim], seconds: float) -> Checked:
    """Solve positions anew, each for so many seconds at most."""
    started, nodes = time.process_time(), solver.nodes
    result = Checked(0, [], 0, 0, 0.0)
    for position, said in claimed:
        bounds = _bounds(solver, position, seconds, is_by_action=any(action is not None for action in said))
        if not all(bounds[action][0] <= value <= bounds[action][1] for action, value in said.items()):
            found = {action: bounds[action] for action in said}
            result.differ.append(f"{position.to_text()}: {found}, the file says {said}")
        elif all(bounds[action][0] == bounds[action][1] for action in said):
            result.agree += 1
        else:
            result.unsolved += 1
    result.nodes, result.seconds = solver.nodes - nodes, time.process_time() - started
    return result


@in_one_line("check")
def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files of the rulesets named on the command line; returns the exit status."""
    parser = Parser(prog="python -m tools.check_solved", description=__doc__)
    parser.add_argument("rulesets", nargs="*", help="all that have a file, if none is named")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--sample", type=int, default=50, help="most positions of a file")
    parser.add_argument("--seconds_each", type=float, default=20.0, help="for one position")
    parser.add_argument("--memory_mb", type=float, default=1024.0)
    parser.add_argument("--seed", type=int, default=1, help="draws the sample")
    parser.add_argument("--share_proofs", action="store_true", help="solve as Solver does by default")
    options = parser.parse_args(arguments)
    every = sorted({*rulesets_with_book(), *rulesets_with_positions()})
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
