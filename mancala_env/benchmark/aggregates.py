"""Aggregates over runs: interquartile means, bootstrap intervals, probabilities, performance profiles.

Defined by Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical precipice".
Tests compare the results with the library rliable. A *stratum* is a ruleset (a task in the paper). A run is a
seed. Unlike in rliable, strata may have different numbers of runs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

# Replicates are drawn 500 at a time; a matrix of all replicates of many runs would be large.
_REPLICATES, _AT_ONCE = 2000, 500
_LOW, _HIGH = 0.025, 0.975


class Estimate(NamedTuple):
    """A number with its 95 % interval; with one run per stratum the interval is the number itself."""

    value: float
    low: float
    high: float


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean of the middle half of scores `[..., N]` along the last axis, N at least 1.

    A quarter of the scores, rounded down, is cut off at each end.

    >>> float(interquartile_mean(np.array([0.0, 1.0, 2.0, 300.0])))
    1.5
    """
    ordered = np.sort(scores, axis=-1)
    count = ordered.shape[-1]
    cut = count // 4
    return ordered[..., cut : count - cut].mean(axis=-1)


def estimate_iqm(strata: Sequence[np.ndarray]) -> Estimate:
    """Return the interquartile mean of all runs with its stratified bootstrap interval.

    `strata` are the scores of the runs of each stratum, `[N]`, N at least 1.
    """
    return _estimate(lambda some: interquartile_mean(np.concatenate(some[0], axis=-1)), [strata])


def probability_of_improvement(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> Estimate:
    """Return the probability that a run of `first` scores higher than a run of `second`; a draw counts half.

    This is the mean over strata of the Mann-Whitney statistic. The bootstrap resamples the runs of both.
    """

    def chance(some: list[list[np.ndarray]]) -> np.ndarray:
        apart = [np.sign(a[..., :, None] - b[..., None, :]) for a, b in zip(*some, strict=True)]
        return np.mean([(0.5 + pairs / 2).mean(axis=(-2, -1)) for pairs in apart], axis=0)

    return _estimate(chance, [first, second])


def performance_profile(strata: Sequence[np.ndarray], levels: Sequence[float]) -> list[Estimate]:
    """Return the share of runs with a score of at most each level, averaged over strata.

    >>> profile = performance_profile([np.array([0.1, 0.3]), np.array([0.2, 0.2])], [0.2, 0.5])
    >>> [share.value for share in profile]
    [0.75, 1.0]
    """

    def share(some: list[list[np.ndarray]], level: float) -> np.ndarray:
        return np.mean([(scores <= level).mean(axis=-1) for scores in some[0]], axis=0)

    return [_estimate(partial(share, level=level), [strata]) for level in levels]


def _estimate(
    statistic: Callable[[list[list[np.ndarray]]], np.ndarray], sides: Sequence[Sequence[np.ndarray]]
) -> Estimate:
    """Return a statistic of runs with its percentile interval; runs are resampled within their strata."""
    scores = [[np.asarray(part) for part in side] for side in sides]
    draw, values = np.random.default_rng(0), []

    def resampled(runs: np.ndarray) -> np.ndarray:
        return runs[draw.integers(0, len(runs), (_AT_ONCE, len(runs)))]

    for _ in range(_REPLICATES // _AT_ONCE):
        values.append(statistic([[resampled(part) for part in side] for side in scores]))
    low, high = np.quantile(np.concatenate(values), [_LOW, _HIGH])
    return Estimate(float(statistic(scores)), float(low), float(high))
