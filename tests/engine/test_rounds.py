"""One test per rule of the next round: docs/reference/rules.md, section 5, and the openings."""

from dataclasses import replace

import pytest
from boards import NO_PLAYER, NORTH, SOUTH, assert_drawn, finished
from error_checks import raises

from mancala_env import InvalidPosition, Position, Ruleset, rulesets


def next_round(ruleset: str | Ruleset, counts: tuple[int, int], **fields) -> Position:
    following = finished(ruleset, counts, **fields).next_round()
    assert following is not None
    return following


# Section 5: whose turn


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla_gobale_ii", "leyla", "gabata_i"])
@pytest.mark.parametrize("first", [SOUTH, NORTH])
def test_the_players_start_rounds_by_turns(ruleset, first):
    game = Position(ruleset, player=first)
    total = rulesets.lookup(ruleset).total_seeds
    rounds = [game]
    for _ in range(3):
        last = rounds[-1]
        rounds.append(next_round(ruleset, (total // 2, total // 2), starter=last.starter, round=last.round))
    assert [game.starter for game in rounds] == [first, 1 - first, first, 1 - first]
    assert [game.player for game in rounds] == [first, 1 - first, first, 1 - first]
    assert [game.round for game in rounds] == [1, 2, 3, 4]


def test_nothing_is_owned_and_the_stall_counter_stands_at_zero_in_a_new_round():
    game = Position("layli_goobalay", [0] * 12, owner=[0, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0],
                    stores=(28, 20), stall=17)  # fmt: skip
    following = game.next_round()
    assert following is not None
    assert following.owner.tolist() == [NO_PLAYER] * 12
    assert following.stall == 0


def test_a_running_round_has_no_next():
    with raises(InvalidPosition, "round 1", "0, 1, 2, 3, 4, 5"):
        Position("leyla").next_round()


def test_a_position_with_seeds_missing_has_no_next_round():
    with raises(InvalidPosition, 48, 3):
        finished("leyla", (20, 25)).next_round()


@pytest.mark.parametrize("ruleset", ["layli_goobalay_long", "layli_goobalay_8", "ludii_leyla",
                                     "ludii_gabata_i", "ludii_leyla_gobale_gabradarre"])  # fmt: skip
def test_some_rulesets_are_a_single_round(ruleset):
    total = rulesets.lookup(ruleset).total_seeds
    for counts in ((total // 2, total // 2), (total // 2 - 2, total // 2 + 2)):
        game = finished(ruleset, counts)
        assert game.next_round() is None
        assert game.match_winner == game.winner


# Section 5.1: Layli Goobalay


def test_the_loser_spreads_his_seeds_and_the_winner_mirrors_him():
    game = next_round("layli_goobalay", (32, 16))
    assert_drawn(
        game,
        """
        2 2 3 3 3 3
        2 2 3 3 3 3
        """,
    )
    assert (game.stores, game.counts) == ((16, 0), (32, 16))
    game = next_round("layli_goobalay", (16, 32))
    assert_drawn(
        game,
        """
        3 3 3 3 2 2
        3 3 3 3 2 2
        """,
    )
    assert (game.stores, game.counts) == ((0, 16), (16, 32))


@pytest.mark.parametrize("counts", range(6, 25))
def test_mirror_set_up_for_every_count(counts):
    game = next_round("layli_goobalay", (counts, 48 - counts))
    row = game.seeds[:6].tolist()
    assert sum(row) == counts
    assert max(row) - min(row) <= 1
    assert row == sorted(row, reverse=True)  # larger holes first in sowing order
    assert game.seeds[6:].tolist() == row[::-1]  # opposite
    assert game.stores == (0, 48 - 2 * counts)


@pytest.mark.parametrize(("ruleset", "seeds"), [("layli_goobalay", 4), ("leyla_gobale_ii", 5)])
def test_a_tie_sets_up_equal_halves(ruleset, seeds):
    game = next_round(ruleset, (6 * seeds, 6 * seeds))
    assert game.seeds.tolist() == [seeds] * 12
    assert game.stores == (0, 0)


@pytest.mark.parametrize(("counts", "winner"), [((43, 5), SOUTH), ((5, 43), NORTH), ((48, 0), SOUTH)])
def test_a_layli_match_is_over_when_the_loser_cannot_put_a_seed_in_each_hole(counts, winner):
    game = finished("layli_goobalay", counts)
    assert game.next_round() is None
    assert game.match_winner == winner


def test_one_seed_in_each_hole_is_enough_to_continue():
    game = next_round("layli_goobalay", (42, 6))
    assert game.seeds.tolist() == [1] * 12
    assert game.stores == (36, 0)


# Section 5.2: Leyla. Clockwise: a player's rightmost hole is their first in sowing order.


@pytest.mark.parametrize(
    ("counts", "filled", "stores"),
    [((24, 24), 6, (0, 0)), ((16, 32), 4, (0, 16)), ((40, 8), 2, (32, 0)), ((4, 44), 1, (0, 40))],
)
def test_each_player_fills_holes_of_four_from_his_rightmost(counts, filled, stores):
    game = next_round("leyla", counts)
    row = [4] * filled + [0] * (6 - filled)
    assert game.seeds.tolist() == row + row
    assert (game.stores, game.counts, game.debts) == (stores, counts, (0, 0))


def test_rightmost_is_the_last_hole_of_an_anticlockwise_row():
    ruleset = replace(rulesets.lookup("leyla"), name="turned", direction="anticlockwise")
    game = next_round(ruleset, (16, 32))
    assert game.seeds.tolist() == [0, 0, 4, 4, 4, 4] * 2


def test_the_holes_left_empty_are_in_play():
    game = next_round("leyla", (8, 40))
    assert game.owner.tolist() == [NO_PLAYER] * 12
    while not game.is_over and not game.seeds[2:6].any():
        game.play(game.legal_actions[-1])
    assert game.seeds[2:6].any()


@pytest.mark.parametrize(
    ("counts", "after"), [((13, 35), (12, 36)), ((35, 13), (36, 12)), ((5, 43), (4, 44))]
)
def test_one_seed_over_goes_to_the_other_player(counts, after):
    game = next_round("leyla", counts)
    assert (game.counts, game.debts) == (after, (0, 0))


@pytest.mark.parametrize(
    ("counts", "after"), [((15, 33), (16, 32)), ((33, 15), (32, 16)), ((3, 45), (4, 44))]
)
def test_three_seeds_over_draw_the_others_odd_seed(counts, after):
    game = next_round("leyla", counts)
    assert (game.counts, game.debts) == (after, (0, 0))


@pytest.mark.parametrize(
    ("counts", "after", "debts"),
    [((14, 34), (16, 32), (2, 0)), ((34, 14), (32, 16), (0, 2)), ((6, 42), (8, 40), (2, 0))],
)
def test_two_seeds_over_are_helped_out_with_a_loan_of_two(counts, after, debts):
    game = next_round("leyla", counts)
    assert (game.counts, game.debts) == (after, debts)


def test_a_debt_is_repaid_before_anything_else():
    game = next_round("leyla", (22, 26), debts=(2, 0))  # 20 and 28
    assert (game.counts, game.debts) == ((20, 28), (0, 0))
    game = next_round("leyla", (25, 23), debts=(2, 0))  # 23 and 25: now South is the weaker player
    assert (game.counts, game.debts) == ((24, 24), (0, 0))


def test_a_debt_can_be_followed_by_a_new_loan():
    game = next_round("leyla", (28, 20), debts=(0, 2))  # 30 and 18: two over
    assert (game.counts, game.debts) == ((28, 20), (0, 2))


def test_a_player_who_does_not_hold_his_debt_keeps_it():
    game = next_round("leyla", (3, 45), debts=(4, 0))
    assert (game.counts, game.debts) == ((4, 44), (4, 0))
    game = next_round("leyla", (6, 42), debts=(8, 0))  # and a loan on top
    assert (game.counts, game.debts) == ((8, 40), (10, 0))


@pytest.mark.parametrize(
    ("counts", "debts", "winner"),
    [
        ((2, 46), (0, 0), NORTH),
        ((46, 2), (0, 0), SOUTH),
        ((1, 47), (0, 0), NORTH),
        ((0, 48), (0, 0), NORTH),
        ((44, 4), (0, 2), SOUTH),  # two after the debt
        ((30, 18), (30, 0), NORTH),  # nothing after the debt: the other player has won
    ],
)
def test_a_leyla_match_is_over_when_a_player_cannot_fill_a_hole(counts, debts, winner):
    game = finished("leyla", counts, debts=debts)
    assert game.next_round() is None
    assert game.match_winner == winner


def test_every_remainder_fills_the_same_number_of_holes_on_both_sides():
    for smaller in range(3, 25):
        game = next_round("leyla", (smaller, 48 - smaller))
        south, north = game.seeds[:6].tolist(), game.seeds[6:].tolist()
        assert south == north
        assert set(south) <= {0, 4}
        assert sum(south) == (smaller + 1) // 4 * 4 + (4 if smaller % 4 == 2 else 0)
        assert sum(game.counts) == 48
        assert game.stores[0] == 0


# Section 5.3: Gabata. Anticlockwise: the holes next to the stronger player's rightmost are the
# opponent's first in sowing order.


@pytest.mark.parametrize("surplus", range(24))
@pytest.mark.parametrize("stronger", [SOUTH, NORTH])
def test_a_surplus_is_worth_the_opponents_leftmost_holes(surplus, stronger):
    counts = (24 + surplus, 24 - surplus) if stronger == SOUTH else (24 - surplus, 24 + surplus)
    gained = surplus // 4 + (1 if surplus % 4 == 3 else 0)  # 1 and 2 over: the hole stays
    if gained == 6:
        assert finished("gabata_i", counts).next_round() is None
        return
    game = next_round("gabata_i", counts)
    first = 6 if stronger == SOUTH else 0
    changed = [h for h in range(12) if game.territory[h] != h // 6]
    assert changed == list(range(first, first + gained))
    assert game.seeds.tolist() == [4] * 12
    assert game.stores == (0, 0)


def test_a_clockwise_surplus_is_worth_the_last_holes_in_sowing_order():
    ruleset = replace(rulesets.lookup("gabata_i"), name="turned", direction="clockwise")
    game = next_round(ruleset, (32, 16))
    assert game.territory.tolist() == [0] * 6 + [1] * 4 + [0, 0]
    assert Position.from_text(game.to_text(), ruleset) == game


def test_territory_is_counted_from_the_rows_in_every_round():
    game = next_round("gabata_i", (20, 28), territory=[0] * 9 + [1] * 3)
    assert game.territory.tolist() == [1] + [0] * 5 + [1] * 6


@pytest.mark.parametrize(("counts", "winner"), [((47, 1), SOUTH), ((0, 48), NORTH), ((1, 47), NORTH)])
def test_a_gabata_match_is_over_when_a_player_would_own_no_hole(counts, winner):
    game = finished("gabata_i", counts)
    assert game.next_round() is None
    assert game.match_winner == winner


@pytest.mark.parametrize(("ruleset", "width"), [("gabata_five_holes", 5), ("gabata_seven_holes", 7)])
def test_gabata_surplus_on_the_other_boards(ruleset, width):
    game = next_round(ruleset, (4 * width + 7, 4 * width - 7))  # one hole, and one for the three over
    assert game.territory.tolist() == [0] * (width + 2) + [1] * (width - 2)


# Section 5.4


@pytest.mark.parametrize(("counts", "winner"), [((30, 18), SOUTH), ((18, 30), NORTH), ((24, 24), None)])
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_the_last_count_decides_a_match_that_could_continue(ruleset, counts, winner):
    game = finished(ruleset, counts)
    assert game.next_round() is not None
    assert game.match_winner == winner


def test_a_running_match_has_no_winner():
    assert Position("leyla").match_winner is None


# Section 6: the opening of Gabata 3


def test_south_opens_gabata_3():
    game = Position("gabata_3")
    assert_drawn(
        game,
        """
        1 11 1 0 4s 12s
        2 1 11 1 3 1
        """,
    )
    assert (game.player, game.starter, game.stores, game.stall) == (NORTH, SOUTH, (0, 0), 0)


def test_north_opens_gabata_3_as_south_does_from_his_seat():
    game = Position("gabata_3", player=NORTH)
    assert_drawn(
        game,
        """
        1 3 1 11 1 2
        12n 4n 0 1 11 1
        """,
    )
    assert (game.player, game.starter, game.stores, game.stall) == (SOUTH, NORTH, (0, 0), 0)


@pytest.mark.parametrize("starter", [SOUTH, NORTH])
def test_gabata_3_opens_in_later_rounds_too(starter):
    game = next_round("gabata_3", (24, 24), starter=1 - starter)
    first = Position("gabata_3", player=starter)
    assert (game.seeds == first.seeds).all()
    assert (game.owner == first.owner).all()
    assert (game.player, game.starter, game.round) == (1 - starter, starter, 2)


def test_a_gabata_3_starter_without_the_last_eight_passes():
    # South kept hole 5 only. It gathers the eights there and takes hole 6, but it may not sow hole 4.
    game = next_round("gabata_3", (2, 46), starter=NORTH)
    assert_drawn(
        game,
        """
        0 8 0 8 0 8s
        8 0 8 0 8 0
        """,
    )
    assert game.territory.tolist() == [1] * 5 + [0] + [1] * 6
    assert (game.starter, game.player, game.stall, game.is_over) == (SOUTH, NORTH, 0, False)
    assert game.legal_actions == (2, 4, 6, 8, 10)


@pytest.mark.parametrize("starter", [SOUTH, NORTH])
def test_no_gabata_3_round_is_over_at_its_opening(starter):
    for south in range(2, 47):
        following = finished("gabata_3", (south, 48 - south), starter=1 - starter).next_round()
        assert following is not None
        assert not following.is_over
        assert following.legal_actions


# Section 7: Ludii's Somaliland


def test_souths_first_turn_in_ludiis_somaliland_starts_from_his_rightmost_hole():
    game = Position("ludii_leyla_gobale_somaliland")
    assert game.legal_actions == (0,)  # clockwise: the first hole in sowing order
    with raises(ValueError, 0):
        game.play(3)
    game.play(0)
    assert len(game.legal_actions) > 1


def test_the_forced_first_turn_is_souths_alone():
    game = Position("ludii_leyla_gobale_somaliland", player=NORTH)
    assert game.legal_actions == (0, 1, 2, 3, 4, 5)
    game.play(0)
    assert len(game.legal_actions) > 1


def test_the_forced_first_turn_is_known_by_the_start_board():
    assert Position("ludii_leyla_gobale_somaliland", [4] * 12).legal_actions == (0,)
    studied = Position("ludii_leyla_gobale_somaliland", [4] * 11 + [3])
    assert studied.legal_actions == (0, 1, 2, 3, 4, 5)


def test_rightmost_is_the_last_hole_of_an_anticlockwise_first_turn():
    ruleset = Ruleset(name="forced", opening="rightmost")
    assert Position(ruleset).legal_actions == (5,)


def test_ludiis_gabradarre_starts_freely():
    assert Position("ludii_leyla_gobale_gabradarre").legal_actions == (0, 1, 2, 3, 4, 5)


def test_the_round_of_the_highest_number_has_no_next_one():
    last = Position.from_text("leyla 0,0,0,0,0,0/0,0,0,0,0,0 30-18 S round=2147483647")
    with raises(InvalidPosition, "2,147,483,647"):
        last.next_round()
