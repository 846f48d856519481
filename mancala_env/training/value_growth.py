"""Grow a value network for search from nothing.

mancala grow-value layli_goobalay

A search plays itself, a network is fitted to its games, the search plays itself with that network, and so on.
Generation 0 is minimax on the count. Its games begin with openings and deviations that lead to positions as a
search meets them; boards that are held out for evaluation are neither opened with nor learned from. A network
is fitted to the games of the last few generations, and the same search with it plays a match against the best
so far. When several in a row have not won that match, the loop ends. The best is written, a safetensors file
that value+minimax and value+mcts play with. No policy network is needed.

What a position is worth (its target) is a mean of what the search found there, what it found later in the
game and how the game ended, weighted as in TD(lambda) (Sutton 1988). Where a search sees the round through,
what it found is exact. With --solve the exact solver is asked too: a position that it solves within so many
nodes has its exact value as target, and positions before it have that instead of what came later.

Symbols: N positions, G generations.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console

from mancala_env._util.command_line import Interrupted, Parser, check_out, in_one_line
from mancala_env._util.settings import check, setting, settings_of
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents.searchers import MinimaxAgent
from mancala_env.engine.holdout import rows_in_set
from mancala_env.engine.state import PLAYER_COLUMN, SOUTH
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.matches import MatchResult, play_openings
from mancala_env.games.position import Position
from mancala_env.networks.value import ValueWeights
from mancala_env.networks.value_files import ValueFile, ruleset_of
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.search.limit import MOST_TURNS, Budget
from mancala_env.solver import Solver
from mancala_env.training.run_folder import write_atomically
from mancala_env.training.value_fit import Played, fit, play, training_openings
from mancala_env.version import __version__

_SOLVER_MB = 64
# lambda: 0.5, 0.7 and 0.9 gave the same strength in four generations of layli_goobalay.
_LATER = 0.7
# A generation learns from the games of so many, its own included.
_REMEMBERED = 3
# Generations in a row that gain nothing before the loop ends.
_PATIENCE = 3
_PAIRS, _OPENING_TURNS = 1000, 4

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class GrowthSettings:
    """How a network is grown; the same settings give the same networks, on one thread of torch."""

    games: int = setting("number of games in each generation", 8_000, low=1, high=10**7)
    depth: int = setting("depth of the search in turns", 4, low=1, high=MOST_TURNS)
    generations: int = setting("maximum number of generations", 40, low=1, high=10_000)
    seed: int = setting("random seed", 1, low=0, high=2**63 - 1)
    # What it gains, nothing, is in docs/experiments.md.
    solve: int = setting(
        "maximum number of nodes of the exact solver for a position; 0 to do without it", 0, low=0, high=10**9
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def options(self) -> str:
        """The options of mancala grow-value that say this."""
        told = asdict(self)
        if not self.solve:
            del told["solve"]
        return " ".join(f"--{name} {value}" for name, value in told.items())


class Generation(NamedTuple):
    """A value network and how it came.

    Attributes:
        number: 1 for the first.
        positions: N that it was fitted to.
        weights: The network.
        match: The search with it against the search with the best before it.
        turns: Turns of all games learned from by then.
        gains: Whether it is the best so far.
    """

    number: int
    positions: int
    weights: ValueWeights
    match: MatchResult
    turns: int
    gains: bool


class Growth(NamedTuple):
    """What came of it.

    Attributes:
        best: The generation that is kept.
        generations: All of them.
        is_whole: Whether it went to its end; False after Ctrl-C.
    """

    best: Generation
    generations: list[Generation]
    is_whole: bool


def searcher(ruleset: Ruleset, depth: int, weights: ValueWeights | None, seed: int) -> MinimaxAgent:
    """Return minimax with a value network at its leaves; None: with the count."""
    network = None if weights is None else weights.packed()
    name = f"minimax:{depth}" if weights is None else f"value+minimax:{depth}"
    return MinimaxAgent(ruleset, Budget(depth), spec=name, seed=seed, network=network)


def exact_values(played: Played, solver: Solver, nodes: int) -> np.ndarray:
    """Return what positions are worth under best play to their players to move, float64 `[N]`, in seeds.

    Args:
        played: Games.
        solver: Of their ruleset; what it proves of a position helps with the earlier ones of the game.
        nodes: How many each position may take; NaN stands for those that take more.
    """
    exact = np.full(len(played.game), np.nan)
    for n in range(len(exact) - 1, -1, -1):
        position = Position.from_games(solver.ruleset, played.games, n)
        value = solver.value_within(position, nodes)
        if value is not None:
            mine, theirs = position.stores[position.player], position.stores[1 - position.player]
            exact[n] = mine - theirs + value
    return exact


def targets(played: Played, exact: np.ndarray | None = None, later: float = _LATER) -> np.ndarray:
    """Return what each position is worth to its player to move, float64 `[N]`, in seeds.

    Args:
        played: Games of a search, each in the order of its turns.
        exact: `[N]`, exact values, NaN where there is none; they are the targets there. None: none are known.
        later: Lambda: how much what comes later counts, from 0 (what was found there) to 1 (the end).
    """
    if not len(played.game):
        return np.zeros(0)
    sign = np.where(played.games[:, PLAYER_COLUMN] == SOUTH, 1.0, -1.0)
    found, end = sign * played.found, sign * played.margins  # South's, to go from turn to turn
    worth = np.full(len(found), np.nan) if exact is None else sign * exact
    is_last = np.append(played.game[1:] != played.game[:-1], True)
    after = 0.0
    for n in range(len(found) - 1, -1, -1):
        after = end[n] if is_last[n] else after
        if np.isnan(worth[n]):
            worth[n] = (1 - later) * found[n] + later * after
        after = worth[n]
    return sign * worth


def generations_of(ruleset: Ruleset, settings: GrowthSettings) -> Iterator[Generation]:
    """Play, fit and search anew, generation after generation; each plays with the best before it.

    Raises:
        InvalidArgument: The games are so few that there is nothing to learn from.
    """
    most, depth, seed = settings.generations, settings.depth, settings.seed
    seeds = np.random.SeedSequence(seed).generate_state(most, np.uint64) >> np.uint64(1)
    drawn = training_openings(ruleset, _PAIRS, _OPENING_TURNS, seed)
    learned: list[tuple[np.ndarray, np.ndarray]] = []
    best: Generation | None = None
    solver = Solver(ruleset, memory_mb=_SOLVER_MB) if settings.solve else None
    turns = 0
    for number, of_generation in enumerate(seeds.tolist(), 1):
        weights = None if best is None else best.weights
        played = play(searcher(ruleset, depth, weights, of_generation), settings.games, of_generation)
        turns += played.turns
        exact = exact_values(played, solver, settings.solve) if solver else None
        worth = targets(played, exact)
        # Boards held out for evaluation are met on the way, and are not learned from.
        is_learned = rows_in_set(ruleset, played.games, "training")
        learned = [*learned, (played.games[is_learned], worth[is_learned])][-_REMEMBERED:]
        positions, worth = (np.concatenate(parts) for parts in zip(*learned, strict=True))
        if not len(positions):
            raise InvalidArgument(
                f"games must be more than {settings.games}: none of them left a position to learn from"
            )
        found = fit(ruleset, positions, worth, of_generation >> 1)
        players = (searcher(ruleset, depth, each, seed) for each in (found, weights))
        match = play_openings(*players, drawn)
        # Where the opening decides every round (gabata_3), the margin says more than the score.
        gains = best is None or (match.win_rate, match.mean_margin) > (0.5, 0.0)
        one = Generation(number, len(positions), found, match, turns, gains)
        best = one if gains else best
        yield one


def grow(ruleset: Ruleset, settings: GrowthSettings, say: Say = print) -> Growth:
    """Play, fit and search anew until it no longer gains; `say` is told how far it is.

    Ctrl-C ends it early once there is a generation to keep.
    """
    grown: list[Generation] = []
    best: Generation | None = None
    is_whole = True
    try:
        for one in generations_of(ruleset, settings):
            low, high = one.match.interval
            say(
                f"generation {one.number}: {one.positions:,} positions; {one.match.win_rate:.1%} "
                f"({low:.1%} to {high:.1%}) against the best before it"
            )
            grown.append(one)
            if best is None or one.gains:
                best = one
            if one.number - best.number >= _PATIENCE:
                say(f"the last {_PATIENCE} gained nothing")
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        is_whole = False
    assert best is not None  # there is one generation at least
    return Growth(best, grown, is_whole)


def grow_file(ruleset: Ruleset, out: Path, settings: GrowthSettings, say: Say = print) -> None:
    """Grow a value network and write it, whole or not at all.

    Raises:
        RunFolderError: `out` cannot be written.
        Interrupted: After Ctrl-C; the best generation until then is written, if there was one.
    """
    growth = grow(ruleset, settings, say)
    made = {
        "command": f"mancala grow-value {ruleset.name} {settings.options}",
        "version": __version__,
        "generations": f"{len(growth.generations)}, of which number {growth.best.number} is kept"
        + ("" if growth.is_whole else "; interrupted"),
        "games": f"{settings.games * len(growth.generations):,} of the search against itself",
        "positions": f"{growth.best.positions:,} fitted to at last",
    }
    write_atomically(out, ValueFile(ruleset, growth.best.weights, made).to_bytes())
    if not growth.is_whole:
        raise Interrupted(f"{out} holds generation {growth.best.number}, the best so far")


@in_one_line("mancala grow-value")
def main(arguments: list[str] | None = None, program: str = "mancala grow-value") -> int:
    """Grow as the command line says; returns the exit status."""
    parser = Parser(prog=program, description=__doc__)
    parser.add_argument("ruleset", help="the game, such as layli_goobalay")
    parser.add_argument(
        "--out", type=Path, help=f"where to write; default: value_RULESET{SUFFIX} in this folder"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a value network that is there")
    known = list(settings_of(GrowthSettings))
    for name, kind, default, meaning in known:
        parser.add_argument(
            f"--{name}", type=kind, default=default, help=f"{meaning.text}; default {default:,}"
        )
    options = parser.parse_args(arguments)
    ruleset = lookup(options.ruleset)
    settings = GrowthSettings(**{each.name: getattr(options, each.name) for each in known})
    out = options.out or Path(f"value_{ruleset.name}{SUFFIX}")
    check_out(out, read=ruleset_of, overwrite=options.overwrite)
    console = Console()
    torch.set_num_threads(1)  # operations this small gain nothing from a second one

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    grow_file(ruleset, out, settings, say)
    say(f"Written: {out}; play it as value+minimax:6:{out} or value+mcts:1000:{out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
