"""Boards in memory, and the operations on them that kernels use.

A board of up to 24 holes is three 64-bit words with one byte for each hole; hole 0 is the lowest byte of the
first word. So a lap is one masked addition in every ruleset, and one more for each full tour of the board. A
set of holes is an integer with one bit for each hole ("bits").
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.rulesets import MAX_ROW_WIDTH, MIN_ROW_WIDTH

_U3, _U7, _U8 = np.uint64(3), np.uint64(7), np.uint64(8)
_U16, _U48, _U56, _BYTE = np.uint64(16), np.uint64(48), np.uint64(56), np.uint64(0xFF)
_ALL_01 = np.uint64(0x0101010101010101)
_ALL_7F = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL_80 = np.uint64(0x8080808080808080)
# Moves the lowest bit of byte i to bit 56 + i.
_GATHER = np.uint64(0x0102040810204080)
_EVEN = np.uint64(0x00FF00FF00FF00FF)
_SUM_PAIRS = np.uint64(0x0001000100010001)


def _lap_table() -> np.ndarray:
    """Build the laps of less than one round of the board, uint64 `[MAX_ROW_WIDTH + 1, 24, 24, 4]`.

    The table has, by row width, hole and seeds, the numbers to add to the three words of the board, and the
    hole of the last seed.
    """
    laps = np.zeros((MAX_ROW_WIDTH + 1, _MAX_HOLES, _MAX_HOLES, 4), np.uint64)
    for width in range(MIN_ROW_WIDTH, MAX_ROW_WIDTH + 1):
        num_holes = 2 * width
        for hole in range(num_holes):
            added = np.zeros(_MAX_HOLES, np.uint8)
            for seeds in range(num_holes):
                last = (hole + seeds) % num_holes
                added[last] += seeds > 0
                laps[width, hole, seeds, :3] = added.view(np.uint64)
                laps[width, hole, seeds, 3] = last
    return laps


def _round_table() -> np.ndarray:
    """Build boards with one seed in every hole, uint64 `[MAX_ROW_WIDTH + 1, 3]` by row width."""
    ones = (np.arange(_MAX_HOLES) < 2 * np.arange(MAX_ROW_WIDTH + 1)[:, None]).astype(np.uint8)
    return ones.view(np.uint64)


# Global arrays are constants for numba.
_MAX_HOLES = 2 * MAX_ROW_WIDTH
_LAPS = _lap_table()
_ROUND = _round_table()
_KEEP = (~(np.eye(_MAX_HOLES, dtype=np.uint8) * np.uint8(255))).view(np.uint64)
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
SPREAD = (_BITS * np.uint8(255)).view(np.uint64)[:, 0].copy()  # a byte of 255 for each bit of a byte
_COUNT = _BITS.sum(axis=1, dtype=np.uint8)
_NTH = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)  # the n-th set bit of a byte


class Board(NamedTuple):
    """Seeds of holes 0-7, 8-15 and 16-23 as three uint64 words, one byte for each hole."""

    low: Any
    middle: Any
    high: Any


@kernel
def seeds_in(board, hole):
    """Return the seeds in a hole, as uint64."""
    hole = np.uint64(hole)
    word = board.low if hole < _U8 else (board.middle if hole < _U16 else board.high)
    return (word >> ((hole & _U7) << _U3)) & _BYTE


@kernel
def emptied(board, hole):
    """Return the board with a hole emptied."""
    return Board(
        board.low & _KEEP[hole, 0],
        board.middle & _KEEP[hole, 1],
        board.high & _KEEP[hole, 2],
    )


@kernel
def with_added(board, hole, seeds):
    """Return the board with seeds (uint64) added to a hole."""
    hole = np.uint64(hole)
    added = seeds << ((hole & _U7) << _U3)
    none = np.uint64(0)
    return Board(
        board.low + (added if hole < _U8 else none),
        board.middle + (added if _U8 <= hole < _U16 else none),
        board.high + (added if hole >= _U16 else none),
    )


@kernel
def sown(rules, board, hole, seeds):
    """Return the board after one lap of the seeds (uint64) of a hole, and the hole of the last seed."""
    board = emptied(board, hole)
    width = np.uint64(rules.width)
    while seeds >= width + width:  # once round the board: one seed in every hole
        seeds -= width + width
        board = Board(
            board.low + _ROUND[width, 0],
            board.middle + _ROUND[width, 1],
            board.high + _ROUND[width, 2],
        )
    board = Board(
        board.low + _LAPS[width, hole, seeds, 0],
        board.middle + _LAPS[width, hole, seeds, 1],
        board.high + _LAPS[width, hole, seeds, 2],
    )
    return board, _LAPS[width, hole, seeds, 3]


@kernel
def _occupied_bytes(word):
    """Return the eight bits that mark the bytes of a word that are not zero."""
    flags = ((((word & _ALL_7F) + _ALL_7F) | word) & _ALL_80) >> _U7
    return np.int64((flags * _GATHER) >> _U56)


@kernel
def occupied(board):
    """Return the bits of the holes that hold seeds."""
    return (
        _occupied_bytes(board.low)
        | (_occupied_bytes(board.middle) << 8)
        | (_occupied_bytes(board.high) << 16)
    )


@kernel
def seeds_within(board, bits):
    """Return the number of seeds in a set of holes."""
    low = board.low & SPREAD[bits & 0xFF]
    middle = board.middle & SPREAD[(bits >> 8) & 0xFF]
    high = board.high & SPREAD[(bits >> 16) & 0xFF]
    # Four sums of 16 bits each; their sum is in the top 16 bits.
    pairs = (low & _EVEN) + ((low >> _U8) & _EVEN)
    pairs += (middle & _EVEN) + ((middle >> _U8) & _EVEN)
    pairs += (high & _EVEN) + ((high >> _U8) & _EVEN)
    return np.int64((pairs * _SUM_PAIRS) >> _U48)


@kernel
def num_bits(bits):
    """Return the number of set bits among the lowest 24."""
    return (
        np.int64(_COUNT[bits & 0xFF])
        + np.int64(_COUNT[(bits >> 8) & 0xFF])
        + np.int64(_COUNT[(bits >> 16) & 0xFF])
    )


@kernel
def nth_bit(bits, n):
    """Return the position of the n-th set bit (from 0, lowest first), for n < num_bits(bits)."""
    base = 0
    while n >= np.int64(_COUNT[bits & 0xFF]):
        n -= np.int64(_COUNT[bits & 0xFF])
        bits >>= 8
        base += 8
    return base + np.int64(_NTH[bits & 0xFF, n])
