"""This package's PPO after distillation: its network first copies a search.

The expert searches with the rules, so this entry is for the task `anything` only. The positions that it
labels count as environment steps, and its search counts as core minutes.
"""

from mancala_env.benchmark.bundled_learners import config_of, distillation_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("anything",)

# A ruleset's configuration sets the number of positions for ten minutes of training. Labels take 40 % of
# the time.
MINUTES = 10
POSITIONS_A_STEP = 0.4


def learn(task, ruleset, budget, seed, folder):
    """Copy the search, train, and yield a checkpoint at each measurement."""
    changes = distillation_of(ruleset)
    most = changes["distillation.positions"]
    wanted = POSITIONS_A_STEP * budget.steps if budget.steps else most * budget.core_minutes / MINUTES
    positions = max(1, min(most, int(wanted)))
    changes["distillation.positions"] = positions
    if budget.steps:
        changes["environment_steps"] = budget.steps - positions
    yield from trained(config_of(task, ruleset, budget, seed, folder, changes), budget)
