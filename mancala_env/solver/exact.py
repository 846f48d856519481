"""Exact values of rounds, found by proof searches on one or more threads.

A :class:`Solver` keeps the table of a ruleset between positions. :func:`solve` makes a solver for a single
position. Null-window searches find the values, in the order of :mod:`mancala_env.solver.study`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from mancala_env._util.checks import truth, whole
from mancala_env.engine.jit.threads import MOST_THREADS
from mancala_env.engine.state import END_COLUMN, NUM_COLUMNS, PLAYER_COLUMN, RUNNING
from mancala_env.engine.validation import check_array
from mancala_env.games.position import Position, check_position
from mancala_env.rulesets import RulesetLike, lookup
from mancala_env.solver import study
from mancala_env.solver.book import certain_part, load_book
from mancala_env.solver.prover import OutOfTime, Prover, SolverInputError, positive
from mancala_env.solver.study import LOWER, ROW, SIGN, UPPER, WON

ILLEGAL = -32768
"""Value of illegal actions in arrays of action values."""
DEFAULT_MEMORY_MB = 1024
# Upper estimate of the megabytes of a table that a thread can fill in a second.
_MB_A_SECOND = 100
_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True)
class Progress:
    """Progress of a solve.

    Attributes:
        lower: The value is at least this.
        upper: The value is at most this.
        nodes: Positions searched so far.
        seconds: Seconds since the start.
        action: Action whose value is being searched; None: the value of the position.
    """

    lower: int
    upper: int
    nodes: int
    seconds: float
    action: int | None


@dataclass(frozen=True)
class Solution:
    """Exact values of a position, or bounds.

    A value is the final count of the player to move minus the opponent's. Seeds that are already in the
    stores are excluded. Seeds in owned holes are included.

    Attributes:
        value: Value under best play; its lower bound if time ran out.
        action_values: Value of each action, by action; its lower bound if time ran out.
        principal_variation: ``(player, action)`` of a line of best play to the end of the round; its first
            part if time ran out.
        nodes: Positions searched; 0 if the opening book or the table had the values.
        seconds: Seconds taken.
        is_exact: Whether `value` and all of `action_values` are exact.
        lower: The value is at least this.
        upper: The value is at most this.
        action_bounds: Bounds (lower, upper) of each action's value, by action.
    """

    value: int
    action_values: dict[int, int]
    principal_variation: tuple[tuple[int, int], ...]
    nodes: int
    seconds: float
    is_exact: bool
    lower: int
    upper: int
    action_bounds: dict[int, tuple[int, int]]

    @property
    def best_actions(self) -> tuple[int, ...]:
        """Actions with the best value or lower bound."""
        best = max(self.action_values.values(), default=0)
        return tuple(action for action, value in self.action_values.items() if value == best)


class Solver(Prover):
    """Exact values of positions of one ruleset, with a table that is kept between positions.

    A solver must not be used from two threads at once, or from `progress`. It runs `num_threads` threads
    itself. Methods raise SolverInputError for a position of another ruleset, and while another search runs.

    Attributes:
        ruleset: The ruleset.
        book: Its opening book, or None.
        nodes: Positions searched since the solver was made.
        deadline: Time of ``time.monotonic()`` from which searches raise OutOfTime; infinite: no deadline.
        is_cancelled: Whether :meth:`cancel` was called, after which every search raises OutOfTime.
    """

    def __init__(
        self,
        ruleset: RulesetLike,
        *,
        memory_mb: float = DEFAULT_MEMORY_MB,
        num_threads: int = 1,
        use_book: bool = True,
        share_proofs: bool = True,
    ) -> None:
        """Set up an empty table.

        Args:
            ruleset: Ruleset name, or a ruleset.
            memory_mb: Most megabytes of the table, allocated as it fills.
            num_threads: CPU threads that search one position together.
            use_book: Whether to look up values in the bundled opening book.
            share_proofs: Whether a proof also serves positions that differ only in the stall counter or in
                the contents of owned holes, where it holds for these. False keys every proof by the whole
                position. That is many times slower, and serves as a check of the sharing.

        Raises:
            InvalidRuleset: The ruleset is unknown.
            InvalidArgument: Another argument is of the wrong type or out of range. The first search raises it
                if the table does not fit the memory of the machine.
        """
        super().__init__(
            lookup(ruleset),
            positive("memory_mb", memory_mb),
            whole("num_threads", num_threads, 1, MOST_THREADS),
            truth("share_proofs", share_proofs),
        )
        self.book = load_book(self.ruleset) if truth("use_book", use_book) else None

    def solve(
        self,
        position: Position,
        *,
        time_limit: float | None = None,
        progress: Callable[[Progress], None] | None = None,
        with_line: bool = True,
        with_values: bool = True,
    ) -> Solution:
        """Solve a position; see :func:`solve`.

        Args:
            position: The position.
            time_limit: See :func:`solve`.
            progress: See :func:`solve`; an exception that it raises stops the search.
            with_line: Whether to find the principal variation. With an opening book this can take longest.
            with_values: Whether to find the value of every action. False takes less time. It finds the value
                of the position, and bounds that show which actions are optimal.

        Raises:
            InvalidArgument: An argument is invalid.
            OutOfTime: Another thread has cancelled.
        """
        self._check(position)
        limit = np.inf if time_limit is None else positive("time_limit", time_limit)
        with_line, with_values = truth("with_line", with_line), truth("with_values", with_values)
        started = reported = time.monotonic()
        nodes_before, line = self.nodes, list[tuple[int, int]]()
        search = _PositionStudy(self, position.games)

        def report(force: bool = False) -> None:
            nonlocal reported
            now = time.monotonic()
            if progress and (force or now - reported > _PROGRESS_SECONDS):
                reported = now
                row = int(search.arrays.window[ROW])
                action = row - 1 if 0 < row < len(search.arrays.rows) else None
                progress(Progress(*search.bounds_of(0), self.nodes - nodes_before, now - started, action))

        deadline, self.deadline, self.on_call = self.deadline, min(self.deadline, started + limit), report
        try:
            search.close(with_values)
            if with_line:
                search.follow_best(line)
        except OutOfTime:
            if self.is_cancelled:
                raise
            search.read_known()
        finally:
            self.deadline, self.on_call = deadline, None
        report(force=True)
        return search.solution(line, self.nodes - nodes_before, time.monotonic() - started)

    def value(self, position: Position) -> int:
        """Return the value of a position; faster than :meth:`solve`, which also solves every action."""
        self._check(position)
        return self.narrow(position, *self.known_bounds(position))

    def value_within(self, position: Position, most_nodes: int) -> int | None:
        """Return the value of a position, or None if it takes more than `most_nodes` nodes.

        With 0 nodes, it only looks up the book and the table. Each of several threads may exceed the limit by
        one piece. The result is deterministic on one thread: a new solver returns the same values for the
        same positions in the same order.

        Raises:
            InvalidArgument: `most_nodes` is not a whole number of at least 0.
            OutOfTime: The solver was cancelled.
        """
        return self.within(most_nodes, lambda: self.value(position))

    def action_values_within(self, position: Position, most_nodes: int) -> dict[int, int] | None:
        """Return the value of every legal action, or None if that is unfinished after `most_nodes` nodes.

        The result is as deterministic as that of :meth:`value_within`, which has the same errors.
        """
        return self.within(most_nodes, lambda: self.action_values(position))

    def best_actions(self, position: Position) -> tuple[int, ...]:
        """Return the optimal actions of a position; faster than :meth:`action_values`."""
        self._check(position)
        return _PositionStudy(self, position.games).close(with_values=False).best_actions()

    def action_values(self, position: Position) -> dict[int, int]:
        """Return the value of every legal action of a position."""
        self._check(position)
        bounds = _PositionStudy(self, position.games).close().action_bounds()
        return {action: lower for action, (lower, _) in bounds.items()}

    def action_values_of(self, games: np.ndarray) -> np.ndarray:
        """Return the value of every action in many games.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``.

        Returns:
            int16 `[B, A]`, ILLEGAL for illegal actions. A is W, or H if territory changes hands.

        Raises:
            InvalidPosition: The array has another shape or type.
        """
        games = check_array(games)
        values = np.full((len(games), self.ruleset.num_actions("match")), ILLEGAL, np.int16)
        for b in range(len(games)):
            position = Position.from_games(self.ruleset, games, b)
            for action, value in self.action_values(position).items():
                values[b, action] = value
        return values

    def known_bounds(self, position: Position) -> tuple[int, int]:
        """Return the bounds of a position's value without a search.

        The bounds are equal if the round is over or the book has the position.
        """
        self._check(position)
        return self._known(position.games)[:2]

    def _known(self, games: np.ndarray) -> tuple[int, int, int]:
        """Return the :meth:`known_bounds` of the game in row 0, and a good action or NO_MOVE."""
        lower, upper, move = study.known(self._rules, games, 0, self._shares, self._table)
        if self.book and games[0, END_COLUMN] == RUNNING and (rest := self.book.rest(games)) is not None:
            lower = upper = certain_part(games) + rest
            if (action := self.book.action(games)) is not None:
                move = action
        return lower, upper, move

    def narrow(self, position: Position, lower: int, upper: int, guess: int = 0) -> int:
        """Return the value of a position between two bounds that have its parity, from a first guess.

        The position must be running, unless the bounds are equal.

        Raises:
            InvalidArgument: The bounds are in the wrong order, or odd where the number of seeds on the board
                is even, or even where it is odd.
            OutOfTime: The deadline has passed.
        """
        self._check(position)
        seeds = int(position.seeds.sum())
        if lower > upper or (lower - seeds) % 2 or (upper - seeds) % 2:
            parity = "odd" if seeds % 2 else "even"
            raise SolverInputError(f"bounds must be {parity} and in order, not {lower} and {upper}")
        beta = study.first_beta(lower, upper, guess)
        while lower < upper:
            answer = self._prove_value(position.games, beta)
            lower, upper, beta = study.narrowed(lower, upper, beta, answer)
        return lower

    def _prove_value(self, games: np.ndarray, beta: int) -> int:
        """Do what :meth:`prove` does, for the value instead of the rest."""
        sure = certain_part(games)
        return sure + self.prove(games, beta - sure)

    def _check(self, position: Position) -> None:
        check_position(position)
        if position.ruleset != self.ruleset:
            raise SolverInputError(f"this solver is for {self.ruleset.name}, not for {position.ruleset.name}")


class _PositionStudy:
    """Bounds of a position's value (row 0) and of its actions' values (row 1 + action)."""

    def __init__(self, solver: Solver, games: np.ndarray) -> None:
        size = 1 + solver.ruleset.num_holes
        self.solver = solver
        self.arrays = study.Study(
            games=np.zeros((size, NUM_COLUMNS), np.uint64),
            rows=np.zeros((size, study.ROW_COLUMNS), np.int64),
            window=np.zeros(study.WINDOW_COLUMNS, np.int64),
        )
        study.begin(solver._rules, games, 0, self.arrays)
        self.read_known()

    def read_known(self) -> None:
        """Tighten the bounds by the book and the table."""
        for row in self.rows():
            study.take_bounds(self.arrays.rows, row, *self.solver._known(self.games_of(row))[:2])
        study.agree(self.arrays.rows)

    def close(self, with_values: bool = True) -> Self:
        """Search until the bounds are exact, or without `with_values` until the best actions are known."""
        while (row := int(study.next_window(self.arrays, with_values))) >= 0:
            beta = int(self.arrays.window[study.BETA])
            study.take_answer(self.arrays, self.solver._prove_value(self.games_of(row), beta))
        return self

    def rows(self) -> list[int]:
        """Return the rows of the position and of its legal actions."""
        return [int(row) for row in np.flatnonzero(self.arrays.rows[:, study.IS_LEGAL])]

    def games_of(self, row: int) -> np.ndarray:
        """Return the position of a row, uint64 `[1, NUM_COLUMNS]`."""
        return self.arrays.games[row : row + 1]

    def value_after(self, row: int, value: int) -> int:
        """Return the value of a row's position, for its own player, at which the row has a value."""
        return int(self.arrays.rows[row, SIGN] * (value - self.arrays.rows[row, WON]))

    def bounds_of(self, row: int) -> tuple[int, int]:
        return int(self.arrays.rows[row, LOWER]), int(self.arrays.rows[row, UPPER])

    def action_bounds(self) -> dict[int, tuple[int, int]]:
        return {row - 1: self.bounds_of(row) for row in self.rows()[1:]}

    def best_actions(self) -> tuple[int, ...]:
        """Return the actions with the position's value."""
        value = self.bounds_of(0)[0]
        return tuple(action for action, (lower, _) in self.action_bounds().items() if lower >= value)

    def best_row(self, value: int) -> int:
        """Return the row of an action with the position's `value`: a known one, otherwise a proved one."""
        hint = self.solver._known(self.games_of(0))[2]
        rows = sorted(self.rows()[1:], key=lambda row: row != 1 + hint)
        for row in rows:
            if self.bounds_of(row)[0] >= value:
                return row
        return next((row for row in rows[:-1] if self.reaches(row, value)), rows[-1])

    def reaches(self, row: int, value: int) -> bool:
        """Return whether an action's value is at least `value`."""
        if self.bounds_of(row)[1] < value:
            return False
        beta = self.value_after(row, value)
        if self.arrays.rows[row, SIGN] > 0:
            return self.solver._prove_value(self.games_of(row), beta) >= beta
        return self.solver._prove_value(self.games_of(row), beta + 2) < beta + 2

    def follow_best(self, line: list[tuple[int, int]]) -> None:
        """Append a line of best play; the book and the table have most of its proofs."""
        here, value = self, self.bounds_of(0)[0]
        while here.rows()[1:]:
            self.solver.check_limits()
            row = here.best_row(value)
            line.append((int(here.arrays.games[0, PLAYER_COLUMN]), row - 1))
            value = here.value_after(row, value)
            here = _PositionStudy(self.solver, here.games_of(row))

    def solution(self, line: list[tuple[int, int]], nodes: int, seconds: float) -> Solution:
        (lower, upper), bounds = self.bounds_of(0), self.action_bounds()
        return Solution(
            value=lower,
            action_values={action: least for action, (least, _) in bounds.items()},
            principal_variation=tuple(line),
            nodes=nodes,
            seconds=seconds,
            is_exact=lower == upper and all(least == most for least, most in bounds.values()),
            lower=lower,
            upper=upper,
            action_bounds=bounds,
        )


def solve(
    position: Position,
    *,
    memory_mb: float = DEFAULT_MEMORY_MB,
    time_limit: float | None = None,
    num_threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find the exact value of a position and of every action.

    Args:
        position: A position of any ruleset, running or over, with any stall counter.
        memory_mb: Most megabytes of memory for the table of proved bounds.
        time_limit: Seconds after which the current bounds are returned; None: no limit.
        num_threads: CPU threads that search together.
        progress: Called a few times a second with the current bounds.

    Returns:
        The solution; ``is_exact`` is false if time ran out.

    Raises:
        InvalidArgument: An argument is invalid.

    >>> from mancala_env import Position, solver
    >>> solver.solve(Position("layli_goobalay")).value
    8
    """
    check_position(position)
    if time_limit is not None:
        whole("num_threads", num_threads, 1, MOST_THREADS)
        filled = _MB_A_SECOND * num_threads * positive("time_limit", time_limit)
        memory_mb = min(positive("memory_mb", memory_mb), max(1.0, filled))
    solver = Solver(position.ruleset, memory_mb=memory_mb, num_threads=num_threads)
    return solver.solve(position, time_limit=time_limit, progress=progress)
