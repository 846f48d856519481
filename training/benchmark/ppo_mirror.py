"""This package's PPO, playing itself.

The defaults of configs/default.yaml; where anything goes, the network and the rates of configs/RULESET.yaml.
"""

from mancala_env.benchmark.bundled_learners import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("board", "afterstates", "anything")


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield checkpoints where they are to be measured."""
    yield from trained(config_of(task, ruleset, budget, seed, folder), budget)
