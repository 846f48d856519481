"""Work on slices of many games, on threads: kernels release the GIL, so plain threads are enough."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
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
) -> None:
    """Call work(start, stop) for slices of at least `fewest` that cover range(size), on threads."""
    pieces = max(1, min(num_threads, size // fewest))
    if pieces == 1:
        work(0, size)
        return
    edges = [size * i // pieces for i in range(pieces + 1)]
    pool = _threads(pieces)
    for future in [pool.submit(work, a, b) for a, b in pairwise(edges)]:
        future.result()


def default_num_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
