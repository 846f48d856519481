"""Elo ratings from matches, with 95 % intervals; see docs/guides/evaluate.md.

The model is that of Bradley and Terry (1952). Intervals come from a Bayesian bootstrap (Rubin 1981) over
pairs of games. Pairs of repeated openings have less weight.
"""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mancala_env._util.checks import is_number, several, whole
from mancala_env._util.tabular import Tabular, named_interval
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.matches import InvalidMatch, MatchResult

ZERO = "random"
"""The agent whose rating is 0 by definition."""
ELO_PER_LOGIT = 400 / np.log(10)
# A quarter of a won pair and of a lost pair are added to every match, so that a match without losses has a
# finite rating. Half pairs (Jeffreys' prior of a proportion) shrink the differences too much: 5.2 % of the
# intervals of 40 games would lie below the true value and 0.2 % above.
_PRIOR_PAIRS = np.array([0.25, 0, 0, 0, 0.25])
PAIR_SCORES = np.array([0, 0.25, 0.5, 0.75, 1])
# Width of a normal prior (4,300 Elo), which matters only for agents without informative games.
_PRIOR_LOGITS = 25.0
NUM_REPLICATES = 1000
# Newton's method needs about ten steps from equal ratings.
_MOST_STEPS = 200
_SMALL_STEP = 1e-7


class PairCounts(NamedTuple):
    """The pair scores of a match, to which ratings are fitted.

    Attributes:
        first, second: Names of the agents.
        counts: Number of pairs in which the first agent scored 0, 0.25, 0.5, 0.75 and 1, `[5]`.
        repeats: Number of pairs that count as one independent pair, at least 1.
    """

    first: str
    second: str
    counts: Sequence[float] | np.ndarray
    repeats: float = 1.0


