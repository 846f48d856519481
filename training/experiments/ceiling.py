"""Measure how well a network can evaluate actions when it is fitted to a deep search instead of self-play.

python training/experiments/ceiling.py --positions 60000 --expert minimax:10 runs/layli_goobalay/final.zip

This fits networks with several observations and sizes to the action values of the search, the expert. It
prints a Markdown table of these networks and, for comparison, of the agents that you name.

The table shows how often an agent chooses one of the best actions, and its mean regret. Both are measured
with the expert's values on held-out positions, and with exact values on the bundled solved positions.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console

from mancala_env import agents, observations, rulesets, solver
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.errors import MancalaError
from mancala_env.evaluation.regret import has_exact_positions
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.rulesets import Ruleset
from mancala_env.training.config import DistillationConfig
from mancala_env.training.distillation import evaluate, fit
from mancala_env.training.expert_labels import (
    Agreement,
    ExpertLabels,
    agreement,
    label_positions,
    without_illegal,
)

_COLUMNS = ("agent", "best action", "mean regret", "best action, solved", "mean regret, solved", "seconds")
_EXPLORATION, _OPENING_TURNS = 0.25, 4


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        name: Agent, or observation and size of a network.
        held_out: Agreement with the expert on held-out positions in which there is a choice.
        solved: Agreement with exact values on the solved positions; None if none are bundled.
        seconds: Time to fit the network; 0 for other agents.
    """

    name: str
    held_out: Agreement
    solved: Agreement | None
    seconds: float = 0.0


def measure(ruleset: Ruleset, options: argparse.Namespace, console: Console) -> Iterator[Row]:
    """Fit a network with each observation in each size, and evaluate them and the agents of the options."""
    began = time.perf_counter()
    training, held_out = label_positions(
        options.expert,
        ruleset,
        options.positions,
        exploration=_EXPLORATION,
        opening_turns=_OPENING_TURNS,
        seed=options.seed,
        num_threads=1,
    ).split()
    console.print(f"{options.expert} labelled {len(training):,} positions to learn from in ", end="")
    console.print(f"{time.perf_counter() - began:.0f} s, and {len(held_out):,} others", highlight=False)
    sets = [held_out.select(held_out.is_legal.sum(axis=1) > 1)]
    if has_exact_positions(ruleset):
        sets.append(_solved_positions(ruleset, training.values.shape[1]))
    settings = DistillationConfig(temperature=options.temperature, epochs=options.epochs)
    for kind, size in itertools.product(options.kinds, options.hidden):
        torch.manual_seed(options.seed)
        config = NetworkConfig(observation=kind, hidden=size, layers=2, seed_levels=10)
        network = build_network(ruleset, training.values.shape[1], config)
        began = time.perf_counter()
        fit(network, kind, training, settings, value_weight=0.5, seed=options.seed)
        seconds = time.perf_counter() - began
        found = [Agreement(*evaluate(network, kind, labels, options.temperature)[:2]) for labels in sets]
        console.print(f"{kind}, {size} hidden: {found[0].accuracy:.1%}", highlight=False)
        yield Row(f"{kind}, {size} hidden", found[0], found[1] if found[1:] else None, seconds)
    for spec in options.agents:
        agent = agents.make(spec, ruleset, seed=options.seed, num_threads=1)
        found = [agreement(labels.values, agent.act(labels.games)) for labels in sets]
        yield Row(spec, found[0], found[1] if found[1:] else None)


def _solved_positions(ruleset: Ruleset, num_actions: int) -> ExpertLabels:
    bundled = solver.positions(ruleset)
    # Sets of rulesets with territory have an action for every hole. A single round needs one row.
    values = without_illegal(bundled.action_values[:, :num_actions], solver.ILLEGAL)
    outcomes = np.zeros(len(bundled), np.float32)
    return ExpertLabels(ruleset, bundled.games, values, outcomes, np.arange(len(bundled)), 0)


@in_one_line("ceiling.py")
def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog="training/experiments/ceiling.py", description=__doc__)
    parser.add_argument("agents", nargs="*", help="specs of agents to evaluate as well")
    parser.add_argument("--ruleset", default="layli_goobalay", help="name of the ruleset")
    parser.add_argument("--expert", default="minimax:10", help="spec of the search to fit to")
    parser.add_argument("--positions", type=int, default=60_000, help="number of positions to label")
    parser.add_argument(
        "--kinds",
        nargs="+",
        default=["afterstates", "replies", "lines", "leaves"],
        help="observations of the networks",
    )
    parser.add_argument(
        "--hidden", nargs="+", type=int, default=[64, 128, 256], help="units per hidden layer"
    )
    parser.add_argument("--epochs", type=int, default=10, help="number of passes over the positions")
    parser.add_argument(
        "--temperature",
        type=float,
        default=1.0,
        help="softmax temperature of the targets, in seeds; 0 uses only the best actions",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    words = parser.parse_args(arguments)
    torch.set_num_threads(1)
    console = Console()
    ruleset = rulesets.lookup(words.ruleset)
    kinds = observations.kinds_of(ruleset)
    unknown = sorted(set(words.kinds) - set(kinds))
    if unknown:
        raise MancalaError(
            f"--kinds must be of {', '.join(kinds)} for {ruleset.name}, not {', '.join(unknown)}"
        )
    rows = [*measure(ruleset, words, console)]
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    for name, held_out, solved, seconds in rows:
        exact = (f"{solved.accuracy:.1%}", f"{solved.regret:.2f}") if solved else ("", "")
        cells = (name, f"{held_out.accuracy:.1%}", f"{held_out.regret:.2f}", *exact, f"{seconds:.0f}")
        print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
