"""The bundled fair openings: positions soon after the start that are even under best play.

The solver has proved every value, unlike those of most balanced openings.
``python -m tools.make_fair_openings`` regenerates them.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mancala_env._util.archives import ArrayFormat, read_arrays
from mancala_env._util.package_data import bundled_file_of, rulesets_with
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

NO_TURN = -1
"""Fill value of lines that are shorter than the longest line of a file."""
_ARRAYS = {
    "turns": ArrayFormat("int8", (None, None)),
    "margins": ArrayFormat("int16", (None,)),
    "best": ArrayFormat("bool", (None, None)),
    "replies": ArrayFormat("bool", (None, None)),
}


class NoFairOpenings(MancalaError):
    """A ruleset without bundled fair openings; the message lists the rulesets that have some."""


@dataclass(frozen=True)
class FairOpening:
    """A position with an exact value of zero, or the value of its ruleset nearest to zero.

    Attributes:
        ruleset: The ruleset.
        turns: Actions from the start to the position.
        margin: Exact final lead of the player to move under best play, in seeds.
        best_actions: All optimal actions of the player to move.
        replies: All optimal actions of the turn after the first of `best_actions`; empty if the round is
            over.
    """

    ruleset: Ruleset
    turns: tuple[int, ...]
    margin: int
    best_actions: tuple[int, ...]
    replies: tuple[int, ...]

    @property
    def position(self) -> Position:
        """A new copy of the position."""
        position = Position(self.ruleset)
        for action in self.turns:
            position.play(action)
        return position


def fair_openings(ruleset: RulesetLike) -> tuple[FairOpening, ...]:
    """Return the fair openings of a ruleset, those of the fewest turns first.

    They are all positions within four turns of the start in which best play of both players ends even. If
    no position is even, they are all positions with the smallest margin. A position that several lines of
    play reach is listed once.

    Args:
        ruleset: The ruleset, or its name.

    Raises:
        NoFairOpenings: If none are bundled for the ruleset; the message lists the rulesets that have some.

    >>> first = fair_openings("layli_goobalay")[0]
    >>> first.turns, first.margin, first.best_actions, first.replies
    ((5, 0), 0, (3,), (1,))
    """
    return _read(lookup(ruleset))


@lru_cache(maxsize=32)
def _read(ruleset: Ruleset) -> tuple[FairOpening, ...]:
    file = bundled_file_of("fair", ruleset)
    if file is None:
        listed = ", ".join(rulesets_with("fair"))
        raise NoFairOpenings(f"no fair openings are bundled for {ruleset.name}, only for {listed}")
    try:
        arrays = read_arrays(file, _ARRAYS)
        rows = zip(*(arrays[name] for name in _ARRAYS), strict=True)
        found = tuple(
            FairOpening(
                ruleset,
                tuple(turns[turns != NO_TURN].tolist()),
                int(margin),
                tuple(np.flatnonzero(best).tolist()),
                tuple(np.flatnonzero(replies).tolist()),
            )
            for turns, margin, best, replies in rows
        )
        for opening in found:
            _ = opening.position
    except ValueError as error:
        raise NoFairOpenings(f"{file} does not contain fair openings ({error})") from error
    return found


@lru_cache(maxsize=32)
def fair_games(ruleset: Ruleset) -> np.ndarray:
    """Return the fair openings as games, uint64 `[N, NUM_COLUMNS]`, read-only."""
    games = np.concatenate([opening.position.games for opening in _read(ruleset)])
    games.setflags(write=False)
    return games
