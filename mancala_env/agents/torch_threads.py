"""How many threads torch takes while an agent's network runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Positions for each thread: with fewer, waiting for the others takes longer than the work.
_ROWS = 256


@contextmanager
def within_torch_threads(num_threads: int, rows: int) -> Iterator[None]:
    """Let torch, where it is loaded at all, take at most so many threads in here for so many positions.

    Its own limit, which the rest of the process may have set lower, comes back at the end. For networks as
    small as these, threads that wait for each other cost far more than they help: 3 to 16 ms for one position
    on two busy cores, 0.2 ms on one thread.
    """
    num_threads = max(1, min(num_threads, rows // _ROWS))
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
