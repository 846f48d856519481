"""Measure the cost of solving: openings, positions after eight random turns, two threads against one.

python benchmarks/solve.py

Times are processor time, which other programs disturb less than wall time. The speed-up of threads is wall
time, so measure it on an idle machine. Every solve starts with an empty table and no book.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.timing import Row
from mancala_env import Position, solver
from mancala_env._util.command_line import Parser, in_one_line

# Rulesets solved from the start, with the target time in seconds on one idle core.
_TARGETS = {
    "layli_goobalay": 40,
    "leyla": 25,
    "leyla_gobale_ii": 90,
    "gabata_five_holes": None,
    "gabata_3": None,
    "ludii_leyla": None,
    "ludii_leyla_gobale_somaliland": None,
    "ludii_leyla_gobale_gabradarre": None,
    "ludii_gabata_i": None,
    "ludii_gabata_five_holes": None,
}
_POSITIONS = 21


def fresh(ruleset: str, num_threads: int = 1, memory_mb: int = 1024) -> solver.Solver:
    """Return a solver with an empty table and compiled kernels."""
    new = solver.Solver(ruleset, memory_mb=memory_mb, num_threads=num_threads, use_book=False)
    new.value(Position(ruleset, [1] + [0] * (new.ruleset.num_holes - 1)))
    return new


def random_positions(ruleset: str, turns: int, count: int, seed: int) -> list[Position]:
    rng = np.random.default_rng(seed)
    positions = []
    while len(positions) < count:
        position = Position(ruleset)
        for _ in range(turns):
            if not position.is_over:
                position.play(int(rng.choice(position.legal_actions)))
        if not position.is_over:
            positions.append(position)
    return positions


def value_cost(position: Position, num_threads: int = 1) -> tuple[int, float, float, float]:
    """Return a position's value, and the million nodes, processor seconds and wall seconds to solve it."""
    new = fresh(position.ruleset.name, num_threads)
    nodes, cpu, wall = new.nodes, time.process_time(), time.perf_counter()
    value = new.value(position)
    return value, (new.nodes - nodes) / 1e6, time.process_time() - cpu, time.perf_counter() - wall


def every_action_cost(position: Position) -> tuple[float, float]:
    """Return the million nodes and processor seconds to solve all actions."""
    new = fresh(position.ruleset.name)
    cpu = time.process_time()
    return new.solve(position).nodes / 1e6, time.process_time() - cpu


def measure() -> Iterator[Row]:
    """Yield each figure when it is measured."""
    for name, target in _TARGETS.items():
        value, nodes, cpu, _ = value_cost(Position(name))
        yield Row(f"{name} opening, value {value:+d}: nodes", nodes, "million")
        aim = f" (target {target})" if target else ""
        yield Row(f"{name} opening: processor time{aim}", cpu, "s")
        nodes, cpu = every_action_cost(Position(name))
        yield Row(f"{name} opening, every action: processor time", cpu, "s")
    costs = [value_cost(p)[2] for p in random_positions("layli_goobalay", 8, _POSITIONS, seed=1)]
    what = "layli_goobalay after 8 random turns, value: processor time"
    yield Row(f"{what}, median of {_POSITIONS} (target 1)", statistics.median(costs), "s")
    yield Row(f"{what}, longest", max(costs), "s")
    walls: dict[int, list[float]] = {1: [], 2: []}
    for num_threads in (1, 2, 1, 2, 1, 2):
        _, nodes, _, wall = value_cost(Position("layli_goobalay"), num_threads)
        walls[num_threads].append(wall)
        yield Row(f"layli_goobalay opening, {num_threads} threads: nodes", nodes, "million")
    speed_up = statistics.median(walls[1]) / statistics.median(walls[2])
    yield Row("layli_goobalay opening, 2 threads: speed-up (target 1.6)", speed_up, "times")


@in_one_line("solve")
def main() -> int:
    """Print each figure when it is measured; return the exit status."""
    Parser(prog="python benchmarks/solve.py", description=__doc__).parse_args()
    for row in measure():
        print(f"{row.name:90} {row.value:8.2f} {row.unit}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
