"""Position: set-ups, errors, copies, equality, what a turn returns, the drawing."""

import copy
import pickle

import numpy as np
import pytest
from boards import NO_PLAYER, NORTH, SOUTH, finished, position
from error_checks import raises

from mancala_env import IllegalMove, InvalidPosition, InvalidRuleset, MancalaError, Position, Ruleset, Turn
from mancala_env import rulesets as catalogue


@pytest.mark.parametrize("name", [name for name in catalogue.names() if name != "gabata_3"])
def test_a_ruleset_alone_is_the_start_of_round_1(name):
    ruleset = catalogue.lookup(name)
    start = Position(name)
    assert start.ruleset is ruleset
    assert start.seeds.tolist() == [ruleset.seeds_per_hole] * ruleset.num_holes
    assert start.owner.tolist() == [NO_PLAYER] * ruleset.num_holes
    assert start.territory.tolist() == [SOUTH] * ruleset.row_width + [NORTH] * ruleset.row_width
    assert (start.stores, start.debts, start.stall, start.player, start.round) == ((0, 0), (0, 0), 0, 0, 1)
    assert (start.is_over, start.end, start.winner, start.match_winner) == (False, "", None, None)
    assert start.counts == (ruleset.total_seeds // 2,) * 2


def test_types_and_shapes():
    game = Position("gabata_seven_holes")
    assert (game.seeds.dtype, game.seeds.shape) == (np.int16, (14,))
    assert (game.owner.dtype, game.owner.shape) == (np.int8, (14,))
    assert (game.territory.dtype, game.territory.shape) == (np.int8, (14,))
    assert all(type(value) is int for value in (*game.stores, *game.counts, game.player, game.stall))
    assert all(type(action) is int for action in game.legal_actions)
    assert game.state.seeds.shape == (1, 14)


def test_arrays_read_from_a_position_are_copies():
    game = Position("leyla")
    game.seeds[0] = 9
    game.owner[0] = 1
    game.games[0, 0] = 0
    assert game == Position("leyla")


def test_a_turn_tells_what_happened():
    game = position("layli_goobalay", "1 0 0 0 5 0\n0 0 0 1 0 0")
    assert game.play(3) == Turn(player=0, action=3, laps=1, captured=6, new_owned=(), endless=False)
    game = position("layli_goobalay", "1 0 0 0 3 0\n0 0 0 1 0 0")
    assert game.play(np.int64(3)) == Turn(0, 3, 1, 0, (4, 7), False)


def test_lists_tuples_and_arrays_set_up_alike():
    seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0]
    games = [Position("leyla", form(seeds)) for form in (list, tuple, np.array)]
    assert games[0] == games[1] == games[2]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"seeds": [4] * 11}, ["seeds", 12]),
        ({"seeds": [[4] * 12]}, ["seeds", 12]),
        ({"seeds": [[4], 4, 4]}, ["seeds", 12]),
        ({"seeds": [4.0] * 12}, ["seeds", 12]),
        ({"seeds": [4] * 11 + [-1]}, ["seeds[11]", -1]),
        ({"seeds": [49] + [0] * 11}, ["seeds[0]", 49]),
        ({"seeds": [4] * 11 + [5]}, [49, "layli_goobalay", 48]),
        ({"seeds": [4] * 12, "stores": (1, 0)}, 49),
        ({"seeds": [0] * 12, "stores": (1, 2, 3)}, ["stores", 2]),
        ({"seeds": [0] * 12, "stores": (-1, 2)}, ["stores[0]", -1]),
        ({"seeds": [4] * 12, "owner": [0] * 11}, ["owner", 12]),
        ({"seeds": [4] * 12, "owner": [2] + [-1] * 11}, ["owner[0]", 2]),
        (
            {"seeds": [4] * 12, "owner": [-1, 0] + [-1] * 10},
            ["hole 1", 10, "layli_goobalay"],
        ),
        ({"seeds": [4] * 12, "player": 2}, ["player", 0, 1, 2]),
        ({"player": "South"}, ["player", 0, 1, "South"]),
        ({"seeds": [4] * 12, "stall": 51}, ["stall", 0, 50, 51]),
        ({"seeds": [4] * 12, "stall": 2.5}, ["stall", 2.5]),
        ({"seeds": [4] * 12, "round": 0}, ["round", 1, 2147483647, 0]),
        ({"seeds": [4] * 12, "starter": 2}, ["starter", 0, 1, 2]),
        ({"seeds": [4] * 12, "debts": (2, 0)}, "layli_goobalay"),
        (
            {"seeds": [4] * 12, "territory": [0] * 7 + [1] * 5},
            "layli_goobalay",
        ),
        ({"seeds": [4] * 12, "player": True}, ["player", 0, 1, True]),
        ({"player": np.array([1])}, ["player", "array([1])"]),
        ({"stores": 3}, "seeds"),
        ({"debts": None}, "seeds"),
        ({"stores": (1, 0)}, "seeds"),
        ({"stall": 3}, "seeds"),
        ({"owner": [-1] * 12}, "seeds"),
        ({"round": 2}, ["ruleset", "player"]),
    ],
)
def test_a_wrong_set_up_is_refused_with_the_value(arguments, why):
    with raises(InvalidPosition, why) as error:
        Position("layli_goobalay", **arguments)
    assert isinstance(error.value, MancalaError | ValueError)


