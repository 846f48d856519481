"""The board observation: its named parts and their ranges. It is complete."""

from itertools import pairwise

import numpy as np
import pytest
from boards import NORTH, SOUTH, finished, position
from error_checks import raises
from hypothesis import given
from strategies import reached

from mancala_env import InvalidRuleset, Position, rulesets
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.errors import InvalidArgument
from mancala_env.observations import Observer, bounds, games_from, num_features, observe, parts


def seen(game, player=None):
    """Return the observation of a position as a dict of its parts."""
    row = observe(game.ruleset, game.games, player)[0]
    return {name: row[part.start : part.stop].tolist() for name, part in parts(game.ruleset).items()}


@pytest.mark.parametrize("name", rulesets.names())
def test_the_parts_cover_the_vector_in_order(name):
    ruleset = rulesets.lookup(name)
    edges = [(part.start, part.stop) for part in parts(ruleset).values()]
    assert edges[0][0] == 0
    assert all(stop == start for (_, stop), (start, _) in pairwise(edges))
    assert edges[-1][1] == num_features(ruleset)
    assert all(part.meaning for part in parts(ruleset).values())
    low, high = bounds(ruleset)
    assert low.shape == high.shape == (num_features(ruleset),)
    assert low.dtype == high.dtype == np.float32
    assert (low < high).all()


def test_a_ruleset_is_given_by_its_name_too():
    game = Position("leyla")
    assert parts("leyla") == parts(game.ruleset)
    assert num_features("leyla") == num_features(game.ruleset)
    assert (games_from("leyla", observe("leyla", game.games)) == game.games).all()
    with raises(InvalidRuleset, "lyla"):
        parts("lyla")


@pytest.mark.parametrize("wrong", [np.zeros(5), np.zeros((2, 5)), np.zeros((1, 1, 36)), 1.0], ids=np.shape)
def test_observations_of_another_width_are_refused(wrong):
    with raises(InvalidArgument, "leyla"):
        games_from("leyla", wrong)


def test_territory_and_debts_are_seen_only_where_they_can_change():
    has = {name: set(parts(rulesets.lookup(name))) for name in rulesets.names()}
    assert {name for name in has if "territory" in has[name]} == {
        "gabata_i",
        "gabata_five_holes",
        "gabata_seven_holes",
        "gabata_3",
    }
    assert {name for name in has if "debts" in has[name]} == {"leyla"}


def test_a_player_sees_the_board_from_his_seat():
    game = position(
        "leyla",
        """
        2 1 4s 3 2 6n
        0 1 2s 3 4 5n
        """,
        stores=(1, 2),
        debts=(2, 0),
        stall=7,
        round=3,
        starter=NORTH,
    )
    south = seen(game)
    assert south["seeds"] == [0, 1, 2, 3, 4, 5, 6, 2, 3, 4, 1, 2]
    assert south["owned"] == [0, 0, 1, 0, 0, -1, -1, 0, 0, 1, 0, 0]
    assert (south["stores"], south["debts"]) == ([1, 2], [2, 0])
    assert (south["stall"], south["round"], south["end"]) == ([7], [3], [0])
    assert (south["started"], south["to_move"], south["south"]) == ([0], [1], [1])
    north = seen(game, NORTH)
    assert north["seeds"] == [6, 2, 3, 4, 1, 2, 0, 1, 2, 3, 4, 5]
    assert north["owned"] == [1, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 1]
    assert (north["stores"], north["debts"]) == ([2, 1], [0, 2])
    assert (north["started"], north["to_move"], north["south"]) == ([1], [0], [0])


def test_a_player_sees_his_territory():
    game = Position("gabata_five_holes", [4] * 10, territory=[0] * 6 + [1] * 4)
    assert seen(game, SOUTH)["territory"] == [1, 1, 1, 1, 1, 1, -1, -1, -1, -1]
    assert seen(game, NORTH)["territory"] == [-1, 1, 1, 1, 1, -1, -1, -1, -1, -1]


def test_the_same_position_looks_the_same_from_both_seats():
    south, north = Position("leyla", player=SOUTH), Position("leyla", player=NORTH)
    for action in (3, 3, 1, 0):
        south.play(action)
        north.play(action)
        one, other = seen(south), seen(north)
        assert one.pop("south") != other.pop("south")
        assert one == other


@pytest.mark.parametrize(
    ("game", "end"),
    [(finished("leyla", (24, 24)), 1), (Position("leyla", [1] * 12, stall=50), 2),
     (Position("leyla", [1] * 12, endless=True), 3)],
)  # fmt: skip
def test_the_end_of_a_round_is_seen(game, end):
    assert seen(game)["end"] == [end]


@pytest.mark.parametrize("kind", ["board", "replies"])
def test_a_late_round_is_seen_as_the_last_one(kind):
    game = Position("leyla", [1] * 12, round=40_000)
    observer = Observer(game.ruleset, kind)
    assert observer.observe(game.games)[..., parts(game.ruleset)["round"].start].max() == MAX_ROUNDS


def test_many_games_are_seen_at_once_each_by_a_player():
    games = np.concatenate([Position("leyla", [n] * 12, player=n % 2).games for n in range(1, 5)])
    ruleset = rulesets.lookup("leyla")
    by_mover = observe(ruleset, games)
    assert (by_mover == observe(ruleset, games, np.array([1, 0, 1, 0]))).all()
    assert (by_mover[1:2] == observe(ruleset, games[1:2], SOUTH)).all()


@given(game=reached())
def test_an_observation_hides_nothing(game):
    for player in (SOUTH, NORTH):
        observation = observe(game.ruleset, game.games, player)
        assert (games_from(game.ruleset, observation) == game.games).all()
        assert (games_from(game.ruleset, observation[0]) == game.games).all()


@given(game=reached())
def test_an_observation_stays_within_its_bounds(game):
    low, high = bounds(game.ruleset)
    for player in (SOUTH, NORTH):
        observation = observe(game.ruleset, game.games, player)[0]
        assert observation.dtype == np.float32
        assert (low <= observation).all()
        assert (observation <= high).all()
