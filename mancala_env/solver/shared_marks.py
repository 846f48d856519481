"""Hash tables of deferred searches, and of positions that a thread is searching.

`attempts` counts the deferrals of a search, by position and beta. `busy` holds the positions that threads are
searching. In both tables a new entry may replace an older entry. A lost entry costs only time.
"""

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.prefetch import prefetch
from mancala_env.solver.proofs import U0

NUM_ATTEMPTS = 1 << 18
"""Number of entries of the array `attempts`, one for each deferred search, 8 bytes each."""

_MIX = np.uint64(0xD6E8FEB86659FD93)
_U8, _U32, _U63 = (np.uint64(n) for n in (8, 32, 63))


@kernel
def _attempt(exact_key, beta):
    """Return a hash of a position and beta, its lowest six bits zero."""
    word = (exact_key ^ np.uint64(beta + 1024)) * _MIX
    return (word ^ (word >> _U32)) & ~_U63


@kernel
def _place_of(attempts, attempt):
    return np.int64((attempt >> _U8) & np.uint64(len(attempts) - 1))


@kernel
def prefetch_deferrals(attempts, exact_key, beta):
    """Start loading what :func:`num_deferrals` reads."""
    prefetch(attempts, _place_of(attempts, _attempt(exact_key, beta)))


@kernel
def num_deferrals(attempts, exact_key, beta):
    """Return the number of deferrals of a search; 0 if unknown."""
    attempt = _attempt(exact_key, beta)
    entry = attempts[_place_of(attempts, attempt)]
    return np.int64(entry & _U63) if (entry & ~_U63) == attempt else 0


@kernel
def set_deferrals(attempts, exact_key, beta, times):
    """Write the number of deferrals of a search, at most 63."""
    attempt = _attempt(exact_key, beta)
    attempts[_place_of(attempts, attempt)] = attempt | np.uint64(times)


@kernel
def is_busy(busy, key):
    """Return whether another thread is searching a position."""
    return busy[np.int64(key & np.uint64(len(busy) - 1))] == key


@kernel
def set_busy(busy, key, is_entered):
    """Mark that this thread enters a position, or leaves it."""
    place = np.int64(key & np.uint64(len(busy) - 1))
    if is_entered:
        busy[place] = key
    elif busy[place] == key:
        busy[place] = U0
