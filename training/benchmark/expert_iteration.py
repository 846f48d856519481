"""This package's PPO with a search as teacher: a share of what it meets is labelled by `value+minimax:6`.

The teacher searches with the rules, so this is for the task in which anything goes. Its labels cost core
minutes; only the learner's own turns are environment steps.
"""

from mancala_env.benchmark.bundled_learners import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("anything",)

# What lowered regret the most in three minutes (docs/training.md).
SETTINGS = {"distillation.positions": 0, "expert.share": 0.1}


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield checkpoints where they are to be measured."""
    yield from trained(config_of(task, ruleset, budget, seed, folder, SETTINGS), budget)
