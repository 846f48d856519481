"""Measure how well a network can evaluate actions when it is fitted to a deep search instead of self-play.

python training/experiments/ceiling.py --positions 60000 --expert minimax:10 runs/layli_goobalay/final.zip

fits networks of several kinds and sizes to the values of the search. It prints a Markdown table of these
networks and, for comparison, of searches and checkpoints. The table shows how often an agent chooses one of
the best actions, and its mean regret. Both are measured with the expert's values over held-out positions with
a choice, and with exact values over the bundled solved positions.
"""

import sys
import time
from collections.abc import Sequence

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


def measure(
    ruleset: Ruleset,
    expert: str,
    positions: int,
    kinds: Sequence[str],
    hidden: Sequence[int],
    specs: Sequence[str],
    *,
    epochs: int,
    temperature: float,
    seed: int,
    console: Console,
) -> list[tuple[str, Agreement, Agreement | None, float]]:
    """Fit every kind of network in every size, and evaluate them and some agents.

    Returns:
        For each its name, its agreement on the held-out set, its agreement on the solved positions
        (None if none are bundled), and the seconds it took to fit.
    """
    began = time.perf_counter()
    training, held_out = label_positions(
        expert,
        ruleset,
        positions,
        exploration=_EXPLORATION,
        opening_turns=_OPENING_TURNS,
        seed=seed,
        num_threads=1,
    ).split()
    console.print(f"{expert} labelled {len(training):,} positions to learn from in ", end="")
    console.print(f"{time.perf_counter() - began:.0f} s, and {len(held_out):,} others", highlight=False)
    judged_by = [held_out.select(held_out.is_legal.sum(axis=1) > 1)]
    if has_exact_positions(ruleset):
        bundled = solver.positions(ruleset)
        # Sets of rulesets with territory have an action for every hole. A single round needs one row.
        values = without_illegal(bundled.action_values[:, : training.values.shape[1]], solver.ILLEGAL)
        outcomes = np.zeros(len(bundled), np.float32)
        judged_by.append(ExpertLabels(ruleset, bundled.games, values, outcomes, np.arange(len(bundled)), 0))
    settings = DistillationConfig(temperature=temperature, epochs=epochs)
    rows = []
    for kind in kinds:
        for size in hidden:
            torch.manual_seed(seed)
            config = NetworkConfig(observation=kind, hidden=size, layers=2, seed_levels=10)  # type: ignore[arg-type]
            network = build_network(ruleset, training.values.shape[1], config)
            began = time.perf_counter()
            fit(network, kind, training, settings, value_weight=0.5, seed=seed)
            seconds = time.perf_counter() - began
            found = [Agreement(*evaluate(network, kind, labels, temperature)[:2]) for labels in judged_by]
            rows.append((f"{kind}, {size} hidden", found[0], found[1] if found[1:] else None, seconds))
            console.print(f"{rows[-1][0]}: {found[0].accuracy:.1%}", highlight=False)
    for spec in specs:
        agent = agents.make(spec, ruleset, seed=seed, num_threads=1)
        found = [agreement(labels.values, agent.act(labels.games)) for labels in judged_by]
        rows.append((spec, found[0], found[1] if found[1:] else None, 0.0))
    return rows


@in_one_line("ceiling.py")
def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(
        prog="training/experiments/ceiling.py",
        description=__doc__,
    )
    parser.add_argument("agents", nargs="*", help="specs of agents to evaluate as well")
    parser.add_argument("--ruleset", default="layli_goobalay")
    parser.add_argument("--expert", default="minimax:10", help="spec of the search to fit to")
    parser.add_argument("--positions", type=int, default=60_000)
    parser.add_argument("--kinds", nargs="+", default=["afterstates", "replies", "lines", "leaves"])
    parser.add_argument("--hidden", nargs="+", type=int, default=[64, 128, 256])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument(
        "--temperature",
        type=float,
        default=1.0,
        help="softmax temperature of the targets, in seeds; 0 uses only the best actions",
    )
    parser.add_argument("--seed", type=int, default=1)
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
    rows = measure(
        ruleset,
        words.expert,
        words.positions,
        words.kinds,
        words.hidden,
        words.agents,
        epochs=words.epochs,
        temperature=words.temperature,
        seed=words.seed,
        console=console,
    )
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    for name, held_out, solved, seconds in rows:
        exact = (f"{solved.accuracy:.1%}", f"{solved.regret:.2f}") if solved else ("", "")
        cells = (name, f"{held_out.accuracy:.1%}", f"{held_out.regret:.2f}", *exact, f"{seconds:.0f}")
        print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
