"""A round by text, against a bundled agent or between two models.

A new prompt is complete without earlier messages; in a chat, `update` is shorter.
"""

import random

from mancala_env._util.checks import whole
from mancala_env.agents import Agent, AgentLike, make
from mancala_env.engine.state import PLAYERS
from mancala_env.envs import prompts
from mancala_env.envs.prompts import Score, hole_name
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games.position import Position
from mancala_env.rulesets import RulesetLike
from mancala_env.solver import Solver
from mancala_env.solver.fresh_positions import Split, draw_position, fresh_ruleset

LEVELS = ("random", "greedy", "minimax:1", "minimax:2", "minimax:3", "minimax:4", "minimax:6", "perfect")
"""Opponents of :class:`Round`, levels 1 to 8; not the levels of the browser page."""
_MOST_NODES, _MOST_DRAWS = 200_000, 1000


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
            opponent: An agent or its spec instead of a level.
            split: As in :func:`make_task`.

        Raises:
            InvalidArgument, InvalidRuleset, InvalidSpec: An argument is invalid.
        """
        rng = random.Random(f"play {whole('seed', seed, 0)}")
        if opponent is None and level is not None:
            opponent = LEVELS[whole("level", level, 1, len(LEVELS)) - 1]
        for _ in range(_MOST_DRAWS):
            drawn = draw_position(rng, fresh_ruleset(rng) if ruleset is None else ruleset, split, turns=2)
            if drawn and self._begin(drawn, rng, opponent):
                return
        raise InvalidArgument(f"no round found with ruleset {ruleset!r}: all end in a few turns")

    def _begin(self, position: Position, rng: random.Random, opponent: AgentLike | None) -> bool:
        """Begin from a position; return whether the model has a turn."""
        self.position, self.player = position, rng.randrange(2)
        self.forfeit: int | None = None
        self._solver = Solver(position.ruleset, memory_mb=16)
        self._opponent: Agent | None = None
        if opponent is not None:
            self._opponent = make(opponent, position.ruleset, seed=rng.getrandbits(32), num_threads=1)
        self._reply()
        return not position.is_over

    @property
    def is_over(self) -> bool:
        """Whether the round is over."""
        return self.position.is_over or self.forfeit is not None

    @property
    def rewards(self) -> tuple[float, float]:
        """Lead of South and of North over all seeds, -1 to 1.

        A forfeit loses all seeds: -1 and 1. A round that is not over is a forfeit of the player to move.
        """
        if self.position.is_over:
            south, north = self.position.counts
            lead = (south - north) / self.position.ruleset.total_seeds
        else:
            lead = 1.0 if self.position.player else -1.0
        return lead, -lead

    @property
    def reward(self) -> float:
        """The reward of `player`."""
        return self.rewards[self.player]

    @property
    def prompt(self) -> str:
        """Rules, board and question; complete without earlier messages."""
        return prompts.prompt_of(self.position, self._question)

    @property
    def update(self) -> str:
        """The opponent's turns, the board and the question, for a chat that begins with `prompt`."""
        return "\n\n".join(filter(None, (self._told, prompts.board_text(self.position), self._question)))

    @property
    def _question(self) -> str:
        return prompts.MOVE_QUESTION.format(player=PLAYERS[self.position.player])

    def step(self, reply: str) -> Score:
        """Play a reply, then the opponent's turns. The score has the regret if it is found quickly.

        Raises:
            IllegalMove: The round is over.
        """
        if self.is_over:
            raise IllegalMove(f"the round is over; the reply {reply!r:.40} cannot be played")
        values = self._solver.action_values_within(self.position, _MOST_NODES) or {}
        score = prompts.score_move(self.position, reply, values)
        if score.error:
            self.forfeit = self.position.player
            return score
        self.position.play(int(score.answer[1:]) - 1)
        self._reply()
        return score

    def _reply(self) -> None:
        said = []
        while self._opponent and not self.position.is_over and self.position.player != self.player:
            action = self._opponent.choose(self.position)
            said.append(f"{PLAYERS[1 - self.player]} sows {hole_name(self.position, action)}.")
            self.position.play(action)
        self._told = " ".join(said)
        if self._opponent is None:
            self.player = self.position.player
