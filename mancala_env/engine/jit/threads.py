"""Parallel work on slices of many games, with threads. Kernels release the GIL."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import pairwise
from threading import Event
from typing import Any

from mancala_env._util.checks import whole

# With fewer games, a step ends before a second thread has started.
_FEWEST_GAMES_PER_THREAD = 512
MOST_THREADS = 1024


@lru_cache
def _threads(num_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(num_threads, thread_name_prefix="mancala")


# A fork copies the pools but not their threads, so a copied pool would never do its work.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


def run_in_slices(
    work: Callable[[int, int], Any],
    size: int,
    num_threads: int,
    fewest: int = _FEWEST_GAMES_PER_THREAD,
    most: int | None = None,
    is_cancelled: Event | None = None,
) -> None:
    """Call work(start, stop) for slices of at least `fewest` games that cover range(size), on threads.

    A slice is worked on in pieces of at most `most` games; None: as a whole. Python handles no signal while a
    piece runs. After an exception, such as that of Ctrl-C, `is_cancelled` is set, for long work that checks
    it, and no slice is running when the caller gets the exception.
    """
    slices = max(1, min(num_threads, size // fewest))
    if slices == 1 and most is None:
        work(0, size)
        return
    is_over = Event() if is_cancelled is None else is_cancelled

    def run(start: int, stop: int) -> None:
        for first in range(start, stop, most or stop - start):
            if is_over.is_set():
                return
            work(first, min(stop, first + (most or stop - start)))

    if slices == 1:
        run(0, size)
        return
    edges = [size * i // slices for i in range(slices + 1)]
    pool = _threads(slices)
    futures = [pool.submit(run, a, b) for a, b in pairwise(edges)]
    try:
        for future in futures:
            future.result()
    except BaseException:
        is_over.set()
        wait(futures)
        raise


def default_num_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_threads_of(num_threads: Any) -> int:
    """Check a number of CPU threads, 1 to MOST_THREADS, and return it; None is every usable core."""
    if num_threads is None:
        return default_num_threads()
    return whole("num_threads", num_threads, 1, MOST_THREADS)
