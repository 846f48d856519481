"""Positions as prompts for language models, with exact rewards; docs/guides/language_models.md is the guide.

>>> task = make_task("move", seed=3)
>>> task.score("The capture is tempting, but I stay. Answer: " + task.solution).reward
0.0

Rewards of answers are from -1 to 0. A right answer or a best move has 0, an invalid reply -1. A move that
gives away R of the S seeds of a game has -R / 2S.
"""

import hashlib
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from mancala_env._util.checks import one_of, whole
from mancala_env.engine.state import PLAYERS
from mancala_env.envs import prompts
from mancala_env.envs.prompts import Score, hole_name
from mancala_env.envs.text_round import LEVELS as LEVELS
from mancala_env.envs.text_round import Round as Round
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.render.motion import ends_of, place_name
from mancala_env.rulesets import RulesetLike
from mancala_env.solver import ILLEGAL, Solver, positions
from mancala_env.solver.fresh_positions import Split, draw_position, fresh_ruleset

Kind = Literal["sow", "move"]
FIXED_SIZE = 200
FIXED_HASHES = {
    "sow": "283efd98dd8f8ddbad45c2eeca2b6eda2aab793789a645b4be56f110a95960f2",
    "move": "051096eb1b3d1840bf5eaf65b4bc87a433be5c15670e5da2cc4f0c1b4f7bbb1f",
}
"""Hash of the fixed tasks of each kind; a change of prompts, tasks or values changes it."""
# Limits in nodes give the same tasks on every machine.
_MOST_NODES = 200_000
_LAPS = ((1, 1), (2, 3), (4, 7), (8, 15), (16, 30))


@dataclass(frozen=True)
class Task:
    """One question about a position.

    Attributes:
        kind: "sow": where does a turn end? "move": which move is best?
        position: The position; do not change it.
        question: The question, without rules and board.
        solution: A right answer. Keep it from the model.
        values: Exact value of each action in seeds, for the task "move".
    """

    kind: Kind
    position: Position
    question: str
    solution: str
    values: dict[int, int] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        """Rules, board and question."""
        return prompts.prompt_of(self.position, self.question)

    def score(self, reply: str) -> Score:
        """Return the exact reward of a reply. Its last answer counts."""
        if self.kind == "move":
            return prompts.score_move(self.position, reply, self.values)
        try:
            answer = prompts.parse_sowing(reply)
        except InvalidArgument as error:
            return Score(prompts.INVALID_REWARD, error=str(error))
        return Score(0.0 if answer == self.solution else prompts.INVALID_REWARD, answer)


def make_task(
    kind: Kind, seed: int, ruleset: RulesetLike | None = None, *, split: Split = "evaluation", level: int = 0
) -> Task:
    """Make the task of a seed. The same arguments give the same task on every machine.

    >>> make_task("sow", 1, level=5).position == make_task("sow", 1, level=5).position
    True

    Args:
        kind: "sow" or "move".
        seed: Number of the task.
        ruleset: The ruleset; None: fresh rule options on a small board, drawn for this task.
        split: A quarter of all positions is held out for "evaluation"; the others are for "training".
        level: Difficulty of "sow": 1 to 5 for 1, 2-3, 4-7, 8-15 and 16-30 laps; 0: drawn. "move" ignores it.

    Raises:
        InvalidArgument: An argument is out of range, or no position was found.
        InvalidRuleset: The ruleset is invalid.
    """
    one_of("kind", kind, get_args(Kind))
    rng = random.Random(f"{kind} {whole('seed', seed, 0)}")
    drawn_level = rng.randint(1, len(_LAPS))
    low, high = _LAPS[(whole("level", level, 0, len(_LAPS)) or drawn_level) - 1]
    # The solver needs a small board; sowing does not.
    widest = 5 if kind == "move" else 8
    for _ in range(1000):
        drawn = fresh_ruleset(rng, widest) if ruleset is None else ruleset
        position = draw_position(rng, drawn, split)
        if position is None:
            continue
        task = _solve(position) if kind == "move" else _sowing_task(position, rng, range(low, high + 1))
        if task:
            return task
    raise InvalidArgument(f"no position found for {kind!r} with ruleset {ruleset!r} and level {level}")


def _solve(position: Position) -> Task | None:
    """Return the task "move" of a position; None if it takes long to solve, or all moves are equal."""
    solver = Solver(position.ruleset, memory_mb=16, use_book=False)
    values = solver.action_values_within(position, _MOST_NODES)
    if not values or min(values.values()) == max(values.values()):
        return None
    return _move_task(position, values)


def _move_task(position: Position, values: dict[int, int]) -> Task:
    """Return the task "move" of a position, from the exact value of each legal action."""
    best = max(values, key=lambda action: values[action])
    question = prompts.MOVE_QUESTION.format(player=PLAYERS[position.player])
    return Task("move", position, question, hole_name(position, best), values)


def _sowing_task(position: Position, rng: random.Random, laps: range) -> Task | None:
    """Return the task "sow" of a turn whose number of laps is in `laps`; None without one."""
    for action in rng.sample(position.legal_actions, len(position.legal_actions)):
        turn = position.timeline(action)
        if turn.laps in laps:
            captured = sum(event.seeds for event in turn.events if event.kind == "store")
            solution = f"{place_name(position.ruleset, ends_of(turn)[-1])} {turn.laps} {captured}"
            start = hole_name(position, action)
            question = prompts.SOW_QUESTION.format(player=PLAYERS[position.player], hole=start)
            return Task("sow", position, question, solution)
    return None


def solved_tasks(ruleset: RulesetLike) -> list[Task]:
    """Return the tasks "move" of the bundled solved positions, on which `mancala evaluate` measures regret.

    Raises:
        NoPositions: The ruleset is without solved positions.
    """
    known, tasks = positions(ruleset), []
    for n, row in enumerate(known.action_values.tolist()):
        values = {action: value for action, value in enumerate(row) if value != ILLEGAL}
        tasks.append(_move_task(Position.from_games(known.ruleset, known.games, n), values))
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
