"""Exact values and hints for a position, computed in a background thread."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from mancala_env import agents
from mancala_env.engine.state import PLAYERS
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.solver.exact import Progress, Solution, Solver

HINT_SPEC = "minimax:0.5s"
"""Agent that gives a hint if the solver exceeds its time limit."""
HINT_SECONDS = 1.0
"""Time limit of the solver for a hint, in seconds."""
_MEMORY_MB = 256


class Analysis(NamedTuple):
    """The solver's results for a position after some seconds: leads by action, and bounds on the best lead.

    A lead is the count of the player to move minus the opponent's, in seeds, at the end of the round with
    best play. `leads` has only exact values. The results are final if the position is solved, or time is up.
    """

    position: Position
    leads: dict[int, int]
    lower: int
    upper: int
    is_done: bool
    seconds: float

    @property
    def best(self) -> tuple[int, ...]:
        """The optimal actions; empty while the best lead is unknown."""
        if self.lower != self.upper:
            return ()
        return tuple(action for action, lead in self.leads.items() if lead == self.lower)

    def __str__(self) -> str:
        """Return the results as a sentence."""
        who = PLAYERS[self.position.player]
        if self.lower == self.upper:
            return f"With best play {who} ends the round {_ahead(self.lower)}."
        state = f"Not solved in {self.seconds:.0f} s" if self.is_done else "Solving"
        known = f"between {_ahead(self.lower)} and {_ahead(self.upper)}"
        return f"{state}: with best play {who} ends {known}."


def _ahead(lead: int) -> str:
    return f"{abs(lead)} {'ahead' if lead > 0 else 'behind'}" if lead else "level"


class _Dropped(Exception):
    """Ends an analysis because another position was requested."""


class Analyst:
    """Analyses positions of a ruleset in threads; a new request replaces the previous one.

    Proofs are kept between requests. The threads are daemons: they do not keep the program alive. The solver
    has `time_limit` seconds per position, and `hint_seconds` for a hint; after these a quick search gives it.
    """

    def __init__(
        self, ruleset: Ruleset, time_limit: float, answered: Callable[[Analysis], object] | None = None
    ) -> None:
        """Create the solver.

        `answered` is called in the thread with the results, several times per second and at the end.
        """
        self.time_limit = time_limit
        self.hint_seconds = min(HINT_SECONDS, time_limit)
        self._solver = Solver(ruleset, memory_mb=_MEMORY_MB)
        self._answered = answered
        self._asked: Position | None = None
        self._is_solving = threading.Lock()

    def ask(self, position: Position | None) -> None:
        """Request an analysis, which cancels the previous request; None only cancels."""
        self._asked = position = None if position is None else position.copy()
        if position is not None:
            threading.Thread(target=self._work, args=(position,), name="mancala-values", daemon=True).start()

    def _work(self, position: Position) -> None:
        with suppress(_Dropped):
            found = self._solve(position, self.time_limit, partial(self._report, position))
            if self._asked is position and self._answered:
                self._answered(found)

    def _report(self, position: Position, progress: Progress) -> None:
        if self._asked is not position:
            raise _Dropped
        if self._answered and progress.seconds > 0:
            self._answered(_analysis(position, progress, {}, is_done=False))

    def _solve(
        self, position: Position, time_limit: float, progress: Callable[[Progress], None] | None = None
    ) -> Analysis:
        with self._is_solving:
            found = self._solver.solve(position, time_limit=time_limit, progress=progress, with_line=False)
        return _analysis(position.copy(), found, found.action_bounds, is_done=True)

    def solve(self, position: Position, time_limit: float | None = None) -> Analysis:
        """Analyse a position and return the final results; cancels the previous request."""
        self.ask(None)
        return self._solve(position, time_limit or self.time_limit)

    def hint(self, position: Position) -> tuple[int, str]:
        """Return an action and a reason for it; it is optimal, or the choice of a quick search."""
        found = self.solve(position, self.hint_seconds)
        if found.best:
            return found.best[0], str(found)
        agent = agents.make(HINT_SPEC, position.ruleset, seed=0, num_threads=1)
        return agent.choose(position), f"This is the choice of {HINT_SPEC}; it is not proved to be optimal."


def _analysis(
    position: Position, found: Progress | Solution, bounds: Mapping[int, tuple[int, int]], *, is_done: bool
) -> Analysis:
    """Return results of the solver, which counts from this position on, with the seeds in the stores."""
    stored = position.stores[position.player] - position.stores[1 - position.player]
    leads = {action: low + stored for action, (low, high) in bounds.items() if low == high}
    return Analysis(position, leads, found.lower + stored, found.upper + stored, is_done, found.seconds)
