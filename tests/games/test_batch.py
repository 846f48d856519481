"""Batch: episodes, resets, rewards, masks, determinism, errors."""

import copy
import pickle

import numpy as np
import pytest
from boards import NORTH, SOUTH, finished, position
from error_checks import raises

from mancala_env import Batch, IllegalMove, InvalidPosition, InvalidRuleset, Position, Ruleset, rulesets
from mancala_env.engine.holdout import rows_in_set
from mancala_env.errors import InvalidArgument
from mancala_env.observations import KINDS, Observer, games_from, num_features, observe

ARRAYS = ("games", "player", "legal_mask", "observation", "rewards", "reward", "done", "truncated", "counts",
          "final_observation", "final_games")  # fmt: skip
ONE_TURN_FROM_THE_END = position("layli_goobalay", "0 0 0 0 0 0\n1 0 0 0 0 0", stores=(20, 27))


def random_actions(batch, rng):
    return np.argmax((rng.random(batch.legal_mask.shape) + 1e-9) * batch.legal_mask, axis=1)


def kept(batch):
    """Return copies of all arrays."""
    return {name: getattr(batch, name).copy() for name in ARRAYS}


def assert_unchanged(batch, before, rows=None):
    for name, array in before.items():
        chosen = slice(None) if rows is None else rows
        assert (getattr(batch, name)[chosen] == array[chosen]).all(), name


def loaded(*positions, **arguments):
    """Return a batch of these positions."""
    batch = Batch(positions[0].ruleset, len(positions), seed=0, **arguments)
    batch.load(np.concatenate([game.games for game in positions]))
    return batch


# Arrays


@pytest.mark.parametrize("name", rulesets.names())
def test_arrays_of_a_fresh_batch(name):
    ruleset = rulesets.lookup(name)
    batch = Batch(name, 3, seed=1)
    assert (batch.player.dtype, batch.player.shape) == (np.int8, (3,))
    assert (batch.legal_mask.dtype, batch.legal_mask.shape) == (np.int8, (3, ruleset.row_width))
    assert (batch.observation.dtype, batch.observation.shape) == (np.float32, (3, num_features(ruleset)))
    assert (batch.reward.dtype, batch.reward.shape) == (np.float32, (3,))
    assert (batch.done.dtype, batch.done.shape) == (np.bool_, (3,))
    assert (batch.counts.dtype, batch.counts.shape) == (np.int16, (3, 2))
    assert batch.final_observation.shape == batch.observation.shape
    start = Position(name)
    for b in range(3):
        assert Position.from_games(ruleset, batch.games, b) == start
        assert tuple(np.flatnonzero(batch.legal_mask[b])) == start.legal_actions
        assert tuple(batch.counts[b]) == start.counts
    assert (batch.observation == observe(ruleset, batch.games)).all()
    assert not batch.done.any()
    assert not batch.reward.any()


def test_arrays_are_rewritten_never_reallocated():
    batch = Batch("gabata_i", 8, rounds=2, seed=1)
    arrays = {name: getattr(batch, name) for name in ARRAYS}
    rng = np.random.default_rng(1)
    for _ in range(50):
        batch.step(random_actions(batch, rng))
    batch.play_random(10)
    batch.reset(3)
    batch.reset(where=np.arange(8) < 2)
    batch.load(batch.games.copy())
    for name, array in arrays.items():
        assert getattr(batch, name) is array


def test_a_batch_goes_as_positions_go():
    rng = np.random.default_rng(2)
    for name in rulesets.names():
        batch = Batch(name, 4, seed=2, num_threads=1)
        games = [Position(name) for _ in range(4)]
        for _ in range(60):
            actions = random_actions(batch, rng)
            movers = batch.player.copy()
            batch.step(actions)
            for b, game in enumerate(games):
                assert game.player == movers[b]
                game.play(actions[b])
                assert tuple(batch.counts[b]) == game.counts
                assert batch.done[b] == game.is_over
                if game.is_over:
                    won = 0 if game.winner is None else 1 if game.winner == movers[b] else -1
                    assert batch.reward[b] == won
                    assert (batch.final_games[b] == game.games[0]).all()
                    seen = observe(game.ruleset, game.games, int(movers[b]))
                    assert (batch.final_observation[b] == seen[0]).all()
                    games[b] = Position(name)
                else:
                    assert batch.reward[b] == 0
                assert (batch.games[b] == games[b].games[0]).all()
            assert (batch.observation == observe(games[0].ruleset, batch.games)).all()


