"""The pure functions `start` and `step`: equal to Batch, without side effects."""

import numpy as np
import pytest
from error_checks import raises

import mancala_env
from mancala_env import Batch, IllegalMove, InvalidPosition, Position, TimeStep, rulesets
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.errors import InvalidArgument
from mancala_env.observations import KINDS, Observer

SHARED = ("games", "player", "legal_mask", "observation", "rewards", "reward", "counts")


def random_actions(now, rng):
    return np.argmax((rng.random(now.legal_mask.shape) + 1e-9) * now.legal_mask, axis=1)


def assert_same(one: TimeStep, other: TimeStep):
    for name, array, expected in zip(TimeStep._fields, one, other, strict=True):
        assert array.dtype == expected.dtype, name
        assert (array == expected).all(), name


@pytest.mark.parametrize("observation", ["board", "afterstates"])
def test_the_start_is_that_of_a_batch(observation):
    options = {"first_player": "random", "opening_turns": 3, "observation": observation}
    first = mancala_env.start("gabata_i", 5, rounds="match", seed=3, **options)
    batch = Batch("gabata_i", 5, "match", 3, **options)
    for name in SHARED:
        assert (getattr(first, name) == getattr(batch, name)).all(), name
    assert not first.is_over.any()
    assert not first.is_truncated.any()


@pytest.mark.parametrize("rounds", [1, 3, "match"])
@pytest.mark.parametrize("name", rulesets.names())
def test_steps_are_those_of_a_batch(name, rounds):
    rng = np.random.default_rng(1)
    now = mancala_env.start(name, 6, rounds=rounds, seed=1, opening_turns=2)
    batch = Batch(name, 6, rounds, 1, opening_turns=2, reward="margin", autoreset=False)
    for _ in range(120):
        actions, runs = random_actions(now, rng), ~now.is_over
        before, given = [array.copy() for array in now], now.games
        after = mancala_env.step(name, now.games, actions, rounds=rounds, reward="margin")
        batch.step(actions, where=runs)
        assert_same(now, TimeStep(*before))
        assert not any(np.shares_memory(given, array) for array in after)
        for array in SHARED:
            theirs = getattr(batch, array)
            assert (getattr(after, array)[runs] == theirs[runs]).all(), array
        assert (after.is_over == (now.is_over | batch.done)).all()
        assert (after.is_truncated[runs] == batch.truncated[runs]).all()
        assert (after.rewards.sum(axis=1) == 0).all()
        assert not after.legal_mask[after.is_over].any()
        now = after
    assert now.is_over.any() or rounds != 1


def test_an_episode_that_is_over_stays_over():
    rng = np.random.default_rng(2)
    now = mancala_env.start("layli_goobalay", 8, seed=2)
    while not now.is_over.any():
        now = mancala_env.step("layli_goobalay", now.games, random_actions(now, rng))
    over = now.is_over
    assert now.reward[over].any()
    actions = random_actions(now, rng)
    actions[over] = 99
    after = mancala_env.step("layli_goobalay", now.games, actions, illegal="lose")
    for name in ("games", "player", "legal_mask", "observation", "counts"):
        assert (getattr(after, name)[over] == getattr(now, name)[over]).all(), name
    assert after.is_over[over].all()
    assert not after.rewards[over].any()
    assert not after.reward[over].any()
    assert (after.games[~over] != now.games[~over]).any(axis=1).all()


def test_a_match_without_end_is_truncated_once():
    start = Position("gabata_i")
    last = Position("gabata_i", start.seeds, stores=start.stores, round=MAX_ROUNDS)
    now = mancala_env.start("gabata_i", rounds="match")._replace(games=last.games)
    rng = np.random.default_rng(1)
    now = mancala_env.step("gabata_i", now.games, [0], rounds="match")
    while not now.is_over[0]:
        assert not now.is_truncated[0]
        now = mancala_env.step("gabata_i", now.games, random_actions(now, rng), rounds="match")
    final = Position.from_games("gabata_i", now.games)
    assert final.round == MAX_ROUNDS
    assert now.is_truncated[0] == (final.next_round() is not None)
    again = mancala_env.step("gabata_i", now.games, [0], rounds="match")
    assert again.is_over[0]
    assert not again.is_truncated[0]


