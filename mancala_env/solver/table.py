"""The table of proved bounds that all searches of a ruleset share.

An entry is 16 bytes: ``key ^ data`` and ``data``. Two threads may write the same entry at once; a torn
entry then no longer matches its key and is simply not found, so no lock is needed (Hyatt and Mann 2002).
Four entries make a bucket, one cache line. A key is 64 bits of hash and eight more lie in the data, so
among 10^10 look-ups the chance of a single false match is about 10^-11.

What `data` holds, low bits first:

====  ===========================================================================================
bits  meaning
====  ===========================================================================================
10    lower bound + 512
10    upper bound + 512
6     chain of the lower bound's proof
6     chain of the upper bound's proof
6     0, or 1 + the only stall counter the bounds hold for
5     hole (seen from the mover) that proved the lower bound; 31 none
5     binary logarithm of the nodes spent, which decides what is replaced
4     need of the upper bound's proof, in seeds of the mover's owned holes
4     need of the lower bound's proof, in seeds of the other player's
8     more bits of the hash
====  ===========================================================================================

Chain and need say for which other positions a proof is valid too; see :mod:`mancala_env.solver.search`. In an
entry that depends on the contents of owned holes, capped or exact, each of the two needs is also the other
bound's drain: the greater of both.
"""

import numpy as np

from mancala_env.engine.kernel import kernel

WORDS_PER_BUCKET = 8
ENTRY_BYTES = 16
NO_MOVE = 31
LEAST, MOST = -511, 511
"""Bounds that say nothing: a margin is at most 255 seeds and counts from at most 255."""
EXACT_CONTENTS = 15
"""The need and drain of proofs that are valid for these very contents of the owned holes only."""

U0, U1 = np.uint64(0), np.uint64(1)
_U2, _U3, _U6 = np.uint64(2), np.uint64(3), np.uint64(6)
_CHECK_SHIFT = np.uint64(56)


@kernel
def bits_of(data, shift, mask):
    """Return a field of an entry as int64."""
    return np.int64((data >> np.uint64(shift)) & np.uint64(mask))


@kernel
def entry_of(lower, upper, chain_lower, chain_upper, stall, move, work, need_mine, need_theirs, check):
    """Pack the fields of an entry; `stall` is 0 or 1 + the only counter it holds for."""
    return (
        np.uint64(lower + 512)
        | (np.uint64(upper + 512) << np.uint64(10))
        | (np.uint64(chain_lower) << np.uint64(20))
        | (np.uint64(chain_upper) << np.uint64(26))
        | (np.uint64(stall) << np.uint64(32))
        | (np.uint64(move) << np.uint64(38))
        | (np.uint64(work) << np.uint64(43))
        | (np.uint64(need_mine) << np.uint64(48))
        | (np.uint64(need_theirs) << np.uint64(52))
        | (check << _CHECK_SHIFT)
    )


def new_table(memory_mb: float) -> np.ndarray:
    """Allocate an empty table, uint64, a power of two of buckets, at most `memory_mb` megabytes.

    The memory is only taken from the system as entries are written.
    """
    buckets = 1 << max(4, int(np.log2(max(memory_mb, 0.001) * 2**20 / (WORDS_PER_BUCKET * 8))))
    words = np.zeros((buckets + 1) * WORDS_PER_BUCKET, np.uint64)
    # A bucket must be one cache line.
    offset = (-words.ctypes.data % 64) // 8
    return words[offset : offset + buckets * WORDS_PER_BUCKET]
