"""This package's PPO with 25 % of its games against a pool of scripted agents and earlier checkpoints."""

from mancala_env.benchmark.bundled_learners import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("board", "afterstates", "anything")


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield a checkpoint at each measurement."""
    config = config_of(task, ruleset, budget, seed, folder, {"pool.share": 0.25})
    yield from trained(config, budget)
