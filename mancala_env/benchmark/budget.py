"""Budgets: what a learner may spend, in environment steps or in core minutes, and where it is measured.

A core minute is a minute of one processor core: the time that the process, its threads and its child
processes compute, however busy the machine is. Accelerators are not in it. An environment step is a turn of
a game that the learner learns from, every turn of it; turns that a search tries are none.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from mancala_env._util.checks import is_whole
from mancala_env.benchmark.tasks import Refused
from mancala_env.errors import InvalidArgument

# A step is indivisible: who looks at the clock between two is over by a part of one.
_OVER, _OVER_SECONDS = 0.05, 5.0
# The times of child processes are looked up every so many seconds, and at a pause: it takes milliseconds.
_LOOK_UP_SECONDS = 1.0
_MOST_STEPS, _MOST_MINUTES = 10**12, 10**7
MOST_POINTS = 20
"""Measuring points of a run at most."""


class Limit(NamedTuple):
    """The size of a budget.

    Attributes:
        kind: What is counted.
        amount: How much of it.
    """

    kind: Literal["steps", "core_minutes"]
    amount: float

    def __str__(self) -> str:
        """Say it in words, such as "1 M steps" or "3 core minutes"."""
        if self.kind == "core_minutes":
            return f"{self.amount:g} core minute{'s' * (self.amount != 1)}"
        amount = int(self.amount)
        for size, letter in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
            if size <= amount < 1000 * size and amount % (size // 100) == 0:
                return f"{amount / size:g}{letter} steps"
        return f"{amount:,} step{'s' * (amount != 1)}"

    @property
    def slug(self) -> str:
        """A name for its folder."""
        minutes = f"{self.amount!r}".removesuffix(".0")  # all its digits: no two budgets share a folder
        return f"{minutes}-core-minutes" if self.kind == "core_minutes" else f"{self.amount:.0f}-steps"


def limit_of_steps(steps: int) -> Limit:
    """Return a limit on environment steps.

    Raises:
        InvalidArgument: Not a whole number from 1 to 10**12.
    """
    if not is_whole(steps) or not 1 <= steps <= _MOST_STEPS:
        raise InvalidArgument(f"steps must be a whole number from 1 to {_MOST_STEPS:,}, not {steps!r}")
    return Limit("steps", int(steps))


def limit_of_minutes(minutes: float) -> Limit:
    """Return a limit on core minutes.

    Raises:
        InvalidArgument: Not a number above 0, or more than 10**7.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes <= _MOST_MINUTES:
        raise InvalidArgument(f"core_minutes must be above 0, {_MOST_MINUTES:,} at most, not {minutes!r}")
    return Limit("core_minutes", float(minutes))


def measuring_points(count: int) -> tuple[float, ...]:
    """Return the shares of a budget at which a learner is measured, each twice the one before, 1 the last.

    >>> measuring_points(4)
    (0.125, 0.25, 0.5, 1.0)

    Raises:
        InvalidArgument: Not a whole number from 1 to MOST_POINTS.
    """
    if not is_whole(count) or not 1 <= count <= MOST_POINTS:
        raise InvalidArgument(f"points must be a whole number from 1 to {MOST_POINTS}, not {count!r}")
    return tuple(2.0**-k for k in reversed(range(count)))


