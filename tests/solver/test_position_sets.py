"""The creation of sets of solved positions."""

from pathlib import Path

import numpy as np

from mancala_env import Ruleset
from mancala_env.solver import position_sets
from mancala_env.solver.position_sets import PHASES, PositionSet
from tools import make_positions


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


def test_keep_resumes_from_the_file_of_the_folder_and_fills_no_phase_too_full(tmp_path: Path) -> None:
    shipped = position_sets.positions("leyla")
    few = slice(0, 3)
    np.savez(
        tmp_path / "positions_leyla.npz",
        games=shipped.games[few],
        phase=shipped.phase[few],
        action_values=shipped.action_values[few],
    )
    options = ["--keep", "--per_phase", "5", "--budget", "0", "--seed", "7", "--folder", str(tmp_path)]
    assert make_positions.main(["leyla", *options, "--memory_mb", "16"]) == 0
    made = PositionSet.of_file(shipped.ruleset, tmp_path / "positions_leyla.npz")
    assert {games.tobytes() for games in shipped.games[few]} < {games.tobytes() for games in made.games}
    assert np.bincount(made.phase)[0] == 5  # the book has more
    assert np.bincount(made.phase).max() <= 5
