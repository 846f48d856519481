"""Every 95 % interval the arena prints, and the method each is made by.

- :func:`share_interval`, of win rates and shares of optimal moves: Wilson's score interval at the effective
  number of values.
- :func:`mean_interval`, of margins and differences of regret: Student's t with a moderated variance.
- :func:`regret_interval`, of mean regrets, which have many zeros and a long tail: the share of mistakes
  and what one costs, put together by MOVER.
- Ratings and their differences have a Bayesian bootstrap over pairs (:mod:`mancala_env.evaluation.ratings`).

All take independent values: one a pair of games, or one a position. Pairs of an opening that came again are
not independent: :func:`design_effect` says how many of them count as one. How often each interval holds the
truth is measured by ``python -m tools.interval_coverage``; docs/evaluation.md has its table.
"""

import math
import statistics

import numpy as np

# The normal quantile of a 95 % interval.
Z95 = statistics.NormalDist().inv_cdf(0.975)
# The variance of shares is taken after half a 0 and half a 1 were added (Jeffreys' prior of a proportion),
# so that values that are all equal are not thought certain.
_PRIOR_ENDS = 0.5
# The weight of the typical spread, in values.
_PRIOR_VALUES = 2
_PRIOR_MISTAKES = 1
# Student's quantile of one mistake would be 12.7, and the interval, which takes its exponential, endless.
_LEAST_FREEDOM = 4


def design_effect(values: np.ndarray, groups: np.ndarray | None) -> float:
    """Return how many values say as much about the mean as one independent value does.

    Kish's design effect (1965): the variance of the mean when whole groups are drawn, over that when
    values are. It is taken to be from 1, the values of a group have nothing in common, to the mean size
    of a value's group, they are all the same.

    Args:
        values: `[N]`.
        groups: int `[N]`, equal where values belong together; None: none do.
    """
    if groups is None or not len(values):
        return 1.0
    sizes = np.bincount(groups)
    count, num_groups = len(values), int((sizes > 0).sum())
    most = float(np.square(sizes).sum() / count)
    apart = np.asarray(values, np.float64) - np.mean(values)
    single = float(np.square(apart).sum()) * count / max(1, count - 1)
    together = float(np.square(np.bincount(groups, apart)).sum()) * num_groups / max(1, num_groups - 1)
    # Values that are all equal do not tell.
    return min(most, max(1.0, together / single)) if single > 0 else most


def share_interval(values: np.ndarray, repeats: float = 1.0) -> tuple[float, float]:
    """Return a 95 % interval of the mean of independent values from 0 to 1, such as scores of pairs.

    Wilson's score interval (1927) at the effective number of values (Korn and Graubard 1998): the number
    of wins and losses that would have the variance the values have once half a win and half a loss are added
    to them: N**2 / (N + 1) where all N are wins.

    Args:
        values: `[N]`, from 0 to 1.
        repeats: How many of them count as one, from :func:`design_effect`.
    """
    count = len(values)
    if count == 0:
        return 0.0, 1.0
    found = float(np.mean(values))
    weight = count + 2 * _PRIOR_ENDS
    mean = (count * found + _PRIOR_ENDS) / weight
    squares = float(np.square(values, dtype=np.float64).sum()) + _PRIOR_ENDS
    variance = (squares - weight * mean**2) / (weight - 1)
    effective = count / repeats * mean * (1 - mean) / variance if variance > 0 else math.inf
    return _wilson(found, effective)


def _wilson(share: float, count: float) -> tuple[float, float]:
    """Return Wilson's score interval of a share of so many values."""
    scale = 1 + Z95**2 / count
    center = (share + Z95**2 / (2 * count)) / scale
    half = Z95 * math.sqrt(share * (1 - share) / count + Z95**2 / (4 * count**2)) / scale
    # The share lies within; rounding must not take it out at 0 and 1.
    return min(share, max(0.0, center - half)), max(share, min(1.0, center + half))


def mean_interval(
    values: np.ndarray, spread: float, low: float, high: float, repeats: float = 1.0
) -> tuple[float, float]:
    """Return a 95 % interval of the mean of independent values.

    Student's, with a moderated variance (Smyth 2004): the variance is the mean of the one found and of
    spread**2, which counts as two values do. Values that are all equal then have a narrow interval, but
    one; among many values that differ the spread has no say.

    Args:
        values: `[N]`.
        spread: Standard deviation that is to be expected of such values, above 0.
        low: The least a mean can be.
        high: The most.
        repeats: How many of them count as one, from :func:`design_effect`.
    """
    count = len(values)
    if count == 0:
        return low, high
    mean = float(np.mean(values))
    squares = float(np.square(values - mean, dtype=np.float64).sum())
    variance = (squares + _PRIOR_VALUES * spread**2) / (count - 1 + _PRIOR_VALUES)
    independent = count / repeats
    half = student_quantile(max(1, int(independent) - 1)) * math.sqrt(variance / independent)
    return max(low, mean - half), min(high, mean + half)


def regret_interval(regrets: np.ndarray, mistake: float, high: float) -> tuple[float, float]:
    """Return a 95 % interval of the mean of regrets.

    The mean is the share of mistakes times what one costs on average. The share has Wilson's interval, the
    logarithm of the cost Student's, and MOVER (Zou and Donner 2008; for means of values that are often zero,
    Zou, Taleban and Huo 2009) makes one of the two. One mistake of the expected cost is added to those
    found. So N regrets of zero have an interval too: from zero to Wilson's upper end of the share, about
    3.8 / (N + 3.8), times that cost. Student has at least four degrees of freedom: by the one of a single
    mistake every interval would end at `high`, and those of four hold the truth as often as they should
    (:mod:`tools.interval_coverage`). Costs that differ from the expected one widen it: one cheap mistake
    may have a higher upper end than one dear one.

    Args:
        regrets: `[N]`, at least 0.
        mistake: Seeds to be expected of one mistake, above 0.
        high: The most a mean regret can be.
    """
    count = len(regrets)
    if count == 0:
        return 0.0, high
    mistakes = np.asarray(regrets, np.float64)[np.asarray(regrets) > 0]
    least, most = _wilson(len(mistakes) / count, count)
    weight = len(mistakes) + _PRIOR_MISTAKES
    cost = (float(mistakes.sum()) + _PRIOR_MISTAKES * mistake) / weight
    if not len(mistakes):
        return 0.0, min(high, most * cost)
    variance = (float(np.square(mistakes - cost).sum()) + _PRIOR_MISTAKES * mistake**2) / weight
    spread = student_quantile(max(_LEAST_FREEDOM, len(mistakes))) * math.sqrt(variance / weight) / cost
    share = len(mistakes) / count
    below = math.hypot(math.log(share / least), spread)
    above = math.hypot(math.log(most / share), spread)
    # The mean found lies within, however far from it the added mistake draws the middle.
    found, middle = share * float(mistakes.mean()), min(high, share * cost)
    # exp(700) is near the largest double.
    return min(found, middle * math.exp(-below)), max(found, min(high, middle * math.exp(min(above, 700))))


def student_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution.

    Exact for 1 and 2 degrees of freedom; otherwise the expansion of Abramowitz and Stegun (1964), 26.7.5,
    which is within 0.01 from 3 on. So tables and intervals need no scipy.
    """
    if freedom == 1:
        return math.tan(math.pi * 0.475)
    if freedom == 2:
        return 0.95 / math.sqrt(2 * 0.975 * 0.025)
    z = Z95
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
