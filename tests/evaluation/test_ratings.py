"""Ratings recover known strengths, and their intervals have the nominal coverage."""

import itertools
import reprlib
from typing import Any

import choix
import numpy as np
import pytest
from error_checks import raises

from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import (
    InvalidMatch,
    MatchResult,
    PairCounts,
    fit_ratings,
    play_matches,
    stored_ladder,
)
from mancala_env.evaluation.intervals import share_interval
from mancala_env.evaluation.ratings import ELO_PER_LOGIT

STRENGTHS = {"random": 0.0, "a": 120.0, "b": 300.0, "c": 420.0, "d": 800.0}


def simulated(strengths, pairs, rng, draw_share=0.1, seat_elo=0.0):
    """Simulate matches between agents of known strength, with draws and an advantage of a seat."""
    matches = []
    for first, second in itertools.combinations(strengths, 2):
        outcomes = np.zeros((pairs, 2), np.int16)
        for seat, lead in enumerate((seat_elo, -seat_elo)):
            expected = 1 / (1 + 10 ** ((strengths[second] - strengths[first] - lead) / 400))
            # A draw counts as half a win, so draws replace as many wins as losses.
            draws = min(draw_share, 2 * expected, 2 * (1 - expected))
            luck = rng.random(pairs)
            outcomes[:, seat] = np.where(luck < expected - draws / 2, 1, -1)
            outcomes[(luck >= expected - draws / 2) & (luck < expected + draws / 2), seat] = 0
        matches.append(MatchResult(first, second, "leyla", outcomes))
    return matches


def test_known_strengths_are_recovered():
    ratings = fit_ratings(simulated(STRENGTHS, 4000, np.random.default_rng(1)), num_replicates=50)
    for name, elo in STRENGTHS.items():
        assert ratings.of(name)[0] == pytest.approx(elo, abs=30)
    assert ratings.of("random") == (0.0, 0.0, 0.0)
    assert [ratings.names[i] for i in ratings.order()] == ["d", "c", "b", "a", "random"]


def test_a_seat_that_is_worth_200_elo_does_not_move_ratings_of_equal_agents():
    strengths = dict.fromkeys(("random", "a", "b"), 0.0)
    ratings = fit_ratings(
        simulated(strengths, 2000, np.random.default_rng(2), seat_elo=200), num_replicates=50
    )
    assert np.abs(ratings.elo).max() < 15


def test_95_percent_intervals_of_ratings_hold_the_truth():
    rng = np.random.default_rng(3)
    strengths = {"random": 0.0, "a": 150.0, "b": 350.0}
    inside = []
    for _ in range(40):
        ratings = fit_ratings(simulated(strengths, 60, rng), num_replicates=100)
        for name in ("a", "b"):
            _, low, high = ratings.of(name)
            inside.append(low <= strengths[name] <= high)
    assert 0.88 <= np.mean(inside) <= 1.0


def test_errors_of_a_newcomer_do_not_go_with_those_of_the_anchors():
    """Both bootstraps used to have one seed, so equal matches had equal draws and half the width or less."""
    counts = [0, 0, 40, 0, 0]
    anchors = fit_ratings([PairCounts("random", "a", counts), PairCounts("random", "b", counts)], seed=0)
    own = [PairCounts("new", name, counts) for name in ("random", "a", "b")]
    widths = [
        high - low for _, low, high in (fit_ratings(own, fixed=anchors, seed=s).of("new") for s in range(6))
    ]
    assert min(widths) > 0.8 * max(widths)


@pytest.mark.parametrize("truth", [0.5, 0.8, 0.97])
def test_95_percent_intervals_of_win_rates_hold_the_truth(truth):
    rng = np.random.default_rng(4)
    inside = []
    for _ in range(400):
        scores = rng.binomial(2, truth, 40) / 2
        low, high = share_interval(scores)
        inside.append(low <= truth <= high)
    assert 0.92 <= np.mean(inside) <= 1.0


def test_matches_of_one_pair_add_up():
    """Each match used to have its own prior: fifty won pairs gave 280 Elo one by one and 920 together."""
    counts = np.array([10, 2, 4, 2, 2])
    whole = fit_ratings([PairCounts("random", "a", tuple(3 * counts))])
    parts = [PairCounts("random", "a", tuple(counts)), PairCounts("a", "random", tuple(counts[::-1]))]
    assert fit_ratings([*parts, parts[0]]).of("a") == whole.of("a")


@pytest.mark.parametrize("wrong", [{"num_replicates": 0}, {"seed": -1}], ids=str)
def test_wrong_numbers_of_a_fit_are_named(wrong):
    with raises(InvalidArgument, *wrong, *map(repr, wrong.values())):
        fit_ratings([PairCounts("random", "a", (1, 0, 0, 0, 0))], **wrong)


def test_fixed_ratings_of_another_type_are_refused():
    wrongs: list[Any] = [stored_ladder("leyla"), "leyla"]
    for wrong in wrongs:
        with raises(InvalidArgument, "fixed", reprlib.repr(wrong)):
            fit_ratings([PairCounts("random", "a", (1, 0, 0, 0, 0))], fixed=wrong)


