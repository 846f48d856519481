"""The benchmark of learning algorithms: mean regret and rating at equal budgets.

`mancala benchmark` runs it; docs/guides/benchmark.md explains the measurements and how to add an entry.
`mancala speed` measures the engine instead.

| module | content |
|---|---|
| `tasks` | what learners may observe |
| `entries` | learning algorithms, read from Python files |
| `budget` | budgets in environment steps or core minutes, and the clock |
| `scoring` | the score of an agent: mean regret, and a rating against fixed anchors |
| `runner` | planning and running learners; interrupted runs resume |
| `results` | the file of measurements |
| `aggregates` | interquartile means, bootstrap intervals, probability of improvement |
| `summary` | tables, learning curves and reports |
| `run_comparison`, `run_comparison_report` | training runs compared over seeds, for `mancala compare` |
| `bundled_learners` | the package's own training as an entry |
"""

from mancala_env.benchmark.budget import BudgetLimit, LearningBudget, limit_of_minutes, limit_of_steps
from mancala_env.benchmark.entries import Entry, InvalidEntry, Point, read_entry
from mancala_env.benchmark.results import Results, Row
from mancala_env.benchmark.runner import BenchmarkPlan, plan, run_plan
from mancala_env.benchmark.tasks import TASKS, Refused, Task

__all__ = [
    "TASKS",
    "BenchmarkPlan",
    "BudgetLimit",
    "Entry",
    "InvalidEntry",
    "LearningBudget",
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
