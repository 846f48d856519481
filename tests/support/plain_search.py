"""A plain search: it plays every line to its end, without a table and without pruning.

It has nothing in common with the solver: no table, no window, no move ordering, no proofs. It plays the
engine's turns, many positions per call. It stops at a position that needs too many turns.
"""

import numba
import numpy as np

from mancala_env import Ruleset
from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.state import RUNNING, SOUTH, count_of, encode, load, save
from mancala_env.engine.turn import legal_holes, play_turn, settled

UNKNOWN = -10_000
"""The value of a position that needed too many turns."""


@numba.njit
def _south_lead(rules, game, turns_left):
    """Return South's final lead after best play, or UNKNOWN if it needs too many turns."""
    if game.end != RUNNING:
        return count_of(rules, game, 0) - count_of(rules, game, 1)
    best = UNKNOWN
    holes = legal_holes(rules, game)
    for n in range(num_bits(holes)):
        turns_left[0] -= 1
        if turns_left[0] < 0:
            return UNKNOWN
        lead = _south_lead(rules, play_turn(rules, game, nth_bit(holes, n))[0], turns_left)
        if lead == UNKNOWN:
            return UNKNOWN
        if best == UNKNOWN or (lead > best if game.player == SOUTH else lead < best):
            best = lead
    return best


@numba.njit
def _write_values(rules, games, most_turns, values, turns):
    turns_left = np.zeros(1, np.int64)
    for b in range(len(games)):
        game = load(games, b)
        turns_left[0] = most_turns
        lead = _south_lead(rules, game, turns_left)
        turns[b] = most_turns - turns_left[0]
        if lead == UNKNOWN:
            values[b] = UNKNOWN
        else:
            lead -= game.store_south - game.store_north
            values[b] = lead if game.player == SOUTH else -lead


@numba.njit
def _settle_all(rules, games):
    for b in range(len(games)):
        save(games, b, settled(rules, load(games, b)))


def settle(ruleset: Ruleset, games: np.ndarray) -> None:
    """Set the player to move, or the end of the round, from the seeds, in place."""
    _settle_all(encode(ruleset), games)


def plain_values(ruleset: Ruleset, games: np.ndarray, most_turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of running games for the player to move, stores counted from zero.

    Args:
        ruleset: Their ruleset.
        games: uint64 `[B, NUM_COLUMNS]`.
        most_turns: Most turns to play for one game.

    Returns:
        The values, int64 `[B]`, UNKNOWN if a game needs too many turns; and the turns played, int64 `[B]`.
    """
    values, turns = np.empty((2, len(games)), np.int64)
    _write_values(encode(ruleset), games, most_turns, values, turns)
    return values, turns
