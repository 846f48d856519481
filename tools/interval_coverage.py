"""Measure the coverage of the 95 % intervals of the evaluation.

python -m tools.interval_coverage [--trials 4000] [--seed 1]

Each trial draws games or positions from a population with a known mean, computes the interval, and checks
whether it contains the mean. The populations are real: pairs of games of the stored ladders, margins of
matches between scripted agents, and their regrets in the bundled solved positions. The program prints a
Markdown table; docs/research/interval_coverage.md contains one.
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mancala_env import agents
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.evaluation.intervals import design_effect, mean_interval, regret_interval, share_interval
from mancala_env.evaluation.ladder import stored_ladder
from mancala_env.evaluation.matches import PAIR_SPREAD, play_matches
from mancala_env.evaluation.ratings import PAIR_SCORES, PairCounts, Ratings, fit_ratings
from mancala_env.evaluation.regret import expected_mistake
from mancala_env.rulesets import lookup
from mancala_env.solver import positions

NUMBERS = (40, 200, 400, 1000)
"""Numbers of games per match, or of positions."""
TRIALS = 4000
_RULESETS = ("layli_goobalay", "leyla", "gabata_i", "layli_goobalay_long", "gabata_five_holes")
_AGENTS = ("random", "greedy", "minimax:2", "minimax:4")
# Matches with fewer pairs do not represent a population.
_LEAST_PAIRS = 100
_MARGIN_GAMES = 2000
# Ratings are fitted to several matches, which takes longer.
_TRIALS_PER_RATING = 4

Interval = tuple[float, float]


class Case(NamedTuple):
    """A kind of interval and of populations.

    Attributes:
        name: Description of the case.
        trial: Called as trial(rng, number); draws once and returns intervals, each with its true value.
        cost: Relative duration of a trial.
    """

    name: str
    trial: Callable[[np.random.Generator, int], list[tuple[Interval, float]]]
    cost: int = 1


@lru_cache
def pair_populations() -> tuple[np.ndarray, ...]:
    """Return the shares of pairs with scores 0, 0.25, 0.5, 0.75 and 1 in matches of the stored ladders."""
    found = []
    for name in _RULESETS:
        for match in stored_ladder(name).matches:
            counts = np.array(match.counts, np.float64)
            if counts.sum() >= _LEAST_PAIRS:
                found.append(counts / counts.sum())
    return tuple(found)


@lru_cache
def margin_populations() -> tuple[tuple[np.ndarray, float], ...]:
    """Return the mean margins of pairs in matches between scripted agents, with the seeds of the game."""
    found = []
    for name in _RULESETS:
        for first, second in itertools.combinations(_AGENTS[:3], 2):
            match = play_matches(first, second, name, games=_MARGIN_GAMES, opening_set="all", seed=1)
            found.append((match.margins.mean(axis=1), float(lookup(name).total_seeds)))
    return tuple(found)


@lru_cache
def regret_populations() -> tuple[tuple[str, tuple[np.ndarray, ...]], ...]:
    """Return, for each ruleset, the regrets of scripted agents over the same positions."""
    found = []
    for name in _RULESETS:
        solved = positions(name)
        players = [agents.make(spec, name, seed=1) for spec in _AGENTS]
        found.append((name, tuple(solved.regret(agent.act(solved.games)) for agent in players)))
    return tuple(found)


def _win_rate(least: float, most: float) -> Callable[..., list[tuple[Interval, float]]]:
    """Return a trial of win rates from `least` to `most`, or from 1 - `most` to 1 - `least`."""

    def trial(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
        populations = [
            shares
            for shares in pair_populations()
            if least <= min(shares @ PAIR_SCORES, 1 - shares @ PAIR_SCORES) < most
        ]
        shares = populations[rng.integers(len(populations))]
        counts = rng.multinomial(games // 2, shares)
        return [(share_interval(np.repeat(PAIR_SCORES, counts)), float(shares @ PAIR_SCORES))]

    return trial


def _margin(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    population, seeds = margin_populations()[rng.integers(len(margin_populations()))]
    drawn = rng.choice(population, games // 2)
    return [(mean_interval(drawn, PAIR_SPREAD * seeds, -seeds, seeds), float(population.mean()))]


def _draw_repeated(
    rng: np.random.Generator, population: np.ndarray, pairs: int, shares: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs in which each opening occurs three times; return their scores and openings.

    A repeated opening has the same score with probability 0, 0.5 or 1, as for random and deterministic
    agents.
    """
    which = np.arange(pairs) % max(1, round(pairs / 3))
    first = rng.choice(population, pairs, p=shares)[which]
    is_same = rng.random(pairs) < rng.choice([0.0, 0.5, 1.0])
    return np.where(is_same, first, rng.choice(population, pairs, p=shares)), which


