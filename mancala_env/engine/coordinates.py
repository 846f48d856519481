"""Coordinates of holes: in sowing order, as an action of a player, and on the drawn board.

| name | meaning |
|---|---|
| hole | number in sowing order: 0 to W-1 are South's row, W to H-1 North's |
| action | hole seen from the player to move: 0 to W-1 are their own row |
| square | (row, column) on the drawn board: row 0 is North's, at the top; column 0 is the leftmost |

South's row runs from left to right in anticlockwise games, and from right to left in clockwise ones.

>>> from mancala_env.engine.coordinates import action_of, hole_at, hole_of, square_of
>>> hole_of("layli_goobalay", 1, 2)
8
>>> square_of("layli_goobalay", 8)
(0, 3)
>>> action_of("layli_goobalay", 1, hole_at("layli_goobalay", 0, 3))
2

Kernels use the functions of :mod:`mancala_env.engine.state`.

Symbols: W row width, H holes, B games.
"""

import numpy as np

from mancala_env._util.checks import whole
from mancala_env.rulesets import Ruleset, RulesetLike, lookup


def hole_of(ruleset: RulesetLike, player: int, action: int) -> int:
    """Return the hole of an action, 0 to H-1, of a player, 0 (South) or 1 (North).

    Actions from W on are holes of the opponent's row.

    Raises:
        InvalidArgument: `player` or `action` is out of range.
    """
    ruleset = lookup(ruleset)
    player, action = whole("player", player, 0, 1), whole("action", action, 0, ruleset.num_holes - 1)
    return (action + ruleset.row_width * player) % ruleset.num_holes


def action_of(ruleset: RulesetLike, player: int, hole: int) -> int:
    """Return the action of a player, 0 or 1, for a hole, 0 to H-1; the inverse of :func:`hole_of`.

    Raises:
        InvalidArgument: `player` or `hole` is out of range.
    """
    ruleset = lookup(ruleset)
    # A half turn of the board is its own inverse.
    return hole_of(ruleset, player, whole("hole", hole, 0, ruleset.num_holes - 1))


def square_of(ruleset: RulesetLike, hole: int) -> tuple[int, int]:
    """Return (row, column) of a hole on the drawn board.

    Raises:
        InvalidArgument: `hole` is not 0 to H-1.
    """
    ruleset = lookup(ruleset)
    rows = np.stack(holes_as_drawn(ruleset))
    row, column = np.argwhere(rows == whole("hole", hole, 0, ruleset.num_holes - 1))[0]
    return int(row), int(column)


def hole_at(ruleset: RulesetLike, row: int, column: int) -> int:
    """Return the hole at a square; the inverse of :func:`square_of`.

    Raises:
        InvalidArgument: `row` is not 0 or 1, or `column` not 0 to W-1.
    """
    ruleset = lookup(ruleset)
    row, column = whole("row", row, 0, 1), whole("column", column, 0, ruleset.row_width - 1)
    return int(holes_as_drawn(ruleset)[row][column])


def holes_as_drawn(ruleset: Ruleset) -> tuple[np.ndarray, np.ndarray]:
    """Return North's and South's holes from left to right on the drawn board, int64 `[W]` each."""
    width = ruleset.row_width
    south, north = np.arange(width), np.arange(2 * width - 1, width - 1, -1)
    return (north, south) if ruleset.direction == "anticlockwise" else (north[::-1], south[::-1])


def holes_seen_by(ruleset: Ruleset, players: np.ndarray) -> np.ndarray:
    """Return the holes in the order of each player's actions, int64 `[B, H]` for players 0 or 1, `[B]`.

    The same array converts actions to holes and holes to actions.
    """
    shift = ruleset.row_width * np.asarray(players, np.int64)[:, None]
    return (np.arange(ruleset.num_holes) + shift) % ruleset.num_holes