@pytest.mark.parametrize("action", [-1, 3, 6, 2**40])
def test_an_illegal_action_is_refused(action):
    games = np.concatenate([Position("leyla").games, Position("leyla", [4, 4, 4, 0, 4, 4] * 2).games])
    with raises(IllegalMove, 1, action, "South", [0, 1, 2, 4, 5]):
        mancala_env.step("leyla", games, [3, action])


@pytest.mark.parametrize("reward", ["outcome", "margin"])
@pytest.mark.parametrize("player", [0, 1])
def test_an_illegal_action_may_lose(player, reward):
    seeds = [4, 4, 4, 0, 4, 4] * 2
    game = Position("leyla", seeds, player=player)
    games = np.concatenate([game.games] * 3)
    after = mancala_env.step("leyla", games, [3, 1, -7], reward=reward, illegal="lose")
    assert after.is_over.tolist() == [True, False, True]
    assert after.reward.tolist() == [-1, 0, -1]
    lost = [-1, 1] if player == 0 else [1, -1]
    assert after.rewards.tolist() == [lost, [0, 0], lost]
    assert not after.legal_mask[[0, 2]].any()
    assert after.player.tolist() == [player, 1 - player, player]
    assert (after.games[1] == mancala_env.step("leyla", game.games, [1]).games[0]).all()
    ended = Position.from_games("leyla", after.games, 2)
    assert (ended.seeds.tolist(), ended.end, ended.is_over) == (seeds, "endless", True)
    again = mancala_env.step("leyla", after.games, [0, after.legal_mask[1].argmax(), 0])
    assert again.is_over[[0, 2]].all()
    assert not again.reward[[0, 2]].any()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "values"])
def test_observations_are_those_of_the_player_to_move(kind):
    rng = np.random.default_rng(1)
    now = mancala_env.start("layli_goobalay", 4, seed=5, opening_turns=10, observation=kind)
    observer = Observer("layli_goobalay", kind)
    for _ in range(20):
        assert now.observation.dtype == observer.dtype
        running = ~now.is_over
        assert (now.observation[running] == observer.observe(now.games[running])).all()
        if kind != "board":
            assert not now.observation[now.is_over].any()
        now = mancala_env.step("layli_goobalay", now.games, random_actions(now, rng), observation=kind)


def test_no_games_are_no_games():
    after = mancala_env.step("leyla", np.zeros((0, 16), np.uint64), np.zeros(0, np.int64))
    assert all(len(array) == 0 for array in after)


def test_invalid_arguments_are_refused():
    games = mancala_env.start("leyla", 2).games
    impossible = games.copy()
    impossible[1, 0] = 0xFFFF
    for wrong, said in (
        (games[:, :15], [2, 15]),
        (games.astype(np.int64), "int64"),
        (Batch("leyla", 2), "Batch"),
        (mancala_env.start("leyla", 2), "TimeStep"),
        (impossible, [1, "leyla"]),
    ):
        with raises(InvalidPosition, said):
            mancala_env.step("leyla", wrong, [0, 0])
    for actions in ([0], [0.0, 1.0], 0):
        with raises(IllegalMove, 2):
            mancala_env.step("leyla", games, actions)
    for option in ("rounds", "reward", "illegal", "observation", "num_threads"):
        with raises(InvalidArgument, option, "'no'"):
            mancala_env.step("leyla", games, [0, 0], **{option: "no"})  # pyright: ignore[reportArgumentType]
    with raises(InvalidArgument, "'leyla'", 2, "num_games"):
        mancala_env.start(2, "leyla")  # pyright: ignore[reportArgumentType]


def test_a_single_round_with_changed_territory_is_refused():
    territory = [0] * 7 + [1] * 5
    game = Position("gabata_i", [4] * 12, territory=territory, round=2)
    over = mancala_env.step("gabata_i", Position("gabata_i").games, [-1], illegal="lose").games
    games = np.concatenate([over, game.games])
    with raises(InvalidPosition, 1, '"match"'):
        mancala_env.step("gabata_i", games, [0, 0])
    assert mancala_env.step("gabata_i", games, [0, 0], rounds="match").is_over.tolist() == [True, False]
