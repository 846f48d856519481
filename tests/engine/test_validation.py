"""Validation of games from callers: impossible games are rejected and change nothing."""

import itertools

import numpy as np
import pytest
from error_checks import raises

import mancala_env
from mancala_env import Batch, InvalidPosition, Position, Ruleset, rulesets
from mancala_env.engine.state import (
    DEBT_COLUMN,
    END_COLUMN,
    END_REASONS,
    OWNED_COLUMN,
    PLAYER_COLUMN,
    ROUND_COLUMN,
    STALL_COLUMN,
    STARTER_COLUMN,
    STORE_COLUMN,
    TERRITORY_COLUMN,
    unpack,
)
from mancala_env.engine.validation import check_games

IMPOSSIBLE = {
    "player 5": (PLAYER_COLUMN, 5, "player"),
    "stall 60": (STALL_COLUMN, 60, "stall"),
    "end 7": (END_COLUMN, 7, "end"),
    "round 0": (ROUND_COLUMN, 0, "round"),
    "starter 2": (STARTER_COLUMN, 2, "starter"),
    "too many seeds": (STORE_COLUMN, 200, "seeds"),
    "a hole that is not there": (OWNED_COLUMN, 1 << 13, []),
    "one hole of a pair": (OWNED_COLUMN, 1, "pairs"),
    "territory": (TERRITORY_COLUMN, 0b1111111, "territory"),
    "debts": (DEBT_COLUMN, 2, "debts"),
    "over, though both can move": (END_COLUMN, 1, "end"),
    "a number without end": (STALL_COLUMN, 2**63, "seeds"),
}


@pytest.mark.parametrize("name", rulesets.names())
@pytest.mark.parametrize("rounds", [1, "match"])
def test_every_game_that_play_leads_to_is_possible(name, rounds):
    batch = Batch(name, 64, rounds, seed=1, autoreset=False)
    for _ in range(300):
        running = ~batch.done
        if not running.any():
            break
        batch.step(batch.legal_mask.argmax(axis=1), running)
        check_games(batch.ruleset, batch.games)
    assert rounds == "match" or batch.done.any()


