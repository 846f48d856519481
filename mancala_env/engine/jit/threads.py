"""Parallel work on slices of many games, with threads. Kernels release the GIL.

Ctrl-C raises KeyboardInterrupt between any two instructions of the main thread. In `Condition.__enter__` that
leaves the lock taken, and all threads wait for it forever. `concurrent.futures` uses such locks: 1 of 400
interrupts of short steps was a deadlock. So here the main thread uses queues, which are written in C.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from mancala_env._util.checks import whole

# With fewer games, a step ends before a second thread has started.
_FEWEST_GAMES_PER_THREAD = 512
MOST_THREADS = 1024


_Job = Callable[[], None]


@lru_cache
def _jobs_of_threads(num_threads: int) -> SimpleQueue[_Job]:
    """Start threads, once for each number, and return the queue of their jobs."""
    jobs: SimpleQueue[_Job] = SimpleQueue()

    def serve() -> None:
        while True:
            jobs.get()()

    for n in range(num_threads):
        Thread(target=serve, name=f"mancala_{n}", daemon=True).start()
    return jobs


# A fork copies the queues but not the threads, so the jobs of a copied queue would never be done.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_jobs_of_threads.cache_clear)


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
    it, and no slice is running when the caller gets the exception. A second Ctrl-C does not wait for the
    slices.
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
    ends: list[BaseException | None] = []
    done: SimpleQueue[None] = SimpleQueue()

    def job(start: int, stop: int) -> None:
        end = None
        try:
            run(start, stop)
        except BaseException as error:
            is_over.set()
            end = error
        ends.append(end)
        if len(ends) == slices:
            done.put(None)

    jobs = iter([partial(job, start, stop) for start, stop in pairwise(edges)])
    queue = _jobs_of_threads(slices)
    try:
        deque(map(queue.put, jobs), maxlen=0)  # in C, so Ctrl-C comes before or after all of them
        done.get()
    except BaseException:
        is_over.set()
        num_started = slices - len(list(jobs))
        while len(ends) < num_started:
            time.sleep(0.0005)
        raise
    for end in ends:
        if end is not None:
            raise end


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
