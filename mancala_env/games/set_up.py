"""Checks of the arguments that set up a position."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mancala_env.engine.state import NO_PLAYER, RUNNING, SOUTH, State, pack
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.errors import InvalidPosition
from mancala_env.rulesets import Ruleset


def set_up(ruleset: Ruleset, given: Mapping[str, Any]) -> np.ndarray:
    """Return a position as a games array, uint64 `[1, NUM_COLUMNS]`, after a check of each number.

    Args:
        ruleset: The ruleset.
        given: Arguments of :class:`mancala_env.games.position.Position` by name. The player has been checked.

    Raises:
        InvalidPosition: A number is out of range, or an array has another length.
    """
    num_holes, width, total = ruleset.num_holes, ruleset.row_width, ruleset.total_seeds

    def numbers(name: str, size: int, low: int, high: int, default: Any = None) -> np.ndarray:
        value = default if given[name] is None else given[name]
        return _integers(name, value, size, low, high)[None]

    def number(name: str, low: int, high: int, default: Any = None) -> np.ndarray:
        value = default if given[name] is None else given[name]
        return _integers(name, [value], 1, low, high)

    return pack(
        State(
            seeds=numbers("seeds", num_holes, 0, total),
            owner=numbers("owner", num_holes, -1, 1, [NO_PLAYER] * num_holes),
            territory=numbers("territory", num_holes, 0, 1, np.arange(num_holes) // width),
            stores=numbers("stores", 2, 0, total),
            debts=numbers("debts", 2, 0, total),
            player=np.array([given["player"]]),
            stall=number("stall", 0, STALL_LIMIT),
            round=number("round", 1, np.iinfo(np.int32).max),
            starter=number("starter", 0, 1, SOUTH),
            end=np.array([RUNNING]),
        )
    )


def _integers(name: str, value: Any, size: int, low: int, high: int) -> np.ndarray:
    """Return `size` integers from low to high, or raise an InvalidPosition that names the invalid one."""
    array = np.asarray(value)
    if array.shape != (size,) or not np.issubdtype(array.dtype, np.integer):
        what = f"{size} whole numbers, not {value!r}" if size > 1 else f"a whole number, not {value[0]!r}"
        raise InvalidPosition(f"{name} must be {what}")
    for i in np.flatnonzero((array < low) | (array > high)):
        where = name if size == 1 else f"{name}[{i}]"
        raise InvalidPosition(f"{where} must be {low} to {high}, not {array[i]}")
    return array.astype(np.int64)
