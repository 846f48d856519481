"""Perfect play by the solver, and perfect play that sets traps.

Without a limit of time, every action of these agents keeps the exact value of the position.
"""

import time
from collections import Counter
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Unpack

import numpy as np

from mancala_env.agents.base import Agent, AgentSettings
from mancala_env.agents.searchers import MctsAgent, MinimaxAgent, ValueMinimaxAgent
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.games.position import Position
from mancala_env.networks.value_files import NoValueNetwork
from mancala_env.rulesets import RulesetLike
from mancala_env.search.limit import Limit, check_limit
from mancala_env.solver import OutOfTime, Solver

MEMORY_MB = 512.0
"""Most megabytes of an agent's table, allocated as it fills."""
# The minimum size is enough for a hundred positions. If time is short, the table is small to clear it fast.
_LEAST_MB, _MB_A_SECOND = 16.0, 1600.0
# Share and limit of the time for the fallback search, which runs if the solver finds no proof. It cannot be
# cancelled.
_SEARCH_SHARE, _MOST_SEARCH_SECONDS = 0.5, 1.0
# Number of tree searches that predict the fallible opponent's replies, and simulations of each.
_SEARCHES, _SIMULATIONS = 8, 200
# Weight of the mean loss of all replies: other opponents make other mistakes than the searches.
_ANY_SHARE = 0.02
# Own turns to look ahead for traps, and the number of searched positions that ends the look-ahead.
_TURNS, _MOST_SEARCHED = 3, 100
# Expected gains within this distance count as equal.
_EQUAL = 1e-9


class _Cancellation(Event):
    """An event that cancels solvers when it is set."""

    def __init__(self, solvers: list[Solver]) -> None:
        super().__init__()
        self._solvers = solvers

    def set(self) -> None:
        super().set()
        for solver in self._solvers:
            solver.cancel()


