"""Positions as prompts for language models, with exact rewards; docs/guides/language_models.md is the guide.

>>> task = make_task("move", seed=3)
>>> task.score("The capture is tempting, but I stay. Answer: " + task.solution).reward
0.0

Rewards of answers are from -1 to 0. A right answer or a best move has 0, an invalid reply -1. A move that
gives away R of the S seeds of a game has -R / 2S. The reward of a round is the final lead, from -1 to 1.
"""

import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from mancala_env._util.checks import one_of, whole
from mancala_env.agents import Agent, AgentLike, make
from mancala_env.engine.holdout import OPENING_SETS, OpeningSet
from mancala_env.engine.state import PLAYERS
from mancala_env.envs import prompts
from mancala_env.envs.prompts import Score, hole_name
from mancala_env.envs.prompts import legal_text as legal_text
from mancala_env.envs.prompts import summary as summary
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games.position import Position
from mancala_env.render.motion import ends_of, place_name
from mancala_env.rulesets import RulesetLike
from mancala_env.solver import ILLEGAL, Solver, positions
from mancala_env.solver.fresh_positions import draw_position, fresh_ruleset

Kind = Literal["sow", "move"]
Split = OpeningSet
FIXED_SIZE = 200
FIXED_HASHES = {
    "sow": "0376418cbcf2bf0aee9ca9871e27fa95b5f9b733dd0c090d4a72a876719b1f38",
    "move": "659a3ebb6581acfdeb1a21b3782596f052fe5c46f5f7c93a0ac903562aaeaa04",
}
"""Hash of the fixed tasks of each kind; a change of prompts, tasks or values changes it."""
LEVELS = ("random", "greedy", "minimax:1", "minimax:2", "minimax:3", "minimax:4", "minimax:6", "perfect")
"""Opponents of :class:`Round`, levels 1 to 8; not the levels of the browser page."""
# Limits in nodes give the same tasks on every machine.
_MOST_NODES, _MOST_DRAWS = 200_000, 1000
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
        split: A fifth of all boards is held out for "evaluation"; the others are for "training".
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
    for position in _drawn(rng, ruleset, split, widest):
        task = _solve(position) if kind == "move" else _sowing_task(position, rng, range(low, high + 1))
        if task:
            return task
    raise InvalidArgument(f"no position found for {kind!r} with ruleset {ruleset!r} and level {level}")


def _drawn(
    rng: random.Random, ruleset: RulesetLike | None, split: Split, widest: int, turns: int | None = None
) -> Iterator[Position]:
    """Yield random positions of a split; without a ruleset, each with fresh rule options."""
    one_of("split", split, OPENING_SETS)
    for _ in range(_MOST_DRAWS):
        drawn = fresh_ruleset(rng, widest) if ruleset is None else ruleset
        if position := draw_position(rng, drawn, split, turns):
            yield position


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
    return Task("move", position, prompts.move_question(position), hole_name(position, best), values)


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


class Round:
    """A round by text, against a bundled agent or between two models.

    >>> game = Round(seed=1, level=2)
    >>> while not game.is_over:
    ...     score = game.step(f"Answer: {game.position.legal_actions[0] + 1}")
    >>> -1 <= game.reward <= 1
    True

    Attributes:
        position: The current position.
        player: The player of the model, 0 or 1; without an opponent the player to move.
        forfeit: The player whose reply was invalid, which ends the round, or None.
    """

    def __init__(
        self,
        seed: int,
        ruleset: RulesetLike | None = None,
        *,
        level: int | None = 1,
        opponent: AgentLike | None = None,
        split: Split = "evaluation",
    ) -> None:
        """Begin the round of a seed, after two random turns.

        Args:
            seed: Number of the round; it also seeds the opponent.
            ruleset: As in :func:`make_task`.
            level: Level of the opponent, 1 to 8; see LEVELS. None: `step` takes the replies of both players.
                Level 8 draws positions that are solved quickly. With a `ruleset`, its turns may take hours.
            opponent: An agent or its spec instead of a level.
            split: As in :func:`make_task`.

        Raises:
            InvalidArgument, InvalidRuleset, InvalidSpec: An argument is invalid.
        """
        rng = random.Random(f"play {whole('seed', seed, 0)}")
        must_be_solved = False
        if opponent is None and level is not None:
            opponent = LEVELS[whole("level", level, 1, len(LEVELS)) - 1]
            must_be_solved = level == len(LEVELS) and ruleset is None
        for position in _drawn(rng, ruleset, split, widest=5, turns=2):
            self.position, self.player, self.forfeit = position, rng.randrange(2), None
            self._solver = Solver(position.ruleset, memory_mb=16)
            if must_be_solved and not self._values():
                continue
            self._opponent: Agent | None = None
            if opponent is not None:
                self._opponent = make(opponent, position.ruleset, seed=rng.getrandbits(32), num_threads=1)
            self._reply()
            if not position.is_over:
                return
        raise InvalidArgument(f"no round found with ruleset {ruleset!r}: all end in a few turns")

    @property
    def is_over(self) -> bool:
        """Whether the round is over."""
        return self.position.is_over or self.forfeit is not None

    @property
    def rewards(self) -> tuple[float, float]:
        """Lead of South and of North over all seeds, -1 to 1.

        A forfeit loses all seeds: -1 and 1. A round that is not over is a forfeit of the player to move.
        """
        lead = 1.0 if self.position.player else -1.0
        if self.position.is_over:
            south, north = self.position.counts
            lead = (south - north) / self.position.ruleset.total_seeds
        return lead, -lead

    @property
    def reward(self) -> float:
        """The reward of `player`."""
        return self.rewards[self.player]

    @property
    def prompt(self) -> str:
        """Rules, board and question; complete without earlier messages."""
        return prompts.prompt_of(self.position, prompts.move_question(self.position))

    @property
    def update(self) -> str:
        """The opponent's turns, the board and the question, for a chat that begins with `prompt`."""
        board, question = prompts.board_text(self.position), prompts.move_question(self.position)
        return "\n\n".join([*self._turns, board, question])

    def step(self, reply: str) -> Score:
        """Play a reply, then the opponent's turns. The score has the regret if it is found quickly.

        Raises:
            IllegalMove: The round is over.
        """
        if self.is_over:
            raise IllegalMove(f"the round is over; the reply {reply!r:.40} cannot be played")
        score = prompts.score_move(self.position, reply, self._values())
        if score.error:
            self.forfeit = self.position.player
        else:
            self.position.play(int(score.answer[1:]) - 1)
            self._reply()
        return score

    def _values(self) -> dict[int, int]:
        """Return the exact value of each action; none if that takes long."""
        return self._solver.action_values_within(self.position, _MOST_NODES) or {}

    def _reply(self) -> None:
        """Play the opponent's turns."""
        self._turns: list[str] = []
        if self._opponent is None:
            self.player = self.position.player
        while self._opponent and not self.position.is_over and self.position.player != self.player:
            action = self._opponent.choose(self.position)
            self._turns.append(f"{PLAYERS[1 - self.player]} sows {hole_name(self.position, action)}.")
            self.position.play(action)
