"""Every environment passes the checks of learning libraries, and their learners run on it."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from env_makers import IDS, aec_env, every_ruleset_and_kind, gym_env
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN
from stable_baselines3.common.env_checker import check_env as sb3_check_env
from stable_baselines3.common.env_util import make_vec_env
from tianshou.env import PettingZooEnv

from mancala_env.observations import KINDS


# For observations of two dimensions it recommends a custom policy; docs/guides/libraries.md has one.
@pytest.mark.filterwarnings("error", "ignore:Your observation  has an unconventional shape:UserWarning")
@every_ruleset_and_kind
def test_stable_baselines3_check_env(ruleset, kind):
    options: Any = {"seat": "random", "render_mode": "ansi", "observation": kind}
    sb3_check_env(gym_env(ruleset, **options), skip_render_check=False)
    sb3_check_env(gym_env(ruleset, rounds="match", observation=kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gym_id", IDS)
def test_maskable_ppo_learns_on_what_make_vec_env_makes(gym_id, kind):
    options = {"opponent": "greedy", "rounds": 2, "observation": kind}
    env = make_vec_env(gym_id, n_envs=2, seed=0, env_kwargs=options)
    masks = env.env_method("action_masks")
    assert [mask.dtype for mask in masks] == [np.bool_, np.bool_]
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(128)
    seen: Any = env.reset()
    for _ in range(30):
        actions, _ = model.predict(seen, action_masks=np.array(env.env_method("action_masks")))
        seen, *_ = env.step(actions)


def test_an_algorithm_without_masks_learns_where_illegal_actions_lose():
    env = gymnasium.make("mancala/Leyla-v0", illegal="lose")
    model = DQN("MlpPolicy", env, learning_starts=20, buffer_size=500, batch_size=8, seed=0, device="cpu")
    model.learn(60)


@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using version:UserWarning")
@every_ruleset_and_kind
def test_torchrl_check_env_specs_and_a_rollout(ruleset, kind):
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper  # takes seconds, so not in every process
    from torchrl.envs.utils import check_env_specs

    env = PettingZooWrapper(aec_env(ruleset, observation=kind), use_mask=True)
    check_env_specs(env, seed=0)
    env.set_seed(0)
    rollout = env.rollout(300)
    assert rollout["next", "done"][-1].item()
    last = rollout["next"][-1]
    assert float(last["player_0", "reward"] + last["player_1", "reward"]) == 0


@every_ruleset_and_kind
def test_tianshou_plays_an_episode(ruleset, kind):
    env = PettingZooEnv(aec_env(ruleset, observation=kind))
    seen, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    rewards, terminated = [], False
    while not terminated:
        assert len(seen["obs"]) == env.observation_space["observation"].shape[0]
        seen, rewards, terminated, *_ = env.step(rng.choice(np.flatnonzero(seen["mask"])))
    assert sum(rewards) == 0