class PerfectAgent(Agent):
    """Play an optimal action, each with equal probability.

    Positions before the last turn of the opening book need no search. All others are solved; the solver keeps
    its table between calls. Positions with many free seeds can take minutes or hours, especially on long
    boards and in Gabata.

    ``perfect:0.5s`` limits each position to half a second. If no action is proved optimal in that time, it
    plays the choice of a minimax search. This search evaluates positions with the bundled value network or,
    without one, with the count. If the choice is proved not optimal, the agent plays an action with the best
    lower bound. Either action may be a mistake, and the seed does not determine it.
    """

    _fallback: MinimaxAgent | None = None

    def __init__(
        self,
        ruleset: RulesetLike,
        limit: Limit | None = None,
        path: str | Path | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Bind the agent to a ruleset and a time for each position; settings of :class:`Agent`.

        Without a `limit` the time is unlimited. `path` is the file of a value network for the search of
        positions that take longer. None: the bundled one, or the count on boards without one.
        """
        super().__init__(ruleset, **settings)
        self.seconds, memory_mb = None, MEMORY_MB
        if limit is not None:
            seconds = self.seconds = check_limit(limit, ("seconds",), self.spec).max_seconds
            memory_mb = min(MEMORY_MB, max(_LEAST_MB, _MB_A_SECOND * seconds))
            search_seconds = min(_SEARCH_SHARE * seconds, _MOST_SEARCH_SECONDS)
            self._proof_seconds = seconds - search_seconds
            self._fallback = self._new_fallback(search_seconds, path, settings.get("seed"))
        self._solver = Solver(self.ruleset, memory_mb=memory_mb, num_threads=self.num_threads)

    def seed(self, seed: int | None) -> None:
        super().seed(seed)
        if self._fallback is not None:
            self._fallback.seed(seed)

    def act(self, games: np.ndarray) -> np.ndarray:
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
        """Solve positions side by side, one on each thread, with a shared table."""
        solvers = [self._solver.sibling() for _ in range(num_workers)]
        best: list[tuple[int, ...]] = [()] * len(positions)

        def work(n: int, _: int) -> None:
            share = positions[n::num_workers]
            best[n::num_workers] = [self._best_actions(solvers[n], position) for position in share]

        run_in_slices(work, num_workers, num_workers, fewest=1, is_cancelled=_Cancellation(solvers))
        return best

    def _best_actions(self, solver: Solver, position: Position) -> tuple[int, ...]:
        return self._proved(solver, position)[0]

    def _proved(self, solver: Solver, position: Position) -> tuple[tuple[int, ...], bool]:
        """Return the best actions found in time, and whether they are proved optimal."""
        if self._fallback is None:
            return solver.best_actions(position), True
        solution = solver.solve(position, time_limit=self._proof_seconds, with_line=False, with_values=False)
        bounds = solution.action_bounds
        optimal = tuple(action for action, (low, _) in bounds.items() if low >= solution.upper)
        if optimal:
            return optimal, True
        least = max(low for low, _ in bounds.values())
        possible = [action for action, (_, high) in bounds.items() if high >= least]
        if len(possible) == 1:
            return tuple(possible), True
        choice = int(self._fallback.act(position.games)[0])
        if choice in possible:
            return (choice,), False
        return tuple(action for action in possible if bounds[action][0] == least), False

    def _new_fallback(self, seconds: float, path: str | Path | None, seed: int | None) -> MinimaxAgent:
        limit = Limit(seconds=seconds)
        spec = f"value+minimax:{limit}"
        try:
            return ValueMinimaxAgent(self.ruleset, limit, path, spec=spec, seed=seed, num_threads=1)
        except NoValueNetwork:
            return MinimaxAgent(self.ruleset, limit, spec=f"minimax:{limit}", seed=seed, num_threads=1)


class TrappingAgent(PerfectAgent):
    """Play the optimal action after which a fallible opponent is expected to lose most.

    Several short tree searches predict the opponent's replies. The expected loss counts the next reply, and
    the replies after up to two further traps. The mean loss of all replies counts a little.

    Equally good actions have equal probability. If several actions are optimal, it solves many more positions
    than ``perfect``. ``perfect+traps:0.5s`` plays like ``perfect:0.5s`` and looks for traps in the remaining
    time.
    """

    @cached_property
    def _fallible(self) -> MctsAgent:
        limit = Limit(simulations=_SIMULATIONS)
        return MctsAgent(self.ruleset, limit, spec=f"mcts:{limit}", num_threads=1)

    def _best_actions(self, solver: Solver, position: Position) -> tuple[int, ...]:
        ends = np.inf if self.seconds is None else time.monotonic() + self.seconds
        best, is_optimal = self._proved(solver, position)
        if len(best) == 1 or not is_optimal:
            return best
        ahead = LookAhead(self._fallible, solver, position.player)
        gains = [0.0] * len(best)
        solver.deadline = ends
        try:
            for turns in range(1, _TURNS + 1):
                if len(ahead.replies_of) > _MOST_SEARCHED:
                    break
                gains = [ahead.gain_after(position, action, turns) for action in best]
        except OutOfTime:
            if solver.is_cancelled:
                raise
        finally:
            solver.deadline = np.inf
        most = max(gains) - _EQUAL
        return tuple(action for action, gain in zip(best, gains, strict=True) if gain >= most)


class LookAhead:
    """Expected losses of a fallible opponent in the next turns of a player, in seeds.

    The results are deterministic: the opponent's searches have fixed seeds. Replies to a position are
    searched once, and kept in `replies_of`.
    """

    def __init__(self, fallible: MctsAgent, solver: Solver, player: int) -> None:
        self._fallible, self._solver, self._player = fallible, solver, player
        self.replies_of: dict[bytes, tuple[Counter[int], float]] = {}
        self._gains: dict[tuple[bytes, int], float] = {}

    def gain_after(self, position: Position, action: int, turns: int) -> float:
        """Return the expected gain of an action and the player's next turns, `turns` turns in all."""
        after = position.copy()
        after.play(action)
        return self._gain(after, turns - 1)

    def _gain(self, position: Position, turns: int) -> float:
        """Return the expected gain of the next `turns` own turns. A pass is a turn."""
        if position.is_over or turns < 0:
            return 0.0
        key = position.games.tobytes(), turns
        if key not in self._gains:
            gain = self._gain_to_move if position.player == self._player else self._gain_by
            self._gains[key] = gain(position, turns)
        return self._gains[key]

    def _gain_to_move(self, position: Position, turns: int) -> float:
        if turns == 0:
            return 0.0
        best = self._solver.best_actions(position)
        return max(self.gain_after(position, action, turns) for action in best)

    def _gain_by(self, position: Position, turns: int) -> float:
        """Return the expected loss of the opponent to move."""
        replies, gain = self._replies(position)
        for reply, count in replies.items():
            after = position.copy()
            after.play(reply)
            is_pass = after.player != self._player
            gain += count / replies.total() * self._gain(after, turns - is_pass)
        return gain

    def _replies(self, position: Position) -> tuple[Counter[int], float]:
        """Return the number of searches that choose each reply, and the opponent's mean loss in seeds."""
        key = position.games.tobytes()
        if key not in self.replies_of:
            self._solver.check_limits()
            self.replies_of[key] = self._search_replies(position)
        return self.replies_of[key]

    def _search_replies(self, position: Position) -> tuple[Counter[int], float]:
        if len(position.legal_actions) == 1:
            return Counter(position.legal_actions), 0.0
        games = np.repeat(position.games, _SEARCHES, axis=0)
        chosen, _ = self._fallible.search(games, np.arange(_SEARCHES, dtype=np.uint64))
        replies = Counter(int(reply) for reply in chosen)
        exact = self._solver.action_values(position)
        best = max(exact.values())
        losses = {reply: best - value for reply, value in exact.items()}
        loss = sum(count * losses[reply] for reply, count in replies.items()) / replies.total()
        return replies, loss + _ANY_SHARE * sum(losses.values()) / len(losses)