class LearningBudget:
    """What one learner may spend. It asks here whether to go on and whether it is to be measured.

    The clock runs while the learner does, and stands still while what it yields is measured.

    Attributes:
        limit: How much it may spend.
        points: Shares of it at which it is measured.
        resumed_steps: Environment steps that the run went on from; 0 where it began anew.
    """

    def __init__(
        self,
        limit: Limit,
        points: tuple[float, ...],
        measured: Mapping[int, float] | None = None,
        pending: Mapping[int, float] | None = None,
    ) -> None:
        """Set up the budget; the clock starts.

        Args:
            limit: How much may be spent.
            points: Shares of it at which the learner is measured.
            measured: Core seconds that an earlier start of the run had spent after so many steps, where it
                was measured.
            pending: The same where it was about to be measured, and was not.
        """
        self.limit, self.points = limit, points
        self.resumed_steps = 0
        self._measured, self._pending = dict(measured or {}), dict(pending or {})
        self._seconds_before = 0.0
        self._started = core_seconds()
        self._paused_at: float | None = None
        self._last_part = 0.0
        self._asked_at: float | None = None
        self._longest_update = 0.0

    @property
    def steps(self) -> int | None:
        """The most environment steps; None where there is no limit on them."""
        return int(self.limit.amount) if self.limit.kind == "steps" else None

    @property
    def core_minutes(self) -> float | None:
        """The most core minutes; None where there is no limit on them."""
        return self.limit.amount if self.limit.kind == "core_minutes" else None

    @property
    def seconds(self) -> float:
        """Core seconds spent so far, earlier starts included."""
        now = core_seconds() if self._paused_at is None else self._paused_at
        return self._seconds_before + now - self._started

    def part_spent(self, steps: int) -> float:
        """Return the share of the budget that is spent after so many environment steps."""
        return self._part(steps, self.seconds)

    def _part(self, steps: int, seconds: float) -> float:
        return (steps if self.limit.kind == "steps" else seconds / 60) / self.limit.amount

    def allows(self, steps: int) -> bool:
        """Tell whether a learner may go on until it has had so many environment steps in all.

        Ask before each update. Of core minutes there must be enough left for one as long as the longest.
        """
        if self.limit.kind == "steps":
            return steps <= self.limit.amount
        seconds = self.seconds
        if self._asked_at is not None:
            self._longest_update = max(self._longest_update, seconds - self._asked_at)
        self._asked_at = seconds
        return seconds + self._longest_update < 60 * self.limit.amount

    def is_due(self, steps: int) -> bool:
        """Tell whether a learner is to be measured now, after so many environment steps."""
        return any(self._last_part < point <= self.part_spent(steps) for point in self.points)

    def resume(self, steps: int) -> bool:
        """Go on from what an earlier start of the run left in the folder; call it before learning.

        Args:
            steps: The environment steps after which the learner stored itself.

        Returns:
            Whether that is known: False where it has to begin anew.
        """
        seconds = (self._pending | self._measured).get(steps)
        if steps == 0 or seconds is None:
            return False
        self.resumed_steps, self._seconds_before, self._asked_at = steps, seconds, None
        self._started = core_seconds()
        before = (self._part(*each) for each in self._measured.items() if each[0] <= steps)
        self._last_part = max(before, default=0.0)
        return True

    def note_measured(self, steps: int) -> None:
        """Note that the learner is measured after so many steps: it is not due before the next point."""
        self._last_part = self.part_spent(steps)

    def check(self, steps: int) -> None:
        """Refuse what was spent beyond the budget.

        Raises:
            Refused: It says how much.
        """
        if self.limit.kind == "steps" and steps > self.limit.amount:
            raise Refused(f"it took {steps:,} environment steps, and its budget is {self.limit}")
        seconds = self.seconds
        most = 60 * self.limit.amount * (1 + _OVER) + _OVER_SECONDS
        if self.limit.kind == "core_minutes" and seconds > most:
            raise Refused(f"it took {seconds / 60:.2f} core minutes, and its budget is {self.limit}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock, in a with statement."""
        self._paused_at = core_seconds(at_most_old=0.0)
        try:
            yield
        finally:
            self._started += core_seconds(at_most_old=0.0) - self._paused_at
            self._paused_at = None


def core_seconds(at_most_old: float = _LOOK_UP_SECONDS) -> float:
    """Return the processor seconds that this process and all its descendants have used.

    Args:
        at_most_old: So many seconds ago those of descendants may have been looked up.
    """
    return time.process_time() + _children.seconds(at_most_old)


class _Children:
    """The processor seconds of child processes: those that have ended and, on Linux, those that run."""

    def __init__(self) -> None:
        self._seen, self._lost, self._looked_up = 0.0, 0.0, -_LOOK_UP_SECONDS

    def seconds(self, at_most_old: float) -> float:
        """Return them, never less than before."""
        if (now := time.monotonic()) - self._looked_up >= at_most_old:
            seen = _seconds_seen()
            if seen < self._seen:  # one that ended as we looked is in neither sum: look again
                seen = _seconds_seen()
            # What nobody waited for is in no sum once it has ended.
            self._lost += max(0.0, self._seen - seen)
            self._seen, self._looked_up = seen, now
        return self._seen + self._lost


_children = _Children()


def _seconds_seen() -> float:
    """Return the processor seconds of children that were waited for, and of those that run."""
    ended = os.times()
    return ended.children_user + ended.children_system + _seconds_of_descendants()


def _seconds_of_descendants() -> float:
    """Return the processor seconds of running descendants and of their children that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # What stands in brackets is the program's name, which may hold anything.
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(stat.parent.name)
        parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    ours, found = {os.getpid()}, 0
    while more := {number for number, parent in parents.items() if parent in ours and number not in ours}:
        ours |= more
        found += sum(ticks[number] for number in more)
    return found / os.sysconf("SC_CLK_TCK") if found else 0.0
