"""match+mcts: the tree search of :mod:`mancala_env.agents.mcts`, playing for the match and not for the round.

The end of a round is worth what the match is worth then, by the values of match states that the package ships
(:mod:`mancala_env.agents.match_values`), and nothing else counts. The agent knows who started the round and
what is owed; it does not know a limit on rounds, and plays as if there were none.
"""

from pathlib import Path

import numpy as np

from mancala_env.agents.match_values import read_values, worths
from mancala_env.agents.mcts import EXACT, LEAST, MOST, MOST_WORTH, MctsAgent
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import Budget


class MatchMctsAgent(MctsAgent):
    """mcts whose rounds are worth what they are worth for the match."""

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        table: str | Path,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset, simulations or a time, and a file of values of match states.

        Raises:
            NoMatchValues: The file holds none, or the ruleset has no match.
        """
        super().__init__(ruleset, budget, spec=spec, seed=seed, num_threads=num_threads)
        self._values = read_values(table, self.ruleset)

    def _worths(self, games: np.ndarray) -> np.ndarray:
        return table_of(worths(self.ruleset, self._values, games))


def table_of(worths: np.ndarray) -> np.ndarray:
    """Return worths, float64 `[B, T + 1]`, -1 to 1, as the search takes them: int32 `[B, 3, T + 1]`."""
    table = np.empty((len(worths), 3, worths.shape[1]), np.int32)
    table[:, EXACT] = np.rint(MOST_WORTH * worths)
    table[:, LEAST] = np.minimum.accumulate(table[:, EXACT, ::-1], axis=1)[:, ::-1]
    table[:, MOST] = np.maximum.accumulate(table[:, EXACT], axis=1)
    return table
