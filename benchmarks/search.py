"""Measure speed and strength of the search agents.

python benchmarks/search.py              speed on one thread, compared with OpenSpiel's MCTS
python benchmarks/search.py strength     matches between the search agents (about two minutes)
python benchmarks/search.py limits       overrun of a time limit of 10 ms (a minute, on an idle machine)
"""

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.timing import rates_side_by_side
from mancala_env import Batch, Position, agents, solver
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.agents.searchers import MctsAgent, MinimaxAgent

_RULESETS = ("layli_goobalay", "leyla", "gabata_i")
_DEPTH, _SIMULATIONS = 10, 1000
# Positions per call of a work function.
_POSITIONS = 16
# The matches of docs/results/searches.json.
MATCHES = (
    ("minimax:1", "random"),
    ("minimax:2", "random"),
    ("minimax:4", "random"),
    ("minimax:2", "minimax:1"),
    ("minimax:4", "minimax:2"),
    ("minimax:6", "minimax:4"),
    ("minimax:8", "minimax:6"),
    ("mcts:100", "random"),
    ("mcts:1000", "mcts:100"),
    ("mcts:100", "minimax:2"),
    ("mcts:300", "minimax:6"),
    ("mcts:1000", "minimax:6"),
    ("mcts:1000", "minimax:8"),
    ("mcts:10000", "minimax:12"),
)


def minimax_nodes(ruleset: str, depth: int = _DEPTH) -> Callable[[], int]:
    """Return work that searches positions after four random turns.

    A node is a position after a turn of the search. Each turn that is played counts once.
    """
    agent = agents.make(f"minimax:{depth}", ruleset, seed=1, num_threads=1)
    assert isinstance(agent, MinimaxAgent)
    games = Batch(ruleset, _POSITIONS, seed=1, num_threads=1, opening_turns=4).games

    def work() -> int:
        agent.act(games)
        return int(agent.last_nodes.sum())

    return work


def mcts_simulations(ruleset: str, simulations: int = _SIMULATIONS) -> Callable[[], int]:
    """Return work that searches the opening position."""
    agent = agents.make(f"mcts:{simulations}", ruleset, seed=1, num_threads=1)
    assert isinstance(agent, MctsAgent)
    games = np.repeat(Position(ruleset).games, _POSITIONS, axis=0)

    def work() -> int:
        agent.act(games)
        return int(agent.last_simulations.sum())

    return work


def openspiel_simulations(simulations: int = _SIMULATIONS) -> Callable[[], int] | None:
    """Return work that searches oware's opening with OpenSpiel's C++ MCTS, or None without OpenSpiel."""
    try:
        pyspiel: Any = importlib.import_module("pyspiel")
    except ImportError:
        return None
    game = pyspiel.load_game("oware")
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    bot = pyspiel.MCTSBot(game, evaluator, 1.4, simulations, 1000, True, 1, False)
    state = game.new_initial_state()

    def work() -> int:
        return bot.mcts_search(state).explore_count

    return work


def measure() -> list[tuple[str, float, str]]:
    """Measure all rates in turn, on one thread, in its processor time."""
    works: dict[str, Callable[[], int]] = {}
    for ruleset in _RULESETS:
        works[f"minimax:{_DEPTH} {ruleset}"] = minimax_nodes(ruleset)
    for ruleset in _RULESETS:
        works[f"mcts:{_SIMULATIONS} {ruleset}"] = mcts_simulations(ruleset)
    openspiel = openspiel_simulations()
    if openspiel is not None:
        works["OpenSpiel MCTSBot (C++) oware"] = openspiel
    rates = rates_side_by_side(works, clock=time.thread_time)
    rows = []
    for name, rate in rates.items():
        unit = "million nodes/s" if name.startswith("minimax") else "thousand simulations/s"
        rows.append((name, rate / (1e6 if name.startswith("minimax") else 1e3), unit))
    if openspiel is not None:
        ours, theirs = f"mcts:{_SIMULATIONS} layli_goobalay", "OpenSpiel MCTSBot (C++) oware"
        rows.append((f"{ours} / {theirs}", rates[ours] / rates[theirs], "times"))
    return rows


def print_strength(ruleset: str, games: int) -> None:
    """Play the matches after four random turns and print a Markdown table. A draw counts as half a win."""
    from mancala_env.evaluation import play_matches

    print(f"| {ruleset} | against | score | 95 % interval | mean margin |\n|---|---|---:|---|---:|")
    for first, second in MATCHES:
        played = games if "0000" not in first else games // 10
        result = play_matches(
            first, second, ruleset, games=played, opening_turns=4, opening_set="all", seed=1
        )
        low, high = result.interval
        print(
            f"| {first} | {second} | {result.win_rate:.1%} | {low:.1%} to {high:.1%} | "
            f"{result.mean_margin:+z.1f} |",
            flush=True,
        )


def print_limits(tries: int) -> None:
    """Print how much longer than their limit searches of 10 ms take, in wall time."""
    print("| 0.01 s for | tries | median | 99 % | longest | over by 20 ms and more |")
    print("|---|---:|---:|---:|---:|---:|")
    specs = ("perfect", "minimax", "mcts", "value+minimax", "value+mcts")
    for ruleset in ("layli_goobalay", "gabata_seven_holes"):
        rng = np.random.default_rng(1)
        positions = []
        while len(positions) < tries:
            position = Position(ruleset)
            for _ in range(int(rng.integers(0, 7))):
                if not position.is_over:
                    position.play(int(rng.choice(position.legal_actions)))
            if not position.is_over:
                positions.append(position)
        agent_of = {spec: agents.make(f"{spec}:0.01s", ruleset, seed=1, num_threads=1) for spec in specs}
        calls = {f"`{spec}:0.01s`": agent.choose for spec, agent in agent_of.items()}
        calls = {"`solve(time_limit=0.01)`": partial(solver.solve, time_limit=0.01), **calls}
        for name, call in calls.items():
            call(positions[0])  # compiles
            over = []
            for position in positions:
                started = time.perf_counter()
                call(position)
                over.append(1000 * (time.perf_counter() - started) - 10)
            median, most = np.percentile(over, (50, 99))
            figures = " | ".join(f"{each:+.1f} ms" for each in (median, most, max(over)))
            print(f"| {name}, {ruleset} | {tries} | {figures} | {sum(x > 20 for x in over)} |", flush=True)


@in_one_line("benchmarks/search.py")
def main() -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog="python benchmarks/search.py", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("rates", "strength", "limits"), default="rates")
    parser.add_argument("--ruleset", default="layli_goobalay", help="ruleset for strength")
    parser.add_argument("--games", type=int, default=4000, help="games per match")
    parser.add_argument("--tries", type=int, default=300, help="number of positions for limits")
    arguments = parser.parse_args()
    if arguments.what == "limits":
        print_limits(arguments.tries)
        return 0
    if arguments.what == "strength":
        print_strength(arguments.ruleset, arguments.games)
        return 0
    for name, value, unit in measure():
        print(f"{name:<60} {value:10.2f} {unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
