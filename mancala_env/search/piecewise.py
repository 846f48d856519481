"""Run a search on threads, in short pieces, within a limit.

A search kernel works in pieces of one or two milliseconds. Between two pieces Python reads the clock and
handles Ctrl-C.
"""

import math
from collections.abc import Callable
from threading import Event
from time import perf_counter
from typing import Any

from mancala_env.engine.jit.pace import Pace
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.search.limit import Limit

ACTIVE = 0
"""Column of every search's progress: 1 while a game's search is under way."""


class PiecewiseSearch:
    """Searches of many games on threads, each game within the same limit."""

    def __init__(self, new_memory: Callable[[], Any], largest_piece: int) -> None:
        """Prepare searches in pieces of at most `largest_piece` turns or simulations.

        `new_memory` allocates the memory of one thread, which is kept for later calls. Its `progress` has the
        column ACTIVE.
        """
        self._new_memory, self._largest_piece = new_memory, largest_piece
        self._idle_memories: list[Any] = []

    def run(
        self,
        num_games: int,
        limit: Limit,
        num_threads: int,
        search_piece: Callable[[Any, int, int, int], int],
    ) -> None:
        """Search every game within the limit.

        `search_piece` gets a memory, the index of the first game, the index after the last game, and a number
        of steps. It resumes the search for about that many steps, and returns the index of the current game,
        or the index after the last game when all are done.
        """
        is_cancelled = Event()
        is_timed = limit.seconds is not None
        is_divided = is_timed or limit.nodes is not None

        def search_slice(start: int, stop: int) -> None:
            try:
                memory = self._idle_memories.pop()
            except IndexError:
                memory = self._new_memory()
            most = self._largest_piece
            pace = Pace(max(1, most // 100) if is_timed else most, most)
            # Each game has a limit of its own, so games with a time or nodes are searched one by one.
            runs = [(b, b + 1) for b in range(start, stop)] if is_divided else [(start, stop)]
            for first, last in runs:
                memory.progress[ACTIVE] = 0  # an interrupted search may have left it set
                if limit.nodes is not None:
                    memory.table[:] = 0  # known positions save nodes, so the action would depend on them
                b, left = first, math.inf if limit.nodes is None else limit.nodes
                started = perf_counter()
                deadline = started + limit.max_seconds
                while b < last and left > 0 and not is_cancelled.is_set():
                    # The smallest piece is enough for one turn of depth, so every search has an action.
                    piece = int(max(most // 100, min(pace.piece, left)))
                    b = search_piece(memory, b, last, piece)
                    left -= piece
                    if is_timed:
                        now = perf_counter()
                        if now >= deadline:
                            break
                        pace.took(now - started)
                        started = now
            self._idle_memories.append(memory)

        run_in_slices(search_slice, num_games, num_threads, fewest=1, is_cancelled=is_cancelled)
