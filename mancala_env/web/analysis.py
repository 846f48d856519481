"""What the pages of a server share: agents, solvers, and the cores they run on.

Nothing of a game is kept here: a page sends the position with every request. So no state is lost when a page
reloads or the server starts again, and any number of pages can play against one agent.
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
from mancala_env.rulesets import Ruleset
from mancala_env.solver import Solution, Solver

_MOST_AGENTS, _MOST_SOLVERS = 32, 4
_FIRST_SLICE, _LONGEST_SLICE = 0.05, 1.0

_Kept = TypeVar("_Kept")


class _Shelf(Generic[_Kept]):
    """What was made last, each with a lock: an agent or a solver serves one request at a time."""

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
            if len(self._kept) <= self._most:
                break
            if not self._kept[old][1].locked() and old != key:
                del self._kept[old]
        return self._kept[key]


class House:
    """Agents and solvers for many pages, a thread a core."""

    def __init__(self, memory_mb: float = 1024, num_workers: int | None = None) -> None:
        """Set up.

        Args:
            memory_mb: Most megabytes of a solver's table; at most four solvers are kept.
            num_workers: Requests worked on at the same moment; None: one for each core.
        """
        self._memory_mb = memory_mb
        self._workers = num_workers or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="mancala-serve")
        self._agents: _Shelf[Agent] = _Shelf(_MOST_AGENTS)
        self._solvers: _Shelf[Solver] = _Shelf(_MOST_SOLVERS)

    async def choose(self, spec: Spec, position: Position, rounds: Rounds = 1) -> int:
        """Return the action an agent chooses in a position of a game of so many rounds.

        Raises:
            MancalaError: The agent cannot be made, or cannot play this ruleset or so many rounds.
        """
        key = (str(spec), _stamp(spec), position.ruleset)
        agent, lock = self._agents.find(key) or self._agents.keep(
            key, await self._run(lambda: make(spec, position.ruleset, num_threads=1))
        )
        agent.check_rounds(rounds)
        async with lock:
            return await self._run(lambda: agent.choose(position))

    async def analyse(self, position: Position, seconds: float) -> AsyncIterator[Solution]:
        """Yield what is proved of a position, in slices that grow, until all is exact or time is up.

        Several analyses of one ruleset take turns. Each has a solver of its own on the table of the ruleset:
        a cancelled analysis ends its own solver only, and what it proved stays.
        """
        kept, lock = self._solver(position.ruleset)
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

    def _solver(self, ruleset: Ruleset) -> tuple[Solver, asyncio.Lock]:
        found = self._solvers.find(ruleset)
        return found or self._solvers.keep(ruleset, Solver(ruleset, memory_mb=self._memory_mb))

    async def _run(self, work: Callable[[], Any], cancel: Callable[[], None] | None = None) -> Any:
        """Run work in a thread and return its result.

        A caller that is cancelled waits until the work ends, because the next request uses the same agent or
        solver. It does so also when it is cancelled twice: a page cancels a request, and then closes.
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
        """Let go of the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _stamp(spec: Spec) -> tuple[Any, ...]:
    """Return what changes with the files of a spec: a checkpoint that was trained on is another agent."""
    return tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in spec.files)
