"""The replay buffer, which stores positions after the end of their game."""

import numpy as np
import torch

from mancala_env import Batch, Position, rulesets
from mancala_env.engine.holdout import OpeningSet
from mancala_env.observations import Observer
from mancala_env.training.labels import Replay, Searched, ends_of

GABATA = rulesets.lookup("gabata_five_holes")
OBSERVER = Observer(GABATA, "board", GABATA.row_width)


def replay_of(most: int = 100, search_share: float = 0.25) -> Replay:
    return Replay(OBSERVER, most, search_share, seed=1)


def some_positions(count: int, seed: int = 1, opening_set: OpeningSet = "training") -> Searched:
    """Positions early in a game, of either player, with their own targets and values."""
    batch = Batch(
        GABATA,
        count,
        seed=seed,
        num_threads=1,
        opening_turns=5,
        opening_set=opening_set,
        first_player="random",
    )
    is_legal = batch.legal_mask != 0
    targets = np.random.default_rng(seed).random(is_legal.shape) * is_legal
    targets = (targets / targets.sum(axis=1, keepdims=True)).astype(np.float32)
    found = np.linspace(-1, 1, count, dtype=np.float32)
    return Searched(batch.games.copy(), batch.observation.copy(), is_legal, targets, found)


def players_of(searched: Searched) -> np.ndarray:
    games = searched.games
    return np.array([Position.from_games(GABATA, games, b).player for b in range(len(games))])


def in_one_rollout(
    searched: Searched, south: np.ndarray
) -> tuple[Searched, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arguments of Replay.add for positions of games that ended with South's rewards."""
    count = len(searched.games)
    return searched, np.zeros(count, int), np.arange(count), south[None].astype(np.float32)


def test_the_end_of_a_game_is_the_same_whoever_played_the_last_turn() -> None:
    """
    step      0      1      2      3
    row 0     South  South  North, who wins           South (a new game)
    row 1     North  South, who wins  North  North, who wins
    """
    players = np.array([[0, 1], [0, 0], [1, 1], [0, 1]], np.int8)
    rewards = np.array([[0, 0], [0, 1], [1, 0], [0, 1]], np.float32)
    dones = np.array([[0, 0], [0, 1], [1, 0], [0, 1]], np.bool_)
    nan = np.nan
    wanted = [[-1, 1], [-1, 1], [-1, -1], [nan, -1]]
    np.testing.assert_array_equal(ends_of(rewards, dones, players), np.array(wanted, np.float32))


def test_a_value_is_the_players_own_mixed_of_search_and_end() -> None:
    searched = some_positions(40)
    players = players_of(searched)
    assert {0, 1} == set(players.tolist())
    south = np.where(np.arange(40) % 3 == 0, 1.0, -1.0)
    replay = replay_of(search_share=0.25)
    replay.add(*in_one_rollout(searched, south))
    outcome = np.where(players == 0, south, -south)
    np.testing.assert_allclose(
        replay.examples.values[:40], 0.25 * searched.values + 0.75 * outcome, atol=1e-6
    )


def test_positions_wait_until_the_game_of_their_row_is_over() -> None:
    replay, searched, nan = replay_of(search_share=0.0), some_positions(3), np.nan
    replay.add(*in_one_rollout(searched, np.array([1.0, nan, nan])))
    assert (len(replay), replay.num_waiting) == (1, 2)
    # In the next rollout the game of row 2 ends in a draw, and the first game waits for its end.
    none, empty = searched.select(np.arange(0)), np.zeros(0, int)
    replay.add(none, empty, empty, np.array([[1.0, nan, 0.0], [1.0, nan, 1.0]], np.float32))
    assert (len(replay), replay.num_waiting) == (2, 1)
    assert replay.examples.values[1] == 0
    np.testing.assert_array_equal(replay.examples.games[1], searched.games[2])
    replay.add(none, empty, empty, np.array([[nan, -1.0, nan]], np.float32))
    assert (len(replay), replay.num_waiting) == (3, 0)
    is_south = players_of(searched)[1] == 0
    assert replay.examples.values[2] == (-1 if is_south else 1)


def test_the_latest_are_remembered_and_drawn() -> None:
    replay, searched = replay_of(most=10), some_positions(25)
    replay.add(*in_one_rollout(searched.select(np.arange(13)), np.ones(13)))
    replay.add(*in_one_rollout(searched.select(np.arange(13, 25)), np.ones(12)))
    assert len(replay) == 10
    kept = {row.tobytes() for row in replay.examples.games}
    assert kept == {row.tobytes() for row in searched.games[15:]}
    drawn = replay.sample(300, torch.device("cpu"))
    assert len(drawn.values) == 300
    assert {row.numpy().tobytes() for row in drawn.observations} == {
        row.tobytes() for row in searched.observations[15:]
    }
