"""The value-network loop: a search plays itself, a network is fitted, the search plays with it, and so on.

The library behind `mancala grow-value`, with generations by the budget. Who plays is minimax, four turns
deep, with the network at its leaves: compare it with the searches among the lines, not with networks that
play alone.
"""

import torch

from mancala_env._util.tensors import SUFFIX
from mancala_env.benchmark import Point
from mancala_env.networks.value_files import ValueFile
from mancala_env.training.value_growth import GrowthSettings, generations_of

TASKS = ("anything",)

DEPTH = 4
TURNS_OF_A_GAME = 40  # more than rounds have on average
# Games of a generation; those of the last three are learned from. Many are worth more than many generations.
FEWEST_GAMES, GAMES_A_MINUTE, MOST_GAMES = 500, 1000, 10_000
FEWEST_GENERATIONS = 8
MOST_GENERATIONS = 10_000


def prepare(task, ruleset):
    """Compile the searches, by a generation of a few games."""
    next(generations_of(ruleset, GrowthSettings(games=2, depth=DEPTH, generations=1)))


def learn(task, ruleset, budget, seed, folder):
    """Grow, and yield the best network where it is to be measured."""
    torch.set_num_threads(1)
    if budget.steps:
        games = max(10, budget.steps // (TURNS_OF_A_GAME * FEWEST_GENERATIONS))
    else:
        games = max(FEWEST_GAMES, int(GAMES_A_MINUTE * budget.core_minutes))
    games = min(games, MOST_GAMES)
    best, steps, file = None, 0, folder / f"value{SUFFIX}"
    settings = GrowthSettings(games=games, depth=DEPTH, generations=MOST_GENERATIONS, seed=seed)
    for one in generations_of(ruleset, settings):
        if best is not None and budget.steps and one.turns > budget.steps:
            break  # nobody knows how long games are before they are played; the one before counts
        best, steps = one if best is None or one.gains else best, one.turns
        file.write_bytes(ValueFile(ruleset, best.weights, {}).to_bytes())
        if budget.is_due(steps):
            yield Point(f"value+minimax:{DEPTH}:{file}", steps)
        if not budget.allows(steps + games * TURNS_OF_A_GAME):
            break
    yield Point(f"value+minimax:{DEPTH}:{file}", steps)
