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
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Literal, NamedTuple, get_args

from mancala_env._util.checks import one_of, whole
from mancala_env.agents import AgentLike, make
from mancala_env.engine.holdout import OPENING_SETS, OpeningSet
from mancala_env.engine.state import NO_PLAYER, PLAYERS
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games.notation import LETTERS, turn_text
from mancala_env.games.position import Position, check_position
from mancala_env.render.motion import ends_of, place_name
from mancala_env.rulesets import RulesetLike
from mancala_env.rulesets.in_words import rules_in_words
from mancala_env.solver import ILLEGAL, Solver, positions
from mancala_env.solver.fresh_positions import draw_position, fresh_ruleset

Kind = Literal["sow", "move"]
Split = OpeningSet
INVALID_REWARD = -1.0
"""Reward of an invalid reply; no legal move has less."""
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
_LAPS = (range(1, 2), range(2, 4), range(4, 8), range(8, 16), range(16, 31))
# Only the end of a reply and the start of an answer are read, because patterns take hours on long ones.
_MOST_READ, _MOST_OF_ANSWER = 100_000, 100
# "Answer: 3", "**Answer:** 3", "<answer>3</answer>", "\boxed{3}" and "the answer is 3" begin an answer.
_MARK = re.compile(r"(?<!/)answer(?:\s+is\b|\W{0,9}?[:=>\uff1a])|\\boxed\b", re.IGNORECASE)
_DECORATION = re.compile(r"[*_`$\"'()\[\]{}<>:=\\]|hole|text|mathrm|mathbf", re.IGNORECASE)
# Another number in the same line is a second answer, unless other words precede it.
_LAST = r"([0-9]+)(?![^\w\n]*(?:(?:or|and|to|then|[SN])[^\w\n]*)*[0-9])"
_NEXT = r"([0-9]+)[\s,;]+(?:(?:laps?|captured)[\s,;]*)?"
_FORMS = {"move": rf"([SN]?)\s*{_LAST}", "sow": rf"([SN])\s*{_NEXT}{_NEXT}{_LAST}"}
_MEANINGS = {"move": "one hole, such as S1", "sow": "hole, laps and captured seeds, such as N2 5 0"}


class Score(NamedTuple):
    """The evaluation of a reply.

    Attributes:
        reward: Reward, -1 to 0; None if the exact values are unknown.
        answer: The hole that the reply names, such as "S3"; in the task "sow" hole, laps and captured seeds.
        regret: Exact number of seeds that the move gives away; None if unknown.
        error: Why the reply is invalid; "" for a valid one.
    """

    reward: float | None
    answer: str = ""
    regret: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Task:
    """One question about a position.

    Attributes:
        kind: "sow": where does a turn end? "move": which move is best?
        position: The position; do not change it.
        question: The question, without rules and board.
        solution: A right answer. Keep it from the model.
        values: Exact value of each action in seeds, for the task "move"; empty if unknown.
    """

    kind: Kind
    position: Position
    question: str
    solution: str
    values: dict[int, int] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        """Rules, board and question."""
        return prompt_of(self.position, self.question)

    def score(self, reply: str) -> Score:
        """Return the exact reward of a reply. Its last answer counts."""
        try:
            answer = parse_answer(self.kind, reply)
        except InvalidArgument as error:
            return Score(INVALID_REWARD, error=str(error))
        if self.kind == "sow":
            return Score(0.0 if answer == self.solution else INVALID_REWARD, answer)
        position, own = self.position, LETTERS[self.position.player]
        answer = answer if answer[0] in LETTERS else own + answer
        action = int(answer[1:]) - 1
        is_own = answer[0] == own and 0 <= action < position.ruleset.row_width
        if why := position.why_illegal(action) if is_own else "it is not in your row":
            why = f"{answer} cannot be sown: {why}; {legal_text(position)}"
            return Score(INVALID_REWARD, answer, error=why)
        if not self.values:
            return Score(None, answer)
        regret = max(self.values.values()) - self.values[action]
        return Score(-regret / (2 * position.ruleset.total_seeds), answer, regret)