@pytest.mark.parametrize(
    "territory",
    [
        [0] * 6 + [1, 0] + [1] * 4,  # not the first hole of the row
        [0] * 12,  # all holes
        [1] + [0] * 6 + [1] * 5,  # both players have gained
        [0] * 5 + [1] * 7,  # the wrong end
    ],
)
def test_an_impossible_territory_is_refused(territory):
    with raises(InvalidPosition, "territory"):
        Position("gabata_i", [4] * 12, territory=territory)


def test_an_unknown_ruleset_is_refused():
    with raises(InvalidRuleset, "leyla"):
        Position("leila")


@pytest.mark.parametrize("action", [6, 11, 12, -1, 2.0, "3", None])
def test_an_illegal_action_changes_nothing(action):
    game = Position("leyla")
    with raises(IllegalMove, f"hole {action!r}", "0, 1, 2, 3, 4, 5"):
        game.play(action)
    assert game == Position("leyla")


def test_an_error_without_legal_holes_says_none():
    with raises(InvalidPosition, "round 1"):
        Position("leyla").next_round()
    with raises(IllegalMove, "stuck"):
        finished("leyla", (24, 24)).play(0)


def test_fewer_seeds_than_the_game_has_are_a_study():
    game = Position("layli_goobalay", [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    game.play(0)
    assert game.counts == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ({"seeds": [0] * 6 + [1] * 6}, "stuck"),
        ({"seeds": [1] * 12, "stall": 50}, "stall"),
        ({"seeds": [1] * 12, "endless": True}, "endless"),
    ],
)
def test_a_set_up_can_be_over(arguments, end):
    game = Position("leyla", **arguments)
    assert (game.is_over, game.end, game.legal_actions) == (True, end, ())


def test_a_copy_is_independent():
    game = Position("leyla")
    twin = game.copy()
    assert twin == game
    assert twin is not game
    twin.play(0)
    assert twin != game
    assert game == Position("leyla")


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_a_position_can_be_copied_and_pickled(clone):
    game = Position("gabata_i")
    game.play(0)
    twin = clone(game)
    assert twin == game
    assert twin.legal_actions == game.legal_actions


def test_next_round_leaves_the_finished_one_alone():
    game = finished("layli_goobalay", (32, 16))
    before = game.copy()
    assert game.next_round() != game
    assert game == before


def test_equal_positions_have_equal_keys():
    one, two = Position("leyla"), Position("leyla")
    assert one == two
    assert one.key == two.key
    two.play(1)
    assert one != two
    assert len({one.key, two.key, one.copy().key}) == 2


