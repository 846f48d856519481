"""Positions as plain text for a terminal."""

from mancala_env.engine.coordinates import holes_as_drawn
from mancala_env.engine.state import END_REASONS, NORTH, PLAYERS, RUNNING, SOUTH, State
from mancala_env.render.motion import turn_name
from mancala_env.rulesets import Ruleset

_OWNER_MARKS = {-1: " ", SOUTH: "s", NORTH: "n"}


def draw(ruleset: Ruleset, state: State) -> str:
    """Draw a position, B = 1: the player to move, both rows and the stores.

    Holes that South or North owns are marked ``s`` or ``n``. Labels are the turns that sow from the holes.
    """
    seeds, owner, territory = state.seeds[0], state.owner[0], state.territory[0]
    if state.end[0] == RUNNING:
        what = f"{PLAYERS[state.player[0]]} to move"
    else:
        what = f"round over ({END_REASONS[state.end[0]]})"
    lines = [f"{ruleset.title}, round {state.round[0]}: {what}"]
    for player, holes in zip((NORTH, SOUTH), holes_as_drawn(ruleset), strict=True):
        name = PLAYERS[player]
        labels = "".join(f"{turn_name(ruleset, int(territory[h]), int(h)):>4} " for h in holes)
        cells = "".join(f"{seeds[h]:>4}{_OWNER_MARKS[int(owner[h])]}" for h in holes)
        board = f"{name}{cells}   store {state.stores[0, player]}"
        labels = " " * len(name) + labels
        lines += [labels, board] if player == NORTH else [board, labels]
    return "\n".join(line.rstrip() for line in lines)
