"""One test per rule of a turn and of a round's end: docs/reference/rules.md, sections 2 to 4.

The families are named after their landing: Layli Goobalay ("uur"), Leyla ("pair"), Gabata ("weg").
"""

from dataclasses import replace

import naive
import pytest
from boards import NO_PLAYER, NORTH, SOUTH, assert_drawn, finished, position
from error_checks import raises

from mancala_env import IllegalMove, Position, Ruleset, rulesets

FAMILIES = ("layli_goobalay", "leyla", "gabata_i")
LEYLA_AND_GABATA = ("leyla", "gabata_i")
LUDII_LAYLI = ("ludii_leyla_gobale_somaliland", "ludii_leyla_gobale_gabradarre")
LUDII_GABATA = ("ludii_gabata_i", "ludii_gabata_five_holes", "ludii_gabata_seven_holes")


# Section 2: board and numbering


def test_seeds_fall_one_a_hole_from_souths_row_on_into_norths():
    game = position(
        "gabata_i",
        """
        0 0 0 0 0 0
        1 0 0 0 3 0
        """,
    )
    assert game.play(4).laps == 1
    assert_drawn(
        game,
        """
        0 0 0 0 1 1
        1 0 0 0 0 1
        """,
    )


def test_seeds_fall_from_norths_row_on_into_souths():
    game = position(
        "gabata_i",
        """
        3 0 0 0 0 0
        1 0 0 0 0 0
        """,
        player=NORTH,
    )
    turn = game.play(5)
    assert turn.laps == 1
    assert_drawn(
        game,
        """
        0 0 0 0 0 0
        2 1 1 0 0 0
        """,
    )