def test_the_state_is_written_out():
    batch = Batch("leyla", 2, seed=1)
    batch.step([1, 2])
    state = batch.state
    assert state.seeds.shape == (2, 12)
    assert (state.seeds[1] == Position.from_games("leyla", batch.games, 1).seeds).all()
    state.seeds[:] = 0
    assert batch.state.seeds.any()


# The end of an episode


def test_a_finished_game_starts_over_and_its_end_stays_readable():
    batch = loaded(ONE_TURN_FROM_THE_END, Position("layli_goobalay"))
    batch.step([0, 3])
    assert batch.done.tolist() == [True, False]
    assert batch.counts[0].tolist() == [21, 27]
    assert (batch.games[0] == Position("layli_goobalay").games[0]).all()
    assert tuple(np.flatnonzero(batch.legal_mask[0])) == (0, 1, 2, 3, 4, 5)
    ended = Position.from_games("layli_goobalay", batch.final_games)
    assert (ended.end, ended.seeds.tolist(), ended.stores) == ("stuck", [0, 1] + [0] * 10, (20, 27))
    rebuilt = games_from(batch.ruleset, batch.final_observation[0])
    assert (rebuilt == batch.final_games[:1]).all()
    batch.step(batch.legal_mask.argmax(axis=1))
    assert batch.done.tolist() == [False, False]
    assert batch.reward.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("stores", "outcome", "margin"), [((30, 17), 1, 14 / 48), ((20, 27), -1, -6 / 48), ((23, 24), 0, 0)]
)
@pytest.mark.parametrize("mover", [SOUTH, NORTH])
def test_the_reward_is_that_of_the_player_who_just_moved(stores, outcome, margin, mover):
    seeds = [1] + [0] * 11 if mover == SOUTH else [0] * 6 + [1] + [0] * 5
    game = Position("layli_goobalay", seeds, stores=stores if mover == SOUTH else stores[::-1], player=mover)
    for reward, expected in {"outcome": outcome, "margin": margin}.items():
        batch = loaded(game, reward=reward)
        batch.step([0])
        assert batch.done[0]
        assert batch.reward[0] == np.float32(expected)


def test_an_endless_turn_ends_the_episode_and_rewards_the_player_ahead():
    game = position("layli_goobalay", "1 0 3 0 1 0\n3 2 1 8 1 8", stores=(10, 10))
    batch = loaded(game)
    batch.step([5])
    assert batch.done[0]
    assert batch.counts[0].tolist() == [33, 15]
    assert batch.reward[0] == 1


# Rounds


def play_episodes(ruleset, rounds, num_games=16, steps=1500, **arguments):
    """Yield (batch, b) at the end of each episode of random play."""
    batch = Batch(ruleset, num_games, rounds=rounds, seed=4, num_threads=1, **arguments)
    rng = np.random.default_rng(4)
    for _ in range(steps):
        batch.step(random_actions(batch, rng))
        for b in np.flatnonzero(batch.done):
            yield batch, int(b)


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i", "gabata_3"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_an_episode_is_so_many_rounds_at_most(ruleset, rounds):
    lengths = []
    for batch, b in play_episodes(ruleset, rounds):
        last = Position.from_games(ruleset, batch.final_games, b)
        lengths.append(last.round)
        assert last.is_over
        assert last.round == rounds or last.next_round() is None
        assert Position.from_games(ruleset, batch.games, b).round == 1
    assert max(lengths) == rounds


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla"])
def test_a_match_continues_until_a_player_can_no_longer_set_up(ruleset):
    ends = 0
    for batch, b in play_episodes(ruleset, "match"):
        last = Position.from_games(ruleset, batch.final_games, b)
        assert last.next_round() is None
        won = last.match_winner
        mover = 1 if batch.final_observation[b, -2] == 0 else 0
        assert batch.reward[b] == (0 if won is None else 1 if won == mover else -1)
        ends += 1
    assert ends


def test_a_round_limit_counts_the_last_round():
    for batch, b in play_episodes("leyla", 2, reward="outcome"):
        south, north = batch.counts[b]
        mover = 1 if batch.final_observation[b, -2] == 0 else 0
        sign = np.sign(int(south) - int(north)) * (1 if mover == SOUTH else -1)
        last = Position.from_games("leyla", batch.final_games, b)
        if last.next_round() is not None:
            assert batch.reward[b] == sign


