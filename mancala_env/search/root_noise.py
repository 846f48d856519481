"""Random numbers of a search that depend only on the seed of each game, not on the other games.

Symbols: B games, H holes, K numbers.
"""

import math
from typing import NamedTuple

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Tries of a gamma draw; each succeeds with a probability of 95 % or more.
_TRIES = 10
CONCENTRATION = 10.0
"""Default concentration of Dirichlet noise, shared among the legal actions."""


def uniform_draws(rng_states: np.ndarray, count: int) -> np.ndarray:
    """Return numbers above 0 and below 1, float64 `[B, K]`, by splitmix64 from seeds, uint64 `[B]`."""
    steps = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
    # The first number would be that of engine.rng, which breaks ties.
    state = (rng_states ^ _MIX2)[:, None] + steps
    state = (state ^ (state >> np.uint64(30))) * _MIX1
    state = (state ^ (state >> np.uint64(27))) * _MIX2
    bits = (state ^ (state >> np.uint64(31))) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


def gumbel_draws(rng_states: np.ndarray, count: int) -> np.ndarray:
    """Return standard Gumbel numbers, float64 `[B, K]`."""
    return -np.log(-np.log(uniform_draws(rng_states, count)))


class RootNoise(NamedTuple):
    """Dirichlet noise for the priors at the roots.

    Attributes:
        rng_states: uint64 `[B]`, seed of each game.
        share: Share of the noise in the priors, 0 to 1.
        alpha: Concentration; None: CONCENTRATION divided by the number of legal actions.
    """

    rng_states: np.ndarray
    share: float
    alpha: float | None

    def draws(self, num_legal: np.ndarray, count: int) -> np.ndarray:
        """Return gamma numbers, float64 `[B, K]`; those of a row over their sum are a Dirichlet draw.

        `num_legal` are integers `[B]`.
        """
        shape = (
            np.full(len(num_legal), self.alpha) if self.alpha else CONCENTRATION / np.maximum(num_legal, 1)
        )
        return gamma_draws(self.rng_states, shape, count)


def gamma_draws(rng_states: np.ndarray, shape: np.ndarray, count: int) -> np.ndarray:
    """Return gamma numbers of shapes float64 `[B]`, float64 `[B, K]` (Marsaglia and Tsang 2000)."""
    uniform = uniform_draws(rng_states, (3 * _TRIES + 1) * count).reshape(len(rng_states), -1, count)
    first, second, third = (uniform[:, n : 3 * _TRIES : 3] for n in range(3))
    normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * math.pi * second)
    d = (shape + 1 - 1 / 3)[:, None, None]  # draws of shape + 1, which exceeds 1
    cube = np.maximum(1 + normal / np.sqrt(9 * d), 1e-9) ** 3
    is_taken = np.log(third) < normal**2 / 2 + d * (1 - cube + np.log(cube))
    tries = np.take_along_axis(d * cube, is_taken.argmax(axis=1)[:, None], axis=1)[:, 0]
    # A draw of shape + 1 times U ** (1 / shape) is a draw of the shape.
    return np.maximum(tries * uniform[:, -1] ** (1 / shape[:, None]), 1e-300)
