"""Tianshou: its collector and vector environment over the package's PettingZoo environment."""

import sys
import time

import numpy as np
from tianshou.env import DummyVectorEnv, PettingZooEnv

from mancala_env import layli_goobalay_v0

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
# flatten=True: Tianshou's networks take one vector, whatever is seen.
options = {"observation": "afterstates", "flatten": True, "opening_turns": 4}
envs = DummyVectorEnv([lambda: PettingZooEnv(layli_goobalay_v0.env(**options)) for _ in range(8)])
rng, start = np.random.default_rng(0), time.time()
seen, _ = envs.reset(seed=0)
won = []
for _ in range(steps // len(envs)):
    actions = np.array([rng.choice(np.flatnonzero(one["mask"])) for one in seen])
    seen, rewards, terminated, truncated, _ = envs.step(actions)
    over = np.flatnonzero(terminated | truncated)
    if len(over):
        won += list(rewards[over, 0])
        seen[over] = envs.reset(over)[0]
print(
    f"{steps / (time.time() - start):,.0f} turns/s; South's mean reward under random play {np.mean(won):+.2f}"
)
