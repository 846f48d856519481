"""The twin of the engine compared with recorded games, counts, exact values and published positions.

What no data covers (stall, passing, the rounds of a match) has a test of its own, one rule each.
"""

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev

import naive
import pytest
from error_checks import raises
from naive import NAIVE_RULESETS, NO_PLAYER, NORTH, SOUTH

DATA = Path(__file__).parent.parent / "data"
PUBLISHED = json.loads((DATA / "published.json").read_text(encoding="utf-8"))
PERFT = json.loads((DATA / "perft.json").read_text(encoding="utf-8"))
EXACT = json.loads((DATA / "exact.json").read_text(encoding="utf-8"))

# The plain search below takes some seconds for all positions with at most this many free seeds.
EXACT_FREE_SEEDS = 8


def board(ruleset, drawing, player=SOUTH, stores=(0, 0), **fields):
    """Read a drawn board: North's row above South's, each running anticlockwise.

    So the numbers are in the order 11 10 9 8 7 6 over 0 1 2 3 4 5. ``4s`` is a hole that South owns,
    ``4n`` one of North's. Direction never enters the rules, so clockwise games are drawn so as well.
    """
    north, south = (line.split() for line in drawing.strip().splitlines())
    game = naive.bare_game(NAIVE_RULESETS[ruleset], SOUTH)
    cells = south + north[::-1]
    game.seeds = [int(cell.rstrip("sn")) for cell in cells]
    game.owner = [{"s": SOUTH, "n": NORTH}.get(cell[-1], NO_PLAYER) for cell in cells]
    game.player = player
    game.stores = list(stores)
    for name, value in fields.items():
        setattr(game, name, value)
    return game


def finished(ruleset, counts, **fields):
    """Return the end of a round with these counts."""
    empty = " ".join(["0"] * NAIVE_RULESETS[ruleset].width)
    return board(ruleset, f"{empty}\n{empty}", stores=counts, end="stuck", **fields)


def last_hole(game, action):
    """Return the hole in which a turn's last seed falls."""
    played = naive.copy_of(game)
    turn = naive.play(played, action)
    again = naive.copy_of(game)
    hole = naive.hole_of(game.rules, game.player, action)
    for _ in range(turn.laps):
        hole = naive.sow_lap(again, hole)
    return hole


# Recorded games, counts, exact values


@pytest.mark.parametrize("path", sorted(DATA.glob("ludii_*.jsonl.gz")), ids=lambda path: path.name[:-9])
def test_recorded_games_replay_move_for_move(path):
    with gzip.open(path, "rt") as lines:
        records = [json.loads(line) for line in lines]
    assert records
    for record in records:
        game = naive.new_game(NAIVE_RULESETS[record["ruleset"]])
        for number, turn in enumerate([*record["turns"], record["last"]]):
            where = f"game {record['game']}, turn {number}"
            assert game.end == "", where
            assert (game.player, naive.legal(game)) == (turn["mover"], turn["legal"]), where
            naive.play(game, turn["action"])
            if turn is not record["last"]:
                after = {"seeds": game.seeds, "owner": game.owner, "stores": game.stores}
                assert after == {key: turn[key] for key in after}, where
        assert game.end == "stuck", f"game {record['game']}"
        assert list(naive.counts(game)) == record["count"], f"game {record['game']}"


def test_every_ruleset_has_perft_counts():
    assert list(PERFT) == list(NAIVE_RULESETS)


@pytest.mark.parametrize("ruleset", PERFT)
def test_perft_counts(ruleset):
    start = naive.new_game(NAIVE_RULESETS[ruleset])
    counted = [naive.perft(start, depth + 1) for depth in range(len(PERFT[ruleset]))]
    assert counted == PERFT[ruleset]


def value_of(game, action, known):
    """Return the best final margin for the player to move after this action, stores from zero."""
    after = naive.copy_of(game)
    after.stores = [0, 0]
    naive.play(after, action)
    if after.end:
        count = naive.counts(after)
        return count[game.player] - count[1 - game.player]
    captured = after.stores[game.player]
    key = (tuple(after.seeds), tuple(after.owner), after.player, after.stall)
    if key not in known:
        known[key] = max(value_of(after, reply, known) for reply in naive.legal(after))
    return captured + (known[key] if after.player == game.player else -known[key])


