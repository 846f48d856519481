"""Calls that take hours, for tests that interrupt them."""

# The program of a child process: prepare (which compiles), print a line, and work until Ctrl-C.
CHILD = """
import sys
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from mancala_env import Batch, Position, agents
from mancala_env.evaluation import play_matches
from mancala_env.observations import Observer
from mancala_env.rulesets import lookup
from mancala_env.solver import Solver
LAYLI = lookup("layli_goobalay")

def act(spec, games=2, threads=1, ruleset="layli_goobalay"):
    return agents.make(spec, ruleset, seed=1, num_threads=threads).act(Batch(ruleset, games).games)

for line in sys.stdin:
    ready, work = line.rstrip("\\n").split("\\t")
    exec(ready)
    try:
        print("ready", flush=True)  # Ctrl-C may follow at once
        exec(work)
        print("done, and was meant to last", flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""
LONG = {
    "random turns": ("Batch('leyla', 64, num_threads=1).play_random(9)", ".play_random(10**12)"),
    "random turns on threads": ("Batch('leyla', 64, num_threads=2).play_random(9)", ".play_random(10**12)"),
    "long openings": (
        "Batch('leyla', 8, opening_turns=30, num_threads=1)",
        "Batch('leyla', 40_000, opening_turns=10_000, num_threads=1)",
    ),
    "minimax": ("act('minimax:3')", "act('minimax:60')"),
    "minimax on threads": ("act('minimax:3', 2, 2)", "act('minimax:60', 2, 2)"),
    "minimax of a time": ("act('minimax:0.01s')", "act('minimax:60s')"),
    "minimax of many games": ("act('minimax:3')", "act('minimax:6', 200_000)"),
    "mcts": ("act('mcts:30')", "act('mcts:10000000')"),
    "mcts on threads": ("act('mcts:30', 2, 2)", "act('mcts:10000000', 2, 2)"),
    "policy+mcts": ("act('policy+mcts:30:{path}')", "act('policy+mcts:300000:{path}')"),
    "policy+minimax": ("act('policy+minimax:3:{path}')", "act('policy+minimax:60:{path}')"),
    "greedy": ("act('greedy')", "[act('greedy', 20_000) for _ in range(10**6)]"),
    "perfect": ("act('perfect:0.01s')", "act('perfect', ruleset='layli_goobalay_long')"),
    "perfect on threads": (
        "act('perfect:0.01s', 4, 2, ruleset='layli_goobalay_long')",
        "act('perfect', 4, 2, ruleset='layli_goobalay_long')",
    ),
    "solver": (
        "Solver(LAYLI).solve(Position(LAYLI), time_limit=0.01)",
        "Solver('layli_goobalay_long').solve(Position('layli_goobalay_long'))",
    ),
    "observations": (
        "Batch('leyla', 8, observation='lines', num_threads=1)",
        "o = Observer('leyla', 'lines', 6); g = np.repeat(Batch('leyla', 1).games, 400_000, axis=0); "
        "[o.write(g, o.empty(len(g)), num_threads=1) for _ in range(100)]",
    ),
    "labels": (
        "from mancala_env.training.expert_labels import label_positions; "
        "label_positions('minimax:2', LAYLI, 9, exploration=0.5, num_games=2)",
        "label_positions('minimax:10', LAYLI, 10**9, exploration=0.5)",
    ),
    "matches": (
        "play_matches('greedy', 'random', 'leyla', games=4, rounds='match')",
        "play_matches('minimax:8', 'minimax:8', 'leyla', games=4000, rounds='match')",
    ),
}
