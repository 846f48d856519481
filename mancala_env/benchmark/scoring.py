"""The score of an agent: its mean regret over solved positions, and its rating against fixed anchors."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mancala_env._util.checks import several, whole
from mancala_env.agents import AgentLike
from mancala_env.errors import MancalaError
from mancala_env.evaluation.ladder import stored_ladder
from mancala_env.evaluation.matches import num_pairs, play_matches
from mancala_env.evaluation.openings import InvalidMatch, Openings
from mancala_env.evaluation.ratings import fit_ratings
from mancala_env.evaluation.regret import has_exact_positions, measure_regret
from mancala_env.evaluation.round_robin import entrant
from mancala_env.rulesets import Ruleset
from mancala_env.solver import ILLEGAL, positions

GAMES = 200


class Score(NamedTuple):
    """The score of an agent: mean regret in seeds per move, share of optimal moves (0 to 1), and Elo rating.

    The 95 % intervals are over solved positions and over pairs of games. Random has the rating 0. `games` is
    the number of rating games; 0 for an anchor, whose rating is stored.
    """

    regret: float
    regret_interval: tuple[float, float]
    optimal_share: float
    elo: float
    elo_interval: tuple[float, float]
    games: int


class Scoring(NamedTuple):
    """How agents are scored; only scores with equal settings are compared.

    An agent plays `games` against each anchor, half of them from each seat. The stored ratings of the anchors
    are fixed. Balanced openings have 0 `opening_turns`. The seed is for openings and agents.
    """

    games: int
    anchors: tuple[str, ...]
    opening_turns: int
    opening_set: Openings
    seed: int

    def score(self, player: AgentLike, ruleset: Ruleset) -> Score:
        """Score an agent, on one thread."""
        rated = entrant(player, ruleset, num_threads=1)
        rated.agent.num_threads = 1
        rated.agent.seed(self.seed)
        regret = measure_regret(rated.agent, ruleset).overall
        ladder = stored_ladder(ruleset).ratings()
        is_anchor = rated.identity in ladder.names
        if is_anchor:
            elo, low, high = ladder.of(rated.identity)
        else:
            # All agents play the same openings.
            options: dict[str, Any] = self._asdict()
            matches = [
                play_matches(rated.agent, anchor, ruleset, num_threads=1, **options)
                for anchor in options.pop("anchors")
            ]
            fixed = ladder.only([name for name in ladder.names if name in self.anchors])
            elo, low, high = fit_ratings(matches, fixed=fixed).of(rated.agent.spec)
        games = 0 if is_anchor else self.games * len(self.anchors)
        found = (regret.mean_regret, regret.interval, regret.optimal_share)
        return Score(*found, elo, (low, high), games)


def scoring_of(
    ruleset: Ruleset, games: int = GAMES, anchors: Sequence[str] | None = None, scoring_seed: int = 0
) -> Scoring:
    """Return the scoring for a ruleset with a stored ladder and solved positions.

    The number of `games` against each anchor is even. `anchors` are specs of anchors of the ladder; None for
    all quick anchors. `scoring_seed`, at least 0, is the random seed of openings and agents. Raise
    MancalaError if one of them is invalid, or the ladder (NoLadder) or solved positions are missing.
    """
    games, seed = 2 * num_pairs(games), whole("scoring_seed", scoring_seed, 0)
    ladder = stored_ladder(ruleset)
    if not has_exact_positions(ruleset):
        what = f"regret cannot be measured without solved positions of {ruleset.name}"
        raise MancalaError(f"{what}; mancala_env.evaluation.prepare makes them if 20 can be solved")
    named = ladder.quick_anchors if anchors is None else several("anchors", anchors, "a list of specs")
    chosen = tuple(dict.fromkeys(named))
    wrong = next((anchor for anchor in chosen if anchor not in ladder.anchors), None)
    if wrong is not None or not chosen:
        valid, given = ", ".join(ladder.anchors), wrong or "an empty list"
        raise InvalidMatch(f"anchors must be one or more of {valid}, not {given!r}")
    # The ladder's openings; learners do not train on them if enough are held out.
    return Scoring(games, chosen, ladder.opening_turns, ladder.opening_set, seed)


@lru_cache
def regret_of_random(ruleset: Ruleset) -> float:
    """Return the expected mean regret of random play over the solved positions, in seeds per move."""
    values = positions(ruleset).action_values.astype(np.float64)
    is_legal = values != ILLEGAL
    regrets = np.where(is_legal, values.max(axis=1, keepdims=True) - values, 0)
    return float((regrets.sum(axis=1) / is_legal.sum(axis=1)).mean())
