"""How sets of solved positions are made."""

import numpy as np

from mancala_env import Ruleset
from mancala_env.solver import make_positions
from mancala_env.solver.position_sets import PHASES, PositionSet


def test_a_set_that_is_gone_on_with_keeps_its_positions() -> None:
    ruleset = Ruleset(row_width=3, seeds_per_hole=2, landing="uur")

    def made(per_phase: int, kept: PositionSet | None, budget: float) -> PositionSet:
        games, phase, values, _ = make_positions.make(
            ruleset, 0, per_phase, 1, 10.0, budget, memory_mb=1, kept=kept
        )
        return PositionSet(ruleset, games, phase, PHASES, values)

    small = made(2, None, 60.0)
    large = made(4, small, 60.0)
    rows = [games.tobytes() for games in large.games]
    assert len(set(rows)) == len(rows) > len(small.games)
    assert {games.tobytes() for games in small.games} < set(rows)
    assert (np.diff(large.phase) >= 0).all()
    kept = [rows.index(games.tobytes()) for games in small.games]
    assert (large.action_values[kept] == small.action_values).all()
    assert len(made(4, small, 0.0).games) >= len(small.games)
