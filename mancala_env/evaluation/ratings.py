"""Elo ratings from matches, with intervals.

The model is Bradley and Terry's (1952): the stronger of two agents wins with a probability that depends
on the difference of their ratings alone, 400 Elo being ten to one. A draw counts as half a win for each.
The random agent is at 0 Elo.

Intervals come from a Bayesian bootstrap over pairs of games (Rubin 1981; a pair is one opening played
from both seats), so neither the luck of an opening nor the two games' dependence makes them too narrow.
Pairs of openings that came again count for as many as they say that is new.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mancala_env._util.checks import several, whole
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.matches import InvalidMatch, MatchResult

ZERO = "random"
"""The agent whose rating is 0 by definition."""
ELO_PER_LOGIT = 400 / np.log(10)
# A quarter of a pair won and one lost go into every match: a match without a single loss still has a finite
# rating and an interval. Half pairs (Jeffreys' prior of a proportion) draw the ratings of several matches to
# each other so far that 5.2 % of the intervals of 40 games lie below the truth and 0.2 % above.
_PRIOR_PAIRS = np.array([0.25, 0, 0, 0, 0.25])
PAIR_SCORES = np.array([0, 0.25, 0.5, 0.75, 1])
# A normal prior so wide (4,300 Elo) that it matters only where the games say nothing.
_PRIOR_LOGITS = 25.0
NUM_REPLICATES = 1000
# Newton's method takes about ten steps from equal ratings; no agent is further than 25 logits from another.
_MOST_STEPS = 200
_SMALL_STEP = 1e-7


class PairCounts(NamedTuple):
    """A match as ratings see it.

    Attributes:
        first: Name of the agent whose scores these are.
        second: Name of its opponent.
        counts: `[5]`, pairs in which the first agent scored 0, 0.25, 0.5, 0.75 and 1.
        repeats: How many of them say as much as one of an opening of its own.
    """

    first: str
    second: str
    counts: Sequence[float] | np.ndarray
    repeats: float = 1.0


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of N agents.

    Attributes:
        names: The agents.
        elo: float64 `[N]`, ratings.
        low: float64 `[N]`, lower end of the 95 % intervals.
        high: float64 `[N]`, upper end.
        games: int64 `[N]`, games each agent played.
        zero: The agent at 0 Elo by definition; "" where the mean of all is.
        replicates: float64 `[R, N]`, the ratings in each bootstrap replicate.
    """

    names: tuple[str, ...]
    elo: np.ndarray
    low: np.ndarray
    high: np.ndarray
    games: np.ndarray
    zero: str
    replicates: np.ndarray

    def of(self, name: str) -> tuple[float, float, float]:
        """Return the rating of an agent and its interval: Elo, low, high.

        Raises:
            InvalidMatch: It is not among them.
        """
        (i,) = self._at(name)
        return float(self.elo[i]), float(self.low[i]), float(self.high[i])

    def difference(self, first: str, *others: str) -> tuple[float, float, float]:
        """Return how far an agent is above another, or above the mean of several: Elo, low, high.

        The 95 % interval comes from the differences in the replicates, so it knows which games the agents
        have in common; the ends of two intervals of :meth:`of` do not.

        Raises:
            InvalidMatch: One is not among them.
        """
        i, *at = self._at(first, *others)
        apart = self.replicates[:, i] - self.replicates[:, at].mean(axis=1)
        low, high = np.quantile(apart, [0.025, 0.975])
        return float(self.elo[i] - self.elo[at].mean()), float(low), float(high)

    def only(self, names: Sequence[str]) -> "Ratings":
        """Return the ratings of some of the agents, on the same scale.

        Raises:
            InvalidMatch: One is not among them.
        """
        at = self._at(*names)
        arrays = (self.elo[at], self.low[at], self.high[at], self.games[at])
        return Ratings(tuple(names), *arrays, self.zero, self.replicates[:, at])

    def _at(self, *names: str) -> list[int]:
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise InvalidMatch(f"there is no rating of {unknown[0]!r}, only of {', '.join(self.names)}")
        return [self.names.index(name) for name in names]

    def order(self) -> list[int]:
        """Return the indices of the agents, strongest first."""
        return np.argsort(-self.elo, kind="stable").tolist()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, strongest first."""
        return {
            "zero": self.zero,
            "agents": [
                {
                    "agent": self.names[i],
                    "elo": round(float(self.elo[i]), 1),
                    "interval": [round(float(self.low[i]), 1), round(float(self.high[i]), 1)],
                    "games": int(self.games[i]),
                }
                for i in self.order()
            ],
        }


def fit_ratings(
    matches: Sequence[Any],
    *,
    fixed: Ratings | None = None,
    seed: int = 0,
    num_replicates: int = NUM_REPLICATES,
) -> Ratings:
    """Fit Elo ratings to matches.

    Args:
        matches: MatchResults or PairCounts; several of one pair of agents add up.
        fixed: Ratings to take as they are, such as the ladder's: only agents that are not in it are
            fitted (and returned beside it). Its uncertainty goes into their intervals.
        seed: Seed of the bootstrap; it decides nothing but the last digit of the intervals.
        num_replicates: Bootstrap replicates, R.

    Returns:
        Ratings in the order the agents appear; without `fixed`, the random agent (or, where it does not
        play, the mean) is at 0.

    Raises:
        InvalidMatch: There are no matches, they are of two rulesets, or an agent is matched with itself.
        InvalidArgument: They are no matches, or a number is out of range.
    """
    given = several("matches", matches, "a list of MatchResults or PairCounts")
    seed, num_replicates = whole("seed", seed, 0), whole("num_replicates", num_replicates, 1)
    for match in given:
        if not isinstance(match, MatchResult | PairCounts):
            raise InvalidArgument(f"matches must be MatchResults or PairCounts, not {match!r}")
    if not given:
        raise InvalidMatch("ratings need at least one match, not none")
    played = {match.ruleset for match in given if isinstance(match, MatchResult)}
    if len(played) > 1:
        raise InvalidMatch(
            f"ratings are of one ruleset, and the matches are of {' and '.join(sorted(played))}"
        )
    matches = [match if isinstance(match, PairCounts) else as_pair_counts(match) for match in given]
    for match in matches:
        if match.first == match.second:
            raise InvalidMatch(f"{match.first} is matched with itself, which says nothing about its rating")
    known = {name: i for i, name in enumerate(fixed.names)} if fixed is not None else {}
    names = tuple(dict.fromkeys([*known, *(name for match in matches for name in match[:2])]))
    index = {name: i for i, name in enumerate(names)}
    counts = np.array([match.counts for match in matches], np.float64)
    games = np.zeros(len(names), np.int64)
    for match, count in zip(matches, counts, strict=True):
        for name in match[:2]:
            games[index[name]] += 2 * int(count.sum())
    counts /= np.array([[match.repeats] for match in matches])

    added: dict[tuple[int, int], np.ndarray] = {}
    for match, count in zip(matches, counts, strict=True):
        i, j = index[match.first], index[match.second]
        if (j, i) in added:
            i, j, count = j, i, count[::-1]
        added[i, j] = added.get((i, j), 0) + count
    sides, counts = np.array(list(added)), np.array(list(added.values()))
    # Not the draws that made the replicates of fixed ratings: errors of the two would go together.
    rng = np.random.default_rng(seed if fixed is None else [seed, 1])
    # Row 0 is the estimate, the others are replicates: probabilities drawn from their posterior.
    posterior = counts + _PRIOR_PAIRS
    drawn = [_dirichlet(rng, alpha, num_replicates) for alpha in posterior]
    scores = np.concatenate(
        [
            (posterior @ PAIR_SCORES / posterior.sum(axis=1))[None],
            np.stack(drawn, axis=1) @ PAIR_SCORES,
        ]
    )
    start = np.zeros((1 + num_replicates, len(names)))
    is_free = np.ones(len(names), np.bool_)
    if fixed is not None:
        start[0, : len(known)] = fixed.elo / ELO_PER_LOGIT
        start[1:, : len(known)] = fixed.replicates[np.arange(num_replicates) % len(fixed.replicates)]
        start[1:, : len(known)] /= ELO_PER_LOGIT
        is_free[: len(known)] = False
    sizes = 2 * counts.sum(axis=1)
    fitted = _fit(sides, scores, sizes, start, is_free)
    zero = ZERO if ZERO in index else ""
    if fixed is None:
        fitted -= fitted[:, index[ZERO], None] if zero else fitted.mean(axis=1, keepdims=True)
    else:
        zero = fixed.zero
    fitted *= ELO_PER_LOGIT
    low, high = np.quantile(fitted[1:], [0.025, 0.975], axis=0)
    return Ratings(names, fitted[0], low, high, games, zero, fitted[1:])


def as_pair_counts(match: Any) -> PairCounts:
    """Return what ratings ask of a MatchResult."""
    return PairCounts(match.first, match.second, match.pair_counts, match.repeats)


def win_probability(elo_difference: float) -> float:
    """Return the score the model expects from an agent that many Elo above its opponent.

    >>> round(win_probability(400), 3)
    0.909
    """
    return float(1 / (1 + 10 ** (-elo_difference / 400)))


def elo_difference(win_rate: float) -> float:
    """Return the Elo difference at which the model expects a win rate strictly between 0 and 1."""
    return float(400 * np.log10(win_rate / (1 - win_rate)))


def _dirichlet(rng: np.random.Generator, alpha: np.ndarray, size: int) -> np.ndarray:
    """Draw from a Dirichlet distribution some of whose parameters are 0, `[size, 5]`."""
    drawn = np.zeros((size, len(alpha)))
    drawn[:, alpha > 0] = rng.dirichlet(alpha[alpha > 0], size)
    return drawn


def _fit(
    sides: np.ndarray, scores: np.ndarray, games: np.ndarray, start: np.ndarray, is_free: np.ndarray
) -> np.ndarray:
    """Maximise the Bradley-Terry likelihood over the free agents, for R + 1 sets of scores at once.

    Newton's method; the likelihood is concave, and the prior makes the maximum unique.

    Args:
        sides: int64 `[M, 2]`, indices of the first and second agent of each match.
        scores: float64 `[R + 1, M]`, share of the games the first agent won.
        games: float64 `[M]`, games.
        start: float64 `[R + 1, N]`, ratings in logits: fixed ones, and where to start from for the free.
        is_free: bool `[N]`.

    Returns:
        float64 `[R + 1, N]`, ratings in logits.
    """
    # [M, N]: the rating of the first agent minus that of the second is differences @ ratings.
    differences = np.zeros((len(sides), start.shape[1]))
    differences[np.arange(len(sides)), sides[:, 0]] = 1
    differences[np.arange(len(sides)), sides[:, 1]] -= 1
    free = differences[:, is_free]
    base = start[:, ~is_free] @ differences[:, ~is_free].T
    found = start[:, is_free]
    for _ in range(_MOST_STEPS):
        expected = 1 / (1 + np.exp(-(base + found @ free.T)))
        gradient = (games * (scores - expected)) @ free - found / _PRIOR_LOGITS**2
        weights = games * expected * (1 - expected)
        hessian = np.einsum("rm,mi,mj->rij", weights, free, free, optimize=True)
        hessian += np.eye(free.shape[1]) / _PRIOR_LOGITS**2
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        # A step of more than a logit leaves the region its parabola is good in.
        largest = np.abs(step).max(axis=1, initial=0.0, keepdims=True)
        found = found + step / np.maximum(1.0, largest)
        if largest.max(initial=0.0) < _SMALL_STEP:
            break
    fitted = start.copy()
    fitted[:, is_free] = found
    return fitted
