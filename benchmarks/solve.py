"""Measure the solver: openings, positions after eight random turns, two threads beside one.

``python benchmarks/solve.py`` prints a table; ``--quick`` leaves out what takes more than seconds.
Processor time is given beside wall time, which on a busy machine says little.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mancala_env import Position, solver

OPENINGS = {"layli_goobalay": 40, "leyla": 25, "leyla_gobale_ii": 90}  # seconds, on one idle core


def fresh(ruleset: str, memory_mb: int, num_threads: int = 1) -> solver.Solver:
    """Return a solver that knows nothing yet, its kernels compiled."""
    new = solver.Solver(ruleset, memory_mb=memory_mb, num_threads=num_threads, use_book=False)
    new.value(Position(ruleset, [1] + [0] * (new.ruleset.num_holes - 1)))
    return new


def timed(work: Callable[[Position], Any], position: Position) -> tuple[Any, float, float]:
    """Solve a position; returns the result, processor seconds and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work(position)
    return result, time.process_time() - cpu, time.perf_counter() - wall


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


def report_openings(memory_mb: int) -> None:
    print("Openings, one thread, no book: value alone, then every action too")
    for name, target in OPENINGS.items():
        new = fresh(name, memory_mb)
        before = new.nodes
        value, cpu, wall = timed(new.value, Position(name))
        print(
            f"  {name:16} value {value:+3}  {(new.nodes - before) / 1e6:6.1f} M nodes  "
            f"{cpu:5.1f} s processor  {wall:5.1f} s wall  (target {target} s)"
        )
        new = fresh(name, memory_mb)
        solution, cpu, wall = timed(new.solve, Position(name))
        print(
            f"  {'':16} every action {solution.nodes / 1e6:6.1f} M nodes  "
            f"{cpu:5.1f} s processor  {wall:5.1f} s wall  {solution.action_values}"
        )


def report_after_eight_turns(memory_mb: int, count: int) -> None:
    values, solves = [], []
    for position in random_positions("layli_goobalay", 8, count, seed=1):
        new = fresh("layli_goobalay", memory_mb)
        values.append(timed(new.value, position)[1])
        solves.append(values[-1] + timed(new.solve, position)[1])
    print(f"layli_goobalay after 8 random turns, {count} positions, empty table each, processor seconds")
    for what, seconds in (("value", values), ("every action", solves)):
        median, most = statistics.median(seconds), max(seconds)
        print(f"  {what:13} median {median:.2f}  longest {most:.1f}  (target: median 1)")


def report_two_threads(memory_mb: int) -> None:
    print("layli_goobalay opening, value, 1 and 2 threads in turn")
    for num_threads in (1, 2, 1, 2):
        new = fresh("layli_goobalay", memory_mb, num_threads)
        before = new.nodes
        _, cpu, wall = timed(new.value, Position("layli_goobalay"))
        nodes = (new.nodes - before) / 1e6
        print(f"  {num_threads} threads  {nodes:5.1f} M nodes  {cpu:5.1f} s processor  {wall:5.1f} s wall")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory-mb", type=int, default=1024)
    parser.add_argument("--positions", type=int, default=41)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load}")
    if arguments.quick:
        report_after_eight_turns(64, 5)
        return
    report_openings(arguments.memory_mb)
    report_after_eight_turns(arguments.memory_mb, arguments.positions)
    report_two_threads(arguments.memory_mb)


if __name__ == "__main__":
    main()