def test_the_next_round_is_set_up_within_an_episode():
    over_soon = position("layli_goobalay", "0 0 0 0 0 0\n1 0 0 0 0 0", stores=(31, 16))
    batch = loaded(over_soon, rounds=2)
    batch.step([0])
    assert not batch.done[0]
    assert batch.reward[0] == 0
    assert batch.counts[0].tolist() == [32, 16]
    after = over_soon.copy()
    after.play(0)
    assert Position.from_games("layli_goobalay", batch.games) == after.next_round()
    assert (batch.player[0], Position.from_games("layli_goobalay", batch.games).round) == (NORTH, 2)


@pytest.mark.parametrize("ruleset", ["layli_goobalay_long", "ludii_gabata_i"])
def test_the_match_of_a_single_round_ruleset_is_one_round(ruleset):
    ends = [Position.from_games(ruleset, batch.final_games, b).round for batch, b in
            play_episodes(ruleset, "match", steps=200)]  # fmt: skip
    assert set(ends) == {1}


def test_masks_of_a_match_reach_gained_holes():
    gained = Position("gabata_i", [4] * 12, territory=[0] * 8 + [1] * 4)
    batch = loaded(gained, rounds="match")
    assert batch.num_actions == 12
    assert np.flatnonzero(batch.legal_mask[0]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    batch.step([7])
    gained.play(7)
    assert Position.from_games("gabata_i", batch.games) == gained


# Who starts, and from where


@pytest.mark.parametrize("first", [SOUTH, NORTH])
def test_the_first_player_starts(first):
    batch = Batch("leyla", 5, first_player=first)
    assert (batch.player == first).all()
    assert (batch.state.starter == first).all()


def test_the_first_player_can_be_drawn_by_lot():
    batch = Batch("leyla", 2000, first_player="random", seed=1)
    assert 900 < batch.player.sum() < 1100
    assert (batch.player == batch.state.starter).all()


@pytest.mark.parametrize("turns", [1, 3, 6])
def test_an_episode_can_start_after_random_turns(turns):
    batch = Batch("leyla", 200, opening_turns=turns, seed=1)
    assert (batch.games[:, 9] == 0).all()
    assert (batch.player == turns % 2).all()
    assert len(np.unique(batch.games, axis=0)) > 5
    again = Batch("leyla", 200, opening_turns=turns, seed=1)
    assert (again.games == batch.games).all()


def test_an_opening_no_round_outlasts_is_cut_short():
    batch = Batch("ludii_leyla", 20, opening_turns=10_000, seed=1)
    for b in range(20):
        game = Position.from_games("ludii_leyla", batch.games, b)
        assert game.legal_actions
        assert game != Position("ludii_leyla")


@pytest.mark.parametrize("opening_set", ["training", "evaluation"])
def test_an_opening_that_is_cut_short_is_of_its_set_too(opening_set):
    games = Batch("leyla", 500, opening_turns=60, opening_set=opening_set, seed=1).games
    assert rows_in_set(rulesets.lookup("leyla"), games, opening_set).all()


def test_a_ruleset_without_openings_of_a_set_starts_from_others():
    tiny = Ruleset(name="tiny", row_width=2, seeds_per_hole=1)
    for opening_set in ("training", "evaluation"):
        assert len(Batch(tiny, 2, opening_turns=9, opening_set=opening_set, seed=1).games) == 2


# Resets


def test_the_same_seed_gives_the_same_games():
    arguments = {"rounds": 2, "first_player": "random", "opening_turns": 3}
    one, two = (Batch("layli_goobalay", 20, seed=9, **arguments) for _ in range(2))
    other = Batch("layli_goobalay", 20, seed=10, **arguments)
    assert (one.games == two.games).all()
    assert (one.games != other.games).any()
    for batch in (one, two, other):
        batch.play_random(100)
    assert (one.games == two.games).all()
    assert (one.games != other.games).any()
    one.reset(9)
    assert (one.games == Batch("layli_goobalay", 20, seed=9, **arguments).games).all()


def test_a_reset_without_a_seed_draws_one():
    batch = Batch("leyla", 50, opening_turns=4, seed=9)
    before = batch.games.copy()
    batch.reset()
    assert (batch.games != before).any()


def test_a_reset_of_some_games_leaves_the_others_alone():
    batch = loaded(ONE_TURN_FROM_THE_END, Position("layli_goobalay"), Position("layli_goobalay"))
    batch.step([0, 1, 2])
    before = kept(batch)
    assert batch.done[0]
    batch.reset(where=np.array([False, True, False]))
    assert (batch.games[1] == Position("layli_goobalay").games[0]).all()
    assert tuple(batch.counts[1]) == (24, 24)
    assert_unchanged(batch, before, rows=[0, 2])  # including the final counts of game 0


def test_a_reset_of_some_games_with_a_seed_keeps_the_generators_of_the_others():
    one, two, new = (Batch("leyla", 4, seed=seed, opening_turns=4) for seed in (1, 1, 7))
    some = np.array([True, False, True, False])
    one.reset(7, where=some)
    assert (one.games[some] == new.games[some]).all()
    for batch in (one, two):
        batch.reset(where=~some)
    assert (one.games[~some] == two.games[~some]).all()


def test_a_reset_clears_reward_and_done():
    batch = loaded(ONE_TURN_FROM_THE_END)
    batch.step([0])
    assert batch.done[0]
    assert batch.reward[0] == -1
    batch.reset(1)
    assert not batch.done[0]
    assert batch.reward[0] == 0


# step


def test_a_step_can_play_in_some_games_only():
    batch = Batch("leyla", 3, seed=1)
    before = kept(batch)
    batch.step([99, 2, -5], where=np.array([False, True, False]))  # actions of the other rows are ignored
    assert_unchanged(batch, before, rows=[0, 2])
    game = Position("leyla")
    game.play(2)
    assert Position.from_games("leyla", batch.games, 1) == game


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda a: np.array(a, np.int8),
                                  lambda a: np.array(a * 2)[:3]])  # fmt: skip
