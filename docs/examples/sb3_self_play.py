"""Stable-Baselines3: MaskablePPO against frozen copies of itself, then win rates.

    python sb3_self_play.py [STEPS] [SEED]

The learner never meets `greedy`, which measures it at the end.
"""

import sys
import time
from dataclasses import asdict

import torch
from sb3_contrib import MaskablePPO

from mancala_env import agents, evaluation, rulesets
from mancala_env.envs.sb3 import MancalaVecEnv, SelfPlayCallback
from mancala_env.training.policy import SelfPlayPolicy

torch.set_num_threads(1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
num_envs = 256 if steps > 10_000 else 16
ruleset, kind = rulesets.lookup("layli_goobalay"), "lines"

# An observation has a row for each action: the board after it, and the leads of the best lines after it.
options = {"observation": kind, "first_player": "random", "opening_set": "training"}
env = MancalaVecEnv(num_envs, ruleset, seed=seed, **options)
# One small network evaluates every row, so all actions share its weights.
network = {"observation": kind, "hidden": 64, "layers": 2, "seed_levels": 10}
model = MaskablePPO(
    SelfPlayPolicy,
    env,
    policy_kwargs={"ruleset": asdict(ruleset), "network": network},
    n_steps=32,
    batch_size=min(2048, 32 * num_envs),
    n_epochs=3,
    learning_rate=lambda remaining: 1e-3 * remaining + 1e-4,
    gamma=1.0,  # the only reward is the outcome, at the end
    gae_lambda=0.9,
    ent_coef=0.01,
    seed=seed,
    device="cpu",
)
start = time.time()
model.learn(steps, callback=SelfPlayCallback(every=50_000, pool=10))
print(f"{model.num_timesteps / (time.time() - start):,.0f} steps/s")

agent = agents.from_policy(model, ruleset, observation=kind)
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, ruleset, games=1000, seed=1).win_rate)
print("regret", round(evaluation.measure_regret(agent, ruleset).overall.mean_regret, 2))