def make_task(
    kind: Kind, seed: int, ruleset: RulesetLike | None = None, *, split: Split = "evaluation", level: int = 0
) -> Task:
    """Make the task of a seed. The same arguments give the same task on every machine.

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
    laps = _LAPS[(whole("level", level, 0, len(_LAPS)) or drawn_level) - 1]
    # The solver needs a small board; sowing does not.
    for position in _drawn(rng, ruleset, split, widest=5 if kind == "move" else 8):
        task = _solved(position) if kind == "move" else _sowing(position, rng, laps)
        if task:
            return task
    raise InvalidArgument(
        f"no position found for {kind!r} with ruleset {ruleset!r}, level {level} and split {split!r}"
    )


def _drawn(
    rng: random.Random, ruleset: RulesetLike | None, split: Split, widest: int, turns: int | None = None
) -> Iterator[Position]:
    """Yield random positions of a split; without a ruleset, each with fresh rule options."""
    one_of("split", split, OPENING_SETS)
    for _ in range(_MOST_DRAWS):
        drawn = fresh_ruleset(rng, widest) if ruleset is None else ruleset
        if position := draw_position(rng, drawn, split, turns):
            yield position


def _sowing(position: Position, rng: random.Random, laps: range) -> Task | None:
    """Return the task "sow" of a turn whose number of laps is in `laps`; None without one."""
    player = PLAYERS[position.player]
    for action in rng.sample(position.legal_actions, len(position.legal_actions)):
        turn = position.timeline(action)
        if turn.laps in laps:
            end = place_name(position.ruleset, ends_of(turn)[-1])
            solution = f"{end} {turn.laps} {position.copy().play(action).captured}"
            question = (
                f"{player} sows {turn_text(turn.player, action)}. Where does this turn end? Give the hole of "
                f"the last seed sown, the number of laps, and the number of seeds that go to {player}'s "
                "store. Reason first if you like. End your reply with a line: "
                "Answer: <hole> <laps> <captured>"
            )
            return Task("sow", position, question, solution)
    return None


def _solved(position: Position) -> Task | None:
    """Return the task "move" of a position; None if it takes long to solve, or all moves are equal."""
    solver = Solver(position.ruleset, memory_mb=16, use_book=False)
    values = solver.action_values_within(position, _MOST_NODES) or {}
    return _move(position, values) if len(set(values.values())) > 1 else None


def _move(position: Position, values: dict[int, int]) -> Task:
    """Return the task "move" of a position, from the exact value of each legal action; {}: unknown."""
    best = max(values, key=lambda action: values[action], default=0)
    question = (
        f"You are {PLAYERS[position.player]}. You want the highest lead at the end: your count minus the "
        "opponent's. Which hole do you sow? Reason first if you like. End your reply with a line: "
        "Answer: <hole>"
    )
    return Task("move", position, question, turn_text(position.player, best), values)


def solved_tasks(ruleset: RulesetLike) -> list[Task]:
    """Return the tasks "move" of the bundled solved positions, on which `mancala evaluate` measures regret.

    Raises:
        NoPositions: The ruleset is without solved positions.
    """
    known, tasks = positions(ruleset), []
    for n, row in enumerate(known.action_values.tolist()):
        values = {action: value for action, value in enumerate(row) if value != ILLEGAL}
        tasks.append(_move(Position.from_games(known.ruleset, known.games, n), values))
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
    """Return number of tasks, mean reward, mean known regret and share of invalid replies.

    >>> summary([Score(0.0, "S1", regret=0), Score(-1.0, error="no answer")])
    {'tasks': 2, 'reward': -0.5, 'regret': 0, 'invalid': 0.5}

    Raises:
        InvalidArgument: The scores are empty.
    """
    if not (scores := list(scores)):
        raise InvalidArgument(f"a summary needs at least one score, not {scores}")
    regrets = [score.regret for score in scores if score.regret is not None]
    return {
        "tasks": len(scores),
        "reward": round(mean(score.reward or 0.0 for score in scores), 4),
        "regret": round(mean(regrets), 3) if regrets else None,
        "invalid": round(mean(bool(score.error) for score in scores), 4),
    }


def board_text(position: Position) -> str:
    """Return the board as a drawing and as numbers, with stores and owners.

    >>> from mancala_env import Ruleset
    >>> print(board_text(Position(Ruleset(row_width=2, seeds_per_hole=3))).splitlines()[-1])
    S1=3 S2=3 N1=3 N2=3; stores: South 0, North 0; South to move
    """
    check_position(position)
    _, _, drawing = str(position).partition("\n")
    holes = []
    for hole, (seeds, owner) in enumerate(zip(position.seeds, position.owner, strict=True)):
        owned = "" if owner == NO_PLAYER else f" (owned by {PLAYERS[owner]})"
        holes.append(f"{place_name(position.ruleset, hole)}={seeds}{owned}")
    stores = "stores: South {}, North {}".format(*position.stores)
    return f"{drawing}\n{' '.join(holes)}; {stores}; {PLAYERS[position.player]} to move"


def prompt_of(position: Position, question: str) -> str:
    """Return rules, board and question as one text."""
    board = board_text(position)
    return f"Rules\n{rules_in_words(position.ruleset)}\n\nBoard (n, s: owned)\n{board}\n\n{question}"


def legal_text(position: Position) -> str:
    """Return the legal holes, to append to a prompt.

    >>> legal_text(Position("leyla"))
    'legal holes: S1, S2, S3, S4, S5, S6'
    """
    check_position(position)
    return "legal holes: " + ", ".join(turn_text(position.player, a) for a in position.legal_actions)


def parse_answer(kind: Kind, reply: str) -> str:
    """Return the last answer of a reply: a hole, such as "S3" or "3"; for "sow" also laps and captured seeds.

    >>> parse_answer("move", "Answer: 2. Or rather, **Answer:** hole S3.")
    'S3'

    Raises:
        InvalidArgument: An answer is missing, the last one is of another form, or the kind is unknown.
    """
    one_of("kind", kind, get_args(Kind))
    if not isinstance(reply, str):
        raise InvalidArgument(f"a reply is a text, not {reply!r}")
    text = reply[-_MOST_READ:].rpartition("</think>")[2].partition("<think>")[0]
    *before, answer = _MARK.split(text)
    if not before and len(text.strip()) > 12:
        raise InvalidArgument(f"no answer in {reply[-60:]!r}; end with a line such as Answer: S1")
    # A closing tag ends the answer.
    answer = answer.partition("</")[0].strip()[:_MOST_OF_ANSWER]
    found = re.match(_FORMS[kind], _DECORATION.sub(" ", answer).strip(), re.IGNORECASE)
    if not found:
        raise InvalidArgument(f"the answer must be {_MEANINGS[kind]}, not {answer[:40]!r}")
    row, *numbers = found.groups()
    return row.upper() + " ".join(str(int(number)) for number in numbers)


class Round:
    """A round by text, against a bundled agent or between two models.

    >>> game = Round(seed=1, level=2)
    >>> while not game.is_over:
    ...     score = game.step(f"Answer: {game.position.legal_actions[0] + 1}")

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
            opponent: An agent or its spec instead of a level; "perfect" is level 8.
            split: As in :func:`make_task`.

        Raises:
            InvalidArgument, InvalidRuleset, InvalidSpec: An argument is invalid.
        """
        rng = random.Random(f"play {whole('seed', seed, 0)}")
        if opponent is None and level is not None:
            opponent = LEVELS[whole("level", level, 1, len(LEVELS)) - 1]
        for position in _drawn(rng, ruleset, split, widest=5, turns=2):
            self.position, self.player, self.forfeit = position, rng.randrange(2), None
            self._solver = Solver(position.ruleset, memory_mb=16)
            if opponent == "perfect" and ruleset is None and not self._values():
                continue
            self._opponent = None
            if opponent is not None:
                self._opponent = make(opponent, position.ruleset, seed=rng.getrandbits(32), num_threads=1)
            self._reply()
            if not position.is_over:
                return
        raise InvalidArgument(
            f"no round found with ruleset {ruleset!r} and split {split!r}: all end in a few turns, or their "
            "boards are not in the split; choose a larger board or split 'all'"
        )

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
        return _move(self.position, {}).prompt

    @property
    def update(self) -> str:
        """The opponent's turns, the board and the question, for a chat that begins with `prompt`."""
        return "\n\n".join([*self._turns, board_text(self.position), _move(self.position, {}).question])

    def step(self, reply: str) -> Score:
        """Play a reply, then the opponent's turns. The score has the regret if it is found quickly.

        Raises:
            IllegalMove: The round is over.
        """
        if self.is_over:
            raise IllegalMove(f"the round is over; the reply {reply!r:.40} cannot be played")
        score = _move(self.position, self._values()).score(reply)
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
            self._turns.append(f"{PLAYERS[1 - self.player]} sows {turn_text(1 - self.player, action)}.")
            self.position.play(action)
