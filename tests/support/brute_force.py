"""Plain minimax over whole positions: what the solver's values are held against.

A position is remembered by all that decides how it goes on: the seeds of every hole, the owners, the
territories, the player to move and the stall counter. No proof is carried from one position to another, no
turn is left out, and of the solver nothing is used. (That the rules themselves are right is tested elsewhere,
against ``naive.py``.)

The counter only rises while the number of free seeds stays, and that number never rises, so a position with
its counter never comes back, and remembering it is exact.
"""

import numba
import numpy as np

from mancala_env import Position
from mancala_env.engine.state import RUNNING, SOUTH, count_of, encode, load, nth_bit, num_bits
from mancala_env.engine.turn import legal_holes, play_turn

UNKNOWN = -10_000
"""What a position is worth that would need more memory."""

_ROOM = 1 << 21
_PRIME, _U31 = np.uint64(0x9E3779B97F4A7C15), np.uint64(31)


class TooLarge(Exception):
    """More positions follow than the memory holds."""


@numba.njit
def _is_there(facts, keys, row):
    for n in range(len(facts)):
        if keys[row, n] != facts[n]:
            return False
    return True


@numba.njit
def _place_of(facts, keys):
    """Return the row of the memory that holds a position, or the empty one where it belongs."""
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
    """Return by how much South's final count exceeds North's, seeds in the stores left out."""
    stored = game.store_south - game.store_north
    if game.end != RUNNING:
        return count_of(rules, game, 0) - count_of(rules, game, 1) - stored
    facts = (
        game.board.low,
        game.board.middle,
        game.board.high,
        np.uint64(game.owned_south | (game.owned_north << 24) | (1 << 48)),  # never 0, as an empty row is
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
    """Write what each action of the game in row 0 is worth to South; UNKNOWN where it is not legal."""
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
    """Values of positions of one ruleset, remembered from one to the next."""

    def __init__(self, room: int = _ROOM) -> None:
        """Make room for half as many positions; `room` is a power of two."""
        self._keys = np.zeros((room, 5), np.uint64)
        self._values = np.zeros(room, np.int16)
        self._used = np.zeros(1, np.int64)

    def clear(self) -> None:
        """Forget everything, such as for another ruleset."""
        self._keys[:] = 0
        self._used[:] = 0

    def action_values(self, position: Position) -> dict[int, int]:
        """Return what each legal action is worth to the player to move.

        Raises:
            TooLarge: More positions follow than there is room for.
        """
        rules = encode(position.ruleset)
        for _ in range(2):
            margins = np.full(2 * rules.width, UNKNOWN, np.int64)
            if _action_margins(rules, position.games, self._keys, self._values, self._used, margins):
                sign = 1 if position.player == SOUTH else -1
                return {int(a): sign * int(margins[a]) for a in np.flatnonzero(margins != UNKNOWN)}
            self.clear()
        raise TooLarge
