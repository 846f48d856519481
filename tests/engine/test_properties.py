"""Properties of every ruleset, position and action, drawn by hypothesis."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from boards import NO_PLAYER
from error_checks import raises
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import any_ruleset, reached

from mancala_env import Batch, IllegalMove, Position, rulesets


def free_seeds(game):
    return int(game.seeds[game.owner == NO_PLAYER].sum())


@given(game=reached(), choice=st.integers(0, 23))
def test_seeds_are_conserved_and_free_seeds_never_grow(game, choice):
    assume(not game.is_over)
    free, owned = free_seeds(game), game.owner != NO_PLAYER
    owners = game.owner
    turn = game.play(game.legal_actions[choice % len(game.legal_actions)])
    assert sum(game.counts) == int(game.seeds.sum()) + sum(game.stores) == game.ruleset.total_seeds
    assert free_seeds(game) <= free
    assert (game.owner[owned] == owners[owned]).all()  # owned holes stay owned
    assert (game.stall == 0) == (free_seeds(game) < free) or turn.endless


@given(game=reached(), choice=st.integers(0, 23))
def test_the_next_round_has_all_the_seeds(game, choice):
    while not game.is_over:
        game.play(game.legal_actions[choice % len(game.legal_actions)])
    following = game.next_round()
    if following is not None:
        assert sum(following.counts) == game.ruleset.total_seeds
        assert (following.round, following.starter) == (game.round + 1, 1 - game.starter)
        assert following.legal_actions


@given(game=reached(), action=st.integers(-30, 30))
def test_the_legal_actions_are_those_that_do_not_raise(game, action):
    before = game.copy()
    try:
        game.play(action)
    except IllegalMove:
        assert action not in before.legal_actions
        assert game == before
    else:
        assert action in before.legal_actions


@given(game=reached(), choice=st.integers(0, 23))
def test_the_mask_of_a_batch_is_the_legal_actions(game, choice):
    assume(not game.is_over)
    batch = Batch(game.ruleset, 3, rounds="match", num_threads=1)
    games = batch.games.copy()
    games[1] = game.games[0]
    batch.load(games)
    assert tuple(np.flatnonzero(batch.legal_mask[1])) == game.legal_actions
    actions = batch.legal_mask.argmax(axis=1)
    action = choice % batch.num_actions
    actions[1] = action
    if action in game.legal_actions:
        game.play(action)
        batch.step(actions)
        assert tuple(batch.counts[1]) == game.counts
        if not game.is_over:
            assert (batch.games[1] == game.games[0]).all()
    else:
        with raises(IllegalMove, "game 1"):
            batch.step(actions)


@given(game=reached())
def test_text_round_trips(game):
    again = Position.from_text(game.to_text(), game.ruleset)
    assert again == game
    assert again.key == game.key
    assert again.to_text() == game.to_text()
    assert (again.legal_actions, again.counts, again.end) == (game.legal_actions, game.counts, game.end)


@given(game=reached(), choice=st.integers(0, 23))
def test_a_copy_goes_its_own_way(game, choice):
    assume(not game.is_over)
    before, twin = game.to_text(), game.copy()
    twin.play(twin.legal_actions[choice % len(twin.legal_actions)])
    assert game.to_text() == before
    assert twin != game


@settings(max_examples=30)
@given(ruleset=any_ruleset, seed=st.integers(0, 2**32), rounds=st.sampled_from([1, 3, "match"]))
def test_one_game_alone_goes_as_it_goes_among_64(ruleset, seed, rounds):
    rng = np.random.default_rng(seed)
    many = Batch(ruleset, 64, rounds=rounds, seed=seed, num_threads=1)
    one = Batch(ruleset, 1, rounds=rounds, seed=seed, num_threads=1)
    assert (one.games == many.games[:1]).all()
    for _ in range(60):
        mask = many.legal_mask
        actions = np.argmax((rng.random(mask.shape) + 1e-9) * mask, axis=1)
        many.step(actions)
        one.step(actions[:1])
        for name in ("games", "player", "legal_mask", "observation", "reward", "done", "counts"):
            assert (getattr(one, name) == getattr(many, name)[:1]).all(), name


@settings(max_examples=30)
@given(ruleset=any_ruleset, seed=st.integers(0, 2**32), turns=st.integers(0, 200))
def test_random_play_is_the_same_for_one_game_and_64(ruleset, seed, turns):
    many, one = Batch(ruleset, 64, seed=seed, num_threads=1), Batch(ruleset, 1, seed=seed, num_threads=1)
    many.play_random(turns)
    one.play_random(turns)
    assert (one.games == many.games[:1]).all()


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i", "gabata_3"])
def test_one_thread_plays_as_two_do(ruleset):
    # With 1,024 games or more, two threads share a step.
    one = Batch(ruleset, 1100, rounds=2, seed=3, num_threads=1, first_player="random")
    two = Batch(ruleset, 1100, rounds=2, seed=3, num_threads=2, first_player="random")
    assert one.play_random(25) == two.play_random(25) == 1100 * 25
    rng = np.random.default_rng(8)
    for _ in range(80):
        actions = np.argmax((rng.random(one.legal_mask.shape) + 1e-9) * one.legal_mask, axis=1)
        one.step(actions)
        two.step(actions)
        for name in ("games", "player", "legal_mask", "observation", "reward", "done", "counts",
                     "final_observation", "final_games"):  # fmt: skip
            assert (getattr(one, name) == getattr(two, name)).all(), name


_PLAY = """
import json, sys, warnings
import numpy as np
warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)  # uint64 wraps, as it should
from mancala_env import Batch, Position, rulesets
import numba
played = {"jit": not numba.config.DISABLE_JIT}
for name in rulesets.names():
    batch = Batch(name, 3, rounds="match", seed=11, num_threads=1, first_player="random", opening_turns=2)
    steps = []
    for turn in range(60):
        batch.step([int(np.flatnonzero(mask)[turn % mask.sum()]) for mask in batch.legal_mask])
        steps.append([batch.games.tolist(), batch.legal_mask.tolist(), batch.reward.tolist(),
                      batch.done.tolist(), batch.counts.tolist(), batch.observation.tolist(),
                      batch.final_observation.tolist()])
    batch.play_random(40)
    game, texts = Position(name, player=1), []
    for turn in range(120):
        if game.is_over:
            game = game.next_round()
            if game is None:
                break
        else:
            game.play(game.legal_actions[turn % len(game.legal_actions)])
        texts.append(game.to_text() + str(game.counts))
    played[name] = [steps, batch.games.tolist(), texts]
json.dump(played, sys.stdout)
"""


@pytest.mark.slow
def test_kernels_do_the_same_without_the_jit():
    played = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", _PLAY],
                env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
                check=True,
                capture_output=True,
            ).stdout
        )
        for disabled in ("0", "1")
    ]
    assert [game.pop("jit") for game in played] == [True, False]
    assert list(played[0]) == list(rulesets.names())
    assert played[0] == played[1]