@pytest.mark.parametrize(("column", "value", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_impossible_game_is_refused_and_changes_nothing(column, value, message):
    batch = Batch("layli_goobalay", 4, seed=1)
    before = batch.games.copy()
    games = before.copy()
    games[2, column] = value
    with raises(InvalidPosition, "game 2", "layli_goobalay", message):
        batch.load(games)
    with raises(InvalidPosition, message):
        Position.from_games("layli_goobalay", games, 2)
    assert (batch.games == before).all()


def test_a_running_game_without_seeds_is_refused():
    games = Batch("leyla", 3, seed=1).games.copy()
    games[1, :3] = 0
    with raises(InvalidPosition, "game 1"):
        Batch("leyla", 3).load(games)


def test_seeds_beyond_the_board_are_refused():
    games = Batch("gabata_five_holes", 2, seed=1).games.copy()
    games[0, 2] = 1
    with raises(InvalidPosition, "holes"):
        Batch("gabata_five_holes", 2).load(games)


def test_255_seeds_in_every_hole_are_refused():
    games = Batch("leyla", 2, seed=1).games.copy()
    games[1, :3] = np.uint64(2**64 - 1)
    with raises(InvalidPosition, "game 1"):
        Batch("leyla", 2).load(games)


def test_debts_are_together_at_most_all_seeds():
    with pytest.raises(InvalidPosition, match="48"):
        Position("leyla", [4] * 12, debts=(30, 30))


@pytest.mark.parametrize("name", rulesets.names())
def test_a_position_and_an_array_are_refused_alike(name):
    """Position accepts the same values as numbers and as an array."""
    ruleset, rng = rulesets.lookup(name), np.random.default_rng(1)
    start = Position(ruleset).games
    is_refused = set()
    for _ in range(200):
        games = start.copy()
        for column, most in ((TERRITORY_COLUMN, 1 << ruleset.num_holes), (OWNED_COLUMN, 1 << 4)):
            if rng.random() < 0.3:
                games[0, column] = rng.integers(most)
        if rng.random() < 0.3:
            games[0, DEBT_COLUMN : DEBT_COLUMN + 2] = rng.integers(ruleset.total_seeds, size=2)
        if rng.random() < 0.3:
            games[0, STORE_COLUMN] = rng.integers(3)
        state = unpack(games, ruleset.num_holes)
        try:
            position = Position(
                ruleset,
                state.seeds[0],
                state.owner[0],
                state.stores[0],
                territory=state.territory[0],
                debts=state.debts[0],
            )
        except InvalidPosition:
            is_refused.add(True)
            with pytest.raises(InvalidPosition):
                check_games(ruleset, games)
            continue
        is_refused.add(False)
        check_games(ruleset, position.games)
    assert is_refused == {True, False}


@pytest.mark.parametrize("b", [2, -3, True, 0.0, "0"])
def test_a_row_that_is_not_there_is_refused(b):
    with raises(InvalidPosition, "(2, 16)"):
        Position.from_games("leyla", Batch("leyla", 2).games, b)


def test_only_the_wanted_games_are_taken_over():
    batch, other = Batch("leyla", 3, seed=1), Batch("leyla", 3, seed=2, opening_turns=4)
    games = other.games.copy()
    games[1, PLAYER_COLUMN] = 9  # this row is masked, so it is not checked
    start = batch.games[1].copy()
    batch.load(games, np.array([True, False, True]))
    assert (batch.games[[0, 2]] == other.games[[0, 2]]).all()
    assert (batch.games[1] == start).all()
    assert (batch.observation[[0, 2]] == other.observation[[0, 2]]).all()


TERRITORIAL = [name for name in rulesets.names() if rulesets.lookup(name).match == "territory"]
OWN = {
    direction: Ruleset(
        name="own", row_width=4, match="territory", landing="weg", round_end="both_stuck", direction=direction
    )
    for direction in ("anticlockwise", "clockwise")
}


def gained_by(ruleset, player, count):
    """Return the territory by hole after a player has gained a number of the opponent's holes."""
    width = ruleset.row_width
    row = list(range(width, 2 * width) if player == 0 else range(width))
    gained = row[:count] if ruleset.direction == "anticlockwise" else row[::-1][:count]
    return [player if hole in gained else hole // width for hole in range(2 * width)]


def with_territory(ruleset, territory):
    """Return a game without owned holes in which players may sow from these holes."""
    games = Position(ruleset, round=2, seeds=[1] * ruleset.num_holes).games
    games[0, TERRITORY_COLUMN] = sum(1 << hole for hole, player in enumerate(territory) if player == 0)
    # After an endless relay, nothing else in the game says who could move.
    games[0, END_COLUMN] = END_REASONS.index("endless")
    return games


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    "ruleset", [*map(rulesets.lookup, TERRITORIAL), *OWN.values()], ids=lambda it: f"{it.name}_{it.direction}"
)
def test_a_player_gains_all_but_one_hole_of_the_opponent_at_most(ruleset, player):
    width = ruleset.row_width
    for count in range(width):
        games = with_territory(ruleset, gained_by(ruleset, player, count))
        assert (check_games(ruleset, games) == games).all()
        assert Position.from_games(ruleset, games).territory.tolist() == gained_by(ruleset, player, count)
    with pytest.raises(InvalidPosition, match="territory"):
        check_games(ruleset, with_territory(ruleset, gained_by(ruleset, player, width)))


@pytest.mark.parametrize("ruleset", OWN.values(), ids=OWN)
def test_no_other_territory_is_possible(ruleset):
    possible = [gained_by(ruleset, player, count) for player in (0, 1) for count in range(4)]
    for territory in map(list, itertools.product((0, 1), repeat=8)):
        games = with_territory(ruleset, territory)
        if territory in possible:
            check_games(ruleset, games)
        else:
            with pytest.raises(InvalidPosition, match="territory"):
                check_games(ruleset, games)


@pytest.mark.parametrize("name", rulesets.names())
def test_a_game_holds_the_seeds_of_its_ruleset_at_most(name):
    start = Position(name).games
    one_in_store = start.copy()
    one_in_store[0, STORE_COLUMN] += 1
    for player in (0, 1):
        for more in (1, 2, 200):
            games = start.copy()
            games[0, STORE_COLUMN + player] += more
            with pytest.raises(InvalidPosition, match="more seeds"):
                check_games(rulesets.lookup(name), games)
    in_hole = start.copy()
    in_hole[0, 0] += 1  # the hole that holds the lowest byte
    with pytest.raises(InvalidPosition, match="more seeds"):
        check_games(rulesets.lookup(name), in_hole)
    moved = one_in_store.copy()
    moved[0, 0] -= 1
    check_games(rulesets.lookup(name), moved)
    fewer = start.copy()
    fewer[0, 0] -= 1  # a study
    check_games(rulesets.lookup(name), fewer)


@pytest.mark.parametrize("rounds", [2, "match"])
@pytest.mark.parametrize("name", ["gabata_i", "leyla", "layli_goobalay"])
def test_a_match_needs_all_seeds(name, rounds):
    few = Position(name, [0] * 5 + [1, 1] + [0] * 5)
    with raises(InvalidPosition, 46, 48):
        Batch(name, 1, rounds=rounds).load(few.games)
    with raises(InvalidPosition, 46, 48):
        mancala_env.step(name, few.games, few.legal_actions[:1], rounds=rounds)
    Batch(name, 1).load(few.games)