def test_an_action_is_a_hole_seen_from_the_player_to_move():
    drawing = """
        0 0 0 0 0 2
        2 0 0 0 0 0
        """
    south, north = position("leyla", drawing), position("leyla", drawing, player=NORTH)
    assert south.legal_actions == north.legal_actions == (0,)
    south.play(0)
    north.play(0)
    assert south.seeds.tolist() == [0, 1, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    assert north.seeds.tolist() == [2, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0]


def test_actions_beyond_the_own_row_are_holes_of_the_opponents_row():
    game = position(
        "gabata_i",
        """
        1 1 1 1 1 1
        1 1 0 1 1 1
        """,
        player=NORTH,
        territory=[1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
    )
    assert game.legal_actions == (0, 1, 2, 3, 4, 5, 6, 7)
    game.play(7)  # hole 1
    assert_drawn(
        game,
        """
        1 1 1 1 1 1
        1 0 1 1 1 1
        """,
    )


@pytest.mark.parametrize("ruleset", FAMILIES)
def test_direction_changes_no_move(ruleset):
    one = rulesets.lookup(ruleset)
    other = replace(
        one, name="mirrored", direction="clockwise" if one.direction == "anticlockwise" else "anticlockwise"
    )
    games = [Position(one), Position(other)]
    for n in range(30):
        if games[0].is_over:
            break
        action = games[0].legal_actions[n % len(games[0].legal_actions)]
        assert games[0].play(action) == games[1].play(action)
        assert (games[0].games == games[1].games).all()


@pytest.mark.parametrize("ruleset", [name for name in rulesets.names() if name != "gabata_3"])
def test_south_moves_first_in_round_1(ruleset):
    start = Position(ruleset)
    assert (start.player, start.starter, start.round) == (SOUTH, SOUTH, 1)


# Section 3, 1: the hole chosen


@pytest.mark.parametrize("ruleset", FAMILIES)
def test_a_turn_starts_from_a_free_hole_with_seeds_in_ones_territory(ruleset):
    game = position(
        ruleset,
        """
        4 4s 4n 4 4 4
        4 4s 4n 0 2 1
        """,
    )
    assert game.legal_actions == (0, 4, 5)
    for action, why in {
        1: ("hole 1", "South", "0, 4, 5"),
        2: ("hole 2", "North"),
        3: "hole 3",
        6: ("hole 6", "North"),
        12: "hole 12",
        -1: "hole -1",
        0.0: "hole 0.0",
    }.items():
        before = game.copy()
        with raises(IllegalMove, why):
            game.play(action)
        assert game == before


# Section 3, 2: the lap


@pytest.mark.parametrize("ruleset", FAMILIES)
@pytest.mark.parametrize(
    ("handful", "sown", "last"),
    [
        (12, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 0),  # the last seed falls into the emptied hole
        (11, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 11),
    ],
)
def test_a_lap_that_comes_round_does_not_skip_the_emptied_hole(ruleset, handful, sown, last):
    game = position(
        ruleset,
        f"""
        0 0 0 0 0 0
        {handful} 0 0 0 0 0
        """,
    )
    turn = game.play(0)
    assert turn.laps == 1  # the last hole was empty
    if ruleset == "layli_goobalay" and last == 0:  # empty, on the mover's side, one seed opposite: a capture
        assert turn.captured == 2
        sown = [0, *sown[1:11], 0]
    assert game.seeds.tolist() == sown


def test_a_lap_can_go_twice_round():
    game = position(
        "gabata_i",
        """
        0 0 0 0 0 0
        26 0s 0s 0 0 0
        """,
    )
    assert game.play(0).laps == 1  # 26 = 2 * 12 + 2: the last seed falls into one's own weg
    assert_drawn(
        game,
        """
        2 2 2 2 2 2
        2 3s 3s 2 2 2
        """,
    )


@pytest.mark.parametrize("ruleset", FAMILIES)
def test_laps_pass_through_owned_holes_like_any_other(ruleset):
    game = position(
        ruleset,
        """
        0 0n 0s 0 0 0
        4 0n 0s 0 0 0
        """,
    )
    game.play(0)
    assert game.seeds[1] == 1
    assert game.seeds[2] == 1


# Section 3, 3: Layli Goobalay


def test_layli_a_last_seed_in_ones_own_uur_ends_the_turn():
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 5s 0
        0 0 0 1 2s 0
        """,
    )
    turn = game.play(3)
    assert (turn.laps, turn.captured, turn.new_owned, game.player) == (1, 0, (), NORTH)
    assert game.seeds[4] == 3


def test_layli_a_last_seed_in_the_opponents_uur_ends_the_turn_and_takes_nothing():
    for ruleset in ("layli_goobalay", *LUDII_LAYLI):
        game = position(
            ruleset,
            """
            1 0 0 0 5n 0
            0 0 0 1 2n 1
            """,
        )
        turn = game.play(3)
        assert (turn.laps, turn.captured, turn.new_owned, game.player) == (1, 0, (), NORTH)
        assert game.seeds[4] == 3


def test_layli_a_last_seed_in_an_empty_uur_on_the_movers_side_captures_nothing():
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 5n 0
        0 0 0 1 0n 1
        """,
    )
    assert game.play(3).captured == 0
    assert (game.seeds[4], game.seeds[7]) == (1, 5)


@pytest.mark.parametrize("held", [1, 2, 3, 4, 5])
def test_layli_any_occupied_free_hole_relays_on_both_sides(held):
    # The seeds in hole 5 (South's) or hole 6 (North's) are sown on together with the last one.
    own = position("layli_goobalay", f"1 0 0 0 0 0\n0 0 0 0 1 {held}")
    theirs = position("layli_goobalay", f"1 0 0 0 0 {held}\n0 0 0 0 0 1")
    assert own.play(4).laps >= 2
    assert own.seeds[5] == 0
    assert theirs.play(5).laps >= 2
    assert theirs.seeds[6] == 0


def test_layli_an_empty_hole_on_the_opponents_side_ends_the_turn():
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 0 0
        5 0 0 0 1 1
        """,
    )
    turn = game.play(5)
    assert (turn.laps, turn.captured, turn.new_owned) == (1, 0, ())
    assert_drawn(
        game,
        """
        1 0 0 0 0 1
        5 0 0 0 1 0
        """,
    )


def test_layli_empty_facing_empty_leaves_the_last_seed():
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 0 0
        0 0 0 1 0 0
        """,
    )
    turn = game.play(3)
    assert (turn.captured, turn.new_owned, game.stores) == (0, (), (0, 0))
    assert_drawn(
        game,
        """
        1 0 0 0 0 0
        0 0 0 0 1 0
        """,
    )


