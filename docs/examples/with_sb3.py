"""Stable-Baselines3: MaskablePPO on afterstates over the package's VecEnv, then win rates."""

import sys
import time

import torch
from sb3_contrib import MaskablePPO

from mancala_env import agents, evaluation
from mancala_env.envs.sb3 import MancalaVecEnv

torch.set_num_threads(1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
num_envs = 256 if steps > 10_000 else 16
options = {"observation": "afterstates", "flatten": True}
env = MancalaVecEnv(num_envs, "layli_goobalay", opponent="greedy", seed=0, **options)
model = MaskablePPO(
    "MlpPolicy",
    env,
    n_steps=64,
    batch_size=min(4096, 64 * num_envs),
    n_epochs=4,
    learning_rate=1e-3,
    gamma=1.0,
    policy_kwargs={"net_arch": [128, 128]},
    seed=0,
    device="cpu",
)
start = time.time()
model.learn(steps)
print(f"{model.num_timesteps / (time.time() - start):,.0f} steps/s")
agent = agents.from_policy(model, "layli_goobalay", observation="afterstates")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
