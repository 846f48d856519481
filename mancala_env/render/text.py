"""Positions as plain text for a terminal."""

from mancala_env.engine.coordinates import action_of, holes_as_drawn
from mancala_env.engine.state import END_REASONS, NORTH, RUNNING, SOUTH, State
from mancala_env.rulesets import Ruleset

_OWNER_MARKS = {-1: " ", SOUTH: "s", NORTH: "n"}


def draw(ruleset: Ruleset, state: State, b: int = 0) -> str:
    """Draw game b of a State: the player to move, both rows and the stores.

    Holes that South or North owns are marked ``s`` or ``n``. Labels are the turns that sow from the holes.
    """
    seeds, owner, territory = state.seeds[b], state.owner[b], state.territory[b]
    if state.end[b] == RUNNING:
        what = f"{('South', 'North')[state.player[b]]} to move"
    else:
        what = f"round over ({END_REASONS[state.end[b]]})"
    lines = [f"{ruleset.title}, round {state.round[b]}: {what}"]
    rows = zip(("North", "South"), (NORTH, SOUTH), holes_as_drawn(ruleset), strict=True)
    for name, player, holes in rows:
        labels = "".join(f"{_label(ruleset, int(territory[h]), int(h)):>5}" for h in holes)
        cells = "".join(f"{seeds[h]:>4}{_OWNER_MARKS[int(owner[h])]}" for h in holes)
        board = f"{name}{cells}   store {state.stores[b, player]}"
        labels = " " * len(name) + labels
        lines += [labels, board] if player == NORTH else [board, labels]
    return "\n".join(line.rstrip() for line in lines)


def _label(ruleset: Ruleset, sower: int, hole: int) -> str:
    """Return the turn that sows from a hole, in notation."""
    return f"{'SN'[sower]}{action_of(ruleset, sower, hole) + 1} "