@dataclass(frozen=True, eq=False)
class Ratings(Tabular):
    """Ratings of N agents; `to_frame()` has one row per agent, strongest first.

    Attributes:
        names: Names of the agents.
        elo: float64 `[N]`, ratings.
        low, high: float64 `[N]`, ends of the 95 % intervals.
        games: int64 `[N]`, number of games of each agent.
        zero: Name of the agent with 0 Elo; "" if the mean of all agents is 0.
        replicates: float64 `[R, N]`, ratings in each bootstrap replicate.
    """

    names: tuple[str, ...]
    elo: np.ndarray
    low: np.ndarray
    high: np.ndarray
    games: np.ndarray
    zero: str
    replicates: np.ndarray

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "agent": "Name of the agent",
        **named_interval("elo", "Rating in Elo"),
        "games": "Number of games of the agent",
        "zero": 'Name of the agent with 0 Elo; "" if the mean of all agents is 0',
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        for i in self.order():
            yield self.names[i], *self.of(self.names[i]), int(self.games[i]), self.zero

    @property
    def scale(self) -> str:
        """The zero of the scale in words: "random = 0", or "mean = 0"."""
        return f"{self.zero} = 0" if self.zero else "mean = 0"

    def of(self, name: str) -> tuple[float, float, float]:
        """Return the rating of an agent and its 95 % interval: Elo, low, high.

        Raises:
            InvalidMatch: If the agent is not rated here.
        """
        (i,) = self._at(name)
        return float(self.elo[i]), float(self.low[i]), float(self.high[i])

    def difference(self, first: str, *others: str) -> tuple[float, float, float]:
        """Return the rating of an agent minus that of another, or minus the mean of others: Elo, low, high.

        The 95 % interval comes from the differences in the bootstrap replicates. It accounts for common
        games, unlike a comparison of two intervals of :meth:`of`.

        Raises:
            InvalidMatch: If an agent is not rated here, or no other agent is given.
        """
        if not others:
            raise InvalidMatch(f"difference needs the agent that {first} is compared with, or several")
        i, *at = self._at(first, *others)
        apart = self.replicates[:, i] - self.replicates[:, at].mean(axis=1)
        low, high = np.quantile(apart, [0.025, 0.975])
        return float(self.elo[i] - self.elo[at].mean()), float(low), float(high)

    def only(self, names: Sequence[str]) -> "Ratings":
        """Return the ratings of some of the agents, on the same scale."""
        at = self._at(*names)
        arrays = (self.elo[at], self.low[at], self.high[at], self.games[at])
        return Ratings(tuple(names), *arrays, self.zero, self.replicates[:, at])

    def _at(self, *names: str) -> list[int]:
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise InvalidMatch(f"no rating of {unknown[0]!r}, only of {', '.join(self.names)}")
        return [self.names.index(name) for name in names]

    def order(self) -> list[int]:
        """Return the indices of the agents, strongest first."""
        return np.argsort(-self.elo, kind="stable").tolist()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, strongest first."""
        agents = [
            {"agent": name, "elo": round(elo, 1), "interval": [round(low, 1), round(high, 1)], "games": games}
            for name, elo, low, high, games, _ in self._rows()
        ]
        return {"zero": self.zero, "agents": agents}


def fit_ratings(
    matches: Sequence[Any],
    *,
    fixed: Ratings | None = None,
    seed: int = 0,
    num_replicates: int = NUM_REPLICATES,
) -> Ratings:
    """Fit Elo ratings to matches.

    Args:
        matches: MatchResults or PairCounts; several matches of the same agents add up.
        fixed: Ratings to keep, such as those of the ladder. Only other agents are fitted, but all agents are
            returned. The intervals of the fitted agents include the uncertainty of the fixed ratings.
        seed: Random seed of the bootstrap. It moves the ends of intervals by a few percent of their width.
        num_replicates: R, number of bootstrap replicates.

    Returns:
        Ratings in the order in which the agents appear. Without `fixed` the random agent has 0 Elo or, if it
        did not play, the mean of the ratings is 0.

    Raises:
        InvalidMatch: If `matches` is empty, their rulesets differ, an agent plays itself, or no chain of
            games connects two agents.
        InvalidArgument: If an element is not a match, `fixed` is not Ratings, or a number is out of range.
    """
    counted = _counted(matches)
    if fixed is not None and not isinstance(fixed, Ratings):
        raise InvalidArgument(
            f"fixed must be Ratings, such as stored_ladder('leyla').ratings(), not {reprlib.repr(fixed)}"
        )
    seed, num_replicates = whole("seed", seed, 0), whole("num_replicates", num_replicates, 1)
    fixed_names = () if fixed is None else fixed.names
    num_fixed = len(fixed_names)
    names = tuple(dict.fromkeys([*fixed_names, *(name for match in counted for name in match[:2])]))
    connected = connected_agents(counted, fixed)
    if (apart := next((name for name in names if name not in connected), None)) is not None:
        raise InvalidMatch(
            f"no games connect {apart} with {names[0]}, so they cannot be rated together; play a match "
            "between them, or against a common opponent"
        )
    index = {name: i for i, name in enumerate(names)}
    games = np.zeros(len(names), np.int64)
    for match in counted:
        for name in match[:2]:
            games[index[name]] += 2 * int(np.sum(match.counts))
    sides, counts = _merged_pairs(counted, index)
    # With `fixed`, use another random stream: the errors must be independent of the fixed ratings' errors.
    rng = np.random.default_rng(seed if fixed is None else [seed, 1])
    posterior = counts + _PRIOR_PAIRS
    drawn = [rng.dirichlet(alpha, num_replicates) for alpha in posterior]
    # Mean scores: the estimate, then the draws from the posterior.
    estimate = posterior @ PAIR_SCORES / posterior.sum(axis=1)
    scores = np.concatenate([estimate[None], np.stack(drawn, axis=1) @ PAIR_SCORES])
    start = np.zeros((1 + num_replicates, len(names)))
    if fixed is not None:
        start[0, :num_fixed] = fixed.elo / ELO_PER_LOGIT
        replicates = fixed.replicates[np.arange(num_replicates) % len(fixed.replicates)]
        start[1:, :num_fixed] = replicates / ELO_PER_LOGIT
    fitted = _fit(sides, scores, 2 * counts.sum(axis=1), start, num_fixed)
    zero = (ZERO if ZERO in index else "") if fixed is None else fixed.zero
    if fixed is None:
        fitted -= fitted[:, index[ZERO], None] if zero else fitted.mean(axis=1, keepdims=True)
    fitted *= ELO_PER_LOGIT
    low, high = np.quantile(fitted[1:], [0.025, 0.975], axis=0)
    return Ratings(names, fitted[0], low, high, games, zero, fitted[1:])


def connected_agents(matches: Sequence[PairCounts | MatchResult], fixed: Ratings | None) -> set[str]:
    """Return the agents that a chain of games connects with fixed ratings, or with the first agent."""
    played = [match[:2] for match in map(_pair_counts, matches) if sum(match.counts) > 0]
    connected = {matches[0].first} if fixed is None else set(fixed.names)
    while added := {name for pair in played if connected & {*pair} for name in pair} - connected:
        connected |= added
    return connected


def _counted(matches: Sequence[Any]) -> list[PairCounts]:
    given = several("matches", matches, "a list of MatchResults or PairCounts")
    if not given:
        raise InvalidMatch("matches must contain at least one match, not an empty list")
    for match in given:
        if not isinstance(match, MatchResult | PairCounts):
            raise InvalidArgument(f"matches must be MatchResults or PairCounts, not {match!r}")
        if match.first == match.second:
            raise InvalidMatch(f"{match.first} cannot be rated in a match against itself")
        if isinstance(match, PairCounts):
            _check_counts(match)
    played = {match.ruleset for match in given if isinstance(match, MatchResult)}
    if len(played) > 1:
        raise InvalidMatch(f"matches must be of one ruleset, not of {' and '.join(sorted(played))}")
    return [_pair_counts(match) for match in given]


def _pair_counts(match: PairCounts | MatchResult) -> PairCounts:
    return match if isinstance(match, PairCounts) else as_pair_counts(match)


def _check_counts(match: PairCounts) -> None:
    counts = several("counts of PairCounts", match.counts, "five numbers", 5)
    are_valid = all(is_number(number) and 0 <= number < np.inf for number in (*counts, match.repeats))
    if not are_valid or match.repeats < 1:
        raise InvalidArgument(f"PairCounts need five counts >= 0 and repeats >= 1, not {match!r}")


def _merged_pairs(matches: list[PairCounts], index: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Add up the matches of the same agents.

    Return the indices of the agents of each match, `[M, 2]`, and the counts of independent pairs by score of
    the first agent, `[M, 5]`.
    """
    added: dict[tuple[int, int], np.ndarray] = {}
    for match in matches:
        count = np.array(match.counts, np.float64) / match.repeats
        i, j = index[match.first], index[match.second]
        if (j, i) in added:
            i, j, count = j, i, count[::-1]
        added[i, j] = added.get((i, j), 0) + count
    return np.array(list(added)), np.array(list(added.values()))