def position_of(entry):
    """Return the position of an entry of exact.json, South to move."""
    game = naive.new_game(NAIVE_RULESETS[entry["ruleset"]])
    game.seeds, game.owner = list(entry["seeds"]), list(entry["owner"])
    return game


def test_positions_with_exact_values_have_the_same_legal_holes():
    for entry in EXACT:
        assert naive.legal(position_of(entry)) == [int(action) for action in entry["actions"]]
        assert entry["value"] == max(entry["actions"].values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [entry for entry in EXACT if naive.num_free_seeds(position_of(entry)) <= EXACT_FREE_SEEDS],
    ids=lambda entry: f"{entry['ruleset']}-{sum(entry['seeds'])}",
)
def test_best_play_reaches_the_exact_values(entry):
    game, known = position_of(entry), {}
    assert {str(a): value_of(game, a, known) for a in naive.legal(game)} == entry["actions"]


# Published positions


@pytest.mark.parametrize("line", PUBLISHED["endgame_problem"]["lines"], ids=lambda line: line["text"])
def test_abstract_games_13_endgame_problem(line):
    problem = PUBLISHED["endgame_problem"]
    game = naive.new_game(NAIVE_RULESETS[problem["ruleset"]])
    game.seeds, game.owner = list(problem["seeds"]), list(problem["owner"])
    game.stores, game.player = list(problem["stores"]), line["player"]
    assert sum(naive.counts(game)) == 96

    turns = [naive.play(game, action) for action in line["actions"]]

    assert [turn.captured for turn in turns] == line["captured"]
    assert [len(turn.new_owned) == 2 for turn in turns] == line["makes_uur"]
    assert game.end == line["end"]
    if line["counts"] is not None:
        assert list(naive.counts(game)) == line["counts"]
    if line["replies_end_in_an_uur"]:
        replies = naive.legal(game)
        assert replies
        assert all(game.owner[last_hole(game, reply)] != NO_PLAYER for reply in replies)


@pytest.mark.parametrize("expected", PUBLISHED["endless_relay"]["turns"], ids=lambda t: str(t["action"]))
def test_endless_relay_position(expected):
    position = PUBLISHED["endless_relay"]
    game = naive.new_game(NAIVE_RULESETS[position["ruleset"]])
    game.seeds, game.player, game.stall = list(position["seeds"]), position["player"], 7
    before = naive.copy_of(game)

    turn = naive.play(game, expected["action"])

    assert turn.captured == expected["captured"]
    assert bool(turn.new_owned) == expected["makes_uur"]
    assert turn.endless == expected["endless"]
    if turn.endless:
        assert turn.laps == 1000
        before.end = "endless"
        assert game == before  # every seed is back; the stall counter and the player are unchanged
        assert naive.legal(game) == []
        assert naive.counts(game) == (23, 5)


@pytest.mark.parametrize("example", PUBLISHED["redistribution"]["rounds"], ids=lambda e: str(e["counts"]))
def test_redistribution_of_32_and_16(example):
    game = naive.next_round(finished(PUBLISHED["redistribution"]["ruleset"], example["counts"]))
    assert game is not None
    assert (game.seeds, game.stores) == (example["seeds"], example["stores"])
    assert naive.counts(game) == tuple(example["counts"])


def test_gabata_3_opening():
    expected = PUBLISHED["gabata_3_opening"]
    game = naive.new_game(NAIVE_RULESETS[expected["ruleset"]], expected["starter"])
    assert game.player == expected["player"]
    assert (game.seeds, game.owner) == (expected["seeds"], expected["owner"])
    assert (game.stores, game.stall) == (expected["stores"], 0)


