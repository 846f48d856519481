"""Positions with the exact value of every action, to measure agents against.

``python -m tools.make_positions`` makes the sets. ``docs/results/solved.md`` describes their phases, and how
positions are found. A position has at least two legal actions. All positions of a set differ, and a round
gives at most one position to a phase.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env._util.package_data import bundled_file_of, prepared_file, rulesets_with
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.engine.validation import check_games
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition, MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.solver.exact import ILLEGAL

POSITIONS_FILE = "positions.npz"
_ARRAYS = {
    "games": ArrayFormat("uint64", (None, NUM_COLUMNS)),
    "phase": ArrayFormat("int8", (None,)),
    "action_values": ArrayFormat("int16", (None, None)),
}
PHASES = ("start", "early", "middle", "late", "end")
"""The phases of a round, by the share of all seeds that is still free."""
LEAST_FREE = (0.9, 0.7, 0.5, 0.25, 0.0)
"""Smallest share of free seeds in each phase."""


def phase_of(position: Position) -> int:
    """Return the phase of a position, an index into PHASES."""
    free = int(position.seeds[position.owner < 0].sum())
    share = free / position.ruleset.total_seeds
    return next(i for i, least in enumerate(LEAST_FREE) if share >= least)


class NoPositions(MancalaError):
    """No solved positions are bundled for the ruleset."""


class InvalidPositions(MancalaError):
    """The file is not a valid set of solved positions."""


@dataclass(frozen=True, eq=False)
class PositionSet:
    """Running games of a ruleset with exact values; N positions, A actions.

    Attributes:
        ruleset: The ruleset.
        games: uint64 `[N, NUM_COLUMNS]`, in the format of ``Batch.games``.
        phase: int8 `[N]`, index into `phases`, ascending.
        phases: Names of the phases, from the start of a round to its end.
        action_values: int16 `[N, A]`, the value of each action for the player to move (see
            :class:`~mancala_env.solver.Solution`); ILLEGAL for illegal actions.
    """

    ruleset: Ruleset
    games: np.ndarray
    phase: np.ndarray
    phases: tuple[str, ...]
    action_values: np.ndarray

    @classmethod
    def of_file(cls, ruleset: Ruleset, file: Path) -> "PositionSet":
        """Read a set from a file; no code in it is run, and the arrays are read-only.

        Raises:
            InvalidPositions: The file is not a set of solved positions, or contains impossible positions.
            OSError: The file cannot be read.
        """
        widest = ruleset.num_holes
        try:
            data = read_arrays(file, _ARRAYS)
            games = check_games(ruleset, data["games"])
        except (InvalidArchive, InvalidPosition) as error:
            raise InvalidPositions(f"{file} is not a set of solved positions ({error})") from error
        phase, values = data["phase"], data["action_values"]
        if not len(games) == len(phase) == len(values) or values.shape[1] > widest:
            raise InvalidPositions(
                f"{file}: games, phase and values have {len(games)}, {len(phase)} and {values.shape} rows; "
                f"expected equally many rows and at most {widest} actions"
            )
        if (phase != np.clip(np.sort(phase), 0, len(PHASES) - 1)).any():
            raise InvalidPositions(f"{file}: phases must ascend from 0 to {len(PHASES) - 1}")
        for n in range(len(games)):
            position = Position.from_games(ruleset, games, n)
            legal = np.flatnonzero(values[n] != ILLEGAL)
            if not len(legal) or tuple(legal) != position.legal_actions:
                raise InvalidPositions(f"{file}: position {n} needs values of exactly its legal actions")
            if abs(values[n, legal].astype(np.int64)).max() > ruleset.total_seeds:
                raise InvalidPositions(f"{file}: position {n} has a value of more seeds than the game has")
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
            IllegalMove: An action is illegal.
            InvalidArgument: The actions are not N integers.
        """
        chosen = np.asarray(actions)
        if chosen.shape != (len(self),) or not np.issubdtype(chosen.dtype, np.integer):
            raise InvalidArgument(
                f"actions must be {len(self)} integers, not {chosen.dtype} of shape {chosen.shape}"
            )
        num_actions = self.action_values.shape[1]
        is_action = (chosen >= 0) & (chosen < num_actions)
        values = self.action_values[np.arange(len(self)), np.where(is_action, chosen, 0)]
        illegal = np.flatnonzero(~is_action | (values == ILLEGAL))
        if len(illegal):
            n = int(illegal[0])
            legal = ", ".join(map(str, np.flatnonzero(self.action_values[n] != ILLEGAL)))
            raise IllegalMove(f"position {n}: action {chosen[n]} is not legal; legal actions: {legal}")
        return self.action_values.max(axis=1) - values


# The file is part of the key, because the user may choose another cache folder.
_read = lru_cache(PositionSet.of_file)


def positions(ruleset: RulesetLike) -> PositionSet:
    """Return the solved positions of a ruleset, with read-only arrays.

    They are bundled, or made by :func:`~mancala_env.solver.prepare_positions`.

    Raises:
        InvalidRuleset: The ruleset is unknown.
        NoPositions: The ruleset is without solved positions.
    """
    ruleset = lookup(ruleset)
    if not has_positions(ruleset):
        raise NoPositions(
            f"no solved positions are bundled for {ruleset.name}, only for: "
            f"{', '.join(rulesets_with_positions())}; mancala_env.solver.prepare_positions makes some"
        )
    return _read(ruleset, _file_of(ruleset))


def has_positions(ruleset: Ruleset) -> bool:
    """Return whether :func:`positions` finds solved positions of exactly this ruleset."""
    return _file_of(ruleset).is_file()


def _file_of(ruleset: Ruleset) -> Path:
    return bundled_file_of("positions", ruleset) or prepared_file(ruleset, POSITIONS_FILE)


def rulesets_with_positions() -> tuple[str, ...]:
    """Return the names of the rulesets with a bundled set of solved positions."""
    return rulesets_with("positions")
