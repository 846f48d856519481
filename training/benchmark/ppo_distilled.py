"""This package's PPO after distillation: its network first copies a search.

The expert searches with the rules, so this is for the task in which anything goes. The positions that it
labels count as environment steps, and its search as core minutes, like all else.
"""

from mancala_env.benchmark.selfplay import config_of, prepare, trained

__all__ = ["TASKS", "learn", "prepare"]

TASKS = ("anything",)

# What the configurations of the rulesets have. A label takes the expert and five passes of the network 0.6 ms
# together: four tenths of the budget.
SETTINGS = {"distillation.spec": "value+minimax:6", "distillation.epochs": 5}
POSITIONS_A_MINUTE = 40_000
POSITIONS_A_STEP = 0.4
MOST_POSITIONS = 400_000


def learn(task, ruleset, budget, seed, folder):
    """Copy, train, and yield checkpoints where they are to be measured."""
    wanted = POSITIONS_A_STEP * budget.steps if budget.steps else POSITIONS_A_MINUTE * budget.core_minutes
    positions = max(1, min(MOST_POSITIONS, int(wanted)))
    changes = SETTINGS | {"distillation.positions": positions}
    if budget.steps:
        changes["environment_steps"] = budget.steps - positions
    config = config_of(task, ruleset, budget, seed, folder, changes)
    yield from trained(config, budget, steps_before=positions)
