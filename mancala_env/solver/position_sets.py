"""Positions with the exact value of every action, to measure agents against.

Sets ship with the package for the rulesets that :func:`rulesets_with_positions` lists. ``python -m
tools.make_positions`` makes the sets anew.

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
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.engine.validation import check_games
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition, MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup, names
from mancala_env.solver.exact import ILLEGAL

PHASES = ("start", "early", "middle", "late", "end")
LEAST_FREE = (0.9, 0.7, 0.5, 0.25, 0.0)
"""A phase reaches down to this share of the seeds being free."""


def phase_of(position: Position) -> int:
    """Return the phase of a position, an index into PHASES."""
    free = int(position.seeds[position.owner < 0].sum())
    share = free / position.ruleset.total_seeds
    return next(i for i, least in enumerate(LEAST_FREE) if share >= least)


class NoPositions(MancalaError):
    """A ruleset that has no set of solved positions."""


class InvalidPositions(MancalaError):
    """A file that is no set of solved positions."""


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

    @classmethod
    def of_file(cls, ruleset: Ruleset, file: Path | Traversable) -> "PositionSet":
        """Return the set that a file holds; its arrays must not be written to.

        Raises:
            InvalidPositions: It is none, or holds what cannot be; nothing in it has been run.
            OSError: It cannot be read.
        """
        widest = ruleset.num_holes
        try:
            data = read_arrays(
                file,
                {
                    "games": ArrayFormat("uint64", (None, NUM_COLUMNS)),
                    "phase": ArrayFormat("int8", (None,)),
                    "action_values": ArrayFormat("int16", (None, None)),
                },
            )
            games = check_games(ruleset, data["games"])
        except (InvalidArchive, InvalidPosition) as error:
            raise InvalidPositions(f"{file} is no set of solved positions ({error})") from error
        phase, values = data["phase"], data["action_values"]
        if not len(games) == len(phase) == len(values) or values.shape[1] > widest:
            raise InvalidPositions(
                f"{file}: games, phase and values are of {len(games)}, {len(phase)} and {values.shape}; "
                f"as many rows, and {widest} actions at most, would be right"
            )
        if len(phase) and not (
            phase.min() >= 0 and phase.max() < len(PHASES) and (np.diff(phase) >= 0).all()
        ):
            raise InvalidPositions(f"{file}: phases must ascend from 0 to {len(PHASES) - 1}")
        for n in range(len(games)):
            position = Position.from_games(ruleset, games, n)
            legal = np.flatnonzero(values[n] != ILLEGAL)
            if not len(legal) or tuple(legal) != position.legal_actions:
                raise InvalidPositions(
                    f"{file}: position {n} has values of other actions than its legal ones"
                )
            if abs(values[n, legal].astype(np.int64)).max() > ruleset.total_seeds:
                raise InvalidPositions(f"{file}: position {n} has a value of more seeds than there are")
        for array in (games, phase, values):
            array.setflags(write=False)
        return cls(ruleset, games, phase, PHASES, values)

    def __len__(self) -> int:
        return len(self.games)

    def regret(self, actions: np.ndarray) -> np.ndarray:
        """Return the regret of an action in each position, in seeds.

        Args:
            actions: Integers `[N]`, a legal action of each position.

        Returns:
            int16 `[N]`: 0 for a best action.

        Raises:
            IllegalMove: An action is not legal; the message names the position.
            InvalidArgument: There are not as many integers as positions.
        """
        given = np.asarray(actions)
        if given.shape != (len(self),) or not np.issubdtype(given.dtype, np.integer):
            raise InvalidArgument(
                f"actions must be {len(self)} integers, not {given.dtype} of shape {given.shape}"
            )
        num_actions = self.action_values.shape[1]
        is_action = (given >= 0) & (given < num_actions)
        chosen = self.action_values[np.arange(len(self)), np.where(is_action, given, 0)]
        illegal = np.flatnonzero(~is_action | (chosen == ILLEGAL))
        if len(illegal):
            n = int(illegal[0])
            legal = ", ".join(map(str, np.flatnonzero(self.action_values[n] != ILLEGAL)))
            raise IllegalMove(f"position {n}: action {given[n]} is not legal; legal actions: {legal}")
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
    return PositionSet.of_file(ruleset, file)


def rulesets_with_positions() -> tuple[str, ...]:
    """Return the names of the rulesets that have a set of solved positions."""
    return tuple(name for name in names() if _file(name).is_file())


def lookup_or_none(name: str) -> Ruleset | None:
    """Return the catalogue's ruleset of that name, or None."""
    return lookup(name) if name in names() else None


def _file(name: str):
    return resources.files("mancala_env").joinpath("data", f"positions_{name}.npz")
