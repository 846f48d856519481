"""Random numbers inside kernels: a generator whose state is one number, and random holes."""

import numpy as np

from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import hole_of
from mancala_env.engine.turn import legal_actions

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_U27, _U30, _U31, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@kernel
def next_random(state):
    """Return the next state of a splitmix64 generator and 64 random bits (Steele et al. 2014)."""
    state = state + _GOLDEN
    mixed = (state ^ (state >> _U30)) * _MIX1
    mixed = (mixed ^ (mixed >> _U27)) * _MIX2
    return state, mixed ^ (mixed >> _U31)


@kernel
def random_below(state, bound):
    """Return the next generator state and a number from 0 to bound - 1, uniform to within 2**-32."""
    state, bits = next_random(state)
    return state, np.int64(((bits >> _U32) * np.uint64(bound)) >> _U32)


@kernel
def random_hole(rules, game, random):
    """Return the next generator state and a uniformly random legal hole of a running round."""
    actions = legal_actions(rules, game)
    random, n = random_below(random, num_bits(actions))
    return random, hole_of(rules, game.player, nth_bit(actions, n))
