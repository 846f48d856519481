"""Sets of tasks for language models that compare their replies with those of others.

docs/results/text_leaderboard.md has the results of bots.
"""

import hashlib
import json
from collections.abc import Iterable
from statistics import mean
from typing import Any

from mancala_env.envs.prompts import Kind
from mancala_env.envs.text import Score, Task, make_task, move_task
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.rulesets import RulesetLike
from mancala_env.solver import ILLEGAL, positions

FIXED_SIZE = 200
FIXED_HASHES = {
    "sow": "7ba793e21044dce3bd6306b7e384123b0e4698997aa202fbae285712f1dc63ff",
    "move": "91a1707602f270c7593d78a1117d384b67e3ab174a008824e0fc69600dff3506",
}
"""Hash of the fixed tasks of each kind; a change of prompts, tasks or values changes it."""


def solved_tasks(ruleset: RulesetLike) -> list[Task]:
    """Return the tasks "move" of the bundled solved positions, on which `mancala evaluate` measures regret.

    Raises:
        NoPositions: The ruleset is without solved positions.
    """
    known, tasks = positions(ruleset), []
    for n, row in enumerate(known.action_values.tolist()):
        values = {action: value for action, value in enumerate(row) if value != ILLEGAL}
        tasks.append(move_task(Position.from_games(known.ruleset, known.games, n), values))
    return tasks


def fixed_tasks(kind: Kind) -> list[Task]:
    """Return the fixed tasks for comparisons: the seeds below FIXED_SIZE, after a check of their hash.

    Raises:
        InvalidArgument: This version of the package or of a library makes other tasks.
    """
    tasks = [make_task(kind, seed) for seed in range(FIXED_SIZE)]
    if (found := hash_of(tasks)) != FIXED_HASHES[kind]:
        raise InvalidArgument(f"the fixed tasks {kind!r} have hash {found}, not {FIXED_HASHES[kind]}")
    return tasks


def hash_of(tasks: Iterable[Task]) -> str:
    """Return the SHA-256 of prompts, answers and values, in hexadecimal digits."""
    content = [[task.prompt, task.solution, sorted(task.values.items())] for task in tasks]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def summary(scores: Iterable[Score]) -> dict[str, Any]:
    """Return number of tasks, mean reward and regret (None: all unknown) and share of invalid replies.

    >>> summary([Score(0.0, "S1", regret=0), Score(-1.0, error="no answer")])
    {'tasks': 2, 'reward': -0.5, 'regret': 0, 'invalid': 0.5}

    Raises:
        InvalidArgument: The scores are empty.
    """
    if not (scores := list(scores)):
        raise InvalidArgument(f"a summary needs at least one score, not {scores}")
    rewards = [score.reward for score in scores if score.reward is not None]
    regrets = [score.regret for score in scores if score.regret is not None]
    return {
        "tasks": len(scores),
        "reward": round(mean(rewards), 4) if rewards else None,
        "regret": round(mean(regrets), 3) if regrets else None,
        "invalid": round(mean(bool(score.error) for score in scores), 4),
    }
