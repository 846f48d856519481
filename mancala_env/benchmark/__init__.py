"""The benchmark: which learning algorithm is how good, with how much, on which task.

`mancala benchmark` runs it; docs/benchmark.md says what it measures and how an entry is added. (How fast the
package is, is another question: `mancala bench`.)
"""

from mancala_env.benchmark.budget import LearningBudget, Limit, limit_of_minutes, limit_of_steps
from mancala_env.benchmark.entries import Entry, InvalidEntry, Point, read_entry
from mancala_env.benchmark.results import Results, Row
from mancala_env.benchmark.runner import Plan, plan, run_plan
from mancala_env.benchmark.tasks import TASKS, Refused, Task

__all__ = [
    "TASKS",
    "Entry",
    "InvalidEntry",
    "LearningBudget",
    "Limit",
    "Plan",
    "Point",
    "Refused",
    "Results",
    "Row",
    "Task",
    "limit_of_minutes",
    "limit_of_steps",
    "plan",
    "read_entry",
    "run_plan",
]
