"""Agents and solvers that the pages of a server share, and the threads they run on.

The server keeps no state of games: a page sends the position with every request. So a page can be reloaded
and the server restarted at any time, and any number of pages can play against one agent.
"""

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from mancala_env.agents import Agent, Spec, make
from mancala_env.engine.episode import Rounds
from mancala_env.games.position import Position
from mancala_env.solver import Solution, Solver

_MOST_AGENTS, _MOST_SOLVERS = 32, 4
_FIRST_SLICE, _LONGEST_SLICE = 0.05, 1.0

_Kept = TypeVar("_Kept")


class _LockedCache(Generic[_Kept]):
    """A cache of recently used agents or solvers, each with a lock for one request at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Any, tuple[_Kept, asyncio.Lock]] = OrderedDict()

    def find(self, key: Any) -> tuple[_Kept, asyncio.Lock] | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Any, value: _Kept) -> tuple[_Kept, asyncio.Lock]:
        self._kept[key] = (value, asyncio.Lock())
        for old in list(self._kept):
            if len(self._kept) > self._most and not self._kept[old][1].locked() and old != key:
                del self._kept[old]
        return self._kept[key]


class AnalysisService:
    """Chooses actions and analyses positions for many pages, on a pool of threads."""

    def __init__(self, memory_mb: float = 1024, num_workers: int | None = None) -> None:
        """Create the threads.

        Args:
            memory_mb: Maximum size of a solver's transposition table in MB; at most four solvers are kept.
            num_workers: Maximum number of requests processed in parallel; None for one per core.
        """
        self._memory_mb = memory_mb
        workers = num_workers or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="mancala-serve")
        self._agents: _LockedCache[Agent] = _LockedCache(_MOST_AGENTS)
        self._solvers: _LockedCache[Solver] = _LockedCache(_MOST_SOLVERS)

    async def choose(self, spec: Spec, position: Position, rounds: Rounds = 1) -> int:
        """Return the action that an agent chooses in a game of `rounds` rounds, or a "match".

        Raises:
            MancalaError: If the agent cannot be created, or cannot play the ruleset or the number of rounds.
        """
        key = (str(spec), _stamp(spec), position.ruleset)
        agent, lock = self._agents.find(key) or self._agents.keep(
            key, await self._run(lambda: make(spec, position.ruleset, num_threads=1))
        )
        agent.check_rounds(rounds)
        async with lock:
            return await self._run(lambda: agent.choose(position))

    async def analyse(self, position: Position, seconds: float) -> AsyncIterator[Solution]:
        """Analyse a position in time slices of growing length, until all values are exact or time is up.

        Analyses of one ruleset take turns. Each has its own solver on the shared table of the ruleset, so a
        cancelled analysis stops only its own solver, and its proofs are kept.

        Yields:
            The solution so far, after each slice.
        """
        ruleset = position.ruleset
        kept, lock = self._solvers.find(ruleset) or self._solvers.keep(
            ruleset, Solver(ruleset, memory_mb=self._memory_mb)
        )
        end = time.monotonic() + seconds
        async with lock:
            solver = await self._run(kept.sibling)
        piece = _FIRST_SLICE
        while True:
            async with lock:
                limit = max(0.01, min(piece, end - time.monotonic()))
                solution = await self._run(
                    lambda limit=limit: solver.solve(position, time_limit=limit, with_line=False),
                    solver.cancel,
                )
            yield solution
            if solution.is_exact or time.monotonic() >= end:
                return
            piece = min(2 * piece, _LONGEST_SLICE)

    async def _run(self, work: Callable[[], Any], cancel: Callable[[], None] | None = None) -> Any:
        """Run work in a thread and return its result.

        A cancelled caller waits until the work ends, because the next request uses the same agent or solver.
        It may be cancelled twice, when a page cancels a request and then closes.
        """
        running = asyncio.wrap_future(self._pool.submit(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if cancel:
                cancel()
            while not running.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([running])
            running.exception()  # retrieved, so that asyncio does not log it
            raise

    def close(self) -> None:
        """Release the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _stamp(spec: Spec) -> tuple[Any, ...]:
    """Return times and sizes of a spec's files; a checkpoint that has changed is another agent."""
    return tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in spec.files)
