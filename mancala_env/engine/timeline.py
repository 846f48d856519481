"""What happens in a turn, in order: the events that every picture of it draws.

A kernel writes a turn out: each handful lifted, each seed dropped, each relay, and what the landing did, as
:func:`mancala_env.engine.turn.play_turn` did it. Nothing that draws a turn sows by itself.

>>> from mancala_env import Position
>>> [event.kind for event in Position("layli_goobalay").timeline(2).events][:6]
['lift', 'drop', 'drop', 'drop', 'drop', 'relay']

Symbols: W row width, H = 2W holes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    END_REASONS,
    ENDLESS,
    RUNNING,
    State,
    load,
    seeds_in,
    sown,
)
from mancala_env.engine.turn import MAX_LAPS, makes_four_matter, play_turn, relays

LIFT, DROP, RELAY, CAPTURE, RANSOM, STORE, OWN, PUT_BACK, PASS, NEXT, END = range(11)
KINDS = ("lift", "drop", "relay", "capture", "ransom", "store", "own", "put_back", "pass", "next", "end")
"""The kinds of event; a code of a kernel is an index into them."""

_EVENTS_AT_FIRST = 512


class Event(NamedTuple):
    """One thing that happens in a turn.

    Attributes:
        kind: One of KINDS.

            ========  ==================================================================================
            lift      `seeds` are taken up from `hole`: the whole handful of a lap, or, where three lay
                      opposite (RULES 3), the one that crosses over
            drop      a seed falls into `hole`
            relay     the lap ended in `hole`, which holds `seeds` with the last one: the turn goes on
            capture   `seeds` leave `hole`, won by `player`
            ransom    `seeds` leave the owned `hole`, won back by `player`
            store     `seeds`, all that was won, go to the store of `player`
            own       `hole` becomes `player`'s (uur, weg, captured hole), with the `seeds` in it
            put_back  an endless relay: every seed is where it lay before the turn
            pass      `player` has no hole to sow from and passes
            next      `player` is to move; the stall counter stands at `seeds`
            end       the round is over, for the reason `reason`; `player` would have been to move, and the
                      stall counter stands at `seeds`
            ========  ==================================================================================

        player: 0 South or 1 North: who plays the turn, and in the last two kinds who would come next.
        hole: 0 to H-1 in sowing order; -1 where there is none.
        seeds: How many; 0 where there are none.
        reason: "stuck", "stall" or "endless" in an ``end``, else "".
    """

    kind: str
    player: int
    hole: int = -1
    seeds: int = 0
    reason: str = ""


class Timeline(NamedTuple):
    """A turn written out.

    Attributes:
        player: Who played it, 0 South or 1 North.
        hole: The hole it started from, 0 to H-1 in sowing order.
        laps: Laps sown, 1 to 1000.
        events: What happened, in order. The last one says who moves next, or that the round is over.
    """

    player: int
    hole: int
    laps: int
    events: tuple[Event, ...]


@kernel
def write_timeline(rules, game, hole, events):
    """Write the events of the turn that starts from a legal hole.

    Args:
        rules: The ruleset.
        game: The game before the turn.
        hole: The hole it starts from.
        events: int32 `[N, 4]`, written: kind, player, hole and seeds of each event; for END the hole is the
            reason of the end.

    Returns:
        The game after the turn, the laps sown, and how many events there are; those past N are not written.
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
    """Write event n if there is room, and return how many there are with it."""
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
    """Return the timeline of a turn of the first of some games, which stay as they are.

    Args:
        rules: The ruleset, encoded.
        games: uint64 `[1, NUM_COLUMNS]`.
        hole: A legal hole.
    """
    events = np.empty((_EVENTS_AT_FIRST, 4), np.int32)
    laps, n = _timeline(rules, games, hole, events)
    if n > len(events):
        events = np.empty((n, 4), np.int32)
        laps, n = _timeline(rules, games, hole, events)
    rows = events[:n].tolist()
    named = [Event(KINDS[kind], player, hole, seeds) for kind, player, hole, seeds in rows[:-1]]
    kind, player, reason, stall = rows[-1]
    ended = kind == END
    named.append(Event(KINDS[kind], player, -1, stall, END_REASONS[reason] if ended else ""))
    return Timeline(rows[0][1], hole, int(laps), tuple(named))


def replay(state: State, events: Sequence[Event]) -> Iterator[State]:
    """Yield the position after each event, starting from the one before the turn.

    Between a lift and the drops the seeds in hand are in no hole.

    Args:
        state: The position before the turn, B = 1; stays as it is.
        events: The events of a timeline.

    Yields:
        A State of its own after each event.
    """
    before = _copied(state)
    now = _copied(state)
    for event in events:
        _apply(now, event, before)
        yield _copied(now)


def _apply(state: State, event: Event, before: State) -> None:
    kind, player, hole, seeds, reason = event
    if kind in ("lift", "capture", "ransom"):
        state.seeds[0, hole] -= seeds
    elif kind == "drop":
        state.seeds[0, hole] += 1
    elif kind == "store":
        state.stores[0, player] += seeds
    elif kind == "own":
        state.owner[0, hole] = player
    elif kind == "put_back":
        state.seeds[:] = before.seeds
    elif kind in ("next", "end"):
        state.player[0], state.stall[0] = player, seeds
        state.end[0] = END_REASONS.index(reason)


def _copied(state: State) -> State:
    return State(*(field.copy() for field in state))