def test_intervals_respect_pairs():
    """100 pairs with a win and a loss each carry more information than 200 independent games."""
    split = MatchResult("a", "b", "leyla", np.tile(np.array([4, -4], np.int16), (100, 1)))
    rng = np.random.default_rng(5)
    loose = MatchResult("a", "b", "leyla", rng.choice(np.array([4, -4], np.int16), (100, 2)))
    assert np.diff(split.interval) < np.diff(loose.interval) / 2
    narrow, wide = (fit_ratings([match], num_replicates=100) for match in (split, loose))
    assert np.ptp([narrow.low, narrow.high]) < np.ptp([wide.low, wide.high]) / 2


def test_the_estimate_is_choix_maximum_likelihood():
    matches = simulated(STRENGTHS, 200, np.random.default_rng(6))
    ratings = fit_ratings(matches, num_replicates=5)
    wins = np.zeros((5, 5))
    for match in matches:
        i, j = ratings.names.index(match.first), ratings.names.index(match.second)
        # Every match has a prior of a quarter of a won pair and of a lost pair.
        wins[i, j] += match.games * match.win_rate + 0.5
        wins[j, i] += match.games * (1 - match.win_rate) + 0.5
        scale = match.games / (match.games + 1)
        wins[[i, j], [j, i]] *= scale
    theirs = choix.ilsr_pairwise_dense(wins)
    theirs = (theirs - theirs[ratings.names.index("random")]) * ELO_PER_LOGIT
    np.testing.assert_allclose(ratings.elo, theirs, atol=1)


def test_matches_weigh_as_many_games_as_they_have():
    """If three agents beat each other in a circle, the match with the most games decides."""
    sizes = {("random", "a"): 400, ("a", "b"): 40, ("b", "random"): 8}
    matches = [PairCounts(*names, (pairs / 4, 0, 0, 0, 3 * pairs / 4)) for names, pairs in sizes.items()]
    ratings = fit_ratings(matches, num_replicates=5)
    wins = np.zeros((3, 3))
    for first, second, counts, _ in matches:
        i, j = ratings.names.index(first), ratings.names.index(second)
        # Every match has a prior of a quarter of a won and a lost pair. Its weight depends on its games only.
        total = sum(counts)
        wins[i, j] = 2 * (counts[4] + 0.25) * total / (total + 0.5)
        wins[j, i] = 2 * (counts[0] + 0.25) * total / (total + 0.5)
    theirs = choix.ilsr_pairwise_dense(wins)
    theirs = (theirs - theirs[ratings.names.index("random")]) * ELO_PER_LOGIT
    np.testing.assert_allclose(ratings.elo, theirs, atol=1)


@pytest.mark.parametrize("pairs", [1, 3, 50])
def test_the_prior_says_something_where_games_say_little(pairs):
    """At the best difference, games * (score - expected) is the gradient of a normal prior of 25 logits."""
    d = (
        fit_ratings([PairCounts("a", "random", (0, 0, 0, 0, pairs))], num_replicates=1).of("a")[0]
        / ELO_PER_LOGIT
    )
    score, expected = (pairs + 0.25) / (pairs + 0.5), 1 / (1 + np.exp(-d))
    assert 2 * pairs * (score - expected) == pytest.approx(d / 2 / 25**2, rel=1e-3)


def test_pairs_of_openings_that_came_again_weigh_less():
    counts = np.array([30, 6, 12, 6, 6])
    thrice = fit_ratings([PairCounts("a", "random", counts, repeats=3.0)])
    once = fit_ratings([PairCounts("a", "random", counts / 3)])
    assert thrice.of("a") == pytest.approx(once.of("a"))
    assert (thrice.games == 120).all()


def test_a_match_without_a_loss_has_a_finite_rating_and_an_interval():
    elo, low, high = fit_ratings([PairCounts("a", "random", [0, 0, 0, 0, 100])]).of("a")
    assert 400 < low < elo < high < 10_000


def test_draws_count_half():
    drawn = fit_ratings([PairCounts("a", "random", [0, 0, 50, 0, 0])], num_replicates=20)
    shared = fit_ratings([PairCounts("a", "random", [25, 0, 0, 0, 25])], num_replicates=20)
    assert drawn.of("a")[0] == pytest.approx(0, abs=1e-6)
    assert shared.of("a")[0] == pytest.approx(0, abs=1e-6)


def test_fixed_ratings_stand_and_a_newcomer_is_placed_among_them():
    rng = np.random.default_rng(7)
    ladder = fit_ratings(simulated(STRENGTHS, 1000, rng))
    everybody = simulated(STRENGTHS | {"new": 500.0}, 300, rng)
    played = [match for match in everybody if "new" in (match.first, match.second)]
    placed = fit_ratings(played, fixed=ladder)
    for name in STRENGTHS:
        assert placed.of(name)[0] == ladder.of(name)[0]
    elo, low, high = placed.of("new")
    assert elo == pytest.approx(500, abs=60)
    assert low < elo < high


