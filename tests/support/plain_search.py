"""The plainest search there is: every line of play to its end, nothing remembered, nothing left out.

It shares no idea with the solver: no table, no window, no order of turns, no proof. It plays through the
engine's own turns, many positions at a call, and gives a position up that has too many turns after it.
"""

import numba
import numpy as np

from mancala_env import Ruleset
from mancala_env.engine.state import RUNNING, SOUTH, count_of, encode, load, nth_bit, num_bits, save
from mancala_env.engine.turn import legal_holes, play_turn, settled

UNKNOWN = -10_000
"""Stands for the value of a position that has been given up."""


@numba.njit
def _south_lead(rules, game, turns_left):
    """Return South's final count less North's after best play, or UNKNOWN where the turns do not suffice."""
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
    """Let who moves, or why the round is over, follow from the seeds, in place."""
    _settle_all(encode(ruleset), games)


def plain_values(ruleset: Ruleset, games: np.ndarray, most_turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what running games are worth to the player to move, stores counted from zero.

    Args:
        ruleset: Their ruleset.
        games: uint64 `[B, NUM_COLUMNS]`.
        most_turns: Turns that are played for one game at most.

    Returns:
        int64 `[B]`, UNKNOWN where the turns did not suffice; and the turns played, int64 `[B]`.
    """
    values, turns = np.empty((2, len(games)), np.int64)
    _write_values(encode(ruleset), games, most_turns, values, turns)
    return values, turns
