"""perfect+traps: perfect play that lets the opponent err.

Of several optimal turns `perfect` draws one. This agent takes the one after which a fallible opponent is
expected to give away most, by the next reply and, the best trap being set each time, by the two replies after
it. Their replies are those of some short tree searches, and what each of them costs is exact. The value of
the position is never given away for it.
"""

from collections import Counter

import numpy as np

from mancala_env.agents.budget import Budget
from mancala_env.agents.mcts import MctsAgent
from mancala_env.agents.perfect import MEMORY_MB, PerfectAgent
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.solver import Solver

# A fallible opponent replies as one of so many tree searches of so many simulations does.
_SEARCHES, _SIMULATIONS = 8, 200
# Where those do not err others may: the mean loss of all replies counts so much, which hardly ever outweighs.
_ANY_SHARE = 0.02
# So many of one's own turns are looked ahead.
_TURNS = 3
# Expected gains so close count as equal.
_EQUAL = 1e-9


class TrappingAgent(PerfectAgent):
    """Play the optimal action after which a fallible opponent gives away most; equals are equally likely.

    Where several actions are optimal it solves many positions more than ``perfect`` does.
    """

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
        self._fallible = MctsAgent(
            self.ruleset, Budget(_SIMULATIONS), spec=f"mcts:{_SIMULATIONS}", seed=seed, num_threads=1
        )

    def _best_actions(self, solver: Solver, position: Position) -> tuple[int, ...]:
        best = super()._best_actions(solver, position)
        if len(best) == 1:
            return best
        gains = [self.expected_gain(solver, position, action) for action in best]
        most = max(gains) - _EQUAL
        return tuple(action for action, gain in zip(best, gains, strict=True) if gain >= most)

    def expected_gain(self, solver: Solver, position: Position, action: int, turns: int = _TURNS) -> float:
        """Return the seeds that a fallible opponent is expected to give away after an action.

        It is the same whenever it is asked for, since the opponent's searches have seeds of their own.

        Args:
            solver: What finds the exact values.
            position: A position of the agent's ruleset, the round not over.
            action: A legal action.
            turns: Turns of the player to move to look ahead, this one included; at least 1.
        """
        after = position.copy()
        after.play(action)
        if after.is_over:
            return 0.0
        if after.player == position.player:  # the opponent passes
            return self._most_gain(solver, after, turns - 1)
        replies = self._replies(after)
        gain = 0.0
        if len(after.legal_actions) > 1:
            exact = solver.action_values(after)
            losses = {reply: max(exact.values()) - value for reply, value in exact.items()}
            gain = sum(count * losses[reply] for reply, count in replies.items()) / replies.total()
            gain += _ANY_SHARE * sum(losses.values()) / len(losses)
        for reply, count in replies.items():
            following = after.copy()
            following.play(reply)
            if following.player == position.player:
                gain += count / replies.total() * self._most_gain(solver, following, turns - 1)
        return gain

    def _most_gain(self, solver: Solver, position: Position, turns: int) -> float:
        """Return what the best trap is expected to gain, no optimal turn being given up for it."""
        if turns == 0 or position.is_over:
            return 0.0
        best = solver.best_actions(position)
        return max(self.expected_gain(solver, position, action, turns) for action in best)

    def _replies(self, position: Position) -> Counter[int]:
        """Return how many of the opponent's searches choose each reply."""
        if len(position.legal_actions) == 1:
            return Counter(position.legal_actions)
        games = np.repeat(position.games, _SEARCHES, axis=0)
        replies, _ = self._fallible.search(games, np.arange(_SEARCHES, dtype=np.uint64))
        return Counter(int(reply) for reply in replies)
