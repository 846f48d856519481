"""Checks of the arguments of a position: seeds, owners, territory, stores and the state of the match."""

from typing import Any

import numpy as np

from mancala_env.engine.state import NO_PLAYER, RUNNING, SOUTH, State, pack
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.errors import InvalidPosition
from mancala_env.rulesets import Ruleset


def set_up(
    ruleset: Ruleset, seeds: Any, owner: Any, territory: Any, stores: Any, player: int, **match: Any
) -> np.ndarray:
    """Return a position as a games array, uint64 `[1, NUM_COLUMNS]`, or raise an InvalidPosition.

    :class:`mancala_env.games.position.Position` documents the arguments; `match` has stall, round, starter
    and debts. The caller has checked the player.
    """
    num_holes, total = ruleset.num_holes, ruleset.total_seeds
    owner = [NO_PLAYER] * num_holes if owner is None else owner
    territory = np.arange(num_holes) // ruleset.row_width if territory is None else territory
    starter = SOUTH if match["starter"] is None else match["starter"]
    return pack(
        State(
            seeds=_integers("seeds", seeds, num_holes, 0, total)[None],
            owner=_integers("owner", owner, num_holes, -1, 1)[None],
            territory=_integers("territory", territory, num_holes, 0, 1)[None],
            stores=_integers("stores", stores, 2, 0, total)[None],
            debts=_integers("debts", match["debts"], 2, 0, total)[None],
            player=np.array([player]),
            stall=_integers("stall", [match["stall"]], 1, 0, STALL_LIMIT),
            round=_integers("round", [match["round"]], 1, 1, np.iinfo(np.int32).max),
            starter=_integers("starter", [starter], 1, 0, 1),
            end=np.array([RUNNING]),
        )
    )


def _integers(name: str, value: Any, size: int, low: int, high: int) -> np.ndarray:
    """Return `size` integers from low to high, or raise an InvalidPosition that names the invalid one."""
    try:
        array = np.asarray(value)
    except ValueError:  # a list of lists of unequal lengths
        array = np.empty(0)
    if array.shape != (size,) or not np.issubdtype(array.dtype, np.integer):
        what = f"{size} whole numbers, not {value!r}" if size > 1 else f"a whole number, not {value[0]!r}"
        raise InvalidPosition(f"{name} must be {what}")
    for i in np.flatnonzero((array < low) | (array > high)):
        where = name if size == 1 else f"{name}[{i}]"
        raise InvalidPosition(f"{where} must be {low} to {high}, not {array[i]}")
    return array.astype(np.int64)
