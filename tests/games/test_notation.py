"""Text for positions, turns and games."""

import pytest
from boards import NORTH, finished, position
from error_checks import raises
from position_texts import INVALID, VALID

from mancala_env import InvalidPosition, Position, Ruleset, rulesets
from mancala_env.games import notation


def test_the_start():
    assert Position("layli_goobalay").to_text() == "layli_goobalay 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S"


def test_everything_that_differs_from_the_start_is_written():
    game = Position(
        "leyla",
        [1, 2, 3, 4, 5, 6, 0, 0, 1, 0, 2, 0],
        [-1, 0, -1, -1, 1, -1, -1, 1, -1, -1, 0, -1],
        (10, 4),
        NORTH,
        stall=3,
        round=2,
        starter=NORTH,
        debts=(2, 4),
    )
    text = "leyla 1,2s,3,4,5n,6/0,0n,1,0,2s,0 10-4 N stall=3 round=2 starter=N debts=2-4"
    assert game.to_text() == text
    assert Position.from_text(text) == game
    assert repr(game) == f"Position.from_text({text!r})"


def test_territory_is_written_where_it_is_not_the_rows():
    game = Position("gabata_i", [4] * 12, territory=[0] * 8 + [1] * 4)
    assert game.to_text().endswith("S territory=SSSSSSSSNNNN")
    assert Position.from_text(game.to_text()) == game


def test_an_endless_end_is_written_the_others_are_seen():
    game = position("layli_goobalay", "1 0 3 0 1 0\n3 2 1 8 1 8")
    game.play(5)
    assert game.to_text() == "layli_goobalay 3,2,1,8,1,8/0,1,0,3,0,1 0-0 S end=endless"
    for over in (game, finished("leyla", (20, 28)), Position("leyla", [1] * 12, stall=50)):
        again = Position.from_text(over.to_text())
        assert (again, again.end) == (over, over.end)


@pytest.mark.parametrize("name", rulesets.names())
def test_every_start_round_trips(name):
    for player in (0, 1):
        start = Position(name, player=player)
        assert Position.from_text(start.to_text()) == start


def test_spaces_between_the_parts_may_be_any():
    assert Position.from_text("  leyla\t4,4,4,4,4,4/4,4,4,4,4,4   0-0 S\n") == Position("leyla")


def test_a_custom_ruleset_is_given_beside_the_text():
    mine = Ruleset(name="mine", row_width=2)
    text = Position(mine).to_text()
    assert text == "mine 4,4/4,4 0-0 S"
    assert Position.from_text(text, mine) == Position(mine)
    with raises(InvalidPosition, "mine"):
        Position.from_text(text)
    with raises(InvalidPosition, "leyla", "mine"):
        Position.from_text(Position("leyla").to_text(), mine)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "''"),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 S", "position"),
        ("leila 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S", "leyla"),
        ("leyla 4,4,4,4,4,4,4,4,4,4,4,4 0-0 S", ["South", "North"]),
        ("leyla 4,4/4,4/4,4 0-0 S", ["South", "North"]),
        ("leyla 4,4,4/4,4,4 0-0 S", ["seeds", 12]),
        ("leyla 4,4,4,4,4,x/4,4,4,4,4,4 0-0 S", ["seeds", "'x'"]),
        ("leyla 4,4,4,4,4,/4,4,4,4,4,4 0-0 S", ["seeds", "''"]),
        ("leyla 4,4,4,4,4,4sn/4,4,4,4,4,4 0-0 S", ["seeds", "'4s'"]),
        ("leyla 4,4,4,4,4,-4/4,4,4,4,4,4 0-0 S", ["seeds", "'-4'"]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0 S", ["stores", "'0'"]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-x S", ["stores", "'x'"]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 s", ["player", "'s'"]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S stall", ["stall", "''"]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S stall=99", ["stall", 0, 50, 99]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S colour=red", "colour=red"),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S end=stuck", "end=stuck"),
        ("gabata_i 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S territory=SSS", ["territory", 12]),
        ("gabata_i 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S territory=X", ["territory", "'X'"]),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-" + 5000 * "9" + " S", "stores"),
        (None, None),
        ("leyla 4s,4,4,4,4,4/4,4,4,4,4,4 0-0 S", "owned holes"),
    ],
)
def test_a_text_that_is_not_a_position_is_refused_with_the_part(text, why):
    with raises(InvalidPosition, why):
        Position.from_text(text)


@pytest.mark.parametrize("text", VALID)
def test_a_text_of_the_grammar_is_a_position(text):
    assert Position.from_text(text).to_text() == VALID[text]


@pytest.mark.parametrize("text", INVALID)
def test_a_text_outside_of_the_grammar_is_refused(text):
    with pytest.raises(InvalidPosition):
        Position.from_text(text)


def test_turns():
    assert notation.turn_text(0, 9) == "S10"
    assert notation.turn_text(1, 0) == "N1"
