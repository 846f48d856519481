"""The board in terminal cells: every size and ruleset, without colours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import reached

from mancala_env import Position, rulesets
from mancala_env.engine.coordinates import hole_of, square_of
from mancala_env.terminal.board_drawing import BoardLayout, BoardView, draw

SIZES = [(60, 13), (80, 18), (120, 30), (200, 60)]


def legal_holes(position):
    return tuple(hole_of(position.ruleset, position.player, action) for action in position.legal_actions)


@pytest.mark.slow
@given(reached(), st.sampled_from(SIZES))
def test_every_number_is_on_the_board(position, size):
    """Seeds of every hole and both stores can be read, whatever the ruleset and the size."""
    canvas = draw(position.ruleset, BoardView(position.state, legal_holes(position)), *size)
    plan = BoardLayout(position.ruleset, *size)
    for hole, seeds in enumerate(position.seeds.tolist()):
        x, y = plan.corner(hole)
        rows = canvas.rows[y : y + plan.rows]
        inside = "".join(cell.letter for row in rows for cell in row[x : x + plan.columns])
        digits = "".join(letter if letter.isdigit() else " " for letter in inside).split()
        assert digits == [str(seeds)]
        if plan.is_tall:
            assert inside.count("●") == min(seeds, inside.count("●"))
            assert (inside.count("●") == seeds) or inside.count("●") in (6, 9, 12)
    text = str(canvas)
    for player, stored in zip(("South", "North"), position.stores, strict=True):
        assert f"{player}'s store: {stored}" in text or f" {stored} " in text


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", rulesets.names())
def test_holes_do_not_overlap_and_are_found_where_they_are_drawn(name, size):
    ruleset = rulesets.lookup(name)
    plan = BoardLayout(ruleset, *size)
    taken = {}
    for hole in range(ruleset.num_holes):
        x, y = plan.corner(hole)
        for column in range(x, x + plan.columns):
            for row in range(y, y + plan.rows):
                assert 0 <= column < size[0]
                assert 0 <= row < size[1]
                assert taken.setdefault((column, row), hole) == hole
                assert plan.hole_at(column, row) == hole
        assert plan.hole_at(*plan.label(hole)) == hole
        assert plan.is_upper(hole) == (square_of(ruleset, hole)[0] == 0)
    assert plan.hole_at(0, 0) == -1


def test_what_colour_tells_is_told_by_shape_too():
    position = Position.from_text("gabata_i 1,5,0,2,8n,0/0,3s,2,1,0,2 9-15 S")
    canvas = str(draw(position.ruleset, BoardView(position.state, legal_holes(position), last=(0,)), 80, 18))
    assert "[S1]" in canvas
    assert "[S3]" not in canvas
    assert "S3" in canvas
    assert "▼weg" in canvas
    assert "▲weg" in canvas
    assert canvas.count("╔") == canvas.count("┏") == 1
    assert "┆" in canvas


def test_a_clockwise_board_is_mirrored():
    assert "N6" in str(draw(rulesets.lookup("leyla"), BoardView(Position("leyla").state), 80, 18))
    for name, first in (("leyla", "S6"), ("layli_goobalay", "S1")):
        ruleset = rulesets.lookup(name)
        text = str(draw(ruleset, BoardView(Position(name).state), 80, 18))
        (line,) = (line for line in text.splitlines() if "S3" in line)
        assert next(word for word in line.split() if word.startswith("S")) == first


def test_territory_is_named_by_who_may_sow():
    position = Position("gabata_i", [4] * 12, territory=[0] * 8 + [1] * 4)
    text = str(draw(position.ruleset, BoardView(position.state, legal_holes(position)), 80, 18))
    assert "[S7]" in text
    assert "[S8]" in text
    assert "N1 " not in text


@pytest.mark.parametrize("size", [(1, 1), (10, 3), (30, 8), (52, 12)])
def test_a_screen_too_small_shows_a_part(size):
    canvas = draw(
        rulesets.lookup("layli_goobalay_long"), BoardView(Position("layli_goobalay_long").state), *size
    )
    assert (len(canvas.rows[0]), len(canvas.rows)) == size