def test_three_opposite_makes_an_uur():
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 3 0
        0 0 0 1 0 0
        """,
    )
    turn = game.play(3)
    assert (turn.captured, turn.new_owned, game.stores) == (0, (4, 7), (0, 0))
    assert_drawn(
        game,
        """
        1 0 0 0 2s 0
        0 0 0 0 2s 0
        """,
    )


def test_north_makes_an_uur_too():
    game = position(
        "layli_goobalay",
        """
        0 0 0 0 0 1
        1 0 0 0 3 0
        """,
        player=NORTH,
    )
    assert game.play(0).new_owned == (4, 7)
    assert_drawn(
        game,
        """
        0 0 0 0 2n 0
        1 0 0 0 2n 0
        """,
    )


def test_three_opposite_counts_what_the_lap_has_just_sown_there():
    game = position(
        "layli_goobalay",
        """
        4 2 1 1 1 0
        12 0 0 0 0 0
        """,
        stores=(0, 0),
    )
    # Twelve seeds end in hole 0. Hole 11 opposite has grown from 4 to 5: a capture of 6 seeds.
    assert game.play(0).captured == 6
    game = position(
        "layli_goobalay",
        """
        2 2 1 1 1 0
        12 0 0 0 0 0
        """,
    )
    assert game.play(0).new_owned == (0, 11)  # from 2 to 3: an uur
    assert_drawn(
        game,
        """
        2s 3 2 2 2 1
        2s 1 1 1 1 1
        """,
    )


@pytest.mark.parametrize("facing", [1, 2, 4, 5, 9])
def test_any_other_number_opposite_is_captured_with_the_last_seed(facing):
    game = position(
        "layli_goobalay",
        f"""
        1 0 0 0 {facing} 0
        0 0 0 1 0 0
        """,
        stores=(5, 2),
    )
    turn = game.play(3)
    assert (turn.captured, turn.new_owned, game.stores) == (facing + 1, (), (5 + facing + 1, 2))
    assert_drawn(
        game,
        """
        1 0 0 0 0 0
        0 0 0 0 0 0
        """,
    )


@pytest.mark.parametrize("facing", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("ruleset", LUDII_LAYLI)
def test_ludii_captures_the_opposite_seeds_only(ruleset, facing):
    game = position(
        ruleset,
        f"""
        1 0 0 0 {facing} 0
        0 0 0 1 0 0
        """,
    )
    assert game.play(3).captured == facing
    assert_drawn(
        game,
        """
        1 0 0 0 0 0
        0 0 0 0 1 0
        """,
    )


@pytest.mark.parametrize("ruleset", LUDII_LAYLI)
def test_ludii_makes_an_uur_of_three_opposite_as_well(ruleset):
    game = position(ruleset, "1 0 0 0 3 0\n0 0 0 1 0 0")
    assert game.play(3).new_owned == (4, 7)
    assert_drawn(game, "1 0 0 0 2s 0\n0 0 0 0 2s 0")


def test_a_capture_can_end_a_relay():
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 5 0
        0 1 2 0 0 0
        """,
    )
    turn = game.play(1)  # one seed to hole 2, three sown on to hole 5: no seed opposite
    assert (turn.laps, turn.captured) == (2, 0)
    game = position(
        "layli_goobalay",
        """
        1 0 0 0 0 5
        0 1 2 0 0 0
        """,
    )
    turn = game.play(1)
    assert (turn.laps, turn.captured) == (2, 6)


