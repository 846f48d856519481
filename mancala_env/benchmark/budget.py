"""Budgets of learners, in environment steps or core minutes, and their measuring points.

A core minute is a minute of processor time of one core, used by the process, its threads and its child
processes. It does not depend on the load of the machine and excludes accelerators. An environment step is a
turn of the learner, in self-play any turn. Turns of an opponent, and turns tried by a search, do not count.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from mancala_env._util.checks import whole
from mancala_env.benchmark.tasks import Refused
from mancala_env.errors import InvalidArgument

# Tolerated excess, as a share and in seconds: a learner checks the clock only between two updates.
_OVER, _OVER_SECONDS = 0.05, 5.0
# Interval at which the times of child processes are read, because reading takes milliseconds.
_LOOK_UP_SECONDS = 1.0
_MOST_STEPS, _MOST_MINUTES = 10**12, 10**7
MOST_POINTS = 20
"""Maximum number of measuring points of a run."""


class BudgetLimit(NamedTuple):
    """The size of a budget: an amount of environment steps or core minutes."""

    kind: Literal["steps", "core_minutes"]
    amount: float

    def __str__(self) -> str:
        """Return the budget in words, such as "1 M steps" or "3 core minutes"."""
        if self.kind == "core_minutes":
            return f"{self.amount:g} core minute{'s' * (self.amount != 1)}"
        amount = int(self.amount)
        for size, letter in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
            if size <= amount < 1000 * size and amount % (size // 100) == 0:
                return f"{amount / size:g}{letter} steps"
        return f"{amount:,} step{'s' * (amount != 1)}"

    @property
    def slug(self) -> str:
        """Name of the budget's folder."""
        minutes = f"{self.amount!r}".removesuffix(".0")  # all digits, so that every budget has its own folder
        return f"{minutes}-core-minutes" if self.kind == "core_minutes" else f"{self.amount:.0f}-steps"


def limit_of_steps(steps: int) -> BudgetLimit:
    """Return a limit on environment steps; raise InvalidArgument unless they are whole, 1 to 10**12."""
    return BudgetLimit("steps", whole("steps", steps, 1, _MOST_STEPS))


def limit_of_minutes(minutes: float) -> BudgetLimit:
    """Return a limit on core minutes; raise InvalidArgument unless they are above 0 and at most 10**7."""
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes <= _MOST_MINUTES:
        raise InvalidArgument(f"core_minutes must be above 0 and at most {_MOST_MINUTES:,}, not {minutes!r}")
    return BudgetLimit("core_minutes", float(minutes))


def measuring_points(count: int) -> tuple[float, ...]:
    """Return the shares of a budget at which a learner is measured: 1, preceded by successive halves.

    Raise InvalidArgument unless `count` is a whole number from 1 to MOST_POINTS.

    >>> measuring_points(4)
    (0.125, 0.25, 0.5, 1.0)
    """
    return tuple(2.0**-k for k in reversed(range(whole("points", count, 1, MOST_POINTS))))


