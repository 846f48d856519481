"""Positions as prompts for language models, with exact rewards; docs/guides/language_models.md is the guide.

>>> task = make_task("move", seed=3)
>>> task.score("The capture is tempting, but I stay. Answer: " + task.solution).reward
0.0

Rewards of answers are from -1 to 0. A right answer or a best move has 0, an invalid reply -1. A move that
gives away R of the S seeds of a game has -R / 2S. The reward of a round is the final lead, from -1 to 1.
"""

import random
from dataclasses import dataclass, field
from typing import NamedTuple, SupportsIndex, get_args

from mancala_env._util.checks import one_of, whole
from mancala_env.agents import AgentLike, make
from mancala_env.engine.state import PLAYERS
from mancala_env.envs import prompts
from mancala_env.envs.prompts import Kind, Split
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games.notation import LETTERS, turn_text
from mancala_env.games.position import Position, check_position
from mancala_env.render.motion import ends_of, place_name
from mancala_env.rulesets import RulesetLike
from mancala_env.solver import Solver
from mancala_env.solver.fresh_positions import draw_positions

INVALID_REWARD = -1.0  # no legal move has less
LEVELS = ("random", "greedy", "minimax:1", "minimax:2", "minimax:3", "minimax:4", "minimax:6", "perfect")
"""Opponents of :class:`Round`, levels 1 to 8; not the levels of the browser page."""
_MOST_NODES = 200_000  # A limit in nodes gives the same tasks on every machine.
_LAPS = (range(1, 2), range(2, 4), range(4, 8), range(8, 16), range(16, 31))


class Score(NamedTuple):
    """The evaluation of a reply: its reward, -1 to 0, and the exact number of seeds that the move gives away.

    Reward and regret of a legal move are None if the exact values are unknown. The answer is a hole, such as
    "S3"; for "sow" also laps and captured seeds. The error says why a reply is invalid.
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
        solution: A right answer; "" if unknown. Keep it from the model.
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
        return prompts.prompt_of(self.position, self.question)

    def score(self, reply: str) -> Score:
        """Return the exact reward of a reply. Its last answer counts."""
        try:
            answer = prompts.parse_answer(self.kind, reply)
        except InvalidArgument as error:
            return Score(INVALID_REWARD, error=str(error))
        if self.kind == "sow":
            return Score(0.0 if answer == self.solution else INVALID_REWARD, answer)
        position, own = self.position, LETTERS[self.position.player]
        answer = answer if answer[0] in LETTERS else own + answer
        action = int(answer[1:]) - 1
        is_in_row = 0 <= action < position.ruleset.row_width
        is_own = answer[0] == own and (is_in_row or action in position.legal_actions)
        if why := position.why_illegal(action) if is_own else "it is not in your row":
            why = f"{answer} cannot be sown: {why}; {prompts.legal_text(position)}"
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
        InvalidArgument, InvalidRuleset: An argument is invalid, or no position was found.
    """
    one_of("kind", kind, get_args(Kind))
    rng = random.Random(f"{kind} {whole('seed', seed, 0)}")
    laps = (rng.choice(_LAPS), *_LAPS)[whole("level", level, 0, len(_LAPS))]
    # The solver needs a small board; sowing does not.
    for position in draw_positions(rng, ruleset, split, widest=5 if kind == "move" else 8):
        if kind == "move":
            solver = Solver(position.ruleset, memory_mb=16, use_book=False)
            values = solver.action_values_within(position, _MOST_NODES) or {}
            if len(set(values.values())) > 1:
                return move_task(position, values)
            continue
        for action in rng.sample(position.legal_actions, len(position.legal_actions)):
            if position.timeline(action).laps in laps:
                return sow_task(position, action)
    raise InvalidArgument(f"no {kind!r} found for ruleset {ruleset!r}, level {level} and split {split!r}")


def sow_task(position: Position, action: int) -> Task:
    """Return the task to say where the turn of a legal action ends."""
    check_position(position)
    turn = position.timeline(action)
    end = place_name(position.ruleset, ends_of(turn)[-1])
    solution = f"{end} {turn.laps} {position.copy().play(action).captured}"
    return Task("sow", position, prompts.sow_question(position, action), solution)


def move_task(position: Position, values: dict[int, int]) -> Task:
    """Return the task to find the best move, from the exact value of each legal action; {}: unknown."""
    check_position(position)
    if values and set(values) != set(position.legal_actions):
        raise InvalidArgument(f"values must be of all legal actions {position.legal_actions}, not {values}")
    best = turn_text(position.player, max(values, key=lambda action: values[action])) if values else ""
    return Task("move", position, prompts.move_question(position), best, values)


class Round:
    """A round by text, against a bundled agent or between two models.

    >>> game = Round(seed=1, opponent=2)
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
        opponent: SupportsIndex | AgentLike | None = 1,
        split: Split = "evaluation",
    ) -> None:
        """Begin the round of a seed, after two random turns.

        Args:
            seed: Number of the round; it also seeds the opponent.
            ruleset: As in :func:`make_task`.
            opponent: Level 1 to 8, an agent, or its spec. None: `step` takes the replies of both players.
                Level 8 draws positions that are solved quickly. With a `ruleset`, its turns may take hours.
            split: As in :func:`make_task`.

        Raises:
            InvalidArgument, InvalidRuleset, InvalidSpec: An argument is invalid.
        """
        rng = random.Random(f"play {whole('seed', seed, 0)}")
        if isinstance(opponent, SupportsIndex):
            opponent = LEVELS[whole("opponent", opponent, 1, len(LEVELS)) - 1]
        must_be_solved = opponent == "perfect" and ruleset is None
        for position in draw_positions(rng, ruleset, split, widest=5, turns=2):
            self.position, self.player, self.forfeit = position, rng.randrange(2), None
            self._solver, self._opponent = Solver(position.ruleset, memory_mb=16), None
            if must_be_solved and not self._solver.action_values_within(position, _MOST_NODES):
                continue
            if opponent is not None:
                self._opponent = make(opponent, position.ruleset, seed=rng.getrandbits(32), num_threads=1)
            self._reply()
            if not position.is_over:
                return
        raise InvalidArgument(
            f"no round found for ruleset {ruleset!r} in split {split!r}; choose a larger board or split 'all'"
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
        values = self._solver.action_values_within(self.position, _MOST_NODES) or {}
        score = move_task(self.position, values).score(reply)
        if score.error:
            self.forfeit = self.position.player
        else:
            self.position.play(int(score.answer[1:]) - 1)
            self._reply()
        return score

    def _reply(self) -> None:
        """Play the opponent's turns."""
        self._turns: list[str] = []
        self.player = self.player if self._opponent else self.position.player
        while self._opponent and not self.position.is_over and self.position.player != self.player:
            action = self._opponent.choose(self.position)
            self._turns.append(f"{PLAYERS[1 - self.player]} sows {turn_text(1 - self.player, action)}.")
            self.position.play(action)
