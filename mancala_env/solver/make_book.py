"""Make opening books: ``python -m mancala_env.solver.make_book layli_goobalay --turns 4``."""

import argparse
import time
from importlib import resources

import numpy as np

from mancala_env.engine.state import RIGHTMOST_OPENING, encode
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.book import UNKNOWN, InvalidBook, checksum_of, keys_of, opening_positions
from mancala_env.solver.exact import Solver


def make(ruleset: Ruleset, turns: int, budget: float, memory_mb: float) -> tuple[np.ndarray, int]:
    """Find the rests of the opening positions, nearest the start first, for `budget` processor seconds.

    Returns:
        rests as Book has them, and the checksum of the positions.

    Raises:
        InvalidBook: The ruleset's start depends on the seat, which a book cannot tell.
    """
    if encode(ruleset).opening == RIGHTMOST_OPENING:
        raise InvalidBook(f"no book for {ruleset.name}: South's first turn is restricted, North's is not")
    games, depths = opening_positions(ruleset, turns)
    rests = np.full(len(games), UNKNOWN, np.int16)
    solver = Solver(ruleset, memory_mb=memory_mb, use_book=False)
    started = time.process_time()
    for n in range(len(games)):
        if time.process_time() - started > budget:
            break
        position = Position.from_games(ruleset, games, n)
        owned = [int(position.seeds[position.owner == player].sum()) for player in (0, 1)]
        rests[n] = solver.value(position) - owned[position.player] + owned[1 - position.player]
        if n + 1 == len(games) or depths[n + 1] != depths[n] or n % 100 == 0:
            seconds = time.process_time() - started
            print(f"  turn {depths[n]}: {n + 1} of {len(games)} positions, {seconds:.0f} s", flush=True)
    return rests, checksum_of(keys_of(ruleset, games))


def main() -> None:
    """Make the books of the rulesets named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m mancala_env.solver.make_book", description=__doc__)
    parser.add_argument("rulesets", nargs="+")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--budget", type=float, default=600.0, help="processor seconds for one ruleset")
    parser.add_argument("--memory-mb", type=float, default=2048.0)
    parser.add_argument("--folder", default=str(resources.files("mancala_env").joinpath("data")))
    arguments = parser.parse_args()
    for name in arguments.rulesets:
        print(name, flush=True)
        rests, checksum = make(lookup(name), arguments.turns, arguments.budget, arguments.memory_mb)
        path = f"{arguments.folder}/book_{name}.npz"
        np.savez_compressed(path, turns=arguments.turns, rests=rests, checksum=checksum)
        print(f"{name}: {int((rests != UNKNOWN).sum())} values", flush=True)


if __name__ == "__main__":
    main()
