"""Turns per second of the engine, compared with other libraries."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Row, rates_side_by_side
from mancala_env import Batch, rulesets
from mancala_env.games import speed

# Speed of a hand-written AVX C++ kernel of the 2x6 Layli Goobalay turn on the reference machine.
AVX_TURNS_PER_SECOND = 30e6
_GAMES, _TURNS = 4096, 50


def random_turns(ruleset: str, num_threads: int) -> Callable[[], int]:
    """Return work that plays random turns inside the kernel."""
    batch = Batch(ruleset, _GAMES, seed=1, num_threads=num_threads)
    return lambda: batch.play_random(_TURNS)


def oware() -> Any:
    """Return OpenSpiel's oware, or None if OpenSpiel is not installed."""
    try:
        return importlib.import_module("pyspiel").load_game("oware")
    except ImportError:
        return None


def openspiel_oware(states: int = 2000) -> Callable[[], int] | None:
    """Return work that plays OpenSpiel's oware from Python, or None if it is not installed."""
    game = oware()
    if game is None:
        return None
    rng = np.random.default_rng(1)

    def work() -> int:
        done = 0
        while done < states:
            state = game.new_initial_state()
            while not state.is_terminal():
                actions = state.legal_actions()
                state.apply_action(actions[rng.integers(len(actions))])
                done += 1
        return done

    return work


def openspiel_apply(states: int = 2000) -> Callable[[], int] | None:
    """Return work that only applies recorded oware actions, to measure the cost of the state alone."""
    game = oware()
    if game is None:
        return None
    rng = np.random.default_rng(1)
    lines = []
    while sum(map(len, lines)) < states:
        state, line = game.new_initial_state(), []
        while not state.is_terminal():
            line.append(int(rng.choice(state.legal_actions())))
            state.apply_action(line[-1])
        lines.append(line)

    def work() -> int:
        done = 0
        for line in lines:
            state = game.new_initial_state()
            for action in line:
                state.legal_actions()
                state.apply_action(action)
            done += len(line)
        return done

    return work


def measure() -> list[Row]:
    """Measure all rates in turn, on one thread unless the name says otherwise."""
    works: dict[str, Callable[[], int] | None] = {
        f"random turns, {name}": random_turns(name, 1)
        for name in rulesets.names()
        if not name.startswith("ludii_")
    }
    works["random turns, layli_goobalay, all cores"] = random_turns(
        "layli_goobalay", Batch("leyla", 1).num_threads
    )
    works["OpenSpiel oware from Python, random play"] = openspiel_oware()
    works["OpenSpiel oware from Python, actions given"] = openspiel_apply()
    found = rates_side_by_side({name: work for name, work in works.items() if work is not None})
    rows = [Row(name, rate, "turns/s") for name, rate in found.items()]
    rows += [Row(*row) for row in speed.measure("layli_goobalay", num_threads=1)]
    ours = found["random turns, layli_goobalay"]
    rows.append(Row("random turns / AVX C++ at 30 million", ours / AVX_TURNS_PER_SECOND, "ratio"))
    return rows