# Section 3, 3: Leyla and Gabata


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
def test_a_last_seed_in_ones_own_owned_hole_ends_the_turn(ruleset):
    for held in (0, 3, 5):
        game = position(
            ruleset,
            f"""
            1 0 0 0 {held}s 0
            1 0 0 0 2s 2
            """,
        )
        turn = game.play(5)  # into an own hole on the other side
        assert (turn.laps, turn.captured, turn.new_owned, game.player) == (1, 0, (), NORTH)
        assert game.seeds[7] == held + 1


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
@pytest.mark.parametrize(("held", "left"), [(1, 0), (2, 1), (3, 2), (4, 3), (9, 8)])
def test_ransom_takes_the_last_seed_and_one_more(ruleset, held, left):
    game = position(
        ruleset,
        f"""
        1 0 0 0 2n 0
        1 0 0 1 {held}n 0
        """,
        stores=(3, 1),
    )
    turn = game.play(3)
    assert (turn.laps, turn.captured, turn.new_owned, game.stores) == (1, 2, (), (5, 1))
    assert_drawn(
        game,
        f"""
        1 0 0 0 2n 0
        1 0 0 0 {left}n 0
        """,
    )


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
def test_ransom_of_an_empty_owned_hole_takes_the_last_seed_alone(ruleset):
    game = position(
        ruleset,
        """
        1 0 0 0 2n 0
        1 0 0 1 0n 0
        """,
        stores=(3, 1),
    )
    turn = game.play(3)
    assert (turn.laps, turn.captured, game.stores) == (1, 1, (4, 1))
    assert_drawn(
        game,
        """
        1 0 0 0 2n 0
        1 0 0 0 0n 0
        """,
    )


@pytest.mark.parametrize("ruleset", ["ludii_gabata_i"])
@pytest.mark.parametrize(("held", "captured", "left"), [(0, 0, 1), (1, 2, 0), (4, 2, 3)])
def test_ludii_gabata_leaves_a_last_seed_in_an_empty_weg(ruleset, held, captured, left):
    game = position(
        ruleset,
        f"""
        1 0 0 0 0 0
        1 0 0 1 {held}n 0
        """,
    )
    assert game.play(3).captured == captured
    assert game.seeds[4] == left


def test_ludii_leyla_ransoms_an_empty_hole_as_pankhurst_does():
    game = position("ludii_leyla", "1 0 0 0 2n 0\n1 0 0 1 0n 0")
    assert game.play(3).captured == 1


def test_a_fourth_seed_on_the_opponents_side_takes_the_hole_and_its_opposite_in_leyla():
    for ruleset in ("leyla", "ludii_leyla"):
        game = position(
            ruleset,
            """
            1 0 0 0 3 2
            1 0 0 0 9 2
            """,
        )
        turn = game.play(5)  # one seed to 6, one to 7, where it is the fourth
        assert (turn.laps, turn.captured, turn.new_owned, game.stores) == (1, 0, (4, 7), (0, 0))
        assert_drawn(
            game,
            """
            1 0 0 0 4s 3
            1 0 0 0 9s 0
            """,
        )


def test_a_leyla_pair_may_have_an_empty_opposite():
    game = position("leyla", "1 0 0 0 3 2\n1 0 0 0 0 2")
    assert game.play(5).new_owned == (4, 7)
    assert_drawn(game, "1 0 0 0 4s 3\n1 0 0 0 0s 0")


def test_a_fourth_seed_on_the_opponents_side_makes_a_weg_of_that_hole_alone():
    for ruleset in ("gabata_i", "gabata_3", "ludii_gabata_i"):
        game = position(
            ruleset,
            """
            1 0 0 0 3 2
            1 0 0 0 9 2
            """,
        )
        turn = game.play(5)
        assert (turn.laps, turn.captured, turn.new_owned) == (1, 0, (7,))
        assert_drawn(
            game,
            """
            1 0 0 0 4s 3
            1 0 0 0 9 0
            """,
        )


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
def test_a_fourth_seed_on_ones_own_side_relays(ruleset):
    game = position(
        ruleset,
        """
        1 0 0 0 0 0
        1 1 3 0 0 0
        """,
    )
    turn = game.play(1)
    assert (turn.laps, turn.new_owned) == (2, ())
    assert_drawn(
        game,
        """
        1 0 0 0 0 1
        1 0 0 1 1 1
        """,
    )


