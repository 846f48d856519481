"""Agents that search: minimax, mcts, and both with a value network.

The algorithms are in :mod:`mancala_env.search`. The value network comes from a file
(:mod:`mancala_env.networks.value_files`): the file that the spec names, or the bundled file of the ruleset.
"""

from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np

from mancala_env._util.checks import is_whole, refuse_swapped, whole
from mancala_env.agents.base import Agent, AgentSettings, InvalidSpec
from mancala_env.engine.state import TERRITORY_COLUMN
from mancala_env.networks.value import UNIT, unit_of
from mancala_env.networks.value_files import bundled_network, read_for
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.search import alphabeta, uct
from mancala_env.search.limit import MOST_TURNS, Limit, check_limit
from mancala_env.search.piecewise import PiecewiseSearch
from mancala_env.search.tree_growth import Guide, RootOptions, search_games
from mancala_env.search.tree_search import MARGIN_SHARE

ILLEGAL = alphabeta.ILLEGAL


class MinimaxAgent(Agent):
    """Play the turn with the best value of an alpha-beta search; break ties at random.

    Attributes:
        limit: Depth, nodes or time for each position.
        last_depth: int64 `[B]`, depth of the last complete search of each game in the last call. It is
            smaller than the limit if every line ends sooner or only one action is legal.
        last_nodes: int64 `[B]`, turns played in the search of each game.
        last_values: float64 `[B]`, value of each game for its player to move, in seeds.
    """

    last_depth = last_nodes = np.zeros(0, np.int64)
    last_values = np.zeros(0)

    def __init__(
        self,
        ruleset: RulesetLike,
        limit: Limit,
        *,
        network: np.ndarray | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Bind the agent to a ruleset and a depth or time; settings of :class:`Agent`.

        `network` is a packed value network for the leaves (:mod:`mancala_env.networks.value`). Without it, a
        leaf's value is the margin of counts.
        """
        super().__init__(ruleset, **settings)
        self.limit = check_limit(limit, ("depth", "nodes", "seconds"), self.spec)
        new_memory = partial(alphabeta.new_memory, self.ruleset.num_holes, self.limit)
        self._searches = PiecewiseSearch(new_memory, alphabeta.LARGEST_PIECE)
        self._network = network

    def act(self, games: np.ndarray) -> np.ndarray:
        games = self._running(games)
        return self._search_all(games, 0, self.random_seeds(len(games))).actions

    def action_values(self, games: np.ndarray, num_actions: int | None = None) -> np.ndarray:
        """Search every legal action of each game; see :func:`action_values` for arguments and errors."""
        games = self._running(games)
        width, num_holes = self.ruleset.row_width, self.ruleset.num_holes
        size = width if num_actions is None else whole("num_actions", num_actions, width, num_holes)
        if size < num_holes:
            rows = (1 << width) - 1
            elsewhere = np.flatnonzero(games[:, TERRITORY_COLUMN] != rows)
            if len(elsewhere):
                raise ValueError(
                    f"num_actions={size} is too small: in game {elsewhere[0]} territory has changed hands; "
                    f"pass num_actions={num_holes}"
                )
        return self._search_all(games, size, np.zeros(len(games), np.uint64)).values

    def _search_all(
        self, games: np.ndarray, num_values: int, rng_states: np.ndarray
    ) -> alphabeta.AlphaBetaResults:
        unit, wants_all = unit_of(self._network), num_values > 0
        step = 2 if self.limit.given == ("depth",) else 1
        results = alphabeta.AlphaBetaResults(
            actions=np.zeros(len(games), np.int64),
            values=np.full((len(games), num_values), unit * ILLEGAL, np.int16),
            depths=np.zeros(len(games), np.int64),
            nodes=np.zeros(len(games), np.int64),
            best=np.zeros(len(games), np.int64),
        )

        def search_games(memory: alphabeta.AlphaBetaMemory, start: int, stop: int, piece: int) -> int:
            limits = self.limit.max_depth, step, wants_all, piece
            return alphabeta.search_piece(
                self._rules, self._network, games, rng_states, *limits, results, memory, start, stop
            )

        self._searches.run(len(games), self.limit, self.num_threads, search_games)
        self.last_depth, self.last_nodes = results.depths, results.nodes
        self.last_values = results.best / unit
        return results


def action_values(
    ruleset: RulesetLike,
    games: np.ndarray,
    depth: int,
    num_actions: int | None = None,
    *,
    num_threads: int | None = None,
) -> np.ndarray:
    """Search every legal action of each game, for distillation and analysis.

    :meth:`MinimaxAgent.action_values` keeps its memory between calls, and can search for a time.

    Args:
        ruleset: Ruleset of the games.
        games: Running games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``; not changed.
        depth: Turns to search, including the action, 1 to 99.
        num_actions: A, such as ``Batch.num_actions``; None: W, which fits single rounds.
        num_threads: CPU threads; None: all cores of this process.

    Returns:
        int16 `[B, A]`, value of each action: the margin of the player to move; ILLEGAL for illegal actions.

    Raises:
        InvalidSpec: The depth is invalid.
        InvalidPosition: `games` has another shape or type.
        IllegalMove: A game is over.
        InvalidArgument: `num_actions` is not a whole number from W to H.
        ValueError: `num_actions` is too small for a game.
    """
    if not is_whole(depth) or not 1 <= depth <= MOST_TURNS:
        raise InvalidSpec(f"depth must be a whole number from 1 to {MOST_TURNS}, not {depth!r}")
    refuse_swapped("action_values(ruleset, games, depth)", ruleset, games)
    limit = Limit(depth=depth)
    agent = MinimaxAgent(ruleset, limit, spec=f"minimax:{limit}", seed=0, num_threads=num_threads)
    return agent.action_values(games, num_actions)


class MctsAgent(Agent):
    """Play the turn with the most visits of a Monte-Carlo tree search, or the turn proven best.

    Attributes:
        limit: Number of simulations or time for each position.
        last_simulations: int64 `[B]`, simulations of each game in the last call; fewer than the limit if the
            value is proven or only one action is legal.
    """

    last_simulations = np.zeros(0, np.int64)

    def __init__(self, ruleset: RulesetLike, limit: Limit, **settings: Unpack[AgentSettings]) -> None:
        """Bind the agent to a ruleset and a number of simulations or a time; settings of :class:`Agent`."""
        super().__init__(ruleset, **settings)
        self.limit = check_limit(limit, ("simulations", "seconds"), self.spec)
        new_memory = partial(uct.new_memory, self.ruleset.num_holes, limit.max_simulations)
        self._searches = PiecewiseSearch(new_memory, uct.LARGEST_PIECE)

    def act(self, games: np.ndarray) -> np.ndarray:
        games = self._running(games)
        actions, self.last_simulations = self.search(games, self.random_seeds(len(games)))
        return actions

    def search(self, games: np.ndarray, rng_states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the chosen actions and the numbers of simulations, int64 `[B]` each.

        Each game has a seed of its own, uint64 `[B]`, and the agent's random state does not change. Several
        threads may call it at once. The games are not validated.
        """
        actions, simulations = np.zeros(len(games), np.int64), np.zeros(len(games), np.int64)
        most, match_values = self.limit.max_simulations, self._match_values(games)

        def search_games(memory: uct.UctMemory, start: int, stop: int, piece: int) -> int:
            fixed = self._rules, games, rng_states, most, match_values, actions, simulations
            return uct.search_piece(*fixed, memory, start, stop, piece)

        self._searches.run(len(games), self.limit, self.num_threads, search_games)
        return actions, simulations

    def _match_values(self, games: np.ndarray) -> np.ndarray | None:
        """Return the table of match values for the search of games; None: results are margins."""
        return None


class PuctAgent(Agent):
    """Like :class:`MctsAgent`, with a search guided by a network.

    `limit` and `guide` are set after it is made. `root` is how actions are explored and chosen at the root.
    """

    limit: Limit
    guide: Guide
    last_simulations = np.zeros(0, np.int64)
    root = RootOptions()

    def act(self, games: np.ndarray) -> np.ndarray:
        games = self._running(games)
        terms = self.random_seeds(len(games)), self.ruleset.num_holes, self.root
        found = search_games(self.ruleset, games, self.limit, self.guide, *terms)
        self.last_simulations = found.simulations
        return found.actions


class ValueMinimaxAgent(MinimaxAgent):
    """Minimax with a value network at the leaves: from a file, or the bundled one."""

    def __init__(
        self,
        ruleset: RulesetLike,
        limit: Limit,
        path: str | Path | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Bind the agent to a ruleset and a depth or time, and read a value network; None: the bundled one.

        Raises:
            InvalidValueNetwork: The network is missing, damaged or of another ruleset.
        """
        super().__init__(ruleset, limit, network=self._read_network(path, lookup(ruleset)), **settings)

    def _read_network(self, path: str | Path | None, ruleset: Ruleset) -> np.ndarray:
        return _packed(path, ruleset)

    def action_values(self, games: np.ndarray, num_actions: int | None = None) -> np.ndarray:
        """Return expected margins in seeds, float32 `[B, A]`; see :meth:`MinimaxAgent.action_values`."""
        return (super().action_values(games, num_actions) / UNIT).astype(np.float32)


class CheckpointMinimaxAgent(ValueMinimaxAgent):
    """Minimax with the value network of an old checkpoint; raises InvalidCheckpoint if it has none."""

    def _read_network(self, path: str | Path | None, ruleset: Ruleset) -> np.ndarray:
        from mancala_env.networks.checkpoint import check_ruleset, load_value_weights, read_identity

        assert path is not None
        identity = read_identity(path)
        check_ruleset(path, identity, ruleset)
        return load_value_weights(path, identity).packed()


class ValueMctsAgent(PuctAgent):
    """Tree search with a value network from a file, or with the bundled one."""

    def __init__(
        self,
        ruleset: RulesetLike,
        limit: Limit,
        path: str | Path | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Bind the agent to a ruleset, a limit and a value network; see :class:`ValueMinimaxAgent`."""
        super().__init__(ruleset, **settings)
        self.limit = check_limit(limit, ("simulations", "seconds"), self.spec)
        self.guide = Guide(_packed(path, self.ruleset), None, MARGIN_SHARE)


def _packed(path: str | Path | None, ruleset: Ruleset) -> np.ndarray:
    return read_for(bundled_network(ruleset) if path is None else path, ruleset).packed()
