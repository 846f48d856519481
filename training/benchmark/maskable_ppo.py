"""MaskablePPO of sb3-contrib on the Gymnasium environment, with its own defaults.

As its documentation writes it: four environments side by side, "MlpPolicy", nothing tuned. The opponent is
drawn for each episode.
"""

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from mancala_env import agents
from mancala_env.benchmark import Point
from mancala_env.envs.families import FAMILIES

TASKS = ("board", "afterstates", "anything")

OPPONENTS = ["random", "greedy", "minimax:2"]
ENVIRONMENTS = 4
ROLLOUT = 2048  # steps of each between two updates: the default, where the budget has room for it


def make_environment(task, ruleset):
    """Return the game as the learner meets it."""
    gym_id = next(family.gym_id for family in FAMILIES.values() if family.landing == ruleset.landing)
    return gymnasium.make(
        gym_id, ruleset=ruleset, opponent=OPPONENTS, seat="random", opening_set="training",
        observation=task.observation, flatten=True,
    )  # fmt: skip


def prepare(task, ruleset):
    """Compile the environment and its opponents."""
    env = make_environment(task, ruleset)
    for seed in range(20):  # each opponent is met
        _, info = env.reset(seed=seed)
        env.step(info["action_mask"].argmax())


def learn(task, ruleset, budget, seed, folder):
    """Learn, and yield the model where it is to be measured."""
    torch.set_num_threads(1)
    env = make_vec_env(lambda: make_environment(task, ruleset), n_envs=ENVIRONMENTS, seed=seed)
    rollout = min(ROLLOUT, max(16, budget.steps // (10 * ENVIRONMENTS))) if budget.steps else ROLLOUT
    model = MaskablePPO("MlpPolicy", env, n_steps=rollout, seed=seed, device="cpu")
    file, steps = folder / "model.zip", 0
    if file.is_file():
        stored = MaskablePPO.load(file, env=env, device="cpu")
        if budget.resume(stored.num_timesteps):
            model, steps = stored, stored.num_timesteps
    while budget.allows(steps + rollout * ENVIRONMENTS):
        model.learn(rollout * ENVIRONMENTS, reset_num_timesteps=False)
        steps = model.num_timesteps
        if budget.is_due(steps):
            yield Point(agents.from_policy(model, ruleset, observation=task.observation), steps)
            model.save(file.with_suffix(".part.zip"))
            file.with_suffix(".part.zip").replace(file)
    yield Point(agents.from_policy(model, ruleset, observation=task.observation), steps)
