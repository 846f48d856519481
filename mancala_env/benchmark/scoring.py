"""The score of a player: mean regret over the solved positions, rating on fixed anchors."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mancala_env._util.checks import whole
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
    """How good a player is.

    Attributes:
        regret: Mean regret over the solved positions, seeds a move.
        regret_interval: 95 % interval of it, over positions.
        optimal_share: Share of its moves without regret.
        elo: Rating; random is at 0.
        elo_interval: 95 % interval of it, over pairs of games.
        games: Games it was rated by; 0 for an anchor, whose rating is stored.
    """

    regret: float
    regret_interval: tuple[float, float]
    optimal_share: float
    elo: float
    elo_interval: tuple[float, float]
    games: int


class Scoring(NamedTuple):
    """How players are scored; scores of two ways are never put together.

    Attributes:
        games: Games against each anchor, even, half from either seat.
        anchors: Who is played. Their ratings stand as stored with the package.
        opening_turns: Random turns that make an opening; 0 for balanced ones.
        opening_set: Which openings.
        seed: Seed of openings and of all who play.
    """

    games: int
    anchors: tuple[str, ...]
    opening_turns: int
    opening_set: Openings
    seed: int

    def score(self, player: AgentLike, ruleset: Ruleset) -> Score:
        """Score a player, on one thread."""
        rated = entrant(player, ruleset, num_threads=1)
        rated.agent.num_threads = 1
        rated.agent.seed(self.seed)
        regret = measure_regret(rated.agent, ruleset).overall
        ladder = stored_ladder(ruleset).ratings()
        stands = rated.identity in ladder.names
        if stands:
            elo, low, high = ladder.of(rated.identity)
        else:
            # The same openings for everybody: what is left to differ is who plays.
            matches = [
                play_matches(
                    rated.agent,
                    anchor,
                    ruleset,
                    games=self.games,
                    opening_turns=self.opening_turns,
                    opening_set=self.opening_set,
                    seed=self.seed,
                    num_threads=1,
                )
                for anchor in self.anchors
            ]
            fixed = ladder.only([name for name in ladder.names if name in self.anchors])
            elo, low, high = fit_ratings(matches, fixed=fixed).of(rated.agent.spec)
        games = 0 if stands else self.games * len(self.anchors)
        share = regret.optimal_share
        return Score(regret.mean_regret, regret.interval, share, elo, (low, high), games)


def scoring_of(
    ruleset: Ruleset, games: int = GAMES, anchors: Sequence[str] | None = None, seed: int = 0
) -> Scoring:
    """Return how players of a ruleset are scored.

    Args:
        ruleset: A ruleset with a stored ladder and solved positions.
        games: Games against each anchor, even.
        anchors: Some of its ladder; None: all that are quick.
        seed: Seed of openings and of all who play.

    Raises:
        InvalidMatch: games is out of range, or an anchor is none.
        InvalidArgument: seed is no whole number of at least 0.
        NoLadder: None is stored for the ruleset.
        MancalaError: It has no solved positions.
    """
    games, seed = 2 * num_pairs(games), whole("seed", seed, 0)
    ladder = stored_ladder(ruleset)
    if not has_exact_positions(ruleset):
        raise MancalaError(f"no solved positions of {ruleset.name} are shipped, so nobody has a regret there")
    chosen = ladder.quick_anchors if anchors is None else tuple(dict.fromkeys(anchors))
    wrong = next((anchor for anchor in chosen if anchor not in ladder.anchors), None)
    if wrong is not None or not chosen:
        raise InvalidMatch(
            f"anchors must be some of {', '.join(ladder.anchors)}, not {wrong or 'none at all'!r}"
        )
    # The ladder's own, which learners do not train on wherever enough are held out.
    return Scoring(games, chosen, ladder.opening_turns, ladder.opening_set, seed)


@lru_cache
def regret_of_random(ruleset: Ruleset) -> float:
    """Return the expected mean regret of random play over the solved positions, seeds a move."""
    values = positions(ruleset).action_values.astype(np.float64)
    is_legal = values != ILLEGAL
    regrets = np.where(is_legal, values.max(axis=1, keepdims=True) - values, 0)
    return float((regrets.sum(axis=1) / is_legal.sum(axis=1)).mean())
