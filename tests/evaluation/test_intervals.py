"""Confidence intervals of an evaluation have their nominal coverage, also at the edges."""

import numpy as np
import pytest
from error_checks import raises
from scipy import stats

from mancala_env import agents, rulesets
from mancala_env.evaluation import (
    InvalidMatch,
    MatchResult,
    PairCounts,
    fit_ratings,
    play_matches,
    round_robin,
)
from mancala_env.evaluation.intervals import (
    design_effect,
    difference_interval,
    mean_interval,
    regret_interval,
    share_interval,
    spread_of_runs,
    student_quantile,
)
from mancala_env.evaluation.matches import which_openings
from mancala_env.evaluation.regret import (
    expected_mistake,
    measure_regret,
    own_games_regret,
    regret_difference,
)
from tools.interval_coverage import CASES, coverage, main

# If mistakes are rare or agents nearly equal, an interval from 200 games is too wide.
WIDE = {
    "win rate below 10 or above 90 %",
    "mean regret, a mistake in 50 moves",
    "difference of regret, alike in 9 of 10 positions",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_95_percent_intervals_hold_the_truth(case):
    trials = 800
    share = coverage(case, 200, trials, seed=1)
    # Three standard errors of the measurement, plus 1 %.
    room = 0.01 + 3 * (0.95 * 0.05 / (trials / case.cost)) ** 0.5
    assert 0.95 - room <= share <= (1.0 if case.name in WIDE else 0.95 + room)


@pytest.mark.parametrize("count", [2, 3, 5, 10])
@pytest.mark.parametrize("error", [0.01, 1.0])
def test_intervals_over_few_runs_hold_the_truth(count, error):
    """Runs differ with a standard deviation of 1, which includes the standard error of a result."""
    rng = np.random.default_rng(1)
    means, differences = [], []
    for _ in range(2000):
        first, second = rng.normal(3.0, 1.0, count), rng.normal(5.0, 1.0, count)
        low, high = mean_interval(first, spread_of_runs(first, error), -np.inf, np.inf)
        means.append(low <= 3 <= high)
        low, high = difference_interval(first, second, error)
        differences.append(low <= -2 <= high)
    assert np.mean(means) >= 0.94
    assert np.mean(differences) >= 0.94
    if error < 1:  # plain intervals of Student and Welch
        assert np.mean(means) <= 0.965
        assert np.mean(differences) <= (1 if count < 5 else 0.97)


def test_the_difference_of_many_values_has_welchs_interval():
    rng = np.random.default_rng(1)
    first, second = rng.normal(3, 1, 400), rng.normal(5, 2, 300)
    exact = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert difference_interval(first, second, 1e-9) == pytest.approx(tuple(exact), abs=0.01)


def test_the_difference_of_two_single_values_is_as_uncertain_as_they_are():
    assert difference_interval(np.array([1.0]), np.array([4.0]), 0.5) == pytest.approx(
        (-3 - 1.96 * 0.5 * 2**0.5, -3 + 1.96 * 0.5 * 2**0.5), abs=0.001
    )
    low, high = difference_interval(np.array([1.0, 1.0]), np.array([4.0, 4.0]), 0.5)
    assert low < -3 < high


def test_a_single_value_is_as_uncertain_as_the_values_of_the_other_side():
    rng = np.random.default_rng(3)
    for count in (2, 5):
        draws = [(rng.normal(3, 1, 1), rng.normal(5, 1, count)) for _ in range(1000)]
        ends = [difference_interval(first, second, 1e-3) for first, second in draws]
        assert np.mean([low <= -2 <= high for low, high in ends]) == pytest.approx(0.95, abs=0.02)
        reverse = [difference_interval(second, first, 1e-3) for first, second in draws]
        assert reverse == pytest.approx(-np.array(ends)[:, ::-1])


def test_the_table_has_a_row_a_kind_of_interval(capsys):
    assert main(["--trials", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(CASES)
    assert lines[-1].startswith(f"| {CASES[-1].name} |")


def test_games_that_are_the_same_again_narrow_no_interval():
    """The ruleset has 153 balanced openings, and two deterministic agents repeat the same games on them."""
    name = "gabata_five_holes"
    first = agents.from_function(lambda position: position.legal_actions[0], name, name="first")
    second = agents.from_function(
        lambda seen, legal: np.where(legal, seen.sum(axis=2), -np.inf).argmax(axis=1),
        name,
        observation="afterstates",
        name="second",
    )
    once, thrice = (
        play_matches(first, second, name, games=games, opening_set="balanced", seed=1, num_threads=1)
        for games in (306, 918)
    )
    assert (once.num_openings, once.openings) == (153, None)
    assert (thrice.num_openings, thrice.as_dict()["num_openings"]) == (153, 153)
    assert thrice.openings is not None
    assert (np.bincount(thrice.openings) == 3).all()
    assert thrice.win_rate == pytest.approx(once.win_rate)
    assert thrice.repeats == pytest.approx(3, abs=0.05)
    assert thrice.interval == pytest.approx(once.interval, abs=0.003)
    assert thrice.margin_interval == pytest.approx(once.margin_interval, abs=0.05)
    of_once, of_thrice = (fit_ratings([match]) for match in (once, thrice))
    assert of_thrice.of("first") == pytest.approx(of_once.of("first"), abs=3)
    assert (of_once.games[0], of_thrice.games[0]) == (306, 918)
    flipped = thrice.flipped()
    assert flipped.repeats == pytest.approx(thrice.repeats)
    assert flipped.interval == pytest.approx((1 - thrice.interval[1], 1 - thrice.interval[0]))


def test_a_round_robin_knows_the_openings_of_games_it_takes_from_its_file(tmp_path):
    file = tmp_path / "results.jsonl"
    played, taken = (
        round_robin(["greedy", "minimax:2"], "gabata_five_holes", games=400, results=file, num_threads=1)[0]
        for _ in range(2)
    )
    assert played.num_openings == taken.num_openings == 153
    assert played.interval == taken.interval
    assert taken.repeats > 1
    # Repeated openings are found from the openings themselves.
    which = which_openings(np.array([[7, 1], [3, 1], [7, 1]], np.uint64))
    assert which is not None
    assert which.tolist() == [1, 0, 1]
    assert which_openings(np.array([[7, 1], [3, 1], [7, 2]], np.uint64)) is None


def test_the_design_effect_is_one_to_the_size_of_the_groups():
    rng = np.random.default_rng(1)
    groups = np.arange(900) // 3
    first = rng.random(300)
    assert design_effect(first[groups], groups) == pytest.approx(3, abs=0.05)
    assert design_effect(rng.random(900), groups) == pytest.approx(1, abs=0.25)
    half = np.where(rng.random(900) < 0.5, first[groups], rng.random(900))
    assert 1.1 < design_effect(half, groups) < 2
    assert design_effect(np.ones(900), groups) == 3, "values that are all equal do not tell"
    assert design_effect(np.ones(1), np.zeros(1, np.int64)) == 1
    assert design_effect(np.zeros(0), None) == 1
    assert design_effect(rng.random(900), None) == 1


def test_the_design_effect_of_a_few_groups_is_the_one_worked_out_by_hand():
    """Groups 1 1 1, 1 0 0 and 0 0 0 around their mean of 4/9.

    The sums of the groups differ from three means by 5/3, -1/3 and -4/3. Their squares add up to 42/9,
    times 3/2 for three groups is 7. The squares of single values add up to 20/9, times 9/8 is 5/2.
    """
    values, groups = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0]), np.repeat([0, 1, 2], 3)
    assert design_effect(values, groups) == pytest.approx(7 / 2.5)
    order = np.array([8, 0, 3, 1, 6, 2, 5, 7, 4])
    assert design_effect(values[order], groups[order]) == pytest.approx(7 / 2.5)
    assert design_effect(10 * values - 3, groups) == pytest.approx(7 / 2.5)
    assert design_effect(values, groups + 5) == pytest.approx(7 / 2.5), "numbers that no group has"


def test_the_design_effect_of_groups_of_two_sizes():
    """At most the average group size of a value, (4 * 4 + 1 + 1) / 6 for sizes 4, 1 and 1."""
    groups = np.array([0, 0, 0, 0, 1, 2])
    assert design_effect(np.ones(6), groups) == pytest.approx(3)
    assert design_effect(np.array([1, 1, 1, 1, 0, 0]), groups) == pytest.approx(
        (24 / 9 * 3 / 2) / (12 / 9 * 6 / 5)
    )
    assert design_effect(np.array([1, 0, 1, 0, 1, 0]), groups) == 1


def test_equal_margins_have_a_narrow_interval():
    """Forty games at +20: the interval is not from minus all seeds to plus all seeds."""
    match = MatchResult("a", "b", "leyla", np.full((20, 2), 20, np.int16))
    low, high = match.margin_interval
    assert 18 < low < 20 < high < 22
    assert low + high == pytest.approx(40)


def test_a_match_of_a_custom_ruleset_has_a_margin_interval():
    mine = rulesets.Ruleset(row_width=3, seeds_per_hole=2)
    match = play_matches("greedy", "random", mine, games=4, seed=1)
    for one in (match, match.flipped()):
        low, high = one.as_dict()["mean_margin_interval"]
        assert -mine.total_seeds <= low < one.mean_margin < high <= mine.total_seeds


def test_zero_regret_is_not_certain():
    low, high = regret_interval(np.zeros(226), mistake=10.0, high=96.0)
    assert low == 0
    # Wilson's upper end for no mistake in 226 moves is 1.7 %.
    assert high == pytest.approx(0.167, abs=0.001)
    assert regret_interval(np.zeros(20), 10.0, 96.0)[1] > high
    assert regret_interval(np.zeros(0), 10.0, 96.0) == (0.0, 96.0)


def test_one_mistake_says_little_but_not_that_anything_may_be():
    none, one, two = (regret_interval(np.array([2.0] * n + [0.0] * (300 - n)), 12.0, 96.0) for n in range(3))
    assert 0 == none[0] < one[0] < two[0]
    # 0.15, 0.52 and 0.47: the second mistake shows that mistakes cost little.
    assert none[1] < two[1] < one[1] < 4 * none[1]


def test_intervals_hold_what_was_found():
    rng = np.random.default_rng(1)
    for _ in range(300):
        count, most = int(rng.integers(1, 60)), int(rng.choice([1, 3, 30]))
        regrets = rng.integers(0, most + 1, count) * (rng.random(count) < rng.random())
        low, high = regret_interval(regrets, 8.0, 96.0)
        assert 0 <= low <= regrets.mean() <= high <= 96
        low, high = mean_interval(regrets, 8.0, -96.0, 96.0)
        assert low < regrets.mean() < high
        low, high = share_interval(regrets / most)
        assert 0 <= low <= regrets.mean() / most <= high <= 1


def test_a_share_of_wins_has_wilsons_interval():
    low, high = share_interval(np.ones(20))
    assert (low, high) == (pytest.approx(1 / (1 + 1.96**2 / 20), abs=0.01), 1.0)
    assert share_interval(np.array([])) == (0.0, 1.0)


def test_students_quantiles():
    for freedom, quantile in ((1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (100, 1.984)):
        assert student_quantile(freedom) == pytest.approx(quantile, abs=0.005)


@pytest.mark.parametrize("freedom", [3, 4, 5, 8, 12, 20, 40, 80, 160, 300])
def test_the_expansion_of_students_quantiles_errs_by_its_next_term(freedom):
    assert abs(student_quantile(freedom) - stats.t.ppf(0.975, freedom)) < freedom**-5


def test_intervals_of_means_are_students_with_a_moderated_variance():
    """Values computed with scipy. The expected spread counts as two values."""
    values = np.array([3.0, -1, 4, 1, -5, 9, 2, -6])
    variance = (((values - values.mean()) ** 2).sum() + 2 * 5**2) / 9
    for repeats, count in ((1.0, 8), (2.0, 4), (8.0, 1)):
        half = stats.t.ppf(0.975, max(1, count - 1)) * np.sqrt(variance / count)
        found = mean_interval(values, 5.0, -96.0, 96.0, repeats)
        assert found == pytest.approx((values.mean() - half, values.mean() + half), rel=0.01)
    half = 12.706 * 5
    assert mean_interval(values[:1], 5.0, -96, 96) == pytest.approx((3 - half, 3 + half), rel=0.001)
    assert mean_interval(values[:1], 5.0, -7.0, 8.0) == (-7, 8)
    assert mean_interval(values[:0], 5.0, -7.0, 8.0) == (-7, 8)


def wilson(share, count):
    """The shares that the score test does not reject: roots of a quadratic equation."""
    z = stats.norm.ppf(0.975)
    return np.sort(np.roots([1 + z**2 / count, -2 * share - z**2 / count, share**2]))


def test_intervals_of_shares_are_wilsons_at_the_effective_number():
    for values, repeats in (
        ([1.0, 1, 0, 1], 1.0),
        ([0.25, 0.5, 0.5, 0.75, 1], 1.0),
        ([0.5, 1, 1, 0, 0, 0], 3.0),
    ):
        scores, with_ends = np.array(values), np.array([*values, 0.0, 1.0])
        weights = np.array([1.0] * len(values) + [0.5, 0.5])
        mean = np.average(with_ends, weights=weights)
        variance = (weights * (with_ends - mean) ** 2).sum() / (weights.sum() - 1)
        count = len(values) / repeats * mean * (1 - mean) / variance
        assert share_interval(scores, repeats) == pytest.approx(wilson(scores.mean(), count))


@pytest.mark.parametrize("mistakes", [(2,), (2, 9), (1, 1, 3, 4, 6, 20)], ids=str)
def test_intervals_of_regret_are_put_together_from_mistakes_and_their_cost(mistakes):
    """Values computed with scipy: Wilson for the share, Student with at least 4 degrees of freedom, MOVER."""
    count, expected = 40, 8.0
    regrets = np.array([*mistakes, *[0] * (count - len(mistakes))])
    share, all_costs = len(mistakes) / count, np.array([*mistakes, expected])
    cost = all_costs.mean()
    squares = ((np.array(mistakes) - cost) ** 2).sum() + expected**2
    weight = len(mistakes) + 1
    spread = stats.t.ppf(0.975, max(4, len(mistakes))) * np.sqrt(squares / weight / weight) / cost
    least, most = wilson(share, count)
    low = share * cost * np.exp(-np.hypot(np.log(share / least), spread))
    high = share * cost * np.exp(np.hypot(np.log(most / share), spread))
    assert regret_interval(regrets, expected, 96.0) == pytest.approx((low, high), rel=0.01)


def test_a_difference_of_ratings_knows_the_games_the_agents_have_in_common():
    """If two agents play each other often, their difference has a narrow interval."""
    matches = [
        PairCounts("a", "random", [1, 0, 4, 0, 15]),
        PairCounts("b", "random", [1, 0, 4, 0, 15]),
        PairCounts("a", "b", [200, 0, 1600, 0, 200]),
    ]
    ratings = fit_ratings(matches)
    apart, low, high = ratings.difference("a", "b")
    assert low < apart < high
    assert apart == pytest.approx(0, abs=1)
    of_a, of_b = ratings.of("a"), ratings.of("b")
    assert high - low < (of_a[2] - of_a[1] + of_b[2] - of_b[1]) / 4
    assert ratings.difference("a", "random") == pytest.approx(of_a)
    mean = ratings.difference("a", "b", "random")
    assert mean[0] == pytest.approx(of_a[0] - of_b[0] / 2)
    # A difference from the mean of two others has another width than the rating.
    assert mean[2] - mean[1] < of_a[2] - of_a[1]


def test_regret_is_compared_position_by_position():
    regrets = {
        spec: measure_regret(agents.make(spec, "leyla", seed=1), "leyla") for spec in ("greedy", "minimax:4")
    }
    found = regret_difference(regrets["greedy"], regrets["minimax:4"])
    apart = regrets["greedy"].regrets - regrets["minimax:4"].regrets
    assert found.mean == pytest.approx(
        regrets["greedy"].overall.mean_regret - regrets["minimax:4"].overall.mean_regret
    )
    assert (found.first_better, found.second_better) == ((apart < 0).sum(), (apart > 0).sum())
    assert 0 < found.interval[0] < found.mean < found.interval[1]
    other = regret_difference(regrets["minimax:4"], regrets["greedy"])
    assert other.interval == pytest.approx((-found.interval[1], -found.interval[0]))
    same = regret_difference(regrets["greedy"], regrets["greedy"])
    assert same.interval[0] < 0 == same.mean < same.interval[1] < 0.3


def test_only_regrets_over_the_same_positions_are_compared():
    greedy = measure_regret(agents.make("greedy", "leyla"), "leyla")
    elsewhere = measure_regret(agents.make("greedy", "gabata_i"), "gabata_i")
    with raises(InvalidMatch, "leyla", "gabata_i"):
        regret_difference(greedy, elsewhere)
    small = rulesets.Ruleset(row_width=3, seeds_per_hole=2, landing="weg", round_end="both_stuck")
    own = own_games_regret(agents.make("random", small), games=2, opening_turns=1, memory_mb=16, seed=2)
    with raises(InvalidMatch, "random"):
        regret_difference(own, greedy)


def test_a_mistake_costs_what_the_exact_positions_say():
    assert 9 < expected_mistake(rulesets.lookup("leyla")) < 13
    assert expected_mistake(rulesets.Ruleset(row_width=3, seeds_per_hole=2)) == 2