class LearningBudget:
    """The budget of one learner; the learner asks it whether to continue and when it is measured.

    The clock stops while the learner's agent is measured. `points` are the shares of the budget at which it
    is measured. `resumed_steps` are the environment steps from which the run resumed; 0 if it started from
    scratch. `measured` and `pending` are the core seconds by steps at which an interrupted run was measured,
    and was about to be measured.
    """

    def __init__(
        self,
        limit: BudgetLimit,
        points: tuple[float, ...],
        measured: Mapping[int, float] | None = None,
        pending: Mapping[int, float] | None = None,
    ) -> None:
        self.limit, self.points, self.resumed_steps = limit, points, 0
        self._measured, self._pending = dict(measured or {}), dict(pending or {})
        self._seconds_before, self._started = 0.0, core_seconds()
        self._paused_at: float | None = None
        self._asked_at: float | None = None
        self._last_part = self._longest_update = 0.0

    @property
    def steps(self) -> int | None:
        """Maximum number of environment steps; None if they are not limited."""
        return int(self.limit.amount) if self.limit.kind == "steps" else None

    @property
    def core_minutes(self) -> float | None:
        """Maximum number of core minutes; None if they are not limited."""
        return self.limit.amount if self.limit.kind == "core_minutes" else None

    @property
    def seconds(self) -> float:
        """Core seconds spent so far, including the time before interruptions."""
        now = core_seconds() if self._paused_at is None else self._paused_at
        return self._seconds_before + now - self._started

    def part_spent(self, steps: int) -> float:
        """Return the share of the budget that is spent after a number of environment steps."""
        return self._part(steps, self.seconds)

    def _part(self, steps: int, seconds: float) -> float:
        return (steps if self.limit.kind == "steps" else seconds / 60) / self.limit.amount

    def allows(self, steps: int) -> bool:
        """Return whether the learner may continue until it has made `steps` environment steps in total.

        Call it before each update. With core minutes, enough for the longest update so far must be left.
        """
        if self.limit.kind == "steps":
            return steps <= self.limit.amount
        seconds = self.seconds
        if self._asked_at is not None:
            self._longest_update = max(self._longest_update, seconds - self._asked_at)
        self._asked_at = seconds
        return seconds + self._longest_update < 60 * self.limit.amount

    def is_due(self, steps: int) -> bool:
        """Return whether the learner must be measured now, after `steps` environment steps."""
        return any(self._last_part < point <= self.part_spent(steps) for point in self.points)

    def resume(self, steps: int) -> bool:
        """Resume the clock of an interrupted run; call it before learning.

        The stored learner was saved after `steps` environment steps. Return whether the time spent until then
        is known. If False, the learner must start from scratch.
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
        """Record that the learner was measured after `steps`, so that it is due at the next point."""
        self._last_part = self.part_spent(steps)

    def check(self, steps: int) -> None:
        """Raise a Refused with the amount spent if the budget is exceeded."""
        if self.limit.kind == "steps":
            if steps > self.limit.amount:
                raise Refused(f"it took {steps:,} environment steps; its budget is {self.limit}")
        elif (seconds := self.seconds) > 60 * self.limit.amount * (1 + _OVER) + _OVER_SECONDS:
            raise Refused(f"it took {seconds / 60:.2f} core minutes; its budget is {self.limit}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock within a with statement."""
        self._paused_at = core_seconds(at_most_old=0.0)
        try:
            yield
        finally:
            self._started += core_seconds(at_most_old=0.0) - self._paused_at
            self._paused_at = None


def core_seconds(at_most_old: float = _LOOK_UP_SECONDS) -> float:
    """Return the processor seconds used by this process and all its descendants.

    The reading for descendants is at most `at_most_old` seconds old.
    """
    return time.process_time() + _children.seconds(at_most_old)


class _Children:
    """The processor seconds of child processes: of ended ones and, on Linux, of running ones."""

    def __init__(self) -> None:
        self._last, self._lost, self._read_at = 0.0, 0.0, -_LOOK_UP_SECONDS

    def seconds(self, at_most_old: float) -> float:
        """Return the processor seconds; the result never decreases."""
        if (now := time.monotonic()) - self._read_at >= at_most_old:
            reading = _read_seconds()
            if reading < self._last:  # a child that ends between the two readings is in neither: repeat
                reading = _read_seconds()
            # The time of a child that has ended, but that its parent never waited for, disappears.
            self._lost += max(0.0, self._last - reading)
            self._last, self._read_at = reading, now
        return self._last + self._lost


_children = _Children()


def _read_seconds() -> float:
    """Return the processor seconds of ended children, and of running descendants with their ended ones."""
    ended = os.times()
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The program's name in brackets may contain any character.
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        number = int(stat.parent.name)
        parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    ours, found = {os.getpid()}, 0
    while more := {number for number, parent in parents.items() if parent in ours and number not in ours}:
        ours |= more
        found += sum(ticks[number] for number in more)
    running = found / os.sysconf("SC_CLK_TCK") if found else 0.0
    return ended.children_user + ended.children_system + running
