"""Sample and solve the bundled solved positions: ``python -m tools.make_positions layli_goobalay``.

:mod:`mancala_env.solver.position_sampling` describes the positions.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import DATA
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.exact import Solver
from mancala_env.solver.position_sampling import Row, arrays_of, draw, row_of
from mancala_env.solver.position_sets import PHASES, PositionSet

_PER_PHASE = 60
# Time limit per position after the budget is spent; it suffices for positions of the book.
_SECONDS_TO_LOOK_UP = 0.001


def make(
    ruleset: Ruleset,
    first_phase: int,
    per_phase: int,
    seed: int,
    seconds_each: float,
    budget: float,
    *,
    memory_mb: float = 1024.0,
    kept: PositionSet | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Sample and solve a set of positions, the easiest phase first.

    Args:
        ruleset: The ruleset.
        first_phase: Earliest and hardest phase to include, an index into PHASES.
        per_phase: Number of positions per phase.
        seed: Random seed.
        seconds_each: Time limit per position, in seconds.
        budget: Processor seconds for all positions.
        memory_mb: Size of the solver's transposition table in MB.
        kept: A set to extend: its positions are kept, and phases with fewer positions get new ones.

    Returns:
        games, phase and action_values of a PositionSet, and the number of positions that were not solved in
        time.
    """
    rows: list[Row] = []
    if kept is not None:
        rows = list(zip(kept.phase.tolist(), kept.games, kept.action_values, strict=True))
    drawn = draw(ruleset, first_phase, per_phase, seed, rows)
    solver = Solver(ruleset, memory_mb=memory_mb)
    num_unsolved = 0
    started = time.process_time()
    for phase in reversed(range(first_phase, len(PHASES))):
        for position in drawn[phase]:
            is_in_time = time.process_time() - started <= budget
            row = _solved(solver, position, seconds_each if is_in_time else _SECONDS_TO_LOOK_UP)
            if row is None:
                num_unsolved += 1
            else:
                rows.append(row)
        spent = time.process_time() - started
        print(f"  {PHASES[phase]}: {spent:.0f} s, {num_unsolved} unsolved", flush=True)
    arrays = arrays_of(rows)
    return arrays["games"], arrays["phase"], arrays["action_values"], num_unsolved


def _solved(solver: Solver, position: Position, time_limit: float) -> Row | None:
    """Return the row of a position, or None if it is not solved in time."""
    solution = solver.solve(position, time_limit=time_limit, with_line=False)
    return row_of(solver, position, solution.action_values) if solution.is_exact else None


@in_one_line("make_positions", "the file of the current ruleset is unchanged")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the sets of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_positions", description=__doc__)
    parser.add_argument("rulesets", nargs="+", help="names of rulesets")
    parser.add_argument(
        "--first_phase", choices=PHASES, default=PHASES[0], help="earliest and hardest phase to include"
    )
    parser.add_argument(
        "--per_phase", type=int, default=_PER_PHASE, help="number of positions per phase (60)"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    parser.add_argument(
        "--seconds_each", type=float, default=120.0, help="time limit per position in seconds"
    )
    parser.add_argument("--budget", type=float, default=600.0, help="processor seconds per ruleset")
    parser.add_argument(
        "--memory_mb", type=float, default=1024.0, help="size of the solver's table in MB (1024)"
    )
    parser.add_argument("--keep", action="store_true", help="keep the positions of the existing file")
    parser.add_argument("--folder", type=Path, default=DATA, help="folder to write to")
    options = parser.parse_args(arguments)
    rulesets = [lookup(name) for name in options.rulesets]
    if not options.folder.is_dir():
        raise MancalaError(f"--folder must be an existing folder, not {options.folder}")
    for ruleset in rulesets:
        print(ruleset.name, flush=True)
        path = options.folder / f"positions_{ruleset.name}.npz"
        is_begun = options.keep and path.is_file()
        games, phase, values, num_unsolved = make(
            ruleset,
            PHASES.index(options.first_phase),
            options.per_phase,
            options.seed,
            options.seconds_each,
            options.budget,
            memory_mb=options.memory_mb,
            kept=PositionSet.of_file(ruleset, path) if is_begun else None,
        )
        with written_whole(path) as file:
            np.savez_compressed(file, games=games, phase=phase, action_values=values)
        print(f"{ruleset.name}: {len(games)} positions, {num_unsolved} unsolved", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
