"""Games that come from outside: impossible ones are refused and change nothing."""

import numpy as np
import pytest

from mancala_env import Batch, InvalidPosition, Position, rulesets
from mancala_env.engine.state import (
    DEBT_COLUMN,
    END_COLUMN,
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
    "player 5": (PLAYER_COLUMN, 5, "player is neither"),
    "stall 60": (STALL_COLUMN, 60, "stall counter"),
    "end 7": (END_COLUMN, 7, "end is not 0 to 3"),
    "round 0": (ROUND_COLUMN, 0, "number of the round"),
    "starter 2": (STARTER_COLUMN, 2, "starter is neither"),
    "too many seeds": (STORE_COLUMN, 200, "more seeds than the ruleset has"),
    "a hole that is not there": (OWNED_COLUMN, 1 << 13, "not on the board"),
    "one hole of a pair": (OWNED_COLUMN, 1, "opposite pairs"),
    "territory": (TERRITORY_COLUMN, 0b1111111, "territory"),
    "debts": (DEBT_COLUMN, 2, "debts"),
    "over, though both can move": (END_COLUMN, 1, "its end is not what its seeds say"),
    "a number without end": (STALL_COLUMN, 2**63, "more seeds"),
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
    with pytest.raises(InvalidPosition, match=f"game 2 is no game of layli_goobalay: .*{message}"):
        batch.load(games)
    with pytest.raises(InvalidPosition, match=message):
        Position.from_games("layli_goobalay", games, 2)
    assert (batch.games == before).all()


def test_a_running_game_without_seeds_is_refused():
    games = Batch("leyla", 3, seed=1).games.copy()
    games[1, :3] = 0
    with pytest.raises(InvalidPosition, match=r"game 1 .* its end is not what its seeds say"):
        Batch("leyla", 3).load(games)


def test_seeds_beyond_the_board_are_refused():
    games = Batch("gabata_five_holes", 2, seed=1).games.copy()
    games[0, 2] = 1
    with pytest.raises(InvalidPosition, match="holes that the board does not have"):
        Batch("gabata_five_holes", 2).load(games)


def test_255_seeds_in_every_hole_are_refused():
    games = Batch("leyla", 2, seed=1).games.copy()
    games[1, :3] = np.uint64(2**64 - 1)
    with pytest.raises(InvalidPosition, match="game 1"):
        Batch("leyla", 2).load(games)


def test_debts_are_together_at_most_all_seeds():
    with pytest.raises(InvalidPosition, match="48"):
        Position("leyla", [4] * 12, debts=(30, 30))


@pytest.mark.parametrize("name", rulesets.names())
def test_a_position_and_an_array_are_refused_alike(name):
    """What Position takes as numbers, it takes as an array, and the other way round."""
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
    with pytest.raises(InvalidPosition, match=r"there is no game .* in an array of shape \(2, 16\)"):
        Position.from_games("leyla", Batch("leyla", 2).games, b)


def test_only_the_wanted_games_are_taken_over():
    batch, other = Batch("leyla", 3, seed=1), Batch("leyla", 3, seed=2, opening_turns=4)
    games = other.games.copy()
    games[1, PLAYER_COLUMN] = 9  # not wanted, so not looked at
    start = batch.games[1].copy()
    batch.load(games, np.array([True, False, True]))
    assert (batch.games[[0, 2]] == other.games[[0, 2]]).all()
    assert (batch.games[1] == start).all()
    assert (batch.observation[[0, 2]] == other.observation[[0, 2]]).all()
