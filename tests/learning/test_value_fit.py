"""What value networks are fitted to: openings of all lengths, and games held out whole."""

import numpy as np

from mancala_env import agents
from mancala_env.engine.openings import children
from mancala_env.engine.state import NUM_COLUMNS, encode
from mancala_env.learning.value_fit import held_out, openings_of_lengths, play
from mancala_env.rulesets import lookup

LAYLI = lookup("layli_goobalay")


def goes_on_from(before: np.ndarray, after: np.ndarray) -> bool:
    """Tell whether a game is one turn from another."""
    found = np.zeros((LAYLI.num_holes, NUM_COLUMNS), np.uint64)
    count = children(encode(LAYLI), before[None], found)
    return any((each[:3] == after[:3]).all() for each in found[:count])


def test_a_longer_opening_does_not_go_on_from_a_shorter() -> None:
    drawn = openings_of_lengths(LAYLI, np.full(9, 40), seed=1).reshape(9, 40, NUM_COLUMNS)
    nested = [goes_on_from(drawn[turns, k], drawn[turns + 1, k]) for turns in (6, 7) for k in range(40)]
    assert np.mean(nested) < 0.1


def test_games_are_held_out_whole_and_of_every_length() -> None:
    played = play(agents.make("random", LAYLI, seed=1, num_threads=1), 400, seed=1)
    is_held_out = held_out(played.game, seed=1)
    games = np.unique(played.game[is_held_out])
    assert not np.isin(played.game[~is_held_out], games).any(), "a game on both sides"
    assert len(games) == round(0.1 * len(np.unique(played.game)))
    # Games are numbered by the length of their openings: the tenth is not that of the longest.
    tenths = np.bincount(games // 40, minlength=10)
    assert (tenths > 0).sum() > 6
    assert tenths[-1] < 15
