"""RLlib's PPO by self-play in its PettingZooEnv, with this package's masked network.

One policy plays both sides. Everything runs in this process. Ray's own processes do almost nothing here, but
they count as core minutes too.
"""

import logging

import torch

from mancala_env import agents
from mancala_env._util.command_line import needing
from mancala_env.benchmark import Point
from mancala_env.envs.aec import MancalaAEC
from mancala_env.networks.policy import NetworkConfig

with needing("rllib_ppo", "ray"):
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env

    from mancala_env.evaluation.ray_matches import started_ray
    from mancala_env.training.rllib.algorithm import SHARED, always_shared, module_spec

TASKS = ("board", "afterstates", "anything")

BATCH = 4000  # steps per update, RLlib's default


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield the network at each measurement."""
    torch.set_num_threads(1)
    logging.getLogger("ray").setLevel(logging.ERROR)
    seen = task.observation
    network = NetworkConfig(observation=seen, hidden=64, layers=2, seed_levels=10)

    def make(_):
        game = MancalaAEC.make(ruleset, observation=seen, opening_turns=4, opening_set="training")
        return PettingZooEnv(game)

    register_env("mancala-benchmark", make)
    batch = min(BATCH, max(64, budget.steps // 10)) if budget.steps else BATCH
    config = (
        PPOConfig()
        .environment("mancala-benchmark")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .multi_agent(policies={SHARED}, policy_mapping_fn=always_shared)
        .rl_module(rl_module_spec=module_spec(ruleset, network))
        .training(train_batch_size_per_learner=batch, minibatch_size=min(256, batch), num_epochs=4)
        .training(lr=1e-3, gamma=1.0, entropy_coeff=0.01, use_kl_loss=False)
        .debugging(seed=seed, log_level="ERROR")
    )
    with started_ray("local", num_cpus=1):
        algorithm, steps, most = config.build_algo(), 0, batch
        try:
            while budget.allows(steps + most):
                found = algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"]
                steps, most = int(found), max(most, int(found) - steps)
                if budget.is_due(steps):
                    yield Point(agent_of(algorithm, ruleset, seen), steps)
            yield Point(agent_of(algorithm, ruleset, seen), steps)
        finally:
            algorithm.stop()


def agent_of(algorithm, ruleset, seen):
    """Return an agent that plays with the current network."""
    network = algorithm.get_module(SHARED).network
    choose = lambda seen, legal: network(*map(torch.as_tensor, (seen, legal)))[0].argmax(1).numpy()  # noqa: E731
    return agents.from_function(choose, ruleset, observation=seen, name="rllib_ppo")
