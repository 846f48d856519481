"""This package's PPO after distillation: its network first copies a search.

The expert searches with the rules, so this is for the task in which anything goes. The positions that it
labels count as environment steps, and its search as core minutes, like all else.
"""

from mancala_env.benchmark.bundled_learners import config_of, distillation_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("anything",)

# A ruleset's file has so many positions for ten minutes of training, two fifths of which they take.
MINUTES = 10
POSITIONS_A_STEP = 0.4


def learn(task, ruleset, budget, seed, folder):
    """Copy, train, and yield checkpoints where they are to be measured."""
    changes = distillation_of(ruleset)
    most = changes["distillation.positions"]
    wanted = POSITIONS_A_STEP * budget.steps if budget.steps else most * budget.core_minutes / MINUTES
    positions = max(1, min(most, int(wanted)))
    changes["distillation.positions"] = positions
    if budget.steps:
        changes["environment_steps"] = budget.steps - positions
    yield from trained(config_of(task, ruleset, budget, seed, folder, changes), budget)
