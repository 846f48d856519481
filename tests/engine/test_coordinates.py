"""Conversions between holes, actions and squares, which agree with the drawing."""

import re
from typing import Any

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Position, rulesets
from mancala_env.engine import state as engine
from mancala_env.engine.coordinates import action_of, hole_at, hole_of, holes_seen_by, square_of
from mancala_env.errors import InvalidArgument


def odd(value: Any) -> Any:
    return value


CLOCKWISE = [name for name in rulesets.names() if rulesets.lookup(name).direction == "clockwise"]


@pytest.mark.parametrize("name", rulesets.names())
def test_holes_and_actions_are_those_of_the_engine(name):
    ruleset = rulesets.lookup(name)
    rules = engine.encode(ruleset)
    for player in (0, 1):
        seen = holes_seen_by(ruleset, np.array([player]))[0]
        for action in range(ruleset.num_holes):
            hole = hole_of(name, player, action)
            assert hole == engine.hole_of(rules, player, action) == seen[action]
            assert action_of(ruleset, player, hole) == action == engine.action_of(rules, player, hole)


@pytest.mark.parametrize("name", rulesets.names())
def test_every_square_is_a_hole_and_back(name):
    ruleset = rulesets.lookup(name)
    squares = [(row, column) for row in range(2) for column in range(ruleset.row_width)]
    holes = [hole_at(name, row, column) for row, column in squares]
    assert sorted(holes) == list(range(ruleset.num_holes))
    assert [square_of(name, hole) for hole in holes] == squares
    assert all((hole >= ruleset.row_width) == (row == 0) for hole, (row, _) in zip(holes, squares))


@pytest.mark.parametrize("name", ["layli_goobalay", "gabata_i", *CLOCKWISE])
def test_squares_lie_where_the_drawing_has_them(name):
    """Draw a board whose holes hold their own numbers, and read the text back."""
    ruleset = rulesets.lookup(name)
    seeds = [1 + hole % 3 for hole in range(ruleset.num_holes)]
    drawn = str(Position(name, seeds=seeds)).splitlines()
    rows = [re.sub(r"store.*", "", line) for line in drawn if line.startswith(("North", "South"))]
    assert [[int(word) for word in row.split()[1:]] for row in rows] == [
        [seeds[hole_at(name, row, column)] for column in range(ruleset.row_width)] for row in (0, 1)
    ]
    for player, labels in ((1, drawn[1].split()), (0, drawn[-1].split())):
        found = [action_of(name, player, hole_at(name, 1 - player, i)) for i in range(ruleset.row_width)]
        assert labels == [f"{'SN'[player]}{action + 1}" for action in found]


def test_sowing_goes_left_to_right_below_unless_the_game_is_clockwise():
    assert CLOCKWISE, "the catalogue has clockwise games"
    assert [square_of("layli_goobalay", hole) for hole in (0, 5, 6, 11)] == [(1, 0), (1, 5), (0, 5), (0, 0)]
    width = rulesets.lookup(CLOCKWISE[0]).row_width
    assert square_of(CLOCKWISE[0], 0) == (1, width - 1)
    assert square_of(CLOCKWISE[0], width) == (0, 0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: hole_of("leyla", 2, 0), ["player", 0, 1, 2]),
        (lambda: hole_of("leyla", 0, 12), ["action", 0, 11, 12]),
        (lambda: hole_of("leyla", 0, True), "action"),
        (lambda: action_of("leyla", 0, -1), ["hole", 0, 11, -1]),
        (lambda: square_of("leyla", 12), ["hole", 0, 11, 12]),
        (lambda: hole_at("leyla", 2, 0), ["row", 1, 2]),
        (lambda: hole_at("leyla", 0, odd(1.0)), ["column", 5, 1.0]),
    ],
)
def test_numbers_that_name_no_hole_are_refused(call, said):
    with raises(InvalidArgument, said):
        call()
