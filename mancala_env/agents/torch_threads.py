"""Limit the threads of torch while an agent's network runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Positions for each thread. With fewer, synchronization takes longer than the work.
_ROWS = 256


@contextmanager
def within_torch_threads(num_threads: int, rows: int) -> Iterator[None]:
    """Limit the threads of torch, if it is loaded, while `rows` positions are evaluated.

    The limit is never raised. Small networks are slower on several threads: one position takes 3 to 16 ms on
    two busy cores, and 0.2 ms on one thread.
    """
    num_threads = max(1, min(num_threads, rows // _ROWS))
    torch = sys.modules.get("torch")
    if torch is None or (before := torch.get_num_threads()) <= num_threads:
        yield
        return
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
