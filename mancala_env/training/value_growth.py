"""Train a value network for search from scratch, by self-play of the search.

mancala grow-value layli_goobalay

Each generation repeats three steps:

1. A minimax search plays itself, with the best network so far; in the first generation, with the count of
   seeds. Games start with random openings and deviations.
2. A network is fitted to the games of the last few generations, without boards that are held out for
   evaluation.
3. The search with the new network plays a match against the search with the best network so far.

The loop ends when several generations in a row do not gain. The best network is written as a safetensors
file, for value+minimax and value+mcts. No policy network is needed.

The target of a position is a mean of the search's value, its values later in the game and the final margin,
weighted as in TD(lambda) (Sutton 1988). The search's value is exact if the search reaches the end of the
round.

Symbols: N positions, G generations.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
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
from mancala_env.networks.value import ValueWeights
from mancala_env.networks.value_files import ValueFile, ruleset_of
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.search.limit import MOST_TURNS, Limit
from mancala_env.training import progress_bar
from mancala_env.training.run_folder import write_atomically
from mancala_env.training.value_fit import Played, fit, play, training_openings
from mancala_env.version import __version__

# lambda: 0.5, 0.7 and 0.9 gave the same strength in four generations of layli_goobalay.
_LATER = 0.7
# Number of generations, including the current one, whose games a network is fitted to.
_REMEMBERED = 3
# Number of generations in a row without a gain that end the loop.
_PATIENCE = 3
_PAIRS, _OPENING_TURNS = 1000, 4

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class GrowthSettings:
    """Settings of value growth; on one torch thread, equal settings give equal networks."""

    games: int = setting("number of games in each generation", 8_000, low=1, high=10**7)
    depth: int = setting("depth of the search in turns", 4, low=1, high=MOST_TURNS)
    generations: int = setting("maximum number of generations", 40, low=1, high=10_000)
    seed: int = setting("random seed", 1, low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        check(self)


class Generation(NamedTuple):
    """A generation (1..G), its value network, and the number of positions that it was fitted to.

    `match` is against the search with the best earlier network, `turns` are those of all games so far, and
    `gains` tells whether this network is the best so far.
    """

    number: int
    positions: int
    weights: ValueWeights
    match: MatchResult
    turns: int
    gains: bool


def searcher(ruleset: Ruleset, depth: int, weights: ValueWeights | None, seed: int) -> MinimaxAgent:
    """Return a minimax agent with a value network at its leaves; None evaluates leaves by the count."""
    network = None if weights is None else weights.packed()
    name = f"minimax:{depth}" if weights is None else f"value+minimax:{depth}"
    return MinimaxAgent(ruleset, Limit(depth=depth), spec=name, seed=seed, network=network)


def targets(played: Played, later: float = _LATER) -> np.ndarray:
    """Return the target of each position, float64 `[N]`: seeds for its player to move.

    `later` is lambda, the weight of values later in the game, 0 to 1.
    """
    if not len(played.game):
        return np.zeros(0)
    sign = np.where(played.games[:, PLAYER_COLUMN] == SOUTH, 1.0, -1.0)
    found, end = sign * played.found, sign * played.margins  # South's, to go from turn to turn
    worth = np.empty(len(found))
    is_last = np.append(played.game[1:] != played.game[:-1], True)
    after = 0.0
    for n in range(len(found) - 1, -1, -1):
        after = end[n] if is_last[n] else after
        worth[n] = after = (1 - later) * found[n] + later * after
    return sign * worth


def generations_of(ruleset: Ruleset, settings: GrowthSettings) -> Iterator[Generation]:
    """Play and fit, generation after generation; each plays with the best earlier network.

    Raise InvalidArgument if there are too few games to learn from.
    """
    most, depth, seed = settings.generations, settings.depth, settings.seed
    seeds = np.random.SeedSequence(seed).generate_state(most, np.uint64) >> np.uint64(1)
    drawn = training_openings(ruleset, _PAIRS, _OPENING_TURNS, seed)
    learned: list[tuple[np.ndarray, np.ndarray]] = []
    best: Generation | None = None
    turns = 0
    for number, of_generation in enumerate(seeds.tolist(), 1):
        weights = None if best is None else best.weights
        played = play(searcher(ruleset, depth, weights, of_generation), settings.games, of_generation)
        turns += played.turns
        # Games may reach boards that are held out for evaluation.
        is_learned = rows_in_set(ruleset, played.games, "training")
        learned = [*learned, (played.games[is_learned], targets(played)[is_learned])][-_REMEMBERED:]
        positions, worth = (np.concatenate(parts) for parts in zip(*learned, strict=True))
        if not len(positions):
            why = "none of them left a position to learn from"
            raise InvalidArgument(f"games must be more than {settings.games}: {why}")
        found = fit(ruleset, positions, worth, of_generation >> 1)
        players = (searcher(ruleset, depth, each, seed) for each in (found, weights))
        match = play_openings(*players, drawn)
        # Where the opening decides every round (gabata_3), the margin tells more than the win rate.
        gains = best is None or (match.win_rate, match.mean_margin) > (0.5, 0.0)
        one = Generation(number, len(positions), found, match, turns, gains)
        best = one if gains else best
        yield one


def grow(
    ruleset: Ruleset, settings: GrowthSettings, say: Say = print
) -> tuple[list[Generation], KeyboardInterrupt | None]:
    """Play and fit as long as networks gain; `say` receives messages about the progress.

    Return the generations, and the exception of a stop signal if one ended the loop. Before the first
    generation, that exception is raised.
    """
    grown: list[Generation] = []
    try:
        for one in generations_of(ruleset, settings):
            low, high = one.match.interval
            say(
                f"generation {one.number}: {one.positions:,} positions; {one.match.win_rate:.1%} "
                f"({low:.1%} to {high:.1%}) against the best before it"
            )
            grown.append(one)
            if one.number - best_of(grown).number >= _PATIENCE:
                say(f"the last {_PATIENCE} gained nothing")
                break
    except KeyboardInterrupt as stop:
        if not grown:
            raise
        return grown, stop
    return grown, None


def best_of(grown: list[Generation]) -> Generation:
    """Return the best generation; the first always gains."""
    return [one for one in grown if one.gains][-1]


def grow_file(ruleset: Ruleset, out: Path, settings: GrowthSettings, say: Say = print) -> None:
    """Grow a value network and write it atomically, or raise RunFolderError.

    After a stop signal, the best generation so far is written, if there is one; then Interrupted is raised.
    """
    grown, stop = grow(ruleset, settings, say)
    best = best_of(grown)
    name = ruleset.name if ruleset.is_bundled else f"{ruleset.name}.yaml"
    options = " ".join(f"--{name} {value}" for name, value in asdict(settings).items())
    made = {
        "command": f"mancala grow-value {name} {options}",
        "version": __version__,
        "generations": f"{len(grown)}, the best is number {best.number}" + ("; interrupted" if stop else ""),
        "games": f"{settings.games * len(grown):,} of the search against itself",
        "positions": f"{best.positions:,} in the last fit",
    }
    write_atomically(out, ValueFile(ruleset, best.weights, made).to_bytes())
    if stop:
        raise Interrupted(f"{out} holds generation {best.number}, the best so far") from stop


def make_parser(program: str) -> Parser:
    """Return the parser of the command."""
    parser = Parser(prog=program, description=(__doc__ or "").partition("\n\nSymbols")[0])
    form = "ruleset name, such as layli_goobalay, or path of a ruleset file"
    parser.add_argument("ruleset", nargs="?", help=form)
    parser.add_argument("--ruleset", dest="named_ruleset", metavar="RULESET", help="the same as an option")
    parser.add_argument("--out", type=Path, help=f"file to write; default value_RULESET{SUFFIX}")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing value network")
    for name, kind, default, meaning in settings_of(GrowthSettings):
        form = f"{meaning.text}; default {default:,}"
        parser.add_argument(f"--{name}", type=kind, default=default, help=form)
    return parser


@in_one_line("mancala grow-value")
def main(arguments: list[str] | None = None, program: str = "mancala grow-value") -> int:
    """Run the command and return the exit status."""
    parser = make_parser(program)
    options = parser.parse_args(arguments)
    named = [name for name in (options.ruleset, options.named_ruleset) if name is not None]
    if len(named) != 1:
        parser.error("name a ruleset" if not named else f"name one ruleset, not {' and '.join(named)}")
    ruleset = lookup(named[0])
    settings = GrowthSettings(**{each.name: getattr(options, each.name) for each in fields(GrowthSettings)})
    out = options.out or Path(f"value_{ruleset.name}{SUFFIX}")
    check_out(out, read=ruleset_of, overwrite=options.overwrite)
    torch.set_num_threads(1)  # operations this small gain nothing from a second one
    say = partial(progress_bar.say, Console())
    grow_file(ruleset, out, settings, say)
    say(f"Written: {out}; play it as value+minimax:6:{out} or value+mcts:1000:{out}")
    return 0
