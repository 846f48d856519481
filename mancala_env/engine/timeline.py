"""The events of a turn in order, from which all animations are drawn.

A kernel writes each lift, drop and relay, and the effects of the landing. The events agree with
:func:`mancala_env.engine.turn.play_turn`. So code that draws a turn need not sow itself.

>>> from mancala_env import Position
>>> [event.kind for event in Position("layli_goobalay").timeline(2).events][:6]
['lift', 'drop', 'drop', 'drop', 'drop', 'relay']

Symbols: W row width, H = 2W holes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mancala_env.engine.board import seeds_in, sown
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import END_REASONS, ENDLESS, RUNNING, State, load
from mancala_env.engine.turn import MAX_LAPS, makes_four_matter, play_turn, relays

LIFT, DROP, RELAY, CAPTURE, RANSOM, STORE, OWN, PUT_BACK, PASS, NEXT, END = range(11)
KINDS = ("lift", "drop", "relay", "capture", "ransom", "store", "own", "put_back", "pass", "next", "end")
"""The kinds of events; kernels use their indices."""

_EVENTS_AT_FIRST = 512


class Event(NamedTuple):
    """An event of a turn.

    Attributes:
        kind: One of KINDS.

            ========  ==================================================================================
            lift      `seeds` are lifted from `hole`: all seeds of a lap, or the seed that moves to the
                      opposite hole when two uur are made (RULES 3)
            drop      a seed falls into `hole`
            relay     the lap ends in `hole`, which has `seeds` with the last one, and the turn continues
            capture   `player` captures `seeds` from `hole`
            ransom    `player` wins back `seeds` from the owned `hole`
            store     the captured `seeds` go to the store of `player`
            own       `hole` becomes `player`'s (uur, weg, captured hole), with the `seeds` in it
            put_back  an endless relay: every seed returns to its hole before the turn
            pass      `player` cannot sow and passes
            next      `player` is to move; the stall counter is `seeds`
            end       the round is over because of `reason`; `player` would be next (after an endless relay,
                      the player of the turn), and the stall counter is `seeds`
            ========  ==================================================================================

        player: The player of the turn, 0 South or 1 North; in the kind "pass", the player who passes; in the
            kinds "next" and "end", the next player.
        hole: The hole, 0 to H-1 in sowing order; -1 in kinds without a hole.
        seeds: Number of seeds; 0 in kinds without a number.
        reason: "stuck", "stall" or "endless" in the kind "end", otherwise "".
    """

    kind: str
    player: int
    hole: int = -1
    seeds: int = 0
    reason: str = ""


class Timeline(NamedTuple):
    """A turn and its events.

    Attributes:
        player: The player, 0 South or 1 North.
        hole: First hole of the turn, 0 to H-1 in sowing order.
        laps: Number of laps, 1 to 1000.
        events: The events in order. The last one is "next" or "end".
    """

    player: int
    hole: int
    laps: int
    events: tuple[Event, ...]


@kernel
def write_timeline(rules, game, hole, events):
    """Write the events of the turn that starts from a legal hole into `events`, int32 `[N, 4]`.

    A row is kind, player, hole and seeds; for END the hole is the reason of the end. Return the game after
    the turn, the number of laps, and the number of events, of which only the first N are written.
    """
    mover = game.player
    owned = game.owned_south | game.owned_north
    fours = makes_four_matter(rules, game)
    board = game.board
    last = np.uint64(hole)
    n, laps = 0, 0
    while True:
        laps += 1
        held = seeds_in(board, last)
        n = _write(events, n, LIFT, mover, last, held)
        for seed in range(1, np.int64(held) + 1):
            n = _write(events, n, DROP, mover, (np.int64(last) + seed) % (2 * rules.width), 1)
        board, last = sown(rules, board, last, held)
        held = seeds_in(board, last)
        if not relays(owned, fours, last, held - np.uint64(1)) or laps == MAX_LAPS:
            break
        n = _write(events, n, RELAY, mover, last, held)

    after, _, captured, taken = play_turn(rules, game, hole)
    if after.end == ENDLESS:
        n = _write(events, n, PUT_BACK, mover, -1, 0)
    else:
        n = _write_landing(rules, events, n, mover, owned, board, np.int64(last), after, captured, taken)
    if after.end != RUNNING:
        return after, laps, _write(events, n, END, after.player, after.end, after.stall)
    if after.player == mover:
        n = _write(events, n, PASS, 1 - mover, -1, 0)
    return after, laps, _write(events, n, NEXT, after.player, -1, after.stall)


@kernel
def _write_landing(rules, events, n, mover, owned, board, last, after, captured, taken):
    """Write what the last seed did: the difference between the sown board and the one after the turn."""
    opposite = 2 * rules.width - 1 - last
    for hole in (opposite, last):
        gone = np.int64(seeds_in(board, hole)) - np.int64(seeds_in(after.board, hole))
        if gone > 0 and captured:
            n = _write(events, n, RANSOM if owned >> last & 1 else CAPTURE, mover, hole, gone)
        elif gone > 0:  # one of three crosses over (Jama Musse Jama 2002)
            n = _write(events, n, LIFT, mover, hole, gone)
            n = _write(events, n, DROP, mover, last, gone)
    if captured:
        n = _write(events, n, STORE, mover, -1, captured)
    for hole in (last, opposite):
        if taken >> hole & 1:
            n = _write(events, n, OWN, mover, hole, seeds_in(after.board, hole))
    return n


@kernel
def _write(events, n, kind, player, hole, seeds):
    """Write event n if there is room, and return the number of events with it."""
    if n < len(events):
        events[n, 0] = kind
        events[n, 1] = player
        events[n, 2] = np.int64(hole)
        events[n, 3] = np.int64(seeds)
    return n + 1


@kernel
def _timeline(rules, games, hole, events):
    _, laps, n = write_timeline(rules, load(games, 0), hole, events)
    return laps, n


def timeline_of(rules, games: np.ndarray, hole: int) -> Timeline:
    """Return the timeline of the turn from a legal hole of games uint64 `[1, NUM_COLUMNS]`, unchanged."""
    events = np.empty((_EVENTS_AT_FIRST, 4), np.int32)
    laps, n = _timeline(rules, games, hole, events)
    if n > len(events):
        events = np.empty((n, 4), np.int32)
        laps, n = _timeline(rules, games, hole, events)
    rows = events[:n].tolist()
    named = [Event(KINDS[kind], player, hole, seeds) for kind, player, hole, seeds in rows]
    if named[-1].kind == "end":
        named[-1] = named[-1]._replace(hole=-1, reason=END_REASONS[named[-1].hole])
    return Timeline(rows[0][1], hole, int(laps), tuple(named))


def replay(state: State, events: Sequence[Event]) -> Iterator[State]:
    """Yield a new State after each event of a turn, from the position before it, B = 1.

    Seeds in hand, between a lift and the drops, are in no hole. The states share equal arrays, so do not
    write to them.
    """
    now = state
    for kind, player, hole, seeds, reason in events:
        if kind in ("lift", "capture", "ransom"):
            now = now._replace(seeds=_changed(now.seeds, hole, now.seeds[0, hole] - seeds))
        elif kind == "drop":
            now = now._replace(seeds=_changed(now.seeds, hole, now.seeds[0, hole] + 1))
        elif kind == "store":
            now = now._replace(stores=_changed(now.stores, player, now.stores[0, player] + seeds))
        elif kind == "own":
            now = now._replace(owner=_changed(now.owner, hole, player))
        elif kind == "put_back":
            now = now._replace(seeds=state.seeds)
        elif kind in ("next", "end"):
            last = {"player": player, "stall": seeds, "end": END_REASONS.index(reason)}
            now = now._replace(**{field: np.full_like(getattr(now, field), n) for field, n in last.items()})
        yield now


def _changed(row: np.ndarray, place: int, number: int) -> np.ndarray:
    """Return a copy of an array `[1, N]` with another number at a place."""
    changed = row.copy()
    changed[0, place] = number
    return changed
