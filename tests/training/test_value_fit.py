"""What value networks are fitted to: games from openings of all lengths."""

from dataclasses import replace

import numpy as np

from mancala_env.engine.holdout import children, rows_in_set
from mancala_env.engine.state import NUM_COLUMNS, encode
from mancala_env.evaluation.openings import every_opening
from mancala_env.rulesets import lookup
from mancala_env.training.value_fit import openings_of_lengths, training_openings

LAYLI = lookup("layli_goobalay")


def goes_on_from(before: np.ndarray, after: np.ndarray) -> bool:
    """Return whether a game is one turn after another."""
    found = np.zeros((LAYLI.num_holes, NUM_COLUMNS), np.uint64)
    count = children(encode(LAYLI), before[None], found)
    return any((each[:3] == after[:3]).all() for each in found[:count])


def test_a_longer_opening_does_not_extend_a_shorter_one() -> None:
    drawn = openings_of_lengths(LAYLI, np.full(9, 40), seed=1).reshape(9, 40, NUM_COLUMNS)
    nested = [goes_on_from(drawn[turns, k], drawn[turns + 1, k]) for turns in (6, 7) for k in range(40)]
    assert np.mean(nested) < 0.1


def test_openings_held_out_for_evaluation_are_not_played() -> None:
    drawn = openings_of_lengths(LAYLI, np.full(9, 40), seed=1)
    assert not rows_in_set(LAYLI, drawn[40:], "evaluation").any()
    assert (drawn[:40] == drawn[0]).all()  # the start, which is in no set


def test_where_all_openings_of_a_length_are_held_out_they_are_played_all_the_same() -> None:
    small = replace(LAYLI, name="small", row_width=2, seeds_per_hole=1)
    listed = every_opening(small, 2)
    assert listed is not None
    assert rows_in_set(small, listed, "evaluation").all()
    assert (training_openings(small, 3, 2, seed=1)[:, :3] == listed[:1, :3]).all()
