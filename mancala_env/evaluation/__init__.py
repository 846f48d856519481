"""Evaluation of agents: matches, ratings on the stored ladder, and regret against perfect play.

| module | content |
|---|---|
| `agent_evaluation` | `evaluate`: ratings and regret of agents in one call |
| `matches` | `play_matches`: matches between two agents, and their results |
| `match_options` | the options of matches, round robins and evaluations |
| `round_robin` | many matches with a results file to resume from |
| `results_file` | results files: locked, appended line by line |
| `ray_matches` | matches on a Ray cluster |
| `openings` | the positions from which games start |
| `balanced_openings` | the bundled balanced openings |
| `fair_openings` | the bundled fair openings, whose values are proved |
| `ratings` | Elo ratings with intervals |
| `ladder` | the stored ladder: bundled ratings of scripted agents |
| `prepared` | `prepare`: what a ruleset outside the catalogue needs for an evaluation |
| `regret` | regret: the seeds that moves lose compared with perfect play |
| `exploit` | exploitability: the best reply to an agent, and how much it wins |
| `exploit_search`, `exploit_kernels` | the search for it |
| `text_tasks` | the sets of text tasks on which language models are compared |
| `intervals` | 95 % intervals |
| `report`, `plots`, `html_page` | reports as HTML and PNG files |
"""

from mancala_env.evaluation.agent_evaluation import Evaluation, evaluate
from mancala_env.evaluation.exploit import BestReply, Exploitability, exploitability
from mancala_env.evaluation.exploit_search import NotAFunction
from mancala_env.evaluation.fair_openings import FairOpening, NoFairOpenings, fair_openings
from mancala_env.evaluation.ladder import Ladder, NoLadder, stored_ladder
from mancala_env.evaluation.matches import MatchResult, MatchResults, play_matches, play_openings
from mancala_env.evaluation.openings import InvalidMatch, Openings, OpeningSet, openings
from mancala_env.evaluation.prepared import prepare
from mancala_env.evaluation.ratings import PairCounts, Ratings, fit_ratings
from mancala_env.evaluation.regret import (
    Regret,
    RegretDifference,
    measure_regret,
    own_games_regret,
    regret_difference,
)
from mancala_env.evaluation.report import write_report
from mancala_env.evaluation.results_file import InvalidResults
from mancala_env.evaluation.round_robin import round_robin

__all__ = [
    "BestReply",
    "Evaluation",
    "Exploitability",
    "FairOpening",
    "InvalidMatch",
    "InvalidResults",
    "Ladder",
    "MatchResult",
    "MatchResults",
    "NoFairOpenings",
    "NoLadder",
    "NotAFunction",
    "OpeningSet",
    "Openings",
    "PairCounts",
    "Ratings",
    "Regret",
    "RegretDifference",
    "evaluate",
    "exploitability",
    "fair_openings",
    "fit_ratings",
    "measure_regret",
    "openings",
    "own_games_regret",
    "play_matches",
    "play_openings",
    "prepare",
    "regret_difference",
    "round_robin",
    "stored_ladder",
    "write_report",
]
