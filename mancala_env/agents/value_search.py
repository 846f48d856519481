"""value+minimax and value+mcts: the searches with a value network at their leaves, without a checkpoint.

The network is a file of its own (:mod:`mancala_env.networks.value_files`): the one that the package ships for
the ruleset, or the one that the spec names. ``policy+minimax`` plays the value network that checkpoints of
version 0.1 may hold.
"""

from pathlib import Path

import numpy as np

from mancala_env.agents.minimax import MinimaxAgent
from mancala_env.agents.puct import MARGIN_SHARE, PuctAgent
from mancala_env.networks.value import UNIT
from mancala_env.networks.value_files import read_for, shipped_network
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.search.limit import Budget


class NetworkMinimaxAgent(MinimaxAgent):
    """Play the turn that leads, so many turns ahead, to what a value network likes best."""

    def action_values(self, games: np.ndarray, num_actions: int | None = None) -> np.ndarray:
        """Search every legal action of each game, as :meth:`MinimaxAgent.action_values`.

        Returns:
            float32 `[B, A]`, seeds that the player to move is expected to win by after the action, and
            ILLEGAL where it is not legal.
        """
        return (super().action_values(games, num_actions) / UNIT).astype(np.float32)


class ValueMinimaxAgent(NetworkMinimaxAgent):
    """minimax with a value network from a file, or the one that is shipped."""

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        path: str | Path | None = None,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a depth or time, and read a value network; None: the shipped one.

        Raises:
            InvalidValueNetwork: There is no such network, or it is damaged or was grown on another ruleset.
        """
        network = _packed(path, ruleset)
        super().__init__(ruleset, budget, spec=spec, seed=seed, num_threads=num_threads, network=network)


def value_minimax_of_checkpoint(
    ruleset: str | Ruleset,
    budget: Budget,
    path: str | Path,
    *,
    spec: str,
    seed: int | None = None,
    num_threads: int | None = None,
) -> NetworkMinimaxAgent:
    """Make minimax with the value network of an old checkpoint.

    Raises:
        InvalidCheckpoint: The file is missing or damaged, of another ruleset, or without a value network.
        ImportError: torch is missing.
    """
    from mancala_env.networks.checkpoint import check_ruleset, load_value_weights, read_identity

    identity = read_identity(path)
    check_ruleset(path, identity, lookup(ruleset))
    network = load_value_weights(path, identity).packed()
    return NetworkMinimaxAgent(
        ruleset, budget, spec=spec, seed=seed, num_threads=num_threads, network=network
    )


class ValueMctsAgent(PuctAgent):
    """Tree search with a value network from a file, or the one that is shipped."""

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        path: str | Path | None = None,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and simulations or a time, as :class:`ValueMinimaxAgent`."""
        super().__init__(ruleset, spec=spec, seed=seed, num_threads=num_threads)
        self.budget = budget
        self.last_simulations = np.zeros(0, np.int64)
        self._network, self._margin_share = _packed(path, ruleset), MARGIN_SHARE


def _packed(path: str | Path | None, ruleset: str | Ruleset) -> np.ndarray:
    ruleset = lookup(ruleset)
    return read_for(shipped_network(ruleset) if path is None else path, ruleset).packed()
