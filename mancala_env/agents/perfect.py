"""The agent that never makes a mistake: every action it plays keeps the exact value of the position."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from mancala_env.agents.base import Agent
from mancala_env.agents.minimax import MinimaxAgent
from mancala_env.agents.value_search import ValueMinimaxAgent
from mancala_env.games.position import Position
from mancala_env.networks.value_files import NoValueNetwork
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import MOST_TURNS, Budget
from mancala_env.solver import Solver

MEMORY_MB = 512
"""Most megabytes of an agent's table; taken from the system as it fills."""
# What a hundred positions fill. Where time is short, so is what the system takes to clear a larger table.
_LEAST_MB, _MB_A_SECOND = 16.0, 1600.0
# Where the rest of the time proves too little, a part is for a search; a short one: it cannot be cancelled.
_SEARCH_SHARE, _MOST_SEARCH_SECONDS = 0.5, 1.0


class PerfectAgent(Agent):
    """Play an optimal action, each of several with equal probability.

    The opening book answers at once, the solver otherwise; its table is kept from one call to the next.
    Positions of many free seeds, and above all of the Gabata games and the long boards, can take minutes
    or hours. ``perfect:0.5s`` gives each position half a second. Where no action is proved optimal in that,
    it plays what a search with a value network (where none is shipped, by the count) likes best or, where
    that is proved not to be optimal, an action with the best lower bound. Either may be a mistake, and then
    a seed no longer determines the action.

    Attributes:
        seconds: Seconds for each position; None: as long as it takes.
    """

    _searching: MinimaxAgent | None = None

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget | None = None,
        path: str | Path | None = None,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
        memory_mb: float = MEMORY_MB,
    ) -> None:
        """Bind the agent to a ruleset, and to a time for each position; None: as long as it takes.

        `path` is the file of a value network for the search of positions that take longer; None: the
        shipped one, and on boards without one the count.

        Raises:
            InvalidValueNetwork: `path` is none, or is damaged or was grown on another ruleset.
        """
        super().__init__(ruleset, spec=spec, seed=seed, num_threads=num_threads)
        self.seconds = None
        if budget is not None:
            self.seconds = budget.seconds
            memory_mb = min(memory_mb, max(_LEAST_MB, _MB_A_SECOND * budget.seconds))
            search_seconds = min(_SEARCH_SHARE * budget.seconds, _MOST_SEARCH_SECONDS)
            self._proof_seconds = budget.seconds - search_seconds
            self._searching = self._search_of(search_seconds, path, seed)
        self._solver = Solver(self.ruleset, memory_mb=memory_mb, num_threads=self.num_threads)

    def seed(self, seed: int | None) -> None:
        """Restart everything random from a seed; see :meth:`Agent.seed`."""
        super().seed(seed)
        if self._searching is not None:
            self._searching.seed(seed)

    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game; see :meth:`Agent.act`."""
        games = self._running(games)
        draws = self.random_seeds(len(games))
        positions = [Position.from_games(self.ruleset, games, b) for b in range(len(games))]
        num_workers = min(self.num_threads, len(positions))
        if num_workers <= 1:  # a single position gets all threads
            best = [self._best_actions(self._solver, position) for position in positions]
        else:
            best = self._best_of_many(positions, num_workers)
        return np.array([b[int(draw % np.uint64(len(b)))] for b, draw in zip(best, draws)], np.int64)

    def _best_of_many(self, positions: list[Position], num_workers: int) -> list[tuple[int, ...]]:
        """Solve positions side by side, one a thread, on a common table."""
        solvers = [self._solver.sibling() for _ in range(num_workers)]

        def work(n: int) -> list[tuple[int, ...]]:
            return [self._best_actions(solvers[n], position) for position in positions[n::num_workers]]

        best: list[tuple[int, ...]] = [()] * len(positions)
        with ThreadPoolExecutor(num_workers, thread_name_prefix="mancala-perfect") as pool:
            try:
                for n, found in enumerate(pool.map(work, range(num_workers))):
                    best[n::num_workers] = found
            except BaseException:  # Ctrl-C: let the other threads stop too
                for solver in solvers:
                    solver.cancel()
                raise
        return best

    def _best_actions(self, solver: Solver, position: Position) -> tuple[int, ...]:
        return self._proved(solver, position)[0]

    def _proved(self, solver: Solver, position: Position) -> tuple[tuple[int, ...], bool]:
        """Return the best actions as far as time allows, and whether they are known to be optimal."""
        if self._searching is None:
            return solver.best_actions(position), True
        solution = solver.solve(position, time_limit=self._proof_seconds, with_line=False, with_values=False)
        bounds = solution.action_bounds
        proved = tuple(action for action, (low, _) in bounds.items() if low >= solution.upper)
        if proved:
            return proved, True
        least = max(low for low, _ in bounds.values())
        possible = [action for action, (_, high) in bounds.items() if high >= least]
        if len(possible) == 1:
            return tuple(possible), True
        liked = int(self._searching.act(position.games)[0])
        if liked in possible:
            return (liked,), False
        return tuple(action for action in possible if bounds[action][0] == least), False

    def _search_of(self, seconds: float, path: str | Path | None, seed: int | None) -> MinimaxAgent:
        budget = Budget(MOST_TURNS, seconds)
        spec = f"value+minimax:{budget}"
        try:
            return ValueMinimaxAgent(self.ruleset, budget, path, spec=spec, seed=seed, num_threads=1)
        except NoValueNetwork:
            return MinimaxAgent(self.ruleset, budget, spec=f"minimax:{budget}", seed=seed, num_threads=1)