def test_actions_may_be_any_integers(form):
    batch = Batch("leyla", 3)
    batch.step(form([0, 1, 2]))
    assert (batch.player == NORTH).all()


@pytest.mark.parametrize("action", [4, 6, 11, 12, -1, 2**40])
def test_an_illegal_action_raises_before_anything_changes_and_names_the_game(action):
    start = position("leyla", "1 1 1 1 1 1\n1 1 1 1 0 1")
    batch = loaded(start, start, start)
    before = kept(batch)
    with raises(IllegalMove, "game 1", f"action {action}", "0, 1, 2, 3, 5", "legal_mask"):
        batch.step([0, action, 1])
    assert_unchanged(batch, before)


@pytest.mark.parametrize(
    "actions", [[0, 1], [0, 1, 2, 3], [[0, 1, 2]], [0.0, 1.0, 2.0], 1, [True, False, True], ["0", "1", "2"]]
)
def test_actions_of_a_wrong_shape_or_type_are_refused(actions):
    batch = Batch("leyla", 3)
    with raises(IllegalMove, "actions", 3):
        batch.step(actions)


def test_where_of_a_wrong_shape_is_refused():
    batch, one = Batch("leyla", 3), np.array([True])
    for call in (lambda: batch.step([0, 0, 0], where=one), lambda: batch.reset(where=one)):
        with raises(ValueError, "where", 3, "bool"):
            call()


# load


def test_load_takes_over_games():
    one, two = Batch("gabata_i", 6, seed=1), Batch("gabata_i", 6, seed=2)
    one.play_random(17)
    two.load(one.games)
    for name in ("games", "player", "legal_mask", "observation", "counts"):
        assert (getattr(one, name) == getattr(two, name)).all()
    two.step(two.legal_mask.argmax(axis=1))
    assert (one.games != two.games).any()


def test_load_refuses_games_that_are_over():
    batch = Batch("leyla", 2)
    games = np.concatenate([Position("leyla").games, finished("leyla", (20, 28)).games])
    before = kept(batch)
    with raises(InvalidPosition, "game 1"):
        batch.load(games)
    assert_unchanged(batch, before)


def test_load_refuses_territory_that_the_mask_has_no_room_for():
    gained = Position("gabata_i", [4] * 12, territory=[0] * 8 + [1] * 4)
    batch = Batch("gabata_i", 1)
    with raises(InvalidPosition, "game 0", 'rounds="match"'):
        batch.load(gained.games)
    Batch("gabata_i", 1, rounds=5).load(gained.games)


@pytest.mark.parametrize("games", [np.zeros((3, 16), np.uint64), np.zeros((2, 16), np.int64), [[0] * 16] * 2])
def test_load_refuses_arrays_of_another_shape_or_type(games):
    with raises(InvalidPosition, "games", "uint64"):
        Batch("leyla", 2).load(games)


# play_random


@pytest.mark.parametrize("num_games", [1, 7])
def test_play_random_returns_the_number_of_turns(num_games):
    batch = Batch("leyla", num_games, seed=1)
    assert [batch.play_random(turns) for turns in (0, 1, 100)] == [0, num_games, 100 * num_games]