@pytest.mark.parametrize("ruleset", LUDII_GABATA)
def test_ludii_gabata_makes_a_weg_of_four_on_either_side(ruleset):
    width = rulesets.lookup(ruleset).row_width
    seeds = [1, 1, 3] + [0] * (width - 3) + [0] * (width - 1) + [1]
    game = Position(ruleset, seeds)
    turn = game.play(1)
    assert (turn.laps, turn.new_owned, game.seeds[2], game.owner[2]) == (1, (2,), 4, SOUTH)


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
@pytest.mark.parametrize("held", [1, 2, 4, 5])
def test_any_number_but_three_on_the_opponents_side_relays(ruleset, held):
    game = position(
        ruleset,
        f"""
        1 0 0 0 0 {held}
        1 0 0 0 0 1
        """,
    )
    turn = game.play(5)
    assert turn.laps >= 2
    assert (game.seeds[6], turn.new_owned) == (0, ())


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
@pytest.mark.parametrize("held", [1, 2, 3, 4, 5])
def test_any_number_on_ones_own_side_relays(ruleset, held):
    game = position(
        ruleset,
        f"""
        1 0 0 0 0 0
        1 0 0 0 1 {held}
        """,
    )
    assert game.play(4).laps >= 2
    assert game.seeds[5] == 0


@pytest.mark.parametrize("ruleset", LEYLA_AND_GABATA)
def test_an_empty_hole_ends_the_turn_on_either_side_whatever_lies_opposite(ruleset):
    for facing in (0, 1, 3, 5):
        game = position(
            ruleset,
            f"""
            1 0 0 0 {facing} 0
            1 0 0 1 0 {facing}
            """,
        )
        turn = game.play(3)  # hole 4, South's own
        assert (turn.laps, turn.captured, turn.new_owned) == (1, 0, ())
        assert (game.seeds[4], game.seeds[7]) == (1, facing)
    game = position(ruleset, "1 0 0 0 3 0\n1 0 0 0 0 1")
    turn = game.play(5)  # hole 6, North's
    assert (turn.laps, turn.captured, turn.new_owned, game.seeds[6]) == (1, 0, (), 1)


def test_a_relay_can_end_in_a_weg():
    game = position(
        "gabata_i",
        """
        1 0 0 0 3 0
        1 0 1 2 0 0
        """,
    )
    turn = game.play(2)  # to hole 3, three sown on to hole 6, which was empty
    assert (turn.laps, turn.new_owned) == (2, ())
    game = position(
        "gabata_i",
        """
        1 0 0 0 0 3
        1 0 1 2 0 0
        """,
    )
    turn = game.play(2)
    assert (turn.laps, turn.new_owned) == (2, (6,))


def test_side_means_territory_in_a_later_gabata_round():
    south_has_six_and_seven = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    drawing = """
        1 0 0 0 3 2
        1 0 0 0 0 2
        """
    game = position("gabata_i", drawing)
    assert game.legal_actions == (0, 5)
    assert game.play(5).new_owned == (7,)
    game = position("gabata_i", drawing, territory=south_has_six_and_seven)
    assert game.legal_actions == (0, 5, 6, 7)
    turn = game.play(5)  # a fourth seed in South's own hole 7 is sown on
    assert (turn.laps, turn.new_owned, game.seeds[7]) == (3, (), 0)


