"""What perfect play makes of a position, found in a thread of its own: values and hints."""

import threading
from collections.abc import Callable
from typing import NamedTuple

from mancala_env import agents
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.solver.exact import Progress, Solution, Solver

HINT_SPEC = "minimax:0.5s"
"""Who is asked for a hint where the solver is not quick enough."""
HINT_SECONDS = 1.0
"""What the solver is given for a hint."""
_MEMORY_MB = 256


class Analysis(NamedTuple):
    """What is known of a position. A lead is the count of the player to move minus the opponent's.

    Attributes:
        position: The position.
        leads: Action -> lead at the end of the round with best play, where it is known exactly.
        lower: The best lead is at least this.
        upper: The best lead is at most this.
        is_done: Whether nothing more will come: it is solved, or time is up.
        seconds: Seconds it took so far.
    """

    position: Position
    leads: dict[int, int]
    lower: int
    upper: int
    is_done: bool
    seconds: float

    @property
    def is_exact(self) -> bool:
        """Whether every action's lead is known."""
        return self.is_done and len(self.leads) == len(self.position.legal_actions)

    @property
    def best(self) -> tuple[int, ...]:
        """The actions that lead to the best lead, where that is known."""
        if self.lower != self.upper:
            return ()
        return tuple(action for action, lead in self.leads.items() if lead == self.lower)

    def __str__(self) -> str:
        """What it says, in words."""
        who = ("South", "North")[self.position.player]
        if self.lower == self.upper:
            return f"With best play {who} ends the round {_ahead(self.lower)}."
        known = f"between {_ahead(self.lower)} and {_ahead(self.upper)}"
        if self.is_done:
            return f"Not solved in {self.seconds:.0f} s: with best play {who} ends {known}."
        return f"Solving: with best play {who} ends {known}."


def _ahead(lead: int) -> str:
    if lead == 0:
        return "level"
    return f"{abs(lead)} {'ahead' if lead > 0 else 'behind'}"


class _Dropped(Exception):
    """Somebody asked about another position."""


class Analyst:
    """Answers questions about positions of a ruleset, the latest one first; what it proves it keeps.

    It works in a daemon thread, so a program ends whether or not it has an answer.

    Attributes:
        time_limit: Seconds a position may take.
        hint_seconds: Seconds a hint may take, before a quick search is asked instead.
    """

    def __init__(
        self, ruleset: Ruleset, time_limit: float, answered: Callable[[Analysis], None] | None = None
    ) -> None:
        """Get ready.

        Args:
            ruleset: The ruleset.
            time_limit: Seconds a position may take.
            answered: Called from the thread with what is known, a few times a second and when it is done.
        """
        self.time_limit = time_limit
        self.hint_seconds = min(HINT_SECONDS, time_limit)
        self._solver = Solver(ruleset, memory_mb=_MEMORY_MB)
        self._answered = answered
        self._asked: Position | None = None
        self._is_solving = threading.Lock()
        self._has_asked = threading.Condition()
        self._thread: threading.Thread | None = None

    def ask(self, position: Position | None) -> None:
        """Ask about a position in place of what was asked before; None only drops that."""
        with self._has_asked:
            self._asked = None if position is None else position.copy()
            self._has_asked.notify()
        if self._thread is None and position is not None:
            self._thread = threading.Thread(target=self._work, name="mancala-values", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            with self._has_asked:
                self._has_asked.wait_for(lambda: self._asked is not None)
                position = self._asked
            assert position is not None
            try:
                found = self._solve(position, self.time_limit)
            except _Dropped:
                continue
            with self._has_asked:
                if self._asked is not position:
                    continue
                self._asked = None
            if self._answered:
                self._answered(found)

    def _solve(self, position: Position, time_limit: float) -> Analysis:
        def look_up(progress: Progress) -> None:
            if self._asked is not position:
                raise _Dropped
            if self._answered and progress.seconds > 0:
                lead = _lead(position)
                bounds = progress.lower + lead, progress.upper + lead
                self._answered(Analysis(position, {}, *bounds, False, progress.seconds))

        with self._is_solving:
            solution = self._solver.solve(position, time_limit=time_limit, progress=look_up, with_line=False)
        return _analysis(position, solution)

    def solve(self, position: Position, time_limit: float | None = None) -> Analysis:
        """Return what is known of a position after waiting for it; drops what was asked."""
        self.ask(None)
        with self._is_solving:
            solution = self._solver.solve(position, time_limit=time_limit or self.time_limit, with_line=False)
        return _analysis(position, solution)

    def hint(self, position: Position) -> tuple[int, str]:
        """Return an action to play and why: an exact one, or what a quick search would play."""
        found = self.solve(position, self.hint_seconds)
        if found.best:
            return found.best[0], str(found)
        agent = agents.make(HINT_SPEC, position.ruleset, seed=0, num_threads=1)
        return agent.choose(position), f"That is what {HINT_SPEC} would play; it is not proved."


def _lead(position: Position) -> int:
    """Return what the player to move is ahead by in the stores."""
    return position.stores[position.player] - position.stores[1 - position.player]


def _analysis(position: Position, solution: Solution) -> Analysis:
    lead = _lead(position)
    exact = {action: low + lead for action, (low, high) in solution.action_bounds.items() if low == high}
    return Analysis(
        position.copy(), exact, solution.lower + lead, solution.upper + lead, True, solution.seconds
    )
