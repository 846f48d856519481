"""95 % intervals of the evaluation; docs/research/interval_coverage.md has their methods and coverage.

All functions take independent values `[N]`, one per pair of games or per position. Pairs from repeated
openings are not independent: `repeats`, from :func:`design_effect`, is the number of values that count as
one. Ratings have intervals of their own (:mod:`mancala_env.evaluation.ratings`).
"""

import math
import statistics

import numpy as np

# The normal quantile of a 95 % interval.
Z95 = statistics.NormalDist().inv_cdf(0.975)
# Half a 0 and half a 1 (Jeffreys' prior of a proportion) are added for the variance of shares, so that equal
# values do not give an interval of width 0.
_PRIOR_ENDS = 0.5
# Weight of the expected spread, as a number of values.
_PRIOR_VALUES = 2
_PRIOR_MISTAKES = 1
# With one degree of freedom Student's quantile is 12.7, and every interval would end at its maximum.
_LEAST_FREEDOM = 4


def design_effect(values: np.ndarray, groups: np.ndarray | None) -> float:
    """Return the number of grouped values that carry as much information as one independent value.

    `groups`, int `[N]`, has the group of each value; None: all are independent. This is Kish's design effect
    (1965): the variance of the mean if groups are sampled, divided by its variance if values are sampled. It
    is at least 1 (values of a group are independent), and at most the mean group size of a value (values of a
    group are equal).
    """
    if groups is None or not len(values):
        return 1.0
    sizes = np.bincount(groups)
    count, num_groups = len(values), int((sizes > 0).sum())
    most = float(np.square(sizes).sum() / count)
    apart = np.asarray(values, np.float64) - np.mean(values)
    single = float(np.square(apart).sum()) * count / max(1, count - 1)
    together = float(np.square(np.bincount(groups, apart)).sum()) * num_groups / max(1, num_groups - 1)
    # Equal values give no information about the correlation.
    return min(most, max(1.0, together / single)) if single > 0 else most


def share_interval(values: np.ndarray, repeats: float = 1.0) -> tuple[float, float]:
    """Return a 95 % interval of the mean of values from 0 to 1, such as scores of pairs.

    This is Wilson's score interval (1927) at the effective number of values (Korn and Graubard 1998): the
    number of wins and losses with the same variance. The estimate of the variance includes an additional half
    win and half loss. So N wins have an effective number of N**2 / (N + 1).
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
    return wilson_interval(found, effective)


def wilson_interval(share: float, count: float) -> tuple[float, float]:
    """Return Wilson's score interval of a share, 0 to 1, of `count` independent values."""
    scale = 1 + Z95**2 / count
    center = (share + Z95**2 / (2 * count)) / scale
    half = Z95 * math.sqrt(share * (1 - share) / count + Z95**2 / (4 * count**2)) / scale
    # Rounding must not exclude the share itself at 0 and 1.
    return min(share, max(0.0, center - half)), max(share, min(1.0, center + half))


def mean_interval(
    values: np.ndarray, spread: float, low: float, high: float, repeats: float = 1.0
) -> tuple[float, float]:
    """Return a 95 % interval of the mean of values; a mean is from `low` to `high`.

    This is Student's interval with a moderated variance (Smyth 2004): the weighted mean of the sample
    variance and the square of `spread`, the expected standard deviation, above 0. The weight of the latter is
    that of two values. So equal values have an interval of positive width, and with many values `spread`
    hardly matters.
    """
    count = len(values)
    if count == 0:
        return low, high
    mean, variance = float(np.mean(values)), _moderated_variance(values, spread)
    independent = count / repeats
    half = student_quantile(max(1, int(independent) - 1)) * math.sqrt(variance / independent)
    return max(low, mean - half), min(high, mean + half)


def _moderated_variance(values: np.ndarray, spread: float) -> float:
    squares = float(np.square(values - np.mean(values), dtype=np.float64).sum())
    return (squares + _PRIOR_VALUES * spread**2) / (len(values) - 1 + _PRIOR_VALUES)


def spread_of_runs(values: np.ndarray, error: float) -> float:
    """Return the expected standard deviation of results of runs, for :func:`mean_interval`.

    Results of a few runs may be equal by chance. So it is at least the standard error of one result, `error`.
    If the sample standard deviation is larger, mean_interval is Student's interval.
    """
    return max(error, float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


def difference_interval(first: np.ndarray, second: np.ndarray, spread: float) -> tuple[float, float]:
    """Return a 95 % interval of the difference of two means of independent values, such as results of runs.

    This is Welch's interval (1947). If values spread less than `spread`, their variance is moderated towards
    it, the standard error of a value, above 0. A single value gets the variance of the other side, as in
    Student's test. With a single value on both sides it is the normal interval for values with the standard
    deviation `spread`. Each side has at least one value.
    """
    counts = [len(first), len(second)]
    spreads = [spread_of_runs(values, spread) for values in (first, second)]
    if 1 in counts:
        spreads = [max(spreads)] * 2
    shares = [_moderated_variance(*side) / len(side[0]) for side in zip((first, second), spreads)]
    freedom = max(counts) - 1
    if 1 not in counts:
        freedom = int(sum(shares) ** 2 / sum(share**2 / (n - 1) for share, n in zip(shares, counts)))
    quantile = student_quantile(max(1, freedom)) if max(counts) > 1 else Z95
    half = quantile * math.sqrt(sum(shares))
    apart = float(np.mean(first) - np.mean(second))
    return apart - half, apart + half


def regret_interval(regrets: np.ndarray, mistake: float, high: float) -> tuple[float, float]:
    """Return a 95 % interval of the mean of regrets.

    The mean is the share of mistakes times their mean cost. The share has Wilson's interval. The logarithm of
    the cost has Student's interval. MOVER combines the two intervals (Zou and Donner 2008; for values that
    are often zero: Zou, Taleban and Huo 2009). One mistake of the expected cost is added, so regrets of zero
    have an interval. Costs that differ from the expected cost widen it. So one cheap mistake may give a
    higher upper end than one expensive mistake.

    All arguments are in seeds: `regrets` are at least 0, `mistake` is the expected cost of a mistake, above
    0, and `high` is the largest possible mean.
    """
    count = len(regrets)
    if count == 0:
        return 0.0, high
    mistakes = np.asarray(regrets, np.float64)[np.asarray(regrets) > 0]
    least, most = wilson_interval(len(mistakes) / count, count)
    weight = len(mistakes) + _PRIOR_MISTAKES
    cost = (float(mistakes.sum()) + _PRIOR_MISTAKES * mistake) / weight
    if not len(mistakes):
        return 0.0, min(high, most * cost)
    variance = (float(np.square(mistakes - cost).sum()) + _PRIOR_MISTAKES * mistake**2) / weight
    spread = student_quantile(max(_LEAST_FREEDOM, len(mistakes))) * math.sqrt(variance / weight) / cost
    share = len(mistakes) / count
    below = math.hypot(math.log(share / least), spread)
    above = math.hypot(math.log(most / share), spread)
    # The interval always contains the sample mean, even if the added mistake shifts its middle.
    found, middle = share * float(mistakes.mean()), min(high, share * cost)
    # exp(700) is near the largest double.
    return min(found, middle * math.exp(-below)), max(found, min(high, middle * math.exp(min(above, 700))))


def student_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution.

    It is exact for 1 and 2 degrees of freedom. For more it uses the expansion 26.7.5 of Abramowitz and Stegun
    (1964), whose error is below 0.01.
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
