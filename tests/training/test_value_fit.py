"""Training data of value networks: openings of all lengths, and whole games held out."""

from dataclasses import replace

import numpy as np
from error_checks import raises

from mancala_env import agents
from mancala_env.engine.holdout import children, rows_in_set
from mancala_env.engine.state import NUM_COLUMNS, encode
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.openings import every_opening
from mancala_env.rulesets import lookup
from mancala_env.training import value_fit
from mancala_env.training.value_fit import fit_to_play, held_out, openings_of_lengths, play, training_openings

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


def test_held_out_boards_are_not_learned_from_wherever_they_are_met(monkeypatch) -> None:
    learned = []

    def fit(ruleset, games, values, seed):
        learned.append((games, values))
        return fitted(ruleset, games, values, seed)

    fitted = value_fit.fit
    monkeypatch.setattr(value_fit, "fit", fit)
    agent = agents.make("greedy", LAYLI, seed=1, num_threads=1)
    assert rows_in_set(LAYLI, play(agent, 100, seed=1).games, "evaluation").any(), "none was met"
    fit_to_play(agent, 100, 2, 1, lambda text: None)
    assert len(learned) == 2
    for games, values in learned:
        assert len(games) == len(values) > 0
        assert not rows_in_set(LAYLI, games, "evaluation").any()


def test_games_are_held_out_whole_and_of_every_length() -> None:
    played = play(agents.make("random", LAYLI, seed=1, num_threads=1), 400, seed=1)
    is_held_out = held_out(played.game, seed=1)
    games = np.unique(played.game[is_held_out])
    assert not np.isin(played.game[~is_held_out], games).any(), "a game on both sides"
    assert len(games) == round(0.1 * len(np.unique(played.game)))
    # Games are numbered by the length of their openings, so the last 10 % are not only the longest.
    tenths = np.bincount(games // 40, minlength=10)
    assert (tenths > 0).sum() > 6
    assert tenths[-1] < 15


def test_games_that_leave_nothing_to_learn_from_are_refused() -> None:
    agent = agents.make("greedy", LAYLI, seed=1, num_threads=1)
    with raises(InvalidArgument, "games", 1):
        fit_to_play(agent, 1, 0, 1, lambda text: None)