def test_four_in_a_hole_of_the_own_row_that_was_lost_makes_a_weg():
    north_has_zero_and_one = [1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    drawing = """
        0 0 0 0 0 1
        3 0 0 0 0 7
        """
    game = position("gabata_i", drawing, territory=north_has_zero_and_one, stores=(4, 0))
    assert game.legal_actions == (5,)
    assert game.play(5).new_owned == (0,)  # seven seeds from hole 5 reach hole 0
    assert (game.seeds[0], game.owner[0]) == (4, SOUTH)


# Section 3: endless relays


def endless(**fields):
    """Return the published position in which action 5 never ends."""
    return position(
        "layli_goobalay",
        """
        1 0 3 0 1 0
        3 2 1 8 1 8
        """,
        **fields,
    )


def test_an_endless_turn_puts_every_seed_back_and_ends_the_round():
    game = endless(stall=7, stores=(9, 11))
    before = game.copy()
    turn = game.play(5)
    assert turn == (SOUTH, 5, 1000, 0, (), True)
    assert (game.is_over, game.end, game.legal_actions) == (True, "endless", ())
    assert (game.seeds == before.seeds).all()
    assert (game.stores, game.player, game.stall) == (before.stores, SOUTH, 7)


def test_an_endless_turn_is_counted_as_the_board_stands():
    game = endless(stores=(9, 11))
    game.play(5)
    assert game.counts == (9 + 23, 11 + 5)
    assert game.winner == SOUTH


def laps_of_a_long_relay():
    """Yield the board and the hole before each lap of a relay of 1,193 laps, and the laps to come."""
    seeds = [12, 12, 7, 16, 14, 10, 15, 11, 20, 12, 8, 7]
    game = naive.bare_game(naive.Rules(width=6, seeds=12, clockwise=False, landing="uur"), SOUTH)
    game.seeds, hole = seeds, 3
    for lap in range(1193):
        yield list(game.seeds), hole, 1193 - lap
        hole = naive.sow_lap(game, hole)
    assert game.seeds[hole] == 1  # it was empty: here the relay ends


def test_the_thousandth_lap_may_end_a_turn_and_one_more_makes_it_endless():
    ruleset = Ruleset(name="twelve_seeds", seeds_per_hole=12)
    seen = set()
    for seeds, hole, to_come in laps_of_a_long_relay():
        if 990 <= to_come <= 1010:
            game = Position(ruleset, seeds, player=hole // 6)
            turn = game.play(hole % 6)
            assert turn.endless == (to_come > 1000)
            assert turn.laps == min(to_come, 1000)
            assert (game.end == "endless") == turn.endless
            seen.add(to_come)
    assert seen == set(range(990, 1011))


@pytest.mark.parametrize(
    ("ruleset", "drawing", "action"),
    [
        ("leyla", "3 7 5 6 0 1\n2 1 6 5 4 8", 5),
        ("gabata_i", "0 7 2 1 4 0\n2 6 3 1 7 1", 2),
    ],
)
def test_leyla_and_gabata_have_endless_relays_too(ruleset, drawing, action):
    game = position(ruleset, drawing)
    assert game.play(action).endless
    assert_drawn(game, drawing)


# Section 4: the end of a round


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla"])
def test_the_round_ends_when_the_player_to_move_has_no_legal_hole(ruleset):
    game = position(
        ruleset,
        """
        0 0 0 0 0 0
        1 0 0 0 2 0
        """,
        stores=(1, 2),
    )
    game.play(0)
    assert (game.is_over, game.end, game.player, game.legal_actions) == (True, "stuck", NORTH, ())
    with raises(IllegalMove, "stuck", "hole 0"):
        game.play(0)


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla"])
def test_owned_holes_do_not_save_a_player_from_being_stuck(ruleset):
    game = position(
        ruleset,
        """
        0 0 0 4n 0 0
        1 0 0 4n 2 0
        """,
    )
    game.play(0)
    assert (game.end, game.counts) == ("stuck", (3, 8))


@pytest.mark.parametrize(
    ("ruleset", "end"),
    [
        ("layli_goobalay", ""),
        ("leyla", ""),
        ("ludii_leyla", "stuck"),
        *((name, "stuck") for name in LUDII_LAYLI),
    ],
)
def test_ludii_ends_the_round_when_either_player_is_stuck(ruleset, end):
    game = position(
        ruleset,
        """
        1 0 0 0 0 0
        0 0 0 0 0 1
        """,
    )
    game.play(5)  # South has sown the last seed; North still has two holes
    assert (game.end, game.player) == (end, NORTH)


@pytest.mark.parametrize("ruleset", ["gabata_i", "ludii_gabata_i"])
def test_a_gabata_player_without_a_legal_hole_passes(ruleset):
    game = position(
        ruleset,
        """
        0 0 0 0 0 0
        1 0 0 0 0 0
        """,
    )
    for turn, hole in enumerate(range(5)):
        assert (game.player, game.legal_actions, game.stall) == (SOUTH, (hole,), turn)
        game.play(hole)
    game.play(5)  # now North has it, and South passes
    assert (game.player, game.legal_actions) == (NORTH, (0,))


def test_a_position_set_up_for_a_stuck_gabata_player_is_his_opponents():
    game = position("gabata_i", "0 0 0 0 0 0\n1 0 0 0 0 0", player=NORTH)
    assert (game.player, game.is_over) == (SOUTH, False)


def test_a_gabata_round_ends_when_neither_player_has_a_legal_hole():
    game = position(
        "gabata_i",
        """
        0 0 0 0 5s 3
        0 0 0 0 0 1
        """,
    )
    game.play(5)
    assert (game.end, game.counts) == ("stuck", (9, 0))


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
@pytest.mark.parametrize(("stall", "end"), [(48, ""), (49, "stall")])
def test_fifty_turns_with_the_same_number_of_free_seeds_end_the_round(ruleset, stall, end):
    game = position(
        ruleset,
        """
        0 0 0 0 0 1
        1 0 0 0 0 0
        """,
        stall=stall,
    )
    game.play(0)
    assert (game.stall, game.end) == (stall + 1, end)


def test_fifty_quiet_turns_from_the_start_of_the_counter():
    # In Gabata, a lone seed is sown round the board without end.
    game = position("gabata_i", "0 0 0 0 0 0\n1 0 0 0 0 0")
    num_turns = 0
    while not game.is_over:
        game.play(game.legal_actions[0])
        num_turns += 1
    assert (game.end, num_turns, game.stall) == ("stall", 50, 50)
    assert game.counts == (1, 0)  # four times round the board and two more holes


def test_passes_are_not_turns_of_the_stall_counter():
    game = position("gabata_i", "0 0 0 0 0 0\n1 0 0 0 0 0", stall=3)
    game.play(0)  # North passes
    assert (game.player, game.stall) == (SOUTH, 4)


@pytest.mark.parametrize(
    ("ruleset", "drawing", "action", "what"),
    [
        ("layli_goobalay", "1 0 0 0 2 1\n0 0 0 1 0 1", 3, "a capture"),
        ("layli_goobalay", "1 0 0 0 3 1\n0 0 0 1 0 1", 3, "an uur"),
        ("layli_goobalay", "1 0 0 0 2n 1\n0 0 0 1 2n 1", 3, "a last seed in an owned hole"),
        ("layli_goobalay", "1 0 0 0 2s 1\n0 0 0 2 2s 0", 3, "a seed on the way in an owned hole"),
        ("leyla", "1 0 0 0 0 3\n0 0 0 0 0 1", 5, "a captured pair"),
        ("gabata_i", "1 0 0 0 0 3\n0 0 0 0 0 1", 5, "a weg"),
        ("gabata_i", "1 0 0 0 0 3n\n1 0 0 0 0 1", 5, "a ransom of two"),
        ("gabata_i", "1 0 0 0 0 0n\n1 0 0 0 0 1", 5, "a ransom of one"),
    ],
)
def test_fewer_free_seeds_set_the_stall_counter_to_zero(ruleset, drawing, action, what):
    game = position(ruleset, drawing, stall=49)
    free = game.seeds[game.owner == NO_PLAYER].sum()
    game.play(action)
    assert game.seeds[game.owner == NO_PLAYER].sum() < free, what
    assert (game.stall, game.end) == (0, ""), what


def test_a_stuck_round_is_called_stuck_even_at_the_fiftieth_quiet_turn():
    game = position("leyla", "0 0 0 0 0 0\n1 0 0 0 0 0", stall=49)
    game.play(0)
    assert (game.stall, game.end) == (50, "stuck")


def test_the_count_is_store_owned_holes_wherever_they_lie_and_free_seeds_in_ones_territory():
    game = position(
        "gabata_i",
        """
        0 0 2s 2 7s 3
        1 2n 0 3n 0 1
        """,
        stores=(4, 5),
        territory=[0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    )
    assert game.counts == (4 + (7 + 2) + (1 + 1 + 3), 5 + (2 + 3) + 2)


@pytest.mark.parametrize(("counts", "winner"), [((25, 23), SOUTH), ((23, 25), NORTH), ((24, 24), None)])
def test_more_seeds_win_the_round_and_equal_is_a_draw(counts, winner):
    assert finished("layli_goobalay", counts).winner == winner


def test_a_running_round_has_no_winner():
    assert Position("leyla", stores=(0, 0)).winner is None