def as_pair_counts(match: MatchResult) -> PairCounts:
    """Return the pair counts of a MatchResult."""
    return PairCounts(match.first, match.second, tuple(match.pair_counts.tolist()), match.repeats)


def _fit(
    sides: np.ndarray, scores: np.ndarray, games: np.ndarray, start: np.ndarray, num_fixed: int
) -> np.ndarray:
    """Maximise the Bradley-Terry likelihood over all but the first `num_fixed` agents by Newton's method.

    The likelihood is concave, and the prior makes the maximum unique. All R + 1 sets of `scores` of the first
    agents, `[R + 1, M]`, are fitted at once, from the ratings `start` in logits, `[R + 1, N]`. Each match has
    two agents in `sides` `[M, 2]`, and a number of `games` `[M]`.
    """
    # [M, N]: the rating of the first agent minus that of the second is differences @ ratings.
    differences = np.zeros((len(sides), start.shape[1]))
    differences[np.arange(len(sides)), sides[:, 0]] = 1
    differences[np.arange(len(sides)), sides[:, 1]] -= 1
    free = differences[:, num_fixed:]
    base = start[:, :num_fixed] @ differences[:, :num_fixed].T
    found = start[:, num_fixed:]
    for _ in range(_MOST_STEPS):
        expected = 1 / (1 + np.exp(-(base + found @ free.T)))
        gradient = (games * (scores - expected)) @ free - found / _PRIOR_LOGITS**2
        weights = games * expected * (1 - expected)
        hessian = np.einsum("rm,mi,mj->rij", weights, free, free, optimize=True)
        hessian += np.eye(free.shape[1]) / _PRIOR_LOGITS**2
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        # The quadratic approximation is poor beyond one logit, so steps are limited to that.
        largest = np.abs(step).max(axis=1, initial=0.0, keepdims=True)
        found = found + step / np.maximum(1.0, largest)
        if largest.max(initial=0.0) < _SMALL_STEP:
            break
    return np.concatenate([start[:, :num_fixed], found], axis=1)
