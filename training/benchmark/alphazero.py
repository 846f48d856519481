"""AlphaZero-style self-play of this package: the network learns what a search that it guides finds.

The search plays by the rules, so this is for the task in which anything goes; what is measured is the network
alone. Turns that the search tries cost core minutes and are no environment steps.
"""

from mancala_env.benchmark.bundled_learners import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("anything",)

SETTINGS = {"algorithm": "alphazero", "distillation.positions": 0}


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield checkpoints where they are to be measured."""
    yield from trained(config_of(task, ruleset, budget, seed, folder, SETTINGS), budget)
