"""The arena: matches, ratings, the ladder, and regret against perfect play."""

from mancala_env.arena.matches import InvalidMatch, MatchResult, openings, play_matches, play_openings
from mancala_env.arena.ratings import PairCounts, Ratings, fit_ratings
from mancala_env.arena.round_robin import InvalidResults, round_robin

__all__ = [
    "InvalidMatch",
    "InvalidResults",
    "MatchResult",
    "PairCounts",
    "Ratings",
    "fit_ratings",
    "openings",
    "play_matches",
    "play_openings",
    "round_robin",
]