def test_a_position_that_can_change_is_no_key():
    with raises(TypeError, "unhashable"):
        hash(Position("leyla"))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, Position.copy])
def test_a_copy_is_played_on_its_own(duplicate):
    one = Position("leyla")
    two = duplicate(one)
    assert one == two
    two.play(1)
    assert one == Position("leyla") != two


def test_true_is_no_action():
    with raises(IllegalMove, True):
        Position("leyla").play(True)


@pytest.mark.parametrize(
    "other",
    [
        Position("leyla", [1] * 12, player=1),
        Position("leyla", [1] * 12, stall=1),
        Position("leyla", [1] * 12, stores=(0, 1)),
        Position("leyla", [1] * 12, round=2),
        Position("leyla", [1] * 12, starter=1),
        Position("leyla", [1] * 12, debts=(2, 0)),
        Position("leyla", [1] * 12, endless=True),
        Position("leyla", [1] * 12, owner=[0, *[-1] * 10, 0]),
        Position("ludii_leyla", [1] * 12),
        "leyla",
    ],
)
def test_positions_that_differ_in_anything_are_not_equal(other):
    assert Position("leyla", [1] * 12) != other


def test_from_games_takes_any_row():
    games = np.concatenate([Position("leyla", [n] * 12).games for n in range(1, 4)])
    assert [Position.from_games("leyla", games, b).seeds[0] for b in (0, 1, 2, -1)] == [1, 2, 3, 3]
    with raises(InvalidPosition, 3):
        Position.from_games("leyla", games, 3)
    game = Position.from_games("leyla", games)
    game.play(0)
    assert games[0].tolist() == Position("leyla", [1] * 12).games[0].tolist()


def test_an_anticlockwise_board_is_drawn_from_left_to_right():
    game = position("layli_goobalay", "11 0 0 0 0 6n\n0 1 2 3 4 5n", stores=(7, 8), round=3)
    assert str(game) == (
        "Layli Goobalay, round 3: South to move\n"
        "       N6   N5   N4   N3   N2   N1\n"
        "North  11    0    0    0    0    6n   store 8\n"
        "South   0    1    2    3    4    5n   store 7\n"
        "       S1   S2   S3   S4   S5   S6"
    )


def test_a_clockwise_board_is_drawn_from_right_to_left():
    game = position("leyla", "11 0 0 0 0 6s\n0 1 2 3 4 5s", player=NORTH)
    assert str(game) == (
        "Leyla (Wegi), round 1: North to move\n"
        "       N1   N2   N3   N4   N5   N6\n"
        "North   6s   0    0    0    0   11    store 0\n"
        "South   5s   4    3    2    1    0    store 0\n"
        "       S6   S5   S4   S3   S2   S1"
    )


def test_gained_holes_are_labelled_as_their_sowers_actions():
    game = Position("gabata_five_holes", [4] * 10, territory=[0] * 6 + [1] * 4)
    assert str(game).splitlines()[1].split() == ["N5", "N4", "N3", "N2", "S6"]
    assert 5 in game.legal_actions


def test_a_finished_board_says_why():
    assert str(finished("leyla", (24, 24))).splitlines()[0] == "Leyla (Wegi), round 1: round over (stuck)"


def test_a_custom_ruleset_plays():
    mine = Ruleset(name="mine", row_width=3, seeds_per_hole=2)
    game = Position(mine)
    assert game.legal_actions == (0, 1, 2)
    game.play(0)
    assert sum(game.counts) == 12


@pytest.mark.parametrize("ruleset", ["gabata_i", Ruleset(name="own", row_width=4, seeds_per_hole=3)])
def test_the_repr_of_a_position_evaluates_to_it(ruleset):
    game = Position(ruleset)
    game.play(2)
    assert eval(repr(game), {"Position": Position, "Ruleset": Ruleset}) == game
