"""perfect+traps: perfect play that lets the opponent err.

Of several optimal turns `perfect` draws one. This agent takes the one after which a fallible opponent is
expected to give away most, by the next reply and, the best trap being set each time, by those to two turns
more. Their replies are those of some short tree searches, what each of them costs is exact, and where they
cost nothing it counts a little what any reply costs. The value of the position is never given away for it.
"""

import time
from collections import Counter
from pathlib import Path

import numpy as np

from mancala_env.agents.mcts import MctsAgent
from mancala_env.agents.perfect import MEMORY_MB, PerfectAgent
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import Budget
from mancala_env.solver import OutOfTime, Solver

# A fallible opponent replies as one of so many tree searches of so many simulations does.
_SEARCHES, _SIMULATIONS = 8, 200
# Where those do not err others may: the mean loss of all replies counts so much, which hardly ever outweighs.
_ANY_SHARE = 0.02
# So many of one's own turns are looked ahead, one more only while so many replies at most were looked for.
_TURNS, _MOST_SEARCHED = 3, 100
# Expected gains so close count as equal.
_EQUAL = 1e-9


class TrappingAgent(PerfectAgent):
    """Play the optimal action after which a fallible opponent gives away most; equals are equally likely.

    Where several actions are optimal it solves many positions more than ``perfect`` does.
    ``perfect+traps:0.5s`` plays as ``perfect:0.5s`` and looks for traps in what is left of the time, as many
    turns ahead as it comes to.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget | None = None,
        path: str | Path | None = None,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
        memory_mb: float = MEMORY_MB,
    ) -> None:
        """Bind the agent to a ruleset, a time and a value network; see :class:`PerfectAgent`."""
        super().__init__(
            ruleset, budget, path, spec=spec, seed=seed, num_threads=num_threads, memory_mb=memory_mb
        )
        self._fallible = MctsAgent(
            self.ruleset, Budget(_SIMULATIONS), spec=f"mcts:{_SIMULATIONS}", num_threads=1
        )

    def _best_actions(self, solver: Solver, position: Position) -> tuple[int, ...]:
        ends = np.inf if self.seconds is None else time.monotonic() + self.seconds
        best, is_optimal = self._proved(solver, position)
        if len(best) == 1 or not is_optimal:
            return best
        ahead = self.look_ahead(solver, position.player)
        gains = [0.0] * len(best)
        solver.deadline = ends
        try:
            for turns in range(1, _TURNS + 1):
                if ahead.num_searched > _MOST_SEARCHED:
                    break
                gains = [ahead.gain_after(position, action, turns) for action in best]
        except OutOfTime:
            if solver.is_cancelled:
                raise
        finally:
            solver.deadline = np.inf
        most = max(gains) - _EQUAL
        return tuple(action for action, gain in zip(best, gains, strict=True) if gain >= most)

    def look_ahead(self, solver: Solver, player: int) -> "LookAhead":
        """Return what traps of a player gain, by this agent's opponent and the values of a solver."""
        return LookAhead(self._fallible, solver, player)


class LookAhead:
    """What a fallible opponent gives away in the turns to come, in seeds.

    Asked again it says the same, since the opponent's searches have seeds of their own; replies to a position
    are looked for once.
    """

    def __init__(self, fallible: MctsAgent, solver: Solver, player: int) -> None:
        """Bind it to who replies, to what finds the exact values, and to the player who sets the traps."""
        self._fallible, self._solver, self._player = fallible, solver, player
        self._found: dict[bytes, tuple[Counter[int], float]] = {}
        self._gains: dict[tuple[bytes, int], float] = {}

    @property
    def num_searched(self) -> int:
        """Positions to which replies were looked for."""
        return len(self._found)

    def gain_after(self, position: Position, action: int, turns: int) -> float:
        """Return the expected gain of a turn and of those after it, `turns` of the player's in all."""
        after = position.copy()
        after.play(action)
        return self._gain(after, turns - 1)

    def _gain(self, position: Position, turns: int) -> float:
        """Return the expected gain from here on, `turns` of the player's still to come. A pass is a turn."""
        if position.is_over or turns < 0:
            return 0.0
        key = position.games.tobytes(), turns
        if key not in self._gains:
            gain = self._gain_to_move if position.player == self._player else self._gain_by
            self._gains[key] = gain(position, turns)
        return self._gains[key]

    def _gain_to_move(self, position: Position, turns: int) -> float:
        """Return what the best trap is expected to gain, no optimal turn being given up for it."""
        if turns == 0:
            return 0.0
        best = self._solver.best_actions(position)
        return max(self.gain_after(position, action, turns) for action in best)

    def _gain_by(self, position: Position, turns: int) -> float:
        """Return what the opponent is expected to give away where it is to move."""
        replies, gain = self._replies(position)
        for reply, count in replies.items():
            after = position.copy()
            after.play(reply)
            is_pass = after.player != self._player
            gain += count / replies.total() * self._gain(after, turns - is_pass)
        return gain

    def _replies(self, position: Position) -> tuple[Counter[int], float]:
        """Return how many of the opponent's searches choose each reply, and the seeds they lose by it."""
        key = position.games.tobytes()
        if key not in self._found:
            self._solver.check_limits()
            self._found[key] = self._look_for_replies(position)
        return self._found[key]

    def _look_for_replies(self, position: Position) -> tuple[Counter[int], float]:
        if len(position.legal_actions) == 1:
            return Counter(position.legal_actions), 0.0
        games = np.repeat(position.games, _SEARCHES, axis=0)
        chosen, _ = self._fallible.search(games, np.arange(_SEARCHES, dtype=np.uint64))
        replies = Counter(int(reply) for reply in chosen)
        exact = self._solver.action_values(position)
        best = max(exact.values())
        losses = {reply: best - value for reply, value in exact.items()}
        loss = sum(count * losses[reply] for reply, count in replies.items()) / replies.total()
        return replies, loss + _ANY_SHARE * sum(losses.values()) / len(losses)
