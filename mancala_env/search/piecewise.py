"""What the search agents share: one search per thread, within a budget."""

import math
from abc import abstractmethod
from collections.abc import Callable
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np

from mancala_env.agents.base import Agent
from mancala_env.engine.jit.pace import Pace
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import Budget

ACTIVE = 0
"""Column of every search's progress: 1 while a game's search is under way."""


class SearchAgent(Agent):
    """An agent that searches each position for a number of steps, or for a time.

    A subclass supplies the memory of one thread and a kernel that searches in pieces: between two
    pieces Python looks at the clock and hears Ctrl-C.

    Attributes:
        budget: What the spec allows for each position.
        most_in_one_piece: How many turns, or simulations, a kernel is given at once where nobody looks at the
            clock: as many as take one or two milliseconds on 2x6 holes.
    """

    most_in_one_piece: int

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a budget; memory is allocated by the first search."""
        super().__init__(ruleset, spec=spec, seed=seed, num_threads=num_threads)
        self.budget = budget
        self._idle_memories: list[Any] = []

    @abstractmethod
    def _new_memory(self) -> Any:
        """Allocate what one thread needs for its searches."""

    def _search(
        self,
        games: np.ndarray,
        search_piece: Callable[[Any, int, int, int], int],
    ) -> None:
        """Search every game, on threads.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`.
            search_piece: Called with a thread's memory, games start and stop and the size of a piece,
                searches
                on from where the memory says for about as much and returns the game it stands at, `stop` when
                all are done.
        """
        is_cancelled = Event()
        is_timed = not math.isinf(self.budget.seconds)

        def search_slice(start: int, stop: int) -> None:
            try:
                memory = self._idle_memories.pop()
            except IndexError:
                memory = self._new_memory()
            most = self.most_in_one_piece
            pace = Pace(max(1, most // 100) if is_timed else most, most)
            for first, last in self._searches(start, stop):
                memory.progress[ACTIVE] = 0  # whatever was interrupted before
                b = first
                started = perf_counter()
                deadline = started + self.budget.seconds
                while b < last and not is_cancelled.is_set():
                    b = search_piece(memory, b, last, pace.piece)
                    if is_timed:
                        now = perf_counter()
                        if now >= deadline:
                            break
                        pace.took(now - started)
                        started = now
            self._idle_memories.append(memory)

        run_in_slices(search_slice, len(games), self.num_threads, fewest=1, is_cancelled=is_cancelled)

    def _searches(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return which games one call may search: each alone where each has a time of its own."""
        if math.isinf(self.budget.seconds):
            return [(start, stop)]
        return [(b, b + 1) for b in range(start, stop)]
