"""The base class of agents."""

from abc import ABC, abstractmethod
from typing import Required, TypedDict

import numpy as np

from mancala_env._util.checks import seed_of
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.threads import num_threads_of
from mancala_env.engine.state import END_COLUMN, RUNNING, encode
from mancala_env.engine.validation import check_array, check_games
from mancala_env.errors import IllegalMove, MancalaError
from mancala_env.games.position import Position, check_position
from mancala_env.rulesets import RulesetLike, lookup, names


class InvalidSpec(MancalaError):
    """The spec is invalid, or its agent cannot play the ruleset."""


class AgentSettings(TypedDict, total=False):
    """Keyword arguments of every agent.

    Attributes:
        spec: Text from which :func:`mancala_env.agents.make` makes the agent, and its name in tables.
        seed: Random seed; None takes one from the operating system.
        num_threads: CPU threads; None for all cores that this process may use.
    """

    spec: Required[str]
    seed: int | None
    num_threads: int | None


class Agent(ABC):
    """A player of one ruleset: maps a batch of positions to actions.

    The only state that it keeps between turns is its random number generator. So it can play many games at
    once.

    Attributes:
        spec: Text from which :func:`make` makes this agent, and its name in tables.
        filed_as: Key of its results if it differs from `spec`; :func:`make` sets it.
        ruleset: Ruleset it plays.
        num_threads: CPU threads it may use.
    """

    is_from_spec = False
    """Whether :func:`make` makes the same agent from `spec` again."""
    is_identified = True
    """Whether `entrant` identifies the agent; False for a function without a chosen name."""
    is_drawing = False
    """Whether it draws its actions by probabilities, and not only to break ties."""
    _given_seeds: np.ndarray | None = None

    def __init__(
        self, ruleset: RulesetLike, *, spec: str, seed: int | None = None, num_threads: int | None = None
    ) -> None:
        """Bind the agent to a ruleset and seed it; see :class:`AgentSettings`."""
        self.spec = spec
        self.filed_as: str | None = None
        self.ruleset = lookup(ruleset)
        self.num_threads = num_threads_of(num_threads)
        self._rules = encode(self.ruleset)
        self._first_seed = seed_of(seed)
        self.seed(seed)

    @property
    def entrant(self) -> str:
        """Key of the agent's results. Agents that may play differently have different keys."""
        return self.filed_as or self.spec

    def seed(self, seed: int | None) -> None:
        """Restart the random number generator; the same seed and positions give the same actions."""
        self._rng = np.random.default_rng(seed_of(seed))

    @abstractmethod
    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``; not changed.

        Returns:
            int64 `[B]`, a legal action for the player to move in each game.

        Raises:
            IllegalMove: A game is over.
            InvalidPosition: The array has another shape or type, or a game is impossible in the ruleset.
                The fastest agents, random and greedy, do not validate games.
        """

    def check_rounds(self, rounds: Rounds) -> None:  # noqa: B027  (most agents accept all rounds)
        """Raise a MancalaError if the agent cannot play games of `rounds` rounds; called before a game."""

    def choose(self, position: Position) -> int:
        """Choose an action in one position.

        Raises:
            IllegalMove: The round is over, or the agent chose an illegal action.
            InvalidSpec: The position is of another ruleset.
            InvalidArgument: The argument is not a position.
        """
        check_position(position)
        if position.ruleset != self.ruleset:
            raise InvalidSpec(f"{self.spec} plays {self.ruleset.name}, not {position.ruleset.name}")
        if position.is_over:
            raise IllegalMove(f"the round is over ({position.end}): no action is legal")
        action = int(self.act(position.games)[0])
        if why := position.why_illegal(action):
            legal = ", ".join(map(str, position.legal_actions))
            raise IllegalMove(f"{self.spec} chose action {action}: {why}; legal actions: {legal}")
        return action

    def _running(self, games: np.ndarray, *, is_trusted: bool = False) -> np.ndarray:
        """Validate games, trusted ones only in shape and type, and return a copy for kernels."""
        games = check_array(games) if is_trusted else check_games(self.ruleset, games)
        over = np.flatnonzero(games[:, END_COLUMN] != RUNNING)
        if len(over):
            raise IllegalMove(f"the round of game {over[0]} is over: no action is legal")
        return np.array(games, np.uint64, order="C")

    def act_seeded(self, games: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Choose an action in each game with the game's own seed; the agent's generator does not change.

        `seeds` are uint64 `[B]`. All agents of the package draw by :meth:`random_seeds`, so that the action
        in a game depends on its own seed. One agent can play in several environments without affecting their
        games.
        """
        before = self._rng
        self._rng, self._given_seeds = np.random.default_rng(seeds[:1]), seeds
        try:
            return self.act(games)
        finally:
            self._rng, self._given_seeds = before, None

    def random_seeds(self, size: int) -> np.ndarray:
        """Draw seeds for the random number generators of kernels, uint64 `[size]`."""
        given, self._given_seeds = self._given_seeds, None
        if given is not None and len(given) == size:
            return given
        return self._rng.integers(0, 2**64, size, dtype=np.uint64)

    def __repr__(self) -> str:
        """Return a call that makes the agent again, with its first seed, or a description in brackets."""
        if not self.is_from_spec:
            return f"<{type(self).__name__} {self.spec!r} for {self.ruleset.name}>"
        ruleset = self.ruleset.name if self.ruleset.name in names() else self.ruleset
        seed = "" if self._first_seed is None else f", seed={self._first_seed}"
        return f"agents.make({self.spec!r}, {ruleset!r}{seed})"
