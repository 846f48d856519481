"""This package's PPO by self-play.

It uses configs/default.yaml. In the task `anything`, it uses the network and learning rates of
configs/RULESET.yaml.
"""

from mancala_env.benchmark.bundled_learners import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("board", "afterstates", "anything")


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield a checkpoint at each measurement."""
    yield from trained(config_of(task, ruleset, budget, seed, folder), budget)
