"""Sample and solve the bundled solved positions: ``python -m tools.make_positions layli_goobalay``.

Positions come from rounds between random or mostly greedy players, at most one per round and phase. If the
opening book contains all positions of the first phase, it provides those.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import DATA
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.book import UNKNOWN, Book, load_book
from mancala_env.solver.exact import ILLEGAL, Solver
from mancala_env.solver.position_sets import PHASES, PositionSet, phase_of

_PER_PHASE = 60
_Row = tuple[int, np.ndarray, np.ndarray]
"""Phase, game and action values of a position."""
# Maximum number of sampled rounds: Gabata 3 has few positions of the first phase, because its first turns are
# forced.
_MOST_ROUNDS = 1000
# Time limit per position after the budget is spent; it suffices for positions of the book.
_SECONDS_TO_LOOK_UP = 0.001


def _greedy_action(position: Position) -> int:
    """Return the first action with the highest lead of the mover's count after it."""

    def lead(action: int) -> int:
        after = position.copy()
        after.play(action)
        return after.counts[position.player] - after.counts[1 - position.player]

    return max(position.legal_actions, key=lead)


def sample(ruleset: Ruleset, rng: np.random.Generator) -> list[Position]:
    """Play a random or mostly greedy round and return its positions."""
    position = Position(ruleset, player=SOUTH if rng.random() < 0.5 else NORTH)
    greedy = 0.75 if rng.random() < 0.5 else 0.0
    seen = []
    while not position.is_over:
        seen.append(position.copy())
        if rng.random() < greedy and len(seen) > 2:
            position.play(_greedy_action(position))
        else:
            position.play(int(rng.choice(position.legal_actions)))
    return seen


def from_book(book: Book, rng: np.random.Generator, most: int) -> list[Position]:
    """Return up to `most` positions of the first phase whose actions all have values in the opening book."""
    known = book.depths < book.depths[book.rests == UNKNOWN].min(initial=book.turns + 1) - 1
    chosen = []
    for n in rng.permutation(np.flatnonzero(known)):
        position = Position.from_games(book.ruleset, book.games, n)
        if phase_of(position) == 0 and len(position.legal_actions) > 1 and len(chosen) < most:
            chosen.append(position)
    return chosen


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
    rows: list[_Row] = []
    if kept is not None:
        rows = list(zip(kept.phase.tolist(), kept.games, kept.action_values, strict=True))
    drawn = _draw(ruleset, first_phase, per_phase, seed, rows)
    solver = Solver(ruleset, memory_mb=memory_mb)
    num_unsolved = 0
    started = time.process_time()
    for phase in reversed(range(first_phase, len(PHASES))):
        for position in drawn[phase]:
            is_in_time = time.process_time() - started <= budget
            values = _action_values(solver, position, seconds_each if is_in_time else _SECONDS_TO_LOOK_UP)
            if values is None:
                num_unsolved += 1
            else:
                rows.append((phase, position.games[0], values))
        spent = time.process_time() - started
        print(f"  {PHASES[phase]}: {spent:.0f} s, {num_unsolved} unsolved", flush=True)
    rows.sort(key=lambda row: row[0])
    games = np.array([row[1] for row in rows], np.uint64).reshape(-1, NUM_COLUMNS)
    phases = np.array([row[0] for row in rows], np.int8)
    return games, phases, np.array([row[2] for row in rows], np.int16), num_unsolved


def _draw(
    ruleset: Ruleset, first_phase: int, per_phase: int, seed: int, kept: list[_Row]
) -> list[list[Position]]:
    """Draw new positions of each phase, so that a phase has `per_phase` positions with the kept ones."""
    rng = np.random.default_rng(seed)
    missing = [per_phase - sum(phase == i for phase, _, _ in kept) for i in range(len(PHASES))]
    seen = {games.tobytes() for _, games, _ in kept}
    drawn: list[list[Position]] = [[] for _ in PHASES]
    book = load_book(ruleset)
    from_start: list[Position] = []
    if book and first_phase == 0:
        from_start = from_book(book, np.random.default_rng([seed, 1]), per_phase)
        new = [position for position in from_start if position.games.tobytes() not in seen]
        drawn[0] = new[: max(0, missing[0])]
        seen |= {position.games.tobytes() for position in drawn[0]}
    phases = range(1 if from_start else first_phase, len(PHASES))
    for _ in range(_MOST_ROUNDS):
        if all(len(drawn[i]) >= missing[i] for i in phases):
            break
        round_positions = sample(ruleset, rng)
        # One position per round and phase, for variety.
        for phase in phases:
            here = [p for p in round_positions if phase_of(p) == phase and len(p.legal_actions) > 1]
            if here and len(drawn[phase]) < missing[phase]:
                position = here[int(rng.integers(len(here)))]
                if position.games.tobytes() not in seen:
                    seen.add(position.games.tobytes())
                    drawn[phase].append(position)
    return drawn


def _action_values(solver: Solver, position: Position, time_limit: float) -> np.ndarray | None:
    """Return the value of each action, int16 `[A]`, ILLEGAL for illegal ones; None if not solved in time."""
    solution = solver.solve(position, time_limit=time_limit, with_line=False)
    if not solution.is_exact:
        return None
    values = np.full(solver.ruleset.num_actions("match"), ILLEGAL, np.int16)
    values[list(solution.action_values)] = list(solution.action_values.values())
    return values


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
