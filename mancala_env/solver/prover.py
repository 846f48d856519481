"""Null-window searches on one or more threads, with a shared table and limits of time and nodes."""

import copy
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

import numpy as np

from mancala_env._util.checks import is_number, whole
from mancala_env.engine.jit.pace import Pace
from mancala_env.engine.state import encode
from mancala_env.errors import InvalidArgument
from mancala_env.rulesets import Ruleset
from mancala_env.solver import proof_search
from mancala_env.solver.shared_marks import NUM_ATTEMPTS
from mancala_env.solver.table import new_table

# Nodes of the first piece of a search, and of the largest piece. A node accesses a few places of the table.
# The first access to a place may take 0.2 ms, in which the system clears two megabytes.
_FIRST_NODES, _MOST_NODES = 1, 20_000
# While much of the table is untouched, any node may take that long. With a time limit, the clock is then read
# after each node.
_NODES_A_COLD_MB = 4.0
# Target time of a piece without a time limit, when only Ctrl-C waits for its end.
_UNTIMED_SECONDS = 0.02
# Nodes of a search before other threads help. Shorter searches end before help would pay off.
_NODES_ALONE = 60_000
NO_LIMIT = 1 << 62
_BUSY_WORDS = 1 << 13
_ALONE = np.zeros(1, np.uint64)
# Placeholder for the table until the first search allocates it.
_EMPTY_TABLE = new_table(0.001)
_Found = TypeVar("_Found")


class SolverInputError(InvalidArgument):
    """An argument of the solver is invalid."""


class OutOfTime(Exception):
    """The limit of time or nodes was reached; proofs stay in the table."""


def positive(name: str, value: Any) -> float:
    """Return a number above 0 as a float; otherwise raise SolverInputError."""
    if not is_number(value) or not value > 0:  # false for NaN, too
        raise SolverInputError(f"{name} must be a number above 0, not {value!r}")
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


