"""The arena: matches, ratings, the ladder, and regret against perfect play."""

from mancala_env.arena.evaluation import Evaluation, evaluate
from mancala_env.arena.ladder import Ladder, NoLadder, stored_ladder
from mancala_env.arena.matches import MatchResult, play_matches, play_openings
from mancala_env.arena.openings import InvalidMatch, Openings, OpeningSet, openings
from mancala_env.arena.ratings import PairCounts, Ratings, fit_ratings
from mancala_env.arena.regret import (
    Regret,
    RegretDifference,
    measure_regret,
    own_games_regret,
    regret_difference,
)
from mancala_env.arena.report import write_report
from mancala_env.arena.round_robin import InvalidResults, round_robin

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
