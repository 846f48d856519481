"""Work on slices of many games, on threads: kernels release the GIL, so plain threads are enough."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import pairwise
from threading import Event
from typing import Any

# Below this many games a step is over before a second thread has woken up.
_FEWEST_GAMES_PER_THREAD = 512


@lru_cache
def _threads(num_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(num_threads, thread_name_prefix="mancala")


# A fork copies the pools but not their threads: work given to a copied pool would never be done.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


def run_in_slices(
    work: Callable[[int, int], Any],
    size: int,
    num_threads: int,
    fewest: int = _FEWEST_GAMES_PER_THREAD,
    is_cancelled: Event | None = None,
) -> None:
    """Call work(start, stop) for slices that cover range(size), on threads.

    After an exception, such as that of Ctrl-C, no slice is still at work when it reaches the caller.

    Args:
        work: Called once a slice. Python hears no signal while a kernel runs, so work that lasts longer than
            a moment does it in pieces.
        size: Number of games.
        num_threads: Most threads.
        fewest: Games a slice has at least.
        is_cancelled: Set after an exception; long work looks at it between pieces and returns.
    """
    pieces = max(1, min(num_threads, size // fewest))
    if pieces == 1:
        work(0, size)
        return
    edges = [size * i // pieces for i in range(pieces + 1)]
    pool = _threads(pieces)
    futures = [pool.submit(work, a, b) for a, b in pairwise(edges)]
    try:
        for future in futures:
            future.result()
    except BaseException:
        if is_cancelled is not None:
            is_cancelled.set()
        wait(futures)
        raise


def default_num_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
