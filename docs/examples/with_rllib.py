"""RLlib: PPO by self-play over its PettingZooEnv, with the package's masked network."""

import sys
import time

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env

from mancala_env import agents, evaluation, layli_goobalay_v0, rulesets
from mancala_env.networks.policy import NetworkConfig
from mancala_env.training.rllib.algorithm import SHARED, always_shared, module_spec

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
ruleset, seen = rulesets.lookup("layli_goobalay"), {"observation": "afterstates"}
network = NetworkConfig(**seen, hidden=64, layers=2, seed_levels=10)
register_env("mancala", lambda _: PettingZooEnv(layli_goobalay_v0.env(**seen, opening_turns=4)))
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
config = (
    PPOConfig()
    .environment("mancala")
    .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
    .multi_agent(policies={SHARED}, policy_mapping_fn=always_shared)
    .rl_module(rl_module_spec=module_spec(ruleset, network))
    .training(train_batch_size_per_learner=min(steps, 4000), minibatch_size=256, num_epochs=4)
    .training(lr=1e-3, gamma=1.0, entropy_coeff=0.01, use_kl_loss=False)
    .debugging(seed=0, log_level="ERROR")
)
algorithm, done, start = config.build_algo(), 0, time.time()
while done < steps:
    done = algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"]
print(f"{done / (time.time() - start):,.0f} steps/s")
judge = algorithm.get_module(SHARED).network
choose = lambda seen, legal: judge(*map(torch.as_tensor, (seen, legal)))[0].argmax(1).numpy()  # noqa: E731
agent = agents.from_function(choose, ruleset, **seen)
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, ruleset, games=1000, seed=1).win_rate)
