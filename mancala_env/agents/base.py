"""What an agent is: everything that can be put in a player's seat."""

from abc import ABC, abstractmethod

import numpy as np

from mancala_env._util.checks import seed_of
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.threads import num_threads_of
from mancala_env.engine.state import END_COLUMN, RUNNING, encode
from mancala_env.engine.validation import check_array, check_games
from mancala_env.errors import IllegalMove, MancalaError
from mancala_env.games.position import Position, check_position
from mancala_env.rulesets import Ruleset, lookup


class InvalidSpec(MancalaError):
    """A spec that names no agent, or an agent that cannot play the ruleset."""


class Agent(ABC):
    """A player of one ruleset: maps a batch of positions to actions.

    Agents carry nothing from one turn to the next but their random state, so one agent may play any
    number of games at once.

    Attributes:
        spec: The text that makes this agent; what it is called in tables.
        filed_as: What its results are filed under, where that is not `spec`; :func:`make` sets it.
        ruleset: The ruleset it plays.
        num_threads: CPU threads it may use.
    """

    _given_seeds: np.ndarray | None = None

    def __init__(
        self,
        ruleset: str | Ruleset,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and seed it (None: from the system).

        Raises:
            InvalidArgument: The seed or the number of threads is none.
            InvalidRuleset: No such ruleset.
        """
        self.spec = spec
        self.filed_as: str | None = None
        self.ruleset = lookup(ruleset)
        self.num_threads = num_threads_of(num_threads)
        self._rules = encode(self.ruleset)
        self.seed(seed)

    @property
    def entrant(self) -> str:
        """What its results are filed under: agents that may play differently have different ones."""
        return self.filed_as or self.spec

    def seed(self, seed: int | None) -> None:
        """Restart everything random from a seed; the same seed and positions give the same actions.

        Raises:
            InvalidArgument: It is no whole number of at least 0.
        """
        self._rng = np.random.default_rng(seed_of(seed))

    @abstractmethod
    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``; not changed.

        Returns:
            int64 `[B]`, a legal action of each game's player to move.

        Raises:
            IllegalMove: A game is over.
            InvalidPosition: It is no such array, or a game is none that the ruleset can have: of another
                board, or of more seeds. The quickest agents, random and greedy, do not look at the games.
        """

    def check_rounds(self, rounds: Rounds) -> None:  # noqa: B027  (most agents can play them all)
        """Raise a MancalaError where the agent cannot play games of so many rounds; asked before a game."""

    def choose(self, position: Position) -> int:
        """Choose an action in one position.

        Raises:
            IllegalMove: The round is over.
            InvalidSpec: The position is of another ruleset.
            InvalidArgument: It is no position.
        """
        check_position(position)
        if position.ruleset != self.ruleset:
            raise InvalidSpec(f"{self.spec} plays {self.ruleset.name}, not {position.ruleset.name}")
        if position.is_over:
            raise IllegalMove(f"the round is over ({position.end}); there is nothing to choose")
        return int(self.act(position.games)[0])

    def _running(self, games: np.ndarray, *, is_trusted: bool = False) -> np.ndarray:
        """Return the games as kernels take them.

        Raises:
            InvalidPosition: It is no array of games; or the ruleset cannot have such a game, which is not
                looked for where they are trusted.
            IllegalMove: A game is over.
        """
        games = check_array(games) if is_trusted else check_games(self.ruleset, games)
        over = np.flatnonzero(games[:, END_COLUMN] != RUNNING)
        if len(over):
            raise IllegalMove(f"the round of game {over[0]} is over; there is nothing to choose")
        return np.array(games, np.uint64, order="C")

    def act_seeded(self, games: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Choose an action in each game by its own seed; the agent's generator stays where it is.

        So one agent can play in several environments that do not disturb each other. What an agent draws by
        :meth:`random_seeds` depends on the seed of each game alone, anything else on the first one.

        Args:
            games: As :meth:`act` takes them.
            seeds: uint64 `[B]`.
        """
        before = self._rng
        self._rng, self._given_seeds = np.random.default_rng(seeds[:1]), seeds
        try:
            return self.act(games)
        finally:
            self._rng, self._given_seeds = before, None

    def random_seeds(self, size: int) -> np.ndarray:
        """Draw seeds for the generators of kernels, uint64 `[size]`."""
        given, self._given_seeds = self._given_seeds, None
        if given is not None and len(given) == size:
            return given
        return self._rng.integers(0, 2**64, size, dtype=np.uint64)

    def __repr__(self) -> str:
        return f"agents.make({self.spec!r}, {self.ruleset.name!r})"
