"""Play and store the ladders that agents are measured against.

python -m tools.make_ladders [RULESET ...] [--games 400] [--slow_games 64] [--results ladder.jsonl]
    [--records games.txt] [--without ANCHOR WHY] [--opening_set SET]
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from mancala_env import rulesets
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.evaluation.ladder import play_ladder, store
from mancala_env.evaluation.openings import OPENINGS


@in_one_line("make_ladders", "finished games are in the file of --results, if one was named")
def main(arguments: Sequence[str] | None = None) -> int:
    """Play the ladders of the rulesets named on the command line; returns the exit status."""
    parser = Parser(prog="python -m tools.make_ladders", description="Play and store the ladders.")
    parser.add_argument("rulesets", nargs="*", default=rulesets.names(), help="all by default")
    parser.add_argument("--games", type=int, default=400, help="games of each match (400)")
    parser.add_argument(
        "--slow_games", type=int, default=64, help="games of matches of perfect and perfect+traps (64)"
    )
    parser.add_argument("--results", type=Path, help="results file, to go on after an interruption")
    parser.add_argument("--records", type=Path, help="file to append the games to, for mancala replay")
    parser.add_argument("--without", nargs=2, action="append", default=[], metavar=("ANCHOR", "WHY"))
    parser.add_argument(
        "--opening_set",
        choices=OPENINGS,
        help="by default balanced openings where they are shipped, else those held out for evaluation",
    )
    options = parser.parse_args(arguments)
    for name in [rulesets.lookup(name).name for name in options.rulesets]:
        ladder = play_ladder(
            name,
            games=options.games,
            slow_games=options.slow_games,
            opening_set=options.opening_set,
            results=options.results,
            records=options.records,
            left_out=dict(options.without),
        )
        store(ladder)
        rated = ladder.ratings().as_dict()["agents"]
        print(name, *(f"{row['agent']} {row['elo']:z.0f}" for row in rated), sep="  ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
