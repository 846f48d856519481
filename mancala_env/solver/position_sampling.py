"""Positions sampled from rounds, and solved sets of them for rulesets of your own.

Positions come from rounds between random or mostly greedy players, at most one per round and phase. If there
is an opening book with positions of the first phase, it provides all of that phase.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mancala_env._util.files import written_whole
from mancala_env._util.package_data import new_prepared_file
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.solver.book import UNKNOWN, Book, load_book
from mancala_env.solver.exact import ILLEGAL, Solver
from mancala_env.solver.position_sets import (
    PHASES,
    POSITIONS_FILE,
    NoPositions,
    PositionSet,
    has_positions,
    phase_of,
    positions,
)

Row: TypeAlias = tuple[int, np.ndarray, np.ndarray]
"""Phase, game and action values of a position."""
# Gabata 3 lacks positions of the first two phases, because its forced first turns capture many seeds.
_MOST_ROUNDS = 1000
# The set of a ruleset of your own: its size, and its limits in nodes of the solver. Limits in nodes give the
# same set on every machine.
_PER_PHASE, _SEED, _MEMORY_MB = 40, 1, 512
_NODES_EACH, _NODES_IN_ALL = 4_000_000, 120_000_000
_FEWEST = 20


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
        is_greedy = rng.random() < greedy and len(seen) > 2
        position.play(_greedy_action(position) if is_greedy else int(rng.choice(position.legal_actions)))
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


def draw(
    ruleset: Ruleset, first_phase: int, per_phase: int, seed: int, kept: list[Row]
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


def arrays_of(rows: list[Row]) -> dict[str, Any]:
    """Return the arrays of a PositionSet by name, with the phases in order."""
    rows = sorted(rows, key=lambda row: row[0])
    return {
        "games": np.array([row[1] for row in rows], np.uint64).reshape(-1, NUM_COLUMNS),
        "phase": np.array([row[0] for row in rows], np.int8),
        "action_values": np.array([row[2] for row in rows], np.int16),
    }


def row_of(solver: Solver, position: Position, values: dict[int, int]) -> Row:
    """Return the row of a position whose actions have these values."""
    found = np.full(solver.ruleset.num_actions("match"), ILLEGAL, np.int16)
    found[list(values)] = list(values.values())
    return phase_of(position), position.games[0], found


def prepare_positions(ruleset: RulesetLike, say: Callable[[str], object] = print) -> PositionSet:
    """Return the solved positions of a ruleset; sample and solve them first if they are missing.

    They are kept in the user's cache folder, so each ruleset is solved once. The solver's limits are in
    nodes, so every machine makes the same set. On a large board the earliest phases stay empty.

    Args:
        ruleset: What :func:`mancala_env.rulesets.lookup` accepts.
        say: Called with messages about the progress.

    Raises:
        InvalidRuleset: The ruleset is invalid.
        NoPositions: Fewer than 20 positions could be solved.
        OSError: The file cannot be written.
    """
    ruleset = lookup(ruleset)
    if has_positions(ruleset):
        return positions(ruleset)
    file = new_prepared_file(ruleset, POSITIONS_FILE)
    say(f"solving positions of {ruleset.name} to measure regret, once, about a minute; kept in {file}")
    drawn = draw(ruleset, 0, _PER_PHASE, _SEED, [])
    solver = Solver(ruleset, memory_mb=_MEMORY_MB)
    rows: list[Row] = []
    for phase in reversed(range(len(PHASES))):
        for position in drawn[phase]:
            limit = min(_NODES_EACH, max(0, _NODES_IN_ALL - solver.nodes))
            values = solver.action_values_within(position, limit)
            if values is not None:
                rows.append(row_of(solver, position, values))
        num_solved = sum(row[0] == phase for row in rows)
        say(f"{PHASES[phase]}: {num_solved} of {len(drawn[phase])} positions solved")
    if len(rows) < _FEWEST:
        raise NoPositions(
            f"{len(rows)} positions of {ruleset.name} were solved, and regret needs {_FEWEST}; "
            "its board is too large for the solver, or its rounds are too short"
        )
    with written_whole(file) as out:
        np.savez_compressed(out, **arrays_of(rows))
    return positions(ruleset)
