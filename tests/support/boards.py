"""Read boards drawn in tests, and compare positions with them.

A drawing has North's row above South's. Each player's first hole is on their left: holes 11 10 9 8 7 6 over 0
1 2 3 4 5. Seeds move right in the lower row and left in the upper one. Clockwise games are drawn in the same
way, because the rules do not depend on the direction. ``4s`` is a hole that South owns, ``4n`` one that North
owns.
"""

from pathlib import Path
from typing import Any

from mancala_env import Position, Ruleset, rulesets

SOUTH, NORTH = 0, 1
NO_PLAYER = -1
NARROW = str(Path(__file__).parents[1] / "data" / "narrow.yaml")
"""File of a ruleset without bundled networks."""


def holes(drawing: str) -> tuple[list[int], list[int]]:
    """Return the seeds and the owners of a drawing, in hole order."""
    north, south = (line.split() for line in drawing.strip().splitlines())
    cells = south + north[::-1]
    owners = [{"s": SOUTH, "n": NORTH}.get(cell[-1], NO_PLAYER) for cell in cells]
    return [int(cell.rstrip("sn")) for cell in cells], owners


def position(ruleset: str | Ruleset, drawing: str, **fields: Any) -> Position:
    """Return the position drawn, by default with South to move."""
    seeds, owner = holes(drawing)
    return Position(ruleset, seeds, owner, **fields)


def finished(ruleset: str | Ruleset, counts: tuple[int, int], **fields: Any) -> Position:
    """Return the end of a round with these counts and all seeds in the stores."""
    return Position(ruleset, [0] * rulesets.lookup(ruleset).num_holes, stores=counts, **fields)


def assert_drawn(after: Position, drawing: str) -> None:
    """Check the seeds and owners of a position against a drawing."""
    seeds, owner = holes(drawing)
    assert (after.seeds.tolist(), after.owner.tolist()) == (seeds, owner), f"\n{after}"