def test_play_random_resumes_from_where_it_stopped():
    one, two = Batch("leyla", 10, seed=3), Batch("leyla", 10, seed=3)
    one.play_random(40)
    for _ in range(4):
        two.play_random(10)
    assert (one.games == two.games).all()


def test_play_random_leaves_the_arrays_as_they_are_between_episodes():
    batch = loaded(ONE_TURN_FROM_THE_END)
    batch.step([0])
    batch.play_random(30)
    assert not batch.done.any()
    assert not batch.reward.any()
    game = Position.from_games("layli_goobalay", batch.games)
    assert tuple(np.flatnonzero(batch.legal_mask[0])) == game.legal_actions
    assert tuple(batch.counts[0]) == game.counts
    assert (batch.observation == observe(batch.ruleset, batch.games)).all()


def test_play_random_chooses_every_legal_action_equally_often():
    batch = Batch("layli_goobalay", 60_000, seed=6)
    batch.play_random(1)
    first = [Position("layli_goobalay") for _ in range(6)]
    for action, game in enumerate(first):
        game.play(action)
    times = np.array([(batch.games == game.games[0]).all(axis=1).sum() for game in first])
    assert times.sum() == 60_000
    assert (abs(times - 10_000) < 4.5 * np.sqrt(60_000 * 5 / 36)).all()


# Arguments


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"num_games": 0}, ["num_games", 1, 4294967296, 0]),
        ({"num_games": 2.5}, ["num_games", 1, 4294967296, 2.5]),
        ({"num_games": 10**30}, ["num_games", 4294967296, "1000000000000000000000000000000"]),
        ({"num_threads": 0}, ["num_threads", 1, 1024, 0]),
        ({"rounds": 0}, ["rounds", 1, 1000, "match", 0]),
        ({"rounds": "all"}, ["rounds", 1, 1000, "match", "all"]),
        ({"rounds": 1.0}, ["rounds", 1.0]),
        ({"rounds": True}, ["rounds", True]),
        ({"first_player": 2}, ["first_player", 0, 1, "random", 2]),
        ({"first_player": "South"}, ["first_player", 0, 1, "random", "South"]),
        ({"opening_turns": -1}, ["opening_turns", 0, 10000, -1]),
        ({"opening_turns": 1.5}, ["opening_turns", 0, 10000, 1.5]),
        ({"reward": "score"}, ["reward", "outcome", "margin", "score"]),
        ({"seed": -1}, ["seed", 0, -1]),
    ],
)
def test_a_wrong_argument_is_refused_with_the_value(arguments, why):
    with raises(ValueError, why):
        Batch(**{"ruleset": "leyla", "num_games": 2} | arguments)


@pytest.mark.parametrize("turns", [-1, 2.5])
def test_play_random_refuses_a_wrong_number_of_turns(turns):
    with raises(ValueError, "turns_per_game", turns):
        Batch("leyla", 1).play_random(turns)


def test_an_unknown_ruleset_is_refused():
    with raises(InvalidRuleset, "leyla"):
        Batch("leila", 1)


