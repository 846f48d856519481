"""Interquartile means, bootstrap intervals, probability of improvement: known values, and rliable's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from mancala_env.benchmark.aggregates import (
    Estimate,
    estimate_iqm,
    interquartile_mean,
    probability_of_improvement,
)

numbers = st.floats(-1e6, 1e6, allow_nan=False)
runs = st.lists(numbers, min_size=1, max_size=12).map(np.array)
strata = st.lists(runs, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [([5], 5), ([1, 3], 2), ([0, 1, 9], 10 / 3), ([0, 1, 2, 300], 1.5), ([9, 1, 2, 3, -50], 2),
     (range(8), 3.5), ([0, 0, 1, 2, 3, 4, 100, 1000], 2.5)],
)  # fmt: skip
def test_known_interquartile_means(scores, wanted):
    assert interquartile_mean(np.array(scores, float)) == pytest.approx(wanted)


@given(runs)
def test_the_interquartile_mean_is_scipys_trimmed_mean(scores):
    found = float(interquartile_mean(scores))
    assert found == pytest.approx(trim_mean(scores, 0.25), rel=1e-9, abs=1e-6)
    assert scores.min() - 1e-6 <= found <= scores.max() + 1e-6


@given(strata)
def test_an_estimate_lies_in_its_interval_and_among_the_scores(some):
    found = estimate_iqm(some)
    joined = np.concatenate(some)
    assert joined.min() - 1e-6 <= found.low <= found.high <= joined.max() + 1e-6
    moved = estimate_iqm([part + 8 for part in some])
    assert np.allclose(np.array(moved) - 8, found, atol=1e-6)
    turned = estimate_iqm([part[::-1] for part in some])
    assert turned.value == pytest.approx(found.value, abs=1e-6)


def test_runs_are_drawn_within_their_strata():
    """Equal seeds give an interval of zero width, although the two rulesets differ very much."""
    found = estimate_iqm([np.full(5, 1.0), np.full(5, 9.0)])
    assert found == Estimate(5, 5, 5)


def test_one_run_has_no_interval():
    assert estimate_iqm([np.array([3.0])]) == Estimate(3, 3, 3)


@given(strata)
def test_the_probability_of_improvement_of_two_sides_adds_up(first):
    second = [part[::-1] + (1 if len(part) % 2 else -1) for part in first]
    one = probability_of_improvement(first, second)
    other = probability_of_improvement(second, first)
    assert one.value + other.value == pytest.approx(1)
    assert 0 <= one.low <= one.high <= 1


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [([1, 2], [0, 0], 1), ([0, 0], [1, 2], 0), ([1, 2], [1, 2], 0.5), ([1, 3], [2, 2], 0.5),
     ([1, 3], [2, 3], 0.375), ([5], [1, 9, 9, 9], 0.25)],
)  # fmt: skip
def test_known_probabilities_of_improvement(first, second, wanted):
    assert probability_of_improvement([np.array(first)], [np.array(second)]).value == wanted


def test_it_is_what_rliable_computes():
    library, metrics = pytest.importorskip("rliable.library"), pytest.importorskip("rliable.metrics")
    draw = np.random.default_rng(1)
    scores, others = draw.normal(size=(7, 3)), draw.normal(0.5, size=(5, 3))
    ours = estimate_iqm(list(scores.T))
    np.random.seed(1)  # noqa: NPY002  (rliable draws from it)
    points, intervals = library.get_interval_estimates(
        {"one": scores}, lambda some: np.array([metrics.aggregate_iqm(some)]), reps=500
    )
    assert ours.value == pytest.approx(float(points["one"][0]))
    assert np.allclose(ours[1:], intervals["one"][:, 0], atol=0.1)
    better = probability_of_improvement(list(scores.T), list(others.T))
    assert better.value == pytest.approx(metrics.probability_of_improvement(scores, others))
    _, intervals = library.get_interval_estimates(
        {"two": (scores, others)},
        lambda a, b: np.array([metrics.probability_of_improvement(a, b)]),
        reps=300,
    )
    assert np.allclose(better[1:], intervals["two"][:, 0], atol=0.1)
