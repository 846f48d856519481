"""Random numbers of a search that depend only on the seed of each game, not on the other games.

Symbols: B games, H holes, K numbers.
"""

import math

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import next_random

# Selects another stream of random numbers than the one that breaks ties.
_STREAM = np.uint64(0x94D049BB133111EB)
_U12 = np.uint64(12)
# Tries of a gamma draw; each succeeds with a probability of 95 % or more.
_TRIES = 10
CONCENTRATION = 10.0
"""Default concentration of Dirichlet noise, shared among the legal actions."""


def uniform_draws(rng_states: np.ndarray, count: int) -> np.ndarray:
    """Return numbers above 0 and below 1, float64 `[B, K]`, by splitmix64 from seeds, uint64 `[B]`."""
    draws = np.empty((len(rng_states), count))
    _write_uniform(rng_states, draws)
    return draws


@kernel
def _write_uniform(rng_states, draws):
    """Write the numbers of :func:`uniform_draws` to `draws`, float64 `[B, K]`."""
    for b in range(len(rng_states)):
        state = rng_states[b] ^ _STREAM
        for k in range(draws.shape[1]):
            state, bits = next_random(state)
            # 52 bits and a half are exact. With 53 the largest number would be rounded to 1.
            draws[b, k] = (np.float64(bits >> _U12) + 0.5) * 2.0**-52


def gumbel_draws(rng_states: np.ndarray, count: int) -> np.ndarray:
    """Return standard Gumbel numbers, float64 `[B, K]`."""
    return -np.log(-np.log(uniform_draws(rng_states, count)))


def noise_draws(rng_states: np.ndarray, num_legal: np.ndarray, alpha: float | None, count: int) -> np.ndarray:
    """Return gamma numbers, float64 `[B, K]`; those of a row over their sum are a Dirichlet draw.

    `num_legal` are integers `[B]`. `alpha` is the concentration; None: CONCENTRATION divided by `num_legal`.
    """
    equal = CONCENTRATION / np.maximum(num_legal, 1)
    return gamma_draws(rng_states, np.full_like(equal, alpha) if alpha else equal, count)


def gamma_draws(rng_states: np.ndarray, shape: np.ndarray, count: int) -> np.ndarray:
    """Return gamma numbers of shapes float64 `[B]`, float64 `[B, K]` (Marsaglia and Tsang 2000)."""
    # The first number draws the action at a temperature, so the noise does not use it.
    uniform = uniform_draws(rng_states, 1 + (3 * _TRIES + 1) * count)[:, 1:]
    uniform = uniform.reshape(len(rng_states), -1, count)
    first, second, third = (uniform[:, n : 3 * _TRIES : 3] for n in range(3))
    normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * math.pi * second)
    d = (shape + 1 - 1 / 3)[:, None, None]  # draws of shape + 1, which exceeds 1
    cube = np.maximum(1 + normal / np.sqrt(9 * d), 1e-9) ** 3
    is_taken = np.log(third) < normal**2 / 2 + d * (1 - cube + np.log(cube))
    tries = np.take_along_axis(d * cube, is_taken.argmax(axis=1)[:, None], axis=1)[:, 0]
    # A draw of shape + 1 times U ** (1 / shape) is a draw of the shape.
    return np.maximum(tries * uniform[:, -1] ** (1 / shape[:, None]), 1e-300)