@pytest.mark.parametrize("width", [2, 5, 8, 9, 12])
def test_a_custom_ruleset_plays(width):
    ruleset = Ruleset(name="own", row_width=width, seeds_per_hole=255 // (2 * width))
    batch = Batch(ruleset, 4, seed=1)
    batch.play_random(300)
    assert (batch.counts.sum(axis=1) == ruleset.total_seeds).all()
    assert repr(batch) == "Batch('own', num_games=4, rounds=1)"


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_writes_any_kind_of_observation(kind):
    batch = Batch("gabata_i", 40, "match", seed=2, observation=kind)
    observer = Observer("gabata_i", kind, 12)
    assert batch.observation.shape == (40, *observer.shape)
    for turn in range(30):
        where = np.arange(40) % 3 != turn % 3
        kept = batch.observation.copy()
        batch.step(batch.legal_mask.argmax(axis=1), where)
        wanted = observer.observe(batch.games)
        np.testing.assert_array_equal(batch.observation[where], wanted[where])
        np.testing.assert_array_equal(batch.observation[~where], kept[~where])


def test_both_players_rewards_are_offered():
    batch = Batch("layli_goobalay", 200, seed=3, reward="margin")
    ended = 0
    for _ in range(60):
        movers = batch.player.copy()
        batch.step(batch.legal_mask.argmax(axis=1))
        np.testing.assert_array_equal(batch.rewards[:, 0], -batch.rewards[:, 1])
        np.testing.assert_array_equal(batch.reward, batch.rewards[np.arange(200), movers])
        lead = (batch.counts[:, 0] - batch.counts[:, 1]) / 48
        np.testing.assert_allclose(batch.rewards[batch.done, 0], lead[batch.done], rtol=1e-6)
        ended += batch.done.sum()
    assert ended > 50


def test_a_batch_told_not_to_start_over_keeps_the_end():
    restarted, kept = (Batch("leyla", 100, seed=4, autoreset=autoreset) for autoreset in (True, False))
    for _ in range(200):
        running = ~kept.done
        if not running.any():
            break
        actions = kept.legal_mask.argmax(axis=1)
        restarted.load(kept.games, running)
        restarted.step(actions, running)
        kept.step(actions, running)
        ended = kept.done & running
        np.testing.assert_array_equal(kept.games[ended], restarted.final_games[ended])
        np.testing.assert_array_equal(kept.rewards[ended], restarted.rewards[ended])
        assert not kept.legal_mask[kept.done].any()
    assert kept.done.all()
    with raises(IllegalMove, "game 0"):
        kept.step(np.zeros(100, int))
    with raises(InvalidArgument, "reset"):
        kept.play_random(1)
    kept.reset(where=np.arange(100) < 50)
    assert kept.done.tolist() == [False] * 50 + [True] * 50


def test_a_match_that_never_ends_is_truncated_after_a_thousand_rounds():
    batch = Batch("leyla", 1, "match", seed=1, autoreset=False)
    while not batch.done[0]:  # both always sow their first legal hole, so round 5 starts like round 3
        batch.step(batch.legal_mask.argmax(axis=1))
    assert batch.truncated[0]
    assert batch.state.round[0] == 1000
    south, north = batch.counts[0].astype(int)
    assert batch.rewards[0, 0] == np.sign(south - north)


def test_a_limit_on_rounds_that_was_asked_for_terminates():
    batch = Batch("leyla", 1, 3, seed=1, autoreset=False)
    while not batch.done[0]:
        batch.step(batch.legal_mask.argmax(axis=1))
    assert batch.state.round[0] == 3
    assert not batch.truncated[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_games", 0),
        ("num_games", True),
        ("rounds", 1001),
        ("rounds", 2**63),
        ("rounds", "Match"),
        ("opening_turns", 2**70),
        ("opening_turns", 1.0),
        ("first_player", True),
        ("first_player", 2),
        ("reward", "seeds"),
        ("seed", -1),
        ("seed", "1"),
        ("num_threads", 0),
        ("observation", "pixels"),
    ],
)
def test_an_argument_out_of_range_is_named(name, value):
    with raises(InvalidArgument, name) as caught:
        Batch("leyla", **{"num_games": 2, name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("where", [[0, 1], [1, 0], [np.nan, 1.0], [True], "all"])
def test_where_must_be_a_mask(where):
    batch = Batch("leyla", 2, seed=1)
    before = batch.games.copy()
    for call in (lambda: batch.step([0, 0], where), lambda: batch.reset(where=where)):
        with raises(InvalidArgument, "where", 2):
            call()
    assert (batch.games == before).all()


@pytest.mark.parametrize("observation", ["board", "afterstates"])
@pytest.mark.parametrize(
    "clone", [Batch.copy, copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_a_copy_is_independent_and_plays_the_same_games(clone, observation):
    batch = Batch("leyla", 6, seed=1, first_player="random", opening_turns=3, observation=observation)
    other = clone(batch)
    before = kept(batch)
    for _ in range(60):  # past the end of episodes, whose next starts are random
        other.step(other.legal_mask.argmax(axis=1))
    assert_unchanged(batch, before)
    for _ in range(60):
        batch.step(batch.legal_mask.argmax(axis=1))
    assert_unchanged(batch, kept(other))


@pytest.mark.parametrize(
    "act", [lambda b: b.reset(where=b.done), lambda b: b.load(Batch("layli_goobalay", 2).games, b.done)]
)
def test_the_games_that_are_done_are_shown_anew(act):
    batch = loaded(ONE_TURN_FROM_THE_END, Position("layli_goobalay"), autoreset=False)
    batch.step([0, 0])
    assert batch.done.tolist() == [True, False]
    act(batch)
    assert batch.legal_mask[0].tolist() == [1] * 6
    assert batch.counts[0].tolist() == [24, 24]
    assert np.array_equal(batch.observation[:1], Batch("layli_goobalay", 1).observation)
