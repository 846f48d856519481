"""Play the ladders of rulesets, and write them to `mancala_env/data/ladder.json`.

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


@in_one_line("make_ladders", "finished games are in the file of --results, if it is given")
def main(arguments: Sequence[str] | None = None) -> int:
    """Play the ladders of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_ladders", description="Play and store ladders of rulesets.")
    parser.add_argument(
        "rulesets", nargs="*", default=rulesets.names(), help="names of rulesets; by default all"
    )
    parser.add_argument("--games", type=int, default=400, help="number of games per match; even (400)")
    parser.add_argument(
        "--slow_games",
        type=int,
        default=64,
        help="number of games per match of perfect and perfect+traps; even (64)",
    )
    parser.add_argument("--results", type=Path, help="file of finished games, to resume from and append to")
    parser.add_argument("--records", type=Path, help="file to append the games to, for mancala replay")
    parser.add_argument(
        "--without",
        nargs=2,
        action="append",
        default=[],
        metavar=("ANCHOR", "WHY"),
        help="anchor to exclude, and the reason",
    )
    parser.add_argument(
        "--opening_set",
        choices=OPENINGS,
        help="set of openings; by default the bundled balanced openings or, without them, those held out for "
        "evaluation",
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
            excluded=dict(options.without),
        )
        store(ladder)
        rated = ladder.ratings().as_dict()["agents"]
        print(name, *(f"{row['agent']} {row['elo']:z.0f}" for row in rated), sep="  ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