def test_norths_gabata_3_opening_is_souths_from_the_other_seat():
    south, north = (naive.new_game(NAIVE_RULESETS["gabata_3"], starter) for starter in (SOUTH, NORTH))
    assert north.seeds == south.seeds[6:] + south.seeds[:6]
    assert [h for h in range(12) if north.owner[h] == NORTH] == [0, 1]
    assert north.player == SOUTH


# Random play


def random_round(ruleset, rng):
    """Play a random round; return its turns, legal holes, laps and final count.

    The laps of an endless turn are not counted, as in the published figures (tests/data/README.md).
    """
    game = naive.new_game(NAIVE_RULESETS[ruleset])
    turns = holes = laps = 0
    while not game.end:
        legal = naive.legal(game)
        turns += 1
        holes += len(legal)
        turn = naive.play(game, rng.choice(legal))
        laps += 0 if turn.endless else turn.laps
    return turns, holes, laps, naive.counts(game)


def assert_mean(name, values, published, digits):
    """Check a mean within four of its standard errors and the rounding of the published figure.

    The published mean is of 400,000 games, so its own error is small beside this sample's.
    """
    error = stdev(values) / len(values) ** 0.5
    assert abs(fmean(values) - published) < 4 * error + 0.5 * 10**-digits, name


def assert_ratio(name, parts, wholes, published, digits):
    """Check a ratio of two means. Its error is that of the differences of games from the ratio."""
    ratio, mean = sum(parts) / sum(wholes), fmean(wholes)
    residuals = [part / mean - ratio * whole / mean for part, whole in zip(parts, wholes, strict=True)]
    error = stdev(residuals) / len(residuals) ** 0.5
    assert abs(ratio - published) < 4 * error + 0.5 * 10**-digits, name


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "layli_goobalay_8", "leyla", "gabata_i"])
def test_random_play_statistics(ruleset):
    published = PUBLISHED["random_play"]["rulesets"][ruleset]
    rng = random.Random(1971)
    turns, holes, laps, counts = zip(*(random_round(ruleset, rng) for _ in range(3000)), strict=True)

    assert_mean("turns", turns, published["turns_per_round"], 2)
    assert_ratio("legal holes", holes, turns, published["legal_per_turn"], 2)
    assert_ratio("laps", laps, turns, published["laps_per_turn"], 2)
    assert_mean("South wins", [south > north for south, north in counts], published["south_wins"], 3)
    assert_mean("North wins", [south < north for south, north in counts], published["north_wins"], 3)
    assert_mean("draws", [south == north for south, north in counts], published["draws"], 3)


def test_souths_opening_wins_every_random_round_of_gabata_3():
    rng = random.Random(177)
    for _ in range(300):
        south, north = random_round("gabata_3", rng)[3]
        assert south > north


# Section 3: lines of the table that occur in no recorded game


