"""How many threads torch takes while an agent's network runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Positions for each thread: with fewer, waiting for the others takes longer than the work.
_ROWS = 256


def threads_for(rows: int, num_threads: int) -> int:
    """Return how many of an agent's threads a network is worth for so many positions."""
    return max(1, min(num_threads, rows // _ROWS))


@contextmanager
def within_torch_threads(num_threads: int) -> Iterator[None]:
    """Let torch, where it is loaded at all, take at most so many threads in here.

    Its own limit, which the rest of the process may have set lower, comes back at the end. For networks as
    small as these, threads that wait for each other cost far more than they help: 3 to 16 ms for one position
    on two busy cores, 0.2 ms on one thread.
    """
    torch = sys.modules.get("torch")
    before = 0 if torch is None else torch.get_num_threads()
    if torch is None or before <= num_threads:
        yield
        return
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
