"""Find the balanced openings of rulesets: ``python -m tools.make_openings layli_goobalay``."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import DATA, bundled_file
from mancala_env.agents.searchers import ValueMinimaxAgent
from mancala_env.engine.holdout import rows_in_set
from mancala_env.errors import MancalaError
from mancala_env.networks.value import certain_leads
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.search.limit import Limit
from mancala_env.solver.book import UNKNOWN, Book, keys_of, load_book, opening_positions

WITHIN, TURNS, DEPTH, MOST = 2.0, (3, 6), 10, 400
# Maximum number of positions to search; a random sample of more.
_MOST_SEARCHED = 3000


def margins_by_book(book: Book, games: np.ndarray) -> np.ndarray:
    """Return the leads of the players to move after best play, float64 `[N]`, in seeds; NaN if unknown."""
    known = dict(zip(keys_of(book.ruleset, book.games).tolist(), book.rests.tolist(), strict=True))
    rests = np.array([known.get(key, UNKNOWN) for key in keys_of(book.ruleset, games).tolist()], np.int64)
    return np.where(rests == UNKNOWN, np.nan, certain_leads(book.ruleset, games) + rests)


def find(
    ruleset: Ruleset, turns: tuple[int, int], within: float, depth: int, most: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find balanced openings.

    Args:
        ruleset: The ruleset.
        turns: Minimum and maximum number of turns from the start.
        within: Maximum margin of a balanced opening, in seeds.
        depth: Search depth in turns for positions that the opening book lacks.
        most: Maximum number of openings; a random sample of more.
        seed: Random seed.

    Returns:
        uint64 `[N, NUM_COLUMNS]`, the openings as games, and float32 `[N]`, the margins in seeds for the
        players to move.
    """
    draw = np.random.default_rng(seed)
    games, depths = opening_positions(ruleset, turns[1], most=50 * _MOST_SEARCHED)
    games = games[(depths >= turns[0]) & rows_in_set(ruleset, games, "evaluation")]
    book = load_book(ruleset)
    margins = np.full(len(games), np.nan) if book is None else margins_by_book(book, games)
    unknown = np.flatnonzero(np.isnan(margins))
    unknown = np.sort(draw.permutation(unknown)[:_MOST_SEARCHED])
    search = ValueMinimaxAgent(ruleset, Limit(depth=depth), spec=f"value+minimax:{depth}", seed=seed)
    if len(unknown):
        search.act(games[unknown])
        margins[unknown] = search.last_values
    even = np.flatnonzero(np.abs(margins) <= within)  # False for NaN
    even = np.sort(draw.permutation(even)[:most])
    return games[even], margins[even].astype(np.float32)


@in_one_line("make_openings", "the file of the current ruleset is unchanged")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_openings", description=__doc__)
    parser.add_argument("rulesets", nargs="+", help="names of rulesets")
    parser.add_argument("--turns", type=int, nargs=2, default=TURNS, help="minimum and maximum turns (3 6)")
    parser.add_argument("--within", type=float, default=WITHIN, help="maximum margin in seeds (2)")
    parser.add_argument("--depth", type=int, default=DEPTH, help="search depth in turns (10)")
    parser.add_argument("--most", type=int, default=MOST, help="maximum number of openings (400)")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    parser.add_argument("--folder", type=Path, default=DATA, help="folder to write to")
    options = parser.parse_args(arguments)
    for ruleset in [lookup(name) for name in options.rulesets]:
        games, margins = find(
            ruleset, tuple(options.turns), options.within, options.depth, options.most, options.seed
        )
        if not len(games):
            raise MancalaError(
                f"no opening of {ruleset.name} after {options.turns[0]} to {options.turns[1]} turns is "
                f"within {options.within:g} seeds of even; use a larger --within, or other --turns"
            )
        path = options.folder / bundled_file("openings", ruleset.name).name
        with written_whole(path) as file:
            np.savez_compressed(file, games=games, margins=margins)
        print(f"{ruleset.name}: {len(games)} openings", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
