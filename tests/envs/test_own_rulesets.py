"""Environments of a ruleset of the user: from a mapping of rule options, or from a file."""

from typing import Any

import gymnasium
import pytest
from error_checks import raises

from mancala_env import InvalidRuleset, agents, layli_goobalay_v0, leyla_v0, observations, rulesets
from mancala_env.envs.sb3 import MancalaVecEnv

OPTIONS = {"like": "layli_goobalay", "row_width": 3, "seeds_per_hole": 2}


@pytest.fixture(params=["options", "file"])
def own(request, tmp_path):
    path = tmp_path / "mine.yaml"
    rulesets.lookup(OPTIONS).save(path)
    return OPTIONS if request.param == "options" else str(path)


def test_every_environment_plays_it(own):
    game = "mancala/LayliGoobalay-v0"
    single: Any = gymnasium.make(game, ruleset=own, opponent="greedy")
    observation, _ = single.reset(seed=1)
    assert single.action_space.n == 3
    assert observation.shape == (observations.num_features(own),)
    many = gymnasium.make_vec(game, num_envs=2, ruleset=own, opponent="minimax:2")
    assert many.reset(seed=1)[0].shape == (2, observations.num_features(own))
    both: Any = layli_goobalay_v0.env(ruleset=own)
    both.reset(seed=1)
    assert both.action_space(both.agents[0]).n == 3
    learner = MancalaVecEnv(2, ruleset=own, opponent=agents.make("greedy", own))
    assert learner.reset().shape[0] == 2
    learner.close()


def test_another_game_is_refused(own):
    with raises(InvalidRuleset, "uur", "mancala/Leyla-v0"):
        gymnasium.make("mancala/Leyla-v0", ruleset=own)
    with raises(InvalidRuleset, "uur"):
        leyla_v0.env(ruleset=own)
