"""Agents and solvers that the pages of a server share, and the threads they run on.

The server keeps no state of games: a page sends the position with every request. So you can reload a page or
restart the server at any time. Any number of pages can play against one agent.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any

from mancala_env.agents import Agent, Spec, make
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.threads import default_num_threads
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.solver import Solution, Solver

_MOST_AGENTS, _MOST_SOLVERS = 32, 4
_FIRST_SLICE, _LONGEST_SLICE = 0.05, 1.0


class AnalysisService:
    """Choose actions and analyse positions for many pages, on a pool of threads."""

    def __init__(self, memory_mb: float = 1024, num_workers: int | None = None) -> None:
        """Create `num_workers` threads, by default one per core; `memory_mb` is for each solver's table."""
        workers = num_workers or default_num_threads()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="mancala-serve")
        self.running: set[asyncio.Future[Any]] = set()
        """Work that has not ended, even if its caller was cancelled."""

        # The most recently used agents and solvers, each with a lock for one request at a time.
        @lru_cache(_MOST_AGENTS)
        def agent_of(spec: Spec, stamp: tuple[Any, ...], ruleset: Ruleset) -> tuple[Agent, asyncio.Lock]:
            return make(spec, ruleset, num_threads=1), asyncio.Lock()

        @lru_cache(_MOST_SOLVERS)
        def solver_of(ruleset: Ruleset) -> tuple[Solver, asyncio.Lock]:
            return Solver(ruleset, memory_mb=memory_mb), asyncio.Lock()

        self._agent_of, self._solver_of = agent_of, solver_of

    async def choose(self, spec: Spec, position: Position, rounds: Rounds = 1) -> int:
        """Return the action that an agent chooses in a game of `rounds` rounds, or a "match".

        Raise a MancalaError if the agent cannot be created, cannot play the ruleset or the rounds, or chooses
        an illegal action.
        """
        agent, lock = await self._run(lambda: self._agent_of(spec, _stamp(spec), position.ruleset))
        agent.check_rounds(rounds)
        async with lock:
            return await self._run(lambda: agent.choose(position))

    async def analyse(self, position: Position, seconds: float) -> AsyncIterator[Solution]:
        """Yield the solution so far after time slices of growing length, until it is exact or time is up.

        Analyses that share a table take turns. Each has its own solver on the table of the ruleset, so a
        cancelled analysis stops only its own solver, and its proofs are kept.
        """
        kept, lock = self._solver_of(position.ruleset)
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
        self.running.add(running)
        running.add_done_callback(self.running.discard)
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
        """Wait until running work ends, and release the threads."""
        self._pool.shutdown(cancel_futures=True)


def _stamp(spec: Spec) -> tuple[Any, ...]:
    """Return times and sizes of a spec's files; a checkpoint that has changed is another agent."""
    return tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in spec.files)
