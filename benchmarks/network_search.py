"""Simulations per second of a tree search with a free network, compared with mctx and OpenSpiel.

The networks return zeros, so the rates are those of the search, the rules and the observations alone.
"""

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Row, rates_side_by_side
from mancala_env import Batch, search

_GAMES, _SIMULATIONS, _ACTIONS = 256, 64, 6


def our_simulations(ruleset: str, **options: Any) -> Callable[[], int]:
    """Return work that searches 256 games after four random turns."""
    batch = Batch(ruleset, _GAMES, seed=1, num_threads=1, opening_turns=4)
    limit = search.Limit(simulations=_SIMULATIONS)

    def evaluate(observations: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(legal.shape, np.float32), np.zeros(len(legal), np.float32)

    def work() -> int:
        found = search.puct(ruleset, batch, evaluate, limit, seed=1, num_threads=1, **options)
        return int(found.simulations.sum())

    return work


def mctx_simulations() -> Callable[[], int] | None:
    """Return work that searches 256 games without rules by mctx on the CPU, or None without mctx."""
    try:
        jax, mctx = importlib.import_module("jax"), importlib.import_module("mctx")
    except ImportError:
        return None
    jnp = jax.numpy
    logits, zeros = jnp.zeros((_GAMES, _ACTIONS)), jnp.zeros(_GAMES)

    def step(params: Any, key: Any, action: Any, turns: Any) -> tuple[Any, Any]:
        output = mctx.RecurrentFnOutput(
            reward=zeros, discount=-jnp.ones(_GAMES), prior_logits=logits, value=zeros
        )
        return output, turns + 1

    @jax.jit
    def searched(key: Any) -> Any:
        root = mctx.RootFnOutput(prior_logits=logits, value=zeros, embedding=zeros)
        return mctx.muzero_policy((), key, root, step, _SIMULATIONS).action

    def work() -> int:
        searched(jax.random.key(1)).block_until_ready()
        return _GAMES * _SIMULATIONS

    return work


def openspiel_simulations() -> Callable[[], int] | None:
    """Return work that searches oware's opening by OpenSpiel's MCTS in Python, or None without OpenSpiel."""
    try:
        pyspiel: Any = importlib.import_module("pyspiel")
        mcts: Any = importlib.import_module("open_spiel.python.algorithms.mcts")
    except ImportError:
        return None

    class Zeros(mcts.Evaluator):
        """A network that returns zeros."""

        def evaluate(self, state: Any) -> np.ndarray:
            return np.zeros(2)

        def prior(self, state: Any) -> list[tuple[int, float]]:
            actions = state.legal_actions()
            return [(action, 1 / len(actions)) for action in actions]

    game = pyspiel.load_game("oware")
    bot = mcts.MCTSBot(game, 1.0, _SIMULATIONS, Zeros(), child_selection_fn=mcts.SearchNode.puct_value)
    state = game.new_initial_state()

    def work() -> int:
        return int(bot.mcts_search(state).explore_count)

    return work


def measure() -> list[Row]:
    """Measure all rates in turn, in the processor time of all threads."""
    ours = "network search, layli_goobalay"
    works = {
        ours: our_simulations("layli_goobalay"),
        "network search, layli_goobalay, gumbel": our_simulations("layli_goobalay", gumbel=True),
        "network search, leyla": our_simulations("leyla"),
        "network search, gabata_i": our_simulations("gabata_i"),
        "mctx, a game without rules": mctx_simulations(),
        "OpenSpiel MCTSBot (Python), oware": openspiel_simulations(),
    }
    found = rates_side_by_side(
        {name: work for name, work in works.items() if work is not None}, clock=time.process_time
    )
    rows = [Row(name, rate / 1e3, "thousand simulations/s") for name, rate in found.items()]
    others = [name for name in found if not name.startswith("network search")]
    return rows + [Row(f"{ours} / {name}", found[ours] / found[name], "times") for name in others]
