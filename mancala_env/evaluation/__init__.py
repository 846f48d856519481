"""The arena: matches, ratings, the ladder, and regret against perfect play."""

from mancala_env.evaluation.evaluate import Evaluation, evaluate
from mancala_env.evaluation.ladder import Ladder, NoLadder, stored_ladder
from mancala_env.evaluation.matches import MatchResult, play_matches, play_openings
from mancala_env.evaluation.openings import InvalidMatch, Openings, OpeningSet, openings
from mancala_env.evaluation.ratings import PairCounts, Ratings, fit_ratings
from mancala_env.evaluation.regret import (
    Regret,
    RegretDifference,
    measure_regret,
    own_games_regret,
    regret_difference,
)
from mancala_env.evaluation.report import write_report
from mancala_env.evaluation.round_robin import InvalidResults, round_robin

__all__ = [
    "Evaluation",
    "InvalidMatch",
    "InvalidResults",
    "Ladder",
    "MatchResult",
    "NoLadder",
    "OpeningSet",
    "Openings",
    "PairCounts",
    "Ratings",
    "Regret",
    "RegretDifference",
    "evaluate",
    "fit_ratings",
    "measure_regret",
    "openings",
    "own_games_regret",
    "play_matches",
    "play_openings",
    "regret_difference",
    "round_robin",
    "stored_ladder",
    "write_report",
]