class Prover:
    """Null-window searches of one ruleset; the base of :class:`~mancala_env.solver.Solver`."""

    def __init__(self, ruleset: Ruleset, memory_mb: float, num_threads: int, share_proofs: bool) -> None:
        self.ruleset, self.num_threads = ruleset, num_threads
        self._memory_mb, self._shares = memory_mb, int(share_proofs)
        self._rules = encode(ruleset)
        self._table = _EMPTY_TABLE
        self._attempts = np.zeros(NUM_ATTEMPTS, np.uint64)
        self._reset()

    def _reset(self) -> None:
        """Set up the arrays of the threads, and lift the limits."""
        self._lines: list[proof_search.SearchLine] = []
        self._paces: list[tuple[Pace, Pace]] = []  # with and without a time limit
        self.deadline, self.is_cancelled = math.inf, False
        self._last_node = NO_LIMIT
        self._is_searching = False
        self.on_call: Callable[[], None] | None = None

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made."""
        return sum(int(line.registers[proof_search.NODES]) for line in self._lines)

    def sibling(self) -> Self:
        """Return a solver with the same table for use in another thread; it runs one thread itself."""
        self.shared_table()
        other = copy.copy(self)
        other.num_threads = 1
        other._reset()
        return other

    def cancel(self) -> None:
        """End the search that runs in another thread, and every later one, with OutOfTime.

        You cannot undo this. To stop only one of many searches, run it on a solver from :meth:`sibling` and
        cancel that solver. The original solver and the shared table stay usable.
        """
        self.is_cancelled = True

    def check_limits(self) -> None:
        """Call `on_call`, and raise OutOfTime if a limit was reached or another thread has cancelled."""
        if self.on_call:
            self.on_call()
        if self.is_cancelled or time.monotonic() >= self.deadline or self.nodes >= self._last_node:
            raise OutOfTime

    def prove(self, games: np.ndarray, beta: int) -> int:
        """Search with a null window: is the rest of a running game at least `beta`?

        `games` is uint64 `[1, NUM_COLUMNS]`, and `beta` has the parity of the free seeds. The result is a
        lower bound of the rest if it is at least `beta`, else an upper bound. At a limit it raises OutOfTime.
        """
        if self._is_searching:
            raise SolverInputError("this solver is searching already; use one from sibling()")
        self._is_searching = True
        try:
            return self._prove(games, beta)
        finally:
            self._is_searching = False

    def _prove(self, games: np.ndarray, beta: int) -> int:
        self.shared_table()
        self._start(0, games, beta)
        registers = self._lines[0].registers
        most_nodes = registers[proof_search.NODES] + _NODES_ALONE
        self.check_limits()
        while not self._resume(0, _ALONE):
            self.check_limits()
            if self.num_threads > 1 and registers[proof_search.NODES] >= most_nodes:
                return self._search_together(games, beta)
        return int(registers[proof_search.ANSWER])

    def within(self, most_nodes: int, search: Callable[[], _Found]) -> _Found | None:
        """Return what a search finds, or None if it takes more than `most_nodes` nodes."""
        self._last_node = self.nodes + whole("most_nodes", most_nodes, 0)
        try:
            return search()
        except OutOfTime:
            if self.is_cancelled or self.nodes < self._last_node:
                raise
            return None
        finally:
            self._last_node = NO_LIMIT

    def shared_table(self) -> np.ndarray:
        """Return the table, and allocate it before the first search."""
        if self._table is _EMPTY_TABLE:
            try:
                self._table = new_table(self._memory_mb)
            except (MemoryError, OverflowError, ValueError) as error:  # ValueError: not addressable
                raise SolverInputError(f"memory_mb={self._memory_mb:g} cannot be allocated here") from error
        return self._table

    def _start(self, n: int, games: np.ndarray, beta: int) -> None:
        """Set up a search of thread n."""
        while len(self._lines) <= n:
            self._lines.append(proof_search.new_line(self.ruleset))
            untimed = Pace(_FIRST_NODES, _MOST_NODES, _UNTIMED_SECONDS)
            self._paces.append((Pace(_FIRST_NODES, _MOST_NODES), untimed))
        proof_search.start(self._rules, games, 0, self._shares, self._lines[n], beta)

    def _resume(self, n: int, busy: np.ndarray) -> bool:
        """Resume the search of thread n for some milliseconds; return whether it is answered."""
        line, is_timed = self._lines[n], self.deadline < math.inf
        pace = self._paces[n][not is_timed]
        cold_nodes = _NODES_A_COLD_MB * self._table.nbytes / 1e6
        is_cold = is_timed and line.registers[proof_search.NODES] < cold_nodes
        # A piece ends at the last node, so that the end does not depend on the pace.
        nodes = min(1 if is_cold else pace.piece, max(1, self._last_node - self.nodes))
        started = time.monotonic()
        proof_search.search(self._rules, self._table, self._attempts, busy, line, nodes)
        is_answered = bool(line.registers[proof_search.DONE])
        if not is_answered and not is_cold:  # the time of one cold node does not predict the next
            pace.took(time.monotonic() - started)
        return is_answered

    def _search_together(self, games: np.ndarray, beta: int) -> int:
        """Run one null-window search on several threads with a shared table."""
        answered = threading.Event()
        busy = np.zeros(_BUSY_WORDS, np.uint64)
        answers: list[int] = []

        def search_along(n: int) -> None:
            while not answered.is_set():
                if self._resume(n, busy):
                    answers.append(int(self._lines[n].registers[proof_search.ANSWER]))
                    answered.set()
                elif n == 0:
                    self.check_limits()

        for n in range(1, self.num_threads):
            self._start(n, games, beta)
        with ThreadPoolExecutor(self.num_threads - 1, thread_name_prefix="mancala-solver") as pool:
            try:
                helpers = [pool.submit(search_along, n) for n in range(1, self.num_threads)]
                search_along(0)
            finally:
                answered.set()
            for helper in helpers:
                helper.result()
        return answers[0]