def test_a_long_lap_sows_the_emptied_hole_too():
    game = board(
        "layli_goobalay",
        """
        0 0 0 0 0 0
        12 0 0 0 0 0
        """,
    )
    naive.play(game, 0)
    assert game.seeds == [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert game.stores == [
        2,
        0,
    ]  # the last seed fell in the emptied hole 0, facing 1 seed in hole 11


def test_layli_capture_takes_the_last_seed_and_ludiis_leaves_it():
    drawing = """
        0 0 0 0 2 1
        0 0 0 1 0 0
        """
    game, ludii = board("layli_goobalay", drawing), board("ludii_leyla_gobale_gabradarre", drawing)
    assert naive.play(game, 3).captured == 3
    assert naive.play(ludii, 3).captured == 2
    assert (game.seeds[4], ludii.seeds[4]) == (0, 1)


def test_last_seed_in_the_opponents_uur_captures_nothing():
    game = board(
        "layli_goobalay",
        """
        0 0 0 0 1 5n
        0 0 0 0 1 2n
        """,
    )
    turn = naive.play(game, 4)
    assert (turn.captured, game.seeds[5], game.player) == (0, 3, NORTH)


def test_four_on_the_opponents_side_captures_the_pair_in_leyla():
    game = board(
        "leyla",
        """
        1 0 0 0 0 3
        0 0 0 0 7 1
        """,
    )
    turn = naive.play(game, 5)
    assert (turn.laps, sorted(turn.new_owned)) == (1, [5, 6])
    assert (game.seeds[5], game.seeds[6], game.stores) == (0, 4, [0, 0])


@pytest.mark.parametrize(("ruleset", "owned"), [("gabata_i", []), ("leyla", []), ("ludii_gabata_i", [3])])
def test_four_on_ones_own_side_relays_except_in_ludiis_gabata(ruleset, owned):
    game = board(
        ruleset,
        """
        0 1 0 0 0 0
        0 0 1 3 0 0
        """,
    )
    turn = naive.play(game, 2)
    assert turn.new_owned == owned
    assert turn.laps == (1 if owned else 2)


def test_four_makes_one_weg_in_gabata():
    game = board(
        "gabata_i",
        """
        1 0 0 0 0 3
        0 0 0 0 7 1
        """,
    )
    assert naive.play(game, 5).new_owned == [6]
    assert (game.owner[5], game.seeds[6]) == (NO_PLAYER, 4)


@pytest.mark.parametrize("ruleset", ["leyla", "gabata_i"])
@pytest.mark.parametrize(("held", "ransom", "left"), [(5, 2, 4), (1, 2, 0), (0, 1, 0)])
def test_a_last_seed_in_the_opponents_owned_hole_takes_one_more_if_there_is_one(ruleset, held, ransom, left):
    game = board(
        ruleset,
        f"""
        1 0 0 0 0 {held}n
        0 0 0 0 1 1
        """,
    )
    assert naive.play(game, 5).captured == ransom
    assert (game.seeds[6], game.stores) == (left, [ransom, 0])


def test_ludiis_gabata_leaves_a_last_seed_in_an_empty_weg():
    game = board(
        "ludii_gabata_i",
        """
        1 0 0 0 0 0n
        0 0 0 0 1 1
        """,
    )
    assert naive.play(game, 5).captured == 0
    assert (game.seeds[6], game.stores) == (1, [0, 0])


def test_side_means_territory():
    drawing = """
        0 0 0 0 3 1
        0 0 0 0 0 2
        """
    game = board("gabata_i", drawing)
    assert naive.legal(game) == [5]
    assert naive.play(game, 5).new_owned == [7]

    game = board("gabata_i", drawing, territory=[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    assert naive.legal(game) == [5, 6, 7]
    turn = naive.play(game, 5)
    assert (turn.new_owned, turn.laps) == ([], 2)  # hole 7 is South's, so its four are sown on


def test_only_south_on_the_start_board_is_forced_in_ludiis_somaliland():
    rules = NAIVE_RULESETS["ludii_leyla_gobale_somaliland"]
    assert naive.legal(naive.new_game(rules, SOUTH)) == [0]
    assert naive.legal(naive.new_game(rules, NORTH)) == [0, 1, 2, 3, 4, 5]


def test_an_illegal_action_raises():
    game = board(
        "leyla",
        """
        0 0 0 0 0 1
        1 1 0 0 0 0
        """,
    )
    with raises(ValueError, "action 2", "0, 1"):
        naive.play(game, 2)


# Section 4


def test_layli_round_ends_when_the_player_to_move_is_stuck():
    game = board(
        "layli_goobalay",
        """
        0 0 0 0 0 0
        1 0 0 0 2 0
        """,
        stores=(1, 2),
    )
    naive.play(game, 0)
    assert (game.end, game.player, naive.legal(game)) == ("stuck", NORTH, [])
    assert naive.counts(game) == (4, 2)


def test_layli_round_continues_when_only_the_player_who_moved_is_stuck_but_not_in_ludiis():
    drawing = """
        1 0 0 0 0 0
        0 0 0 0 0 1
        """
    for ruleset, end in {"leyla": "", "ludii_leyla": "stuck"}.items():
        game = board(ruleset, drawing)
        naive.play(game, 5)
        assert game.end == end


def test_a_stuck_gabata_player_passes_and_the_stall_counter_does_not_count_it():
    game = board(
        "gabata_i",
        """
        0 0 0 0 0 0
        1 0 0 0 0 0
        """,
        stall=3,
    )
    naive.play(game, 0)
    assert (game.end, game.player, game.stall) == ("", SOUTH, 4)


def test_gabata_round_ends_when_neither_player_can_move():
    game = board(
        "gabata_i",
        """
        0 0 0 0 5s 3
        0 0 0 0 0 1
        """,
    )
    naive.play(game, 5)
    assert (game.end, game.player) == ("stuck", NORTH)
    assert naive.counts(game) == (9, 0)


def test_the_count_is_store_owned_holes_and_free_seeds_in_ones_territory():
    game = board(
        "gabata_i",
        """
        0 0 0 2 7s 3
        1 2n 0 0 0 0
        """,
        stores=(4, 5),
        territory=[0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    )
    assert naive.counts(game) == (4 + 7 + 3 + 1, 5 + 2 + 2)


@pytest.mark.parametrize(("stall", "end"), [(48, ""), (49, "stall")])
def test_fifty_turns_with_the_same_number_of_free_seeds_stall(stall, end):
    game = board(
        "leyla",
        """
        0 0 0 0 0 1
        1 0 0 0 0 0
        """,
        stall=stall,
    )
    naive.play(game, 0)
    assert (game.end, game.stall, game.player) == (end, stall + 1, NORTH)


def test_fewer_free_seeds_start_the_stall_counter_again():
    game = board(
        "layli_goobalay",
        """
        0 0 0 0 2 1
        0 0 0 1 0 0
        """,
        stall=49,
    )
    naive.play(game, 3)
    assert (game.end, game.stall) == ("", 0)


def test_a_round_that_is_stuck_and_stalled_is_stuck():
    game = board(
        "leyla",
        """
        0 0 0 0 0 0
        1 0 0 0 0 0
        """,
        stall=49,
    )
    naive.play(game, 0)
    assert (game.end, game.stall) == ("stuck", 50)


# Section 5


def test_the_starter_alternates_from_round_to_round():
    rounds = [finished("leyla", (24, 24))]
    while len(rounds) < 4:
        following = naive.next_round(rounds[-1])
        assert following is not None
        rounds.append(following)
    assert [game.starter for game in rounds] == [SOUTH, NORTH, SOUTH, NORTH]
    assert [game.player for game in rounds[1:]] == [NORTH, SOUTH, NORTH]
    assert [game.round for game in rounds] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "ruleset",
    [
        "layli_goobalay_long",
        "layli_goobalay_8",
        *(r for r in NAIVE_RULESETS if r.startswith("ludii")),
    ],
)
def test_a_ruleset_of_single_rounds_has_no_next_round(ruleset):
    assert naive.next_round(naive.new_game(NAIVE_RULESETS[ruleset])) is None


def test_mirror_tie_sets_up_with_equal_halves():
    for ruleset, seeds in {"layli_goobalay": 4, "leyla_gobale_ii": 5}.items():
        game = naive.next_round(finished(ruleset, (6 * seeds, 6 * seeds)))
        assert game is not None
        assert (game.seeds, game.stores) == ([seeds] * 12, [0, 0])


@pytest.mark.parametrize(("counts", "over"), [((43, 5), True), ((42, 6), False), ((5, 43), True)])
def test_mirror_match_is_over_when_the_loser_cannot_put_a_seed_in_each_hole(counts, over):
    game = naive.next_round(finished("layli_goobalay", counts))
    assert (game is None) == over
    if game is not None:
        assert (game.seeds, game.stores) == ([1] * 12, [36, 0])


@pytest.mark.parametrize(
    ("counts", "debts", "filled", "stores", "new_debts"),
    [
        ((24, 24), (0, 0), 6, [0, 0], [0, 0]),
        ((16, 32), (0, 0), 4, [0, 16], [0, 0]),
        ((13, 35), (0, 0), 3, [0, 24], [0, 0]),  # one over: it goes to North
        ((33, 15), (0, 0), 4, [16, 0], [0, 0]),  # three over: South's odd seed goes to North
        ((14, 34), (0, 0), 4, [0, 16], [2, 0]),  # two over: North lends two
        ((28, 20), (0, 2), 5, [8, 0], [0, 2]),  # 20 - 2 = 18, two over again: a new loan
        ((21, 27), (2, 0), 5, [0, 8], [0, 0]),  # 19: North's odd seed
        ((25, 23), (2, 0), 6, [0, 0], [0, 0]),  # the debt makes South the weaker player: 23
        ((45, 3), (0, 0), 1, [40, 0], [0, 0]),
    ],
)
def test_leyla_set_up(counts, debts, filled, stores, new_debts):
    game = naive.next_round(finished("leyla", counts, debts=list(debts)))
    assert game is not None
    row = [4] * filled + [0] * (6 - filled)  # clockwise: the rightmost hole is action 0
    assert (game.seeds, game.stores, game.debts) == (row + row, stores, new_debts)
    assert sum(naive.counts(game)) == 48


@pytest.mark.parametrize(("counts", "debts"), [((2, 46), (0, 0)), ((44, 4), (0, 2)), ((1, 47), (2, 0))])
def test_leyla_match_is_over_when_a_player_cannot_fill_a_hole(counts, debts):
    game = finished("leyla", counts, debts=list(debts))
    assert naive.next_round(game) is None
    assert naive.match_winner(game) == (SOUTH if counts[0] > counts[1] else NORTH)


@pytest.mark.parametrize(
    ("counts", "souths"),
    [
        ((24, 24), range(6)),
        ((26, 22), range(6)),
        ((27, 21), range(7)),
        ((30, 18), range(7)),
        ((31, 17), range(8)),
        ((46, 2), range(11)),
        ((18, 30), range(1, 6)),
        ((2, 46), range(5, 6)),
    ],
)
def test_gabata_surplus_gains_the_opponents_leftmost_holes(counts, souths):
    game = naive.next_round(finished("gabata_i", counts))
    assert game is not None
    assert [h for h in range(12) if game.territory[h] == SOUTH] == list(souths)
    assert (game.seeds, game.stores) == ([4] * 12, [0, 0])


def test_gabata_territory_is_counted_from_the_row_every_round():
    game = finished("gabata_i", (20, 28), territory=[0] * 9 + [1] * 3)
    following = naive.next_round(game)
    assert following is not None
    assert following.territory == [1] + [0] * 5 + [1] * 6


@pytest.mark.parametrize("counts", [(47, 1), (0, 48)])
def test_gabata_match_is_over_when_a_player_would_own_no_hole(counts):
    assert naive.next_round(finished("gabata_i", counts)) is None


def test_gabata_3_starter_without_the_last_eight_passes_after_the_arrangement():
    game = naive.next_round(finished("gabata_3", (2, 46), starter=NORTH))
    assert game is not None
    assert game.seeds == [8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0]
    assert (game.owner[6], game.starter, game.player) == (SOUTH, SOUTH, NORTH)
    assert naive.legal(game) == [2, 4, 6, 8, 10]  # holes 8, 10, 0, 2, 4: all but South's weg


def test_random_matches_conserve_seeds_and_end_with_a_winner():
    rng = random.Random(5)
    for ruleset in ("layli_goobalay", "leyla_gobale_ii", "leyla"):
        for _ in range(20):
            rounds = []
            game = naive.new_game(NAIVE_RULESETS[ruleset])
            while game is not None:
                while not game.end:
                    naive.play(game, rng.choice(naive.legal(game)))
                rounds.append(game)
                game = naive.next_round(game)
            totals = {sum(naive.counts(game)) for game in rounds}
            assert totals == {sum(naive.new_game(NAIVE_RULESETS[ruleset]).seeds)}
            assert all(b.starter != a.starter for a, b in pairwise(rounds))
            assert naive.match_winner(rounds[-1]) != NO_PLAYER
