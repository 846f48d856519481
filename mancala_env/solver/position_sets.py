"""Positions with the exact value of every action, to measure agents against.

Sets ship with the package for the rulesets that :func:`rulesets_with_positions` lists. ``python -m
mancala_env.solver.make_positions`` makes the sets anew.

Where positions come from: the first phase is drawn from the opening book where there is one; the others
from rounds after a random opening, half of them played at random throughout, half by players who take
the turn after which they lead by most three times in four. A position has at least two legal actions, no
two of a set are the same, and a round gives at most one to a phase. Phases are by the number of free seeds,
as a share of all seeds: it never rises, and it is what makes a position hard, for a player and for
the solver. Phases that take too long to solve for a ruleset are not in its set, and the few positions of
a phase that took longer than the maker's limit are left out, so a hard phase is a little easier than it
should be.
"""

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from mancala_env.errors import MancalaError
from mancala_env.rulesets import Ruleset, lookup, names
from mancala_env.solver.exact import ILLEGAL

PHASES = ("start", "early", "middle", "late", "end")
LEAST_FREE = (0.9, 0.7, 0.5, 0.25, 0.0)
"""A phase reaches down to this share of the seeds being free."""


class NoPositions(MancalaError):
    """A ruleset that has no set of solved positions."""


@dataclass(frozen=True, eq=False)
class PositionSet:
    """Running games of a ruleset with exact values. N positions, A actions.

    Attributes:
        ruleset: The ruleset.
        games: uint64 `[N, NUM_COLUMNS]`, rows as ``Batch.games`` has them.
        phase: int8 `[N]`, index into `phases`, ascending.
        phases: Names of the phases, from the start of a round to its end.
        action_values: int16 `[N, A]`, the value of each action for the player to move (see
            :class:`~mancala_env.solver.Solution`); ILLEGAL where it is not legal.
    """

    ruleset: Ruleset
    games: np.ndarray
    phase: np.ndarray
    phases: tuple[str, ...]
    action_values: np.ndarray

    def __len__(self) -> int:
        return len(self.games)

    def regret(self, actions: np.ndarray) -> np.ndarray:
        """Return the regret of an action in each position, in seeds.

        Args:
            actions: Integers `[N]`, a legal action of each position.

        Returns:
            int16 `[N]`: 0 for a best action.

        Raises:
            ValueError: An action is not legal; the message names the position.
        """
        chosen = self.action_values[np.arange(len(self)), actions]
        illegal = np.flatnonzero(chosen == ILLEGAL)
        if len(illegal):
            n = int(illegal[0])
            legal = ", ".join(map(str, np.flatnonzero(self.action_values[n] != ILLEGAL)))
            raise ValueError(f"position {n}: action {actions[n]} is not legal; legal actions: {legal}")
        return self.action_values.max(axis=1) - chosen


@lru_cache
def positions(ruleset: str | Ruleset) -> PositionSet:
    """Return the solved positions shipped for a ruleset; the arrays must not be written to.

    Raises:
        InvalidRuleset: No such ruleset.
        NoPositions: None are shipped for it; the message says for which they are.
    """
    ruleset = lookup(ruleset)
    file = _file(ruleset.name)
    if not file.is_file() or lookup_or_none(ruleset.name) != ruleset:
        listed = ", ".join(rulesets_with_positions())
        raise NoPositions(f"no solved positions of {ruleset.name}; there are some of: {listed}")
    with file.open("rb") as stream, np.load(stream) as data:
        games, phase, values = data["games"], data["phase"], data["action_values"]
    for array in (games, phase, values):
        array.setflags(write=False)
    return PositionSet(ruleset, games, phase, PHASES, values)


def rulesets_with_positions() -> tuple[str, ...]:
    """Return the names of the rulesets that have a set of solved positions."""
    return tuple(name for name in names() if _file(name).is_file())


def lookup_or_none(name: str) -> Ruleset | None:
    """Return the catalogue's ruleset of that name, or None."""
    return lookup(name) if name in names() else None


def _file(name: str):
    return resources.files("mancala_env").joinpath("data", f"positions_{name}.npz")
