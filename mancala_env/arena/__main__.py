"""Play and store the ladders that agents are measured against.

python -m mancala_env.arena [RULESET ...] [--games 400] [--slow-games 64] [--results ladder.jsonl]
    [--without RUNG WHY]
"""

import argparse
from pathlib import Path

from mancala_env import rulesets
from mancala_env.arena.ladder import play_ladder, store


def main() -> None:
    """Play the ladders of the rulesets named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m mancala_env.arena", description="Play and store the ladders."
    )
    parser.add_argument("rulesets", nargs="*", default=rulesets.names(), help="all by default")
    parser.add_argument("--games", type=int, default=400, help="games of each match (400)")
    parser.add_argument("--slow-games", type=int, default=64, help="games of matches of perfect (64)")
    parser.add_argument("--results", type=Path, help="results file, to go on after an interruption")
    parser.add_argument("--without", nargs=2, action="append", default=[], metavar=("RUNG", "WHY"))
    arguments = parser.parse_args()
    for name in arguments.rulesets:
        ladder = play_ladder(
            name,
            games=arguments.games,
            slow_games=arguments.slow_games,
            results=arguments.results,
            left_out=dict(arguments.without),
        )
        store(ladder)
        rated = ladder.ratings().as_dict()["agents"]
        print(name, *(f"{row['agent']} {row['elo']:.0f}" for row in rated), sep="  ", flush=True)


if __name__ == "__main__":
    main()
