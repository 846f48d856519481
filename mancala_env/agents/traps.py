"""perfect+traps: perfect play that lets the opponent err.

Of several optimal turns `perfect` draws one. This agent takes the one after which a fallible opponent is
expected to lose most: their replies are as likely as a search of six turns likes them, and what each of them
costs is exact. The value of the position is never given away for it.
"""

import numpy as np

from mancala_env.agents.budget import Budget
from mancala_env.agents.minimax import MinimaxAgent
from mancala_env.agents.perfect import MEMORY_MB, PerfectAgent
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.solver import Solver

# A fallible opponent looks so far ahead; a reply that looks so many seeds worse is e times less likely.
_DEPTH, _TEMPERATURE = 6, 2.0
# Expected losses so close count as equal.
_EQUAL = 1e-9


class TrappingAgent(PerfectAgent):
    """Play the optimal action after which a fallible opponent loses most, each of several equally likely."""

    def __init__(
        self,
        ruleset: str | Ruleset,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
        memory_mb: float = MEMORY_MB,
    ) -> None:
        """Bind the agent to a ruleset; it takes the time it needs, as ``perfect``."""
        super().__init__(ruleset, spec=spec, seed=seed, num_threads=num_threads, memory_mb=memory_mb)
        self._fallible = MinimaxAgent(
            self.ruleset, Budget(_DEPTH), spec=f"minimax:{_DEPTH}", seed=seed, num_threads=1
        )

    def _best_actions(self, solver: Solver, position: Position) -> tuple[int, ...]:
        best = super()._best_actions(solver, position)
        if len(best) == 1:
            return best
        losses = [self.expected_loss(solver, position, action) for action in best]
        most = max(losses) - _EQUAL
        return tuple(action for action, loss in zip(best, losses, strict=True) if loss >= most)

    def expected_loss(self, solver: Solver, position: Position, action: int) -> float:
        """Return the seeds a fallible opponent is expected to lose by their reply to an action.

        0 where they have no reply: the round is over, or they pass.
        """
        after = position.copy()
        after.play(action)
        if after.is_over or after.player == position.player or len(after.legal_actions) == 1:
            return 0.0
        exact = solver.action_values(after)
        replies = list(exact)
        looks = self._fallible.action_values(after.games, self.ruleset.num_holes)[0, replies].astype(float)
        chances = np.exp((looks - looks.max()) / _TEMPERATURE)
        values = np.array([exact[reply] for reply in replies], float)
        return float(values.max() - (chances / chances.sum()) @ values)
