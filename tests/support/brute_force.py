"""Plain minimax with a table of whole positions: a reference for the solver's values.

The key of a position is everything that determines its continuation: the seeds in every hole, the owners, the
territories, the player to move and the stall counter. No proof is reused for another position, every legal
turn is tried, and no code of the solver is used. (Other tests compare the rules themselves with
``naive.py``.)

The stall counter rises only while the number of free seeds is constant, and that number never rises. So a
position with its counter never repeats, and the table is exact.
"""

import numba
import numpy as np

from mancala_env import Position
from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.state import RUNNING, SOUTH, count_of, encode, load
from mancala_env.engine.turn import legal_holes, play_turn

UNKNOWN = -10_000
"""The value of a position that needs more memory."""

_ROOM = 1 << 21
_PRIME, _U31 = np.uint64(0x9E3779B97F4A7C15), np.uint64(31)


class TooLarge(Exception):
    """The table is too small for the positions after a position."""


@numba.njit
def _is_there(facts, keys, row):
    for n in range(len(facts)):
        if keys[row, n] != facts[n]:
            return False
    return True


@numba.njit
def _place_of(facts, keys):
    """Return the row of a position in the table, or the empty row for it."""
    word = np.uint64(0)
    for fact in facts:
        word = (word ^ fact) * _PRIME
        word ^= word >> _U31
    row = np.int64(word & np.uint64(len(keys) - 1))
    while keys[row, 3] and not _is_there(facts, keys, row):
        row = (row + 1) & (len(keys) - 1)
    return row


@numba.njit
def _south_margin(rules, game, keys, values, used):
    """Return South's final lead without the seeds in the stores."""
    stored = game.store_south - game.store_north
    if game.end != RUNNING:
        return count_of(rules, game, 0) - count_of(rules, game, 1) - stored
    facts = (
        game.board.low,
        game.board.middle,
        game.board.high,
        np.uint64(
            game.owned_south | (game.owned_north << 24) | (1 << 48)
        ),  # never 0, which marks an empty row
        np.uint64(game.territory | (game.player << 24) | (game.stall << 25)),
    )
    row = _place_of(facts, keys)
    if keys[row, 3]:
        return np.int64(values[row])
    best = UNKNOWN
    holes = legal_holes(rules, game)
    for n in range(num_bits(holes)):
        after = play_turn(rules, game, nth_bit(holes, n))[0]
        worth = _south_margin(rules, after, keys, values, used)
        if worth == UNKNOWN:
            return UNKNOWN
        worth += after.store_south - after.store_north - stored
        if best == UNKNOWN or (worth > best if game.player == SOUTH else worth < best):
            best = worth
    if used[0] > len(keys) // 2:
        return UNKNOWN
    row = _place_of(facts, keys)
    for n in range(len(facts)):
        keys[row, n] = facts[n]
    values[row] = best
    used[0] += 1
    return best


@numba.njit
def _action_margins(rules, games, keys, values, used, margins):
    """Write South's value of each action of the game in row 0; UNKNOWN if it is not legal."""
    game = load(games, 0)
    holes = legal_holes(rules, game)
    for n in range(num_bits(holes)):
        hole = nth_bit(holes, n)
        after = play_turn(rules, game, hole)[0]
        worth = _south_margin(rules, after, keys, values, used)
        if worth == UNKNOWN:
            return False
        worth += after.store_south - after.store_north - game.store_south + game.store_north
        margins[(hole - rules.width * game.player) % (2 * rules.width)] = worth
    return True


class Brute:
    """Computes values of positions of one ruleset, with one table for all."""

    def __init__(self, room: int = _ROOM) -> None:
        """Make a table of `room` rows, a power of two, for half as many positions."""
        self._keys = np.zeros((room, 5), np.uint64)
        self._values = np.zeros(room, np.int16)
        self._used = np.zeros(1, np.int64)

    def clear(self) -> None:
        """Empty the table, for example for another ruleset."""
        self._keys[:] = 0
        self._used[:] = 0

    def action_values(self, position: Position) -> dict[int, int]:
        """Return the value of each legal action for the player to move.

        Raises:
            TooLarge: If the table is too small.
        """
        rules = encode(position.ruleset)
        for _ in range(2):
            margins = np.full(2 * rules.width, UNKNOWN, np.int64)
            if _action_margins(rules, position.games, self._keys, self._values, self._used, margins):
                sign = 1 if position.player == SOUTH else -1
                return {int(a): sign * int(margins[a]) for a in np.flatnonzero(margins != UNKNOWN)}
            self.clear()
        raise TooLarge
