"""Timing on a shared machine: functions that are compared run in turn, and the median counts."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One measured number."""

    name: str
    value: float
    unit: str


def rates_side_by_side(
    works: dict[str, Callable[[], int]],
    *,
    repeats: int = 7,
    min_seconds: float = 0.2,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Measure units of work per second. All works run in turn several times; returns the median of each.

    Args:
        works: Name to a function that does some work and returns how many units it did. repeats:
        Number of times that all works run. min_seconds: Minimum seconds of a work in one repeat; the
        work is called until then. clock: Clock in seconds. For work in one thread, `time.thread_time`
        excludes the time of other programs.
    """
    rates: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # compile, warm up
    for _ in range(repeats):
        for name, work in works.items():
            units, start = 0, clock()
            while (elapsed := clock() - start) < min_seconds:
                units += work()
            rates[name].append(units / elapsed)
    return {name: statistics.median(found) for name, found in rates.items()}