def _repeated_win_rate(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    shares = pair_populations()[rng.integers(len(pair_populations()))]
    drawn, which = _draw_repeated(rng, PAIR_SCORES, games // 2, shares)
    return [(share_interval(drawn, design_effect(drawn, which)), float(shares @ PAIR_SCORES))]


def _repeated_margin(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    population, seeds = margin_populations()[rng.integers(len(margin_populations()))]
    drawn, which = _draw_repeated(rng, population, games // 2)
    repeats = design_effect(drawn, which)
    return [(mean_interval(drawn, PAIR_SPREAD * seeds, -seeds, seeds, repeats), float(population.mean()))]


def _repeated_rating(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    """Rate two agents against each other; their mean rating is 0."""
    shares = pair_populations()[rng.integers(len(pair_populations()))]
    drawn, which = _draw_repeated(rng, PAIR_SCORES, games // 2, shares)
    counts = np.bincount((4 * drawn).astype(int), minlength=5)
    found = fit_ratings([PairCounts("a", "b", counts, design_effect(drawn, which))])
    truth = _true_ratings([PairCounts("a", "b", _shares(PairCounts("a", "b", 100 * shares)))])
    return [(found.of("a")[1:], truth.of("a")[0])]


def _regret(mistakes: float | None) -> Callable[..., list[tuple[Interval, float]]]:
    """Return a trial of regrets, as observed or with a given share of mistakes."""

    def trial(rng: np.random.Generator, number: int) -> list[tuple[Interval, float]]:
        name, of_agents = regret_populations()[rng.integers(len(_RULESETS))]
        population = of_agents[rng.integers(len(of_agents))]
        if mistakes is None:
            drawn, truth = rng.choice(population, number), population.mean()
        else:
            costs = population[population > 0]
            drawn = rng.choice(costs, number) * (rng.random(number) < mistakes)
            truth = mistakes * costs.mean()
        most = 2.0 * lookup(name).total_seeds
        return [(regret_interval(drawn, expected_mistake(lookup(name)), most), float(truth))]

    return trial


def _optimal_share(rng: np.random.Generator, number: int) -> list[tuple[Interval, float]]:
    _, of_agents = regret_populations()[rng.integers(len(_RULESETS))]
    is_optimal = of_agents[rng.integers(len(of_agents))] == 0
    return [(share_interval(rng.choice(is_optimal, number)), float(is_optimal.mean()))]


def _difference(alike: float) -> Callable[..., list[tuple[Interval, float]]]:
    """Return a trial of differences of regret between agents that agree in a share of the positions."""

    def trial(rng: np.random.Generator, number: int) -> list[tuple[Interval, float]]:
        name, of_agents = regret_populations()[rng.integers(len(_RULESETS))]
        first, second = rng.permutation(len(of_agents))[:2]
        apart = of_agents[first].astype(np.float64) - of_agents[second]
        drawn = rng.choice(apart, number) * (rng.random(number) >= alike)
        most = 2.0 * lookup(name).total_seeds
        interval = mean_interval(drawn, expected_mistake(lookup(name)), -most, most)
        return [(interval, float((1 - alike) * apart.mean()))]

    return trial


@lru_cache
def _ladder_populations() -> tuple[tuple[tuple[PairCounts, ...], Ratings], ...]:
    """Return the shares of pairs of whole ladders, and the resulting ratings."""
    found = []
    for name in _RULESETS:
        ladder = stored_ladder(name)
        # Only the round robin of quick anchors; slow anchors play a single opponent.
        matches = [match for match in ladder.matches if {*match[:2]} <= {*ladder.quick_anchors}]
        shares = tuple(match._replace(counts=_shares(match)) for match in matches)
        found.append((shares, _true_ratings(shares)))
    return tuple(found)


def _shares(match: PairCounts) -> tuple[float, ...]:
    counts = np.array(match.counts, np.float64)
    # Without losses the rating would be infinite; fit_ratings adds the same quarters of pairs.
    counts[[0, 4]] += 0.25
    return tuple((counts / counts.sum()).tolist())


def _true_ratings(shares: Sequence[PairCounts], fixed: Ratings | None = None) -> Ratings:
    # With this many pairs the weight of the prior is negligible.
    many = [match._replace(counts=1e7 * np.array(match.counts)) for match in shares]
    return fit_ratings(many, fixed=fixed, num_replicates=2)


def _played(rng: np.random.Generator, shares: Sequence[PairCounts], pairs: int) -> list[PairCounts]:
    return [match._replace(counts=rng.multinomial(pairs, match.counts)) for match in shares]


def _ratings(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    """Rate four agents that played each other."""
    shares, _ = _ladder_populations()[rng.integers(len(_RULESETS))]
    names = {name for match in shares for name in match[:2]} - {"random"}
    some = {"random", *rng.permutation(sorted(names))[:3].tolist()}
    shares = [match for match in shares if {*match[:2]} <= some]
    truth, found = _true_ratings(shares), fit_ratings(_played(rng, shares, games // 2))
    return [(found.of(name)[1:], truth.of(name)[0]) for name in truth.names if name != "random"]


def _rating_difference(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    """Rate four agents, and compare one with the mean of two others."""
    shares, _ = _ladder_populations()[rng.integers(len(_RULESETS))]
    names = sorted({name for match in shares for name in match[:2]} - {"random"})
    some = rng.permutation(names)[:4].tolist()
    shares = [match for match in shares if {*match[:2]} <= {*some}]
    truth, found = _true_ratings(shares), fit_ratings(_played(rng, shares, games // 2))
    return [(found.difference(*some[:3])[1:], truth.difference(*some[:3])[0])]


def _newcomer(rng: np.random.Generator, games: int) -> list[tuple[Interval, float]]:
    """Rate a new agent against anchors whose ratings come from 200 pairs per match."""
    shares, _ = _ladder_populations()[rng.integers(len(_RULESETS))]
    names = sorted({name for match in shares for name in match[:2]} - {"random"})
    newcomer = names[rng.integers(len(names))]
    own = [match for match in shares if newcomer in match[:2]]
    others = [match for match in shares if newcomer not in match[:2]]
    truth = _true_ratings(own, _true_ratings(others))
    anchors = fit_ratings(_played(rng, others, 200))
    found = fit_ratings(_played(rng, own, games // 2), fixed=anchors)
    return [(found.of(newcomer)[1:], truth.of(newcomer)[0])]


CASES = (
    Case("win rate of 30 to 70 %", _win_rate(0.3, 0.51)),
    Case("win rate of 10 to 30 or 70 to 90 %", _win_rate(0.1, 0.3)),
    Case("win rate below 10 or above 90 %", _win_rate(0.0, 0.1)),
    Case("mean margin", _margin),
    Case("win rate, each opening three times", _repeated_win_rate),
    Case("mean margin, each opening three times", _repeated_margin),
    Case("mean regret", _regret(None)),
    Case("mean regret, a mistake in 10 moves", _regret(0.1)),
    Case("mean regret, a mistake in 50 moves", _regret(0.02)),
    Case("share of optimal moves", _optimal_share),
    Case("difference of regret", _difference(0.0)),
    Case("difference of regret, alike in 9 of 10 positions", _difference(0.9)),
    Case("rating, four agents", _ratings, _TRIALS_PER_RATING),
    Case("difference of ratings", _rating_difference, _TRIALS_PER_RATING),
    Case("rating of a newcomer among stored anchors", _newcomer, _TRIALS_PER_RATING),
    Case("rating, each opening three times", _repeated_rating, _TRIALS_PER_RATING),
)


def coverage(case: Case, number: int, trials: int, seed: int) -> float:
    """Return the share of intervals that contain the true value.

    Args:
        case: The kind of interval.
        number: Number of games per match, or of positions.
        trials: Number of trials.
        seed: Random seed.
    """
    rng = np.random.default_rng(seed)
    inside = [
        low <= truth <= high
        for _ in range(max(1, trials // case.cost))
        for (low, high), truth in case.trial(rng, number)
    ]
    return float(np.mean(inside))


def table(trials: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table while they are measured."""
    yield "| 95 % interval of | " + " | ".join(f"{number:,}" for number in NUMBERS) + " |"
    yield "|---|" + "---:|" * len(NUMBERS)
    for case in CASES:
        held = [coverage(case, number, trials, seed) for number in NUMBERS]
        yield f"| {case.name} | " + " | ".join(f"{100 * share:.1f}" for share in held) + " |"


@in_one_line("interval_coverage")
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and return the exit status."""
    parser = Parser(
        prog="python -m tools.interval_coverage",
        description="Measure the coverage of the 95 % intervals of the evaluation.",
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"number of trials per cell ({TRIALS})")
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.seed < 0:
        parser.error(f"--trials must be at least 1 and --seed 0, not {options.trials}, {options.seed}")
    for line in table(options.trials, options.seed):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
