"""Transposition table of proved bounds, shared by all searches of a ruleset.

An entry is 16 bytes: ``key ^ data`` and ``data``. Two threads may write the same entry at once. The resulting
mixed entry does not match its key and is not found, so no lock is needed (Hyatt and Mann 2002). Four entries
make a bucket of one cache line. A key has 64 bits of hash. A second hash chooses the bucket, and eight of its
bits are in the data. So the probability of any false match among 10^10 look-ups is below 10^-10 in a full
table of any size.

Fields of `data`, low bits first:

====  ===========================================================================================
bits  meaning
====  ===========================================================================================
10    lower bound + 512
10    upper bound + 512
6     chain of the lower bound's proof
6     chain of the upper bound's proof
6     0, or 1 + the only stall counter the bounds hold for
5     hole (seen from the mover) that proved the lower bound, or 31
5     binary logarithm of the nodes spent, which decides what is replaced
4     need of the upper bound's proof, in seeds of the mover's owned holes
4     need of the lower bound's proof, in seeds of the other player's
8     more bits of the hash
====  ===========================================================================================

Chain and need determine for which other positions a proof is valid; see :mod:`mancala_env.solver.proofs`. In
an entry that depends on the contents of owned holes, capped or exact, each need is also the drain of the
other bound. The larger of the two is stored.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.jit.decorator import kernel

SLOTS, WORDS_PER_ENTRY = 4, 2
WORDS_PER_BUCKET = SLOTS * WORDS_PER_ENTRY
NO_MOVE = 31
LEAST, MOST = -511, 511
"""Trivial bounds: a margin is at most 255 seeds and counts from at most 255."""
EXACT_CONTENTS = 15
"""Need and drain of proofs that are valid only for the exact contents of the owned holes."""

# First bit of each field of an entry's data, and the bias that makes bounds non-negative.
_UPPER, _CHAIN_LOWER, _CHAIN_UPPER, _ONLY_STALL = (np.uint64(n) for n in (10, 20, 26, 32))
_MOVE, _WORK, _NEED_MINE, _NEED_THEIRS, _CHECK = (np.uint64(n) for n in (38, 43, 48, 52, 56))
_BOUND_BIAS = 512
_BITS_4, _BITS_5, _BITS_6, _BITS_10 = (np.uint64(2**n - 1) for n in (4, 5, 6, 10))


class Entry(NamedTuple):
    """The fields of an entry, in the order of the table above, all int64."""

    lower: Any
    upper: Any
    chain_lower: Any
    chain_upper: Any
    only_stall: Any
    move: Any
    work: Any
    need_mine: Any
    need_theirs: Any


@kernel
def packed(entry, check):
    """Return an entry and eight bits of the hash as the data of a slot."""
    return (
        np.uint64(entry.lower + _BOUND_BIAS)
        | (np.uint64(entry.upper + _BOUND_BIAS) << _UPPER)
        | (np.uint64(entry.chain_lower) << _CHAIN_LOWER)
        | (np.uint64(entry.chain_upper) << _CHAIN_UPPER)
        | (np.uint64(entry.only_stall) << _ONLY_STALL)
        | (np.uint64(entry.move) << _MOVE)
        | (np.uint64(entry.work) << _WORK)
        | (np.uint64(entry.need_mine) << _NEED_MINE)
        | (np.uint64(entry.need_theirs) << _NEED_THEIRS)
        | (check << _CHECK)
    )


@kernel
def unpacked(data):
    """Return the entry in the data of a slot."""
    return Entry(
        np.int64(data & _BITS_10) - _BOUND_BIAS,
        np.int64((data >> _UPPER) & _BITS_10) - _BOUND_BIAS,
        np.int64((data >> _CHAIN_LOWER) & _BITS_6),
        np.int64((data >> _CHAIN_UPPER) & _BITS_6),
        np.int64((data >> _ONLY_STALL) & _BITS_6),
        np.int64((data >> _MOVE) & _BITS_5),
        np.int64((data >> _WORK) & _BITS_5),
        np.int64((data >> _NEED_MINE) & _BITS_4),
        np.int64((data >> _NEED_THEIRS) & _BITS_4),
    )


@kernel
def check_in(data):
    """Return the eight bits of the hash in the data of a slot."""
    return data >> _CHECK


def new_table(memory_mb: float) -> np.ndarray:
    """Allocate an empty table, uint64, a power of two of buckets, at most `memory_mb` megabytes.

    The operating system provides the memory as entries are written.
    """
    buckets = 1 << max(4, int(np.log2(max(memory_mb, 0.001) * 2**20 / (WORDS_PER_BUCKET * 8))))
    words = np.zeros((buckets + 1) * WORDS_PER_BUCKET, np.uint64)
    # A bucket must be one cache line.
    offset = (-words.ctypes.data % 64) // 8
    return words[offset : offset + buckets * WORDS_PER_BUCKET]
