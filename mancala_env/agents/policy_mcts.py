"""policy+mcts: tree search guided by a checkpoint; :mod:`mancala_env.agents.puct` is the search."""

from pathlib import Path

import numpy as np

from mancala_env.agents.network import CheckpointAgent
from mancala_env.agents.puct import MARGIN_SHARE, PuctAgent, reward_of
from mancala_env.engine.episode import Rounds
from mancala_env.networks.checkpoint import load_value_weights
from mancala_env.networks.value import position_values
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import Budget


class PolicyMctsAgent(PuctAgent, CheckpointAgent):
    """Play the turn that a search guided by a checkpoint tried most, or proved best.

    A value network of the checkpoint's guides it; where there is none, the checkpoint's own network.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        path: str | Path,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a number of simulations or a time, and load the checkpoint.

        Raises:
            InvalidCheckpoint: As of :class:`CheckpointAgent`.
        """
        CheckpointAgent.__init__(self, ruleset, path, spec=spec, seed=seed, num_threads=num_threads)
        self.budget = budget
        self.last_simulations = np.zeros(0, np.int64)
        selfplay = self.identity.config.get("selfplay")
        # What its values are about: the outcome, or the margin over all seeds.
        self._margin_share = float(isinstance(selfplay, dict) and selfplay.get("reward") == "margin")
        self._network = None
        if self.identity.value_network is not None:
            self._network = load_value_weights(path, self.identity).packed()
            self._margin_share = MARGIN_SHARE

    def check_rounds(self, rounds: Rounds) -> None:
        """Play them all: where the network knows no action, the counts judge; see :meth:`judge`."""

    def judge(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the network makes of running games; see :meth:`CheckpointAgent.judge`.

        A position where it knows no legal action, since territory has changed hands, is worth the margin of
        counts as it stands.
        """
        logits, values, is_known = self._judge(games)
        if not is_known.all():
            values = values.copy()
            margins = position_values(self.ruleset, games[~is_known], None)
            values[~is_known] = reward_of(margins, self._margin_share, self.ruleset)
        return logits, values
