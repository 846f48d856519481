"""How well can a network judge actions at all? Fit it to a deep search instead of to self-play.

python training/experiments/ceiling.py --positions 60000 --teacher minimax:10 runs/layli_goobalay/final.zip

prints a table in Markdown: networks of several kinds and sizes fitted to the values of the search, and for
comparison searches and checkpoints. Each is judged by how often its favourite action is one of the best, and
by the seeds it loses, over positions kept back (with a choice, by the teacher's values) and over the solved
positions shipped with the package (by exact values).
"""

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np
import torch
from rich.console import Console

from mancala_env import agents, observation, rulesets, solver
from mancala_env.agents.minimax import ILLEGAL
from mancala_env.agents.network import NetworkConfig, build_network
from mancala_env.arena.regret import has_exact_positions
from mancala_env.errors import MancalaError
from mancala_env.learning.config import TeacherConfig
from mancala_env.learning.distillation import Lessons, Marks, favourites, give_lessons, learn, marks
from mancala_env.programs import in_one_line
from mancala_env.rulesets import Ruleset

_COLUMNS = ("agent", "best action", "seeds lost", "best action, solved", "seeds lost, solved", "seconds")


def measure(
    ruleset: Ruleset,
    teacher: TeacherConfig,
    kinds: Sequence[str],
    hidden: Sequence[int],
    specs: Sequence[str],
    seed: int,
    console: Console,
) -> list[tuple[str, Marks, Marks | None, float]]:
    """Fit every kind of network in every size, and judge them and some agents.

    Returns:
        For each its name, its marks over the positions kept back, those over the solved ones (None where
        none are shipped), and the seconds it took to fit.
    """
    began = time.perf_counter()
    taught, kept_back = give_lessons(
        teacher.spec,
        ruleset,
        teacher.positions,
        exploration=teacher.exploration,
        opening_turns=4,
        seed=seed,
        num_threads=1,
    ).split()
    console.print(f"{teacher.spec} valued {len(taught):,} positions to learn from in ", end="")
    console.print(f"{time.perf_counter() - began:.0f} s, and {len(kept_back):,} others", highlight=False)
    has_choice = (kept_back.values != ILLEGAL).sum(axis=1) > 1
    exams = [kept_back.chosen(has_choice)]
    if has_exact_positions(ruleset):
        shipped = solver.positions(ruleset)
        # The sets have an action for every hole where territory changes hands; a round needs one row.
        exact = shipped.action_values[:, : taught.values.shape[1]]
        values = np.where(exact == solver.ILLEGAL, ILLEGAL, exact).astype(np.int16)
        exams.append(Lessons(ruleset, shipped.games, values, np.zeros(len(shipped), np.float32)))
    rows = []
    for kind in kinds:
        for size in hidden:
            torch.manual_seed(seed)
            config = NetworkConfig(observation=kind, hidden=size, layers=2, seed_levels=10)  # type: ignore[arg-type]
            network = build_network(ruleset, taught.values.shape[1], config)
            began = time.perf_counter()
            learn(network, kind, taught, teacher, value_weight=0.5, seed=seed)
            seconds = time.perf_counter() - began
            found = [marks(exam.values, favourites(network, kind, exam)) for exam in exams]
            rows.append((f"{kind}, {size} hidden", found[0], found[1] if found[1:] else None, seconds))
            console.print(f"{rows[-1][0]}: {found[0].accuracy:.1%}", highlight=False)
    for spec in specs:
        agent = agents.make(spec, ruleset, seed=seed, num_threads=1)
        found = [marks(exam.values, agent.act(exam.games)) for exam in exams]
        rows.append((spec, found[0], found[1] if found[1:] else None, 0.0))
    return rows


@in_one_line("ceiling.py")
def main(arguments: list[str] | None = None) -> int:
    """Measure as the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="training/experiments/ceiling.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("agents", nargs="*", help="specs of agents to judge beside the networks")
    parser.add_argument("--ruleset", default="layli_goobalay")
    parser.add_argument("--teacher", default="minimax:10", help="spec of the search to fit to")
    parser.add_argument("--positions", type=int, default=60_000)
    parser.add_argument("--kinds", nargs="+", default=["afterstates", "replies", "lines"])
    parser.add_argument("--hidden", nargs="+", type=int, default=[64, 128, 256])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--temperature", type=float, default=1.0, help="in seeds; 0 copies the best alone")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args(arguments)
    torch.set_num_threads(1)
    teacher = TeacherConfig(
        positions=words.positions,
        spec=words.teacher,
        exploration=0.25,
        temperature=words.temperature,
        epochs=words.epochs,
        batch_size=512,
        learning_rate=0.002,
    )
    console = Console()
    unknown = sorted(set(words.kinds) - set(observation.KINDS))
    if unknown:
        raise MancalaError(f"--kinds must be of {', '.join(observation.KINDS)}, not {', '.join(unknown)}")
    rows = measure(
        rulesets.lookup(words.ruleset),
        teacher,
        words.kinds,
        words.hidden,
        words.agents,
        words.seed,
        console,
    )
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    for name, kept_back, solved, seconds in rows:
        exact = (f"{solved.accuracy:.1%}", f"{solved.regret:.2f}") if solved else ("", "")
        cells = (name, f"{kept_back.accuracy:.1%}", f"{kept_back.regret:.2f}", *exact, f"{seconds:.0f}")
        print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
