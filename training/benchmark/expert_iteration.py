"""This package's PPO with a search as teacher: `value+minimax:6` labels a share of its positions.

The teacher searches with the rules, so this entry is for the task `anything` only. Labels cost core minutes.
Only the learner's own turns are environment steps.
"""

from mancala_env.benchmark.bundled_learners import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("anything",)

# The settings with the lowest regret after three minutes (docs/guides/train.md).
SETTINGS = {"distillation.positions": 0, "expert.share": 0.1}


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield a checkpoint at each measurement."""
    yield from trained(config_of(task, ruleset, budget, seed, folder, SETTINGS), budget)