def test_a_fit_has_a_thousand_replicates_unless_told_otherwise():
    """Of 1,000 values, 25 are beyond each end of an interval."""
    matches = [PairCounts("a", "random", [5, 2, 3, 4, 9])]
    ratings = fit_ratings(matches)
    assert ratings.replicates.shape == (1000, 2)
    assert (ratings.replicates[:, 0] < ratings.low[0]).sum() == 25
    assert (ratings.replicates[:, 0] > ratings.high[0]).sum() == 25
    assert fit_ratings(matches, num_replicates=7).replicates.shape == (7, 2)


def test_a_newcomer_is_placed_among_the_replicates_of_the_others():
    """Each replicate uses one of the fixed ratings, in order."""
    ladder = fit_ratings([PairCounts("a", "random", [5, 2, 3, 4, 9])], num_replicates=3)
    placed = fit_ratings([PairCounts("new", "a", [3, 0, 1, 0, 9])], fixed=ladder, num_replicates=7)
    known = [placed.names.index(name) for name in ladder.names]
    np.testing.assert_allclose(
        placed.replicates[:, known], ladder.replicates[[0, 1, 2, 0, 1, 2, 0]], atol=1e-9
    )
    assert placed.zero == "random"


def test_without_the_random_agent_the_mean_is_zero():
    ratings = fit_ratings([PairCounts("a", "b", [10, 0, 0, 0, 20])], num_replicates=20)
    assert ratings.zero == ""
    assert ratings.elo.sum() == pytest.approx(0, abs=1e-9)
    assert np.allclose(ratings.replicates.sum(axis=1), 0)
    with_prior = 20.25 / 30.5  # a quarter of a won and of a lost pair are added
    assert ratings.elo[0] - ratings.elo[1] == pytest.approx(
        400 * np.log10(with_prior / (1 - with_prior)), abs=0.1
    )


def test_wrong_matches_are_refused():
    with pytest.raises(InvalidMatch):
        fit_ratings([])
    with raises(InvalidMatch, "a"):
        fit_ratings([PairCounts("a", "a", [1, 0, 0, 0, 0])])
    matches = [play_matches("greedy", "random", ruleset, games=2) for ruleset in ("leyla", "gabata_i")]
    with raises(InvalidMatch, "gabata_i", "leyla"):
        fit_ratings(matches)
    wrongs: list[Any] = [None, 5, "x", [None], [1, 2]]
    for wrong in wrongs:
        with raises(InvalidArgument, "matches", "MatchResults", "PairCounts"):
            fit_ratings(wrong)


def test_a_rating_of_nobody_is_refused():
    ratings = fit_ratings([PairCounts("a", "b", [10, 0, 0, 0, 20])], num_replicates=20)
    for ask in (lambda: ratings.of("c"), lambda: ratings.difference("a", "c"), lambda: ratings.only(["c"])):
        with raises(InvalidMatch, "c", "a, b"):
            ask()
    with raises(InvalidMatch, None, "a, b"):
        ratings.of(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "counts", [[np.nan] * 5, [0, 0, np.inf, 0, 0], [-1] * 5, [1, 2], ["1"] * 5, [[1], [1, 2]], "abc", None]
)
def test_pair_counts_must_be_five_numbers(counts: Any) -> None:
    with raises(InvalidArgument, "PairCounts", repr(counts)):
        fit_ratings([PairCounts("mine", "random", counts)])


@pytest.mark.parametrize("repeats", [0, -1, np.nan, True, "2", None])
def test_pair_counts_have_at_least_one_repeat(repeats: Any) -> None:
    with raises(InvalidArgument, "repeats", repr(repeats)):
        fit_ratings([PairCounts("mine", "random", [1, 0, 0, 0, 1], repeats)])


def test_agents_that_no_games_connect_are_not_rated_together():
    """They had the same mean rating, with intervals as narrow as those of agents that meet."""
    counts, none = (1, 2, 4, 2, 1), (0, 0, 0, 0, 0)
    pair, other = PairCounts("a", "b", counts), PairCounts("c", "d", counts)
    anchors = fit_ratings([PairCounts("random", "greedy", counts)], num_replicates=5)
    for matches, fixed, apart in (
        ([pair, other], None, "c"),
        ([pair, other, PairCounts("b", "c", none)], None, "c"),
        ([PairCounts("a", "b", none)], None, "b"),
        ([pair], anchors, "a"),
    ):
        with raises(InvalidMatch, apart):
            fit_ratings(matches, fixed=fixed)
    chain = [other, pair, PairCounts("d", "b", counts)]
    assert fit_ratings(chain, num_replicates=5).names == ("c", "d", "a", "b")
    assert "a" in fit_ratings([pair, PairCounts("b", "greedy", counts)], fixed=anchors).names


def test_a_difference_needs_another_agent():
    """It was NaN."""
    with raises(InvalidMatch, "difference", "random"):
        fit_ratings([PairCounts("random", "a", (1, 0, 0, 0, 0))], num_replicates=2).difference("random")
