"""Proofs: which positions one is valid for, where it is stored, and when it is found again.

Two parts of a position hardly ever matter to its rest (see :mod:`mancala_env.solver.proof_search`), the stall
counter and how many seeds owned holes hold. So proofs are stored under keys that leave them out, and every
proof carries the :class:`Conditions` under which it holds:

*Stall counter.* Let the *chain* of a proof be the largest number of turns in a row, from its root, that
leave the free seeds unchanged on a line the proof looks at and are followed by a running round. From
counter s such a line is cut short by RULES 4 only if s + chain reaches 50. The proof therefore
holds for **every** counter s with s + chain < 50: the counter reaches the same ends, by the same turns,
after the first change it starts from 0 whatever it was, and being stuck comes before the stall
in RULES 4, so a turn that leaves the opponent stuck never depends on the counter. A line that does end
by stall gives its proof a chain of exactly 50 - s, and then s + chain = 50: such a proof is used, and
stored, for this one counter only.

*Contents of owned holes.* They come into play by ransom alone: it takes the last seed, and one more if
the hole was not empty. They change no turn, only what ransoms win, and a fuller hole never makes its
ransomer win less: of two games that differ in one seed of one such hole, the fuller stays one seed ahead
until a ransom finds the other hole empty, and then wins two seeds more and is level. (Where the last seed
stays in an empty hole, `ransoms_empty` false, it wins four more and is then one seed behind, which can cost
it those four again, never more.) So a proof is *for* one player, the mover if it says "at least", else the
other, and stays valid whatever more the holes of the player it is *against* hold and whatever less their own.
What is left are two numbers:

- The *need* is the most ransoms from holes that were not empty that the player it is for has on one of its
  lines. No hole loses more than that. The proof holds if each hole of the other holds as many seeds, or as
  many as here.
- The *drain* is 0 if that player's holes are never ransomed while empty; else one more than the most ransoms
  that come before such a one on its line. A hole of theirs with as many seeds is never found empty. The
  proof holds if each hole with fewer has no more than here. Where the proof has seeds to spare, it counts
  such a ransom as if the hole were full, and no drain arises.

Both are counted to VERY_CONTENTS, which stands for that or any greater number: what needs so many is met by
no number of seeds, and such a proof is for these very contents.

**Where it is stored.** A proof without drain, whose need is met, for all contents, with the need. Else, if
neither number is more than CAP, for all contents that are the same up to CAP seeds a hole, and otherwise for
the very contents. The three have three keys, which differ even where every owned hole is empty. In Layli
Goobalay the contents never matter. (Measured on Gabata I after 10 random turns: 258 million nodes where each
ransom of an empty hole made a proof one for the very contents, 131 with need and drain, 75 with contents up
to CAP; caps of 7, 10 and 14 do about equally well, 4 worse.)

**How conditions join.** A bound from the table enters a proof with the conditions stored beside it: for a
turn, chain = 0 if the free seeds changed, else 1 + the next position's; need and drain are the next
position's, plus one if the turn ransomed. "At least beta" needs one turn and its conditions, "less" all.

Where a :class:`Scope` shares no proofs, the key is the whole position's and there are no conditions.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import _SPREAD as SPREAD
from mancala_env.engine.state import NORTH, SOUTH, UUR, Board, as_actions, owned_by
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.solver.table import (
    LEAST,
    MOST,
    NO_MOVE,
    VERY_CONTENTS,
    WORDS_PER_BUCKET,
    WORDS_PER_ENTRY,
    Entry,
    check_in,
    packed,
    unpacked,
)

CAP = 8
"""Seeds of an owned hole that proofs may depend on and still be shared; less than VERY_CONTENTS."""
NO_RANSOM, RANSOM, RANSOM_FROM_EMPTY = 0, 1, 2

U0 = np.uint64(0)
_K1, _K2, _K3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(0xC2B2AE3D27D4EB4F)
_K4, _K5 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_U29, _U32, _U56, _U63, _U64 = (np.uint64(n) for n in (29, 32, 56, 63, 64))
_ALL_80 = np.uint64(0x8080808080808080)
_ALL_01 = np.uint64(0x0101010101010101)
# Tells the key of proofs for very contents from that of proofs for all: empty contents hash to nothing.
_VERY_CONTENTS_ONLY = np.uint64(0x5851F42D4C957F2D)


class Scope(NamedTuple):
    """What keys hold besides the position as its mover sees it.

    Attributes:
        south: uint64, tells positions in which South moves from those that look alike to North; 0: they
            are the same.
        north: uint64, likewise.
        shares: 1 where a proof serves other positions too, under its conditions; 0 where it is keyed by the
            whole position.
    """

    south: Any
    north: Any
    shares: Any


class Keys(NamedTuple):
    """What identifies a position from the mover's side.

    Attributes:
        key: Everything but the stall counter and the contents of owned holes.
        exact: The contents too.
        check: Eight more bits of the hash.
        capped: The contents, but no more than CAP seeds of a hole.
    """

    key: Any
    exact: Any
    check: Any
    capped: Any


class Conditions(NamedTuple):
    """Under which a proof holds elsewhere; see above. Need and drain are at most VERY_CONTENTS."""

    chain: Any
    need: Any
    drain: Any


@kernel
def _only(board, bits):
    """Return the board with nothing but the seeds in a set of holes."""
    return Board(
        board.low & SPREAD[bits & 0xFF],
        board.middle & SPREAD[(bits >> 8) & 0xFF],
        board.high & SPREAD[(bits >> 16) & 0xFF],
    )


@kernel
def _rotated(rules, board):
    """Return the board as North sees it: North's row first."""
    if rules.width < 8:
        shift = np.uint64(8 * rules.width)
        row = (np.uint64(1) << shift) - np.uint64(1)
        south = board.low & row
        north = ((board.low >> shift) | (board.middle << (_U64 - shift))) & row
        return Board(north | (south << shift), south >> (_U64 - shift), board.high)
    if rules.width == 8:
        return Board(board.middle, board.low, board.high)
    shift = np.uint64(8 * rules.width - 64)
    south_end = board.middle & ((np.uint64(1) << shift) - np.uint64(1))
    north_low = (board.middle >> shift) | (board.high << (_U64 - shift))
    north_end = board.high >> shift
    return Board(
        north_low,
        north_end | (board.low << shift),
        (board.low >> (_U64 - shift)) | (south_end << shift),
    )


@kernel
def _mixed(board, more):
    """Hash a board and 64 more bits; returns 64 bits and 8 more in the lowest byte."""
    word = board.low * _K1
    word ^= word >> _U29
    word = (word + board.middle) * _K2
    word ^= word >> _U32
    word = (word + more + board.high * _K4) * _K3
    word ^= word >> _U29
    check = (board.low + (board.middle + more) * _K5 + board.high * _K2) * _K4
    return word, check >> _U56


@kernel
def _capped_word(word):
    """Return a word of a board with at most CAP seeds in a hole."""
    cap = np.uint64(CAP) * _ALL_01
    over = ((((word | _ALL_80) - cap) & _ALL_80) >> np.uint64(7)) * np.uint64(255)
    return (word & ~over) | (cap & over)


@kernel
def _capped(board):
    """Return a board with at most CAP seeds in a hole."""
    return Board(_capped_word(board.low), _capped_word(board.middle), _capped_word(board.high))


@kernel
def _contents_of(rules, game):
    """Return the board with nothing but what owned holes hold, as the mover sees it."""
    contents = _only(game.board, game.owned_south | game.owned_north)
    return _rotated(rules, contents) if game.player == NORTH else contents


@kernel
def keys_of(rules, game, scope):
    """Return the Keys of a running game."""
    owned = game.owned_south | game.owned_north
    free = _only(game.board, ~owned)
    mine, theirs = game.owned_south, game.owned_north
    if game.player == NORTH:
        free = _rotated(rules, free)
        mine, theirs = as_actions(rules, NORTH, theirs), as_actions(rules, NORTH, mine)
    more = np.uint64(mine | (theirs << 24)) ^ (scope.south if game.player == SOUTH else scope.north)
    key, check = _mixed(free, more)
    if not scope.shares:
        key ^= np.uint64(game.stall) * _K5
        if owned:
            key ^= _mixed(_contents_of(rules, game), U0)[0]
        return Keys(key, key, check, key)
    if rules.landing == UUR or not owned:
        return Keys(key, key, check, key)
    contents = _contents_of(rules, game)
    return Keys(key, key ^ _mixed(contents, U0)[0], check, key ^ _mixed(_capped(contents), _U63)[0])


@kernel
def board_key(rules, game):
    """Return a hash of all that a running game's rest depends on, but for territory and seat.

    Books are checked by it: it must never change.
    """
    return keys_of(rules, game, Scope(U0, U0, 1)).exact ^ (np.uint64(game.stall) * _K5)


@kernel
def all_hold(board, bits, need):
    """Tell whether every hole of a set holds at least `need` seeds (at most 14)."""
    least = np.uint64(need) * _ALL_01
    ok = ((board.low | _ALL_80) - least) | ~SPREAD[bits & 0xFF]
    ok &= ((board.middle | _ALL_80) - least) | ~SPREAD[(bits >> 8) & 0xFF]
    ok &= ((board.high | _ALL_80) - least) | ~SPREAD[(bits >> 16) & 0xFF]
    return (ok & _ALL_80) == _ALL_80


@kernel
def look_up(table, game, keys):
    """Return what the table has proved of a position.

    Returns:
        Lower bound and its Conditions, upper bound and its Conditions, the hole that proved the lower
        bound (NO_MOVE: none).
    """
    start = _bucket_of(table, keys)
    lower, upper, move = LEAST, MOST, NO_MOVE
    at_least = Conditions(0, 0, 0)
    at_most = Conditions(0, 0, 0)
    for slot in range(start, start + WORDS_PER_BUCKET, WORDS_PER_ENTRY):
        data = table[slot + 1]
        key = table[slot] ^ data
        if key != keys.key and key != keys.capped and key != keys.exact ^ _VERY_CONTENTS_ONLY:
            continue
        if check_in(data) != keys.check:
            continue
        entry = unpacked(data)
        if entry.move != NO_MOVE:
            move = entry.move
        drain_mine, drain_theirs = 0, 0
        holds_lower, holds_upper = True, True
        # (One empty set of owned holes is like another; and no need, no condition.)
        if key != keys.key:
            drain_mine, drain_theirs = entry.need_mine, entry.need_theirs
        elif entry.need_mine | entry.need_theirs:
            holds_lower = all_hold(game.board, owned_by(game, 1 - game.player), entry.need_theirs)
            holds_upper = all_hold(game.board, owned_by(game, game.player), entry.need_mine)
        if entry.only_stall and entry.only_stall != game.stall + 1:
            continue
        only = STALL_LIMIT - game.stall
        is_in_time = entry.only_stall > 0 or game.stall + entry.chain_lower < STALL_LIMIT
        if entry.lower > lower and holds_lower and is_in_time:
            lower = entry.lower
            chain = only if entry.only_stall else entry.chain_lower
            at_least = Conditions(chain, entry.need_theirs, drain_mine)
        is_in_time = entry.only_stall > 0 or game.stall + entry.chain_upper < STALL_LIMIT
        if entry.upper < upper and holds_upper and is_in_time:
            upper = entry.upper
            chain = only if entry.only_stall else entry.chain_upper
            at_most = Conditions(chain, entry.need_mine, drain_theirs)
    return lower, at_least, upper, at_most, move


@kernel
def _bucket_of(table, keys):
    """Return the first word of the bucket that all entries of a position lie in."""
    return np.int64(keys.key & np.uint64(len(table) // WORDS_PER_BUCKET - 1)) * WORDS_PER_BUCKET


@kernel
def storage_of(game, keys, is_lower, conditions):
    """Return the key a proof is stored under, and the need and drain stored with it."""
    need, drain = conditions.need, conditions.drain
    against = 1 - game.player if is_lower else game.player
    holes = owned_by(game, against)
    # (Most proofs need nothing, so nothing is looked at for them.)
    if not drain and (not need or (need < VERY_CONTENTS and all_hold(game.board, holes, need))):
        return keys.key, need, drain
    if need <= CAP and drain <= CAP:
        return keys.capped, need, drain
    return keys.exact ^ _VERY_CONTENTS_ONLY, VERY_CONTENTS, VERY_CONTENTS


@kernel
def store(table, game, keys, scope, is_lower, bound, conditions, move, work):
    """Store a bound with the conditions of its proof."""
    if not scope.shares:
        conditions = Conditions(0, 0, 0)
    only_stall, chain = 0, conditions.chain
    if game.stall + chain >= STALL_LIMIT:
        only_stall, chain = game.stall + 1, 0
    key, need, drain = storage_of(game, keys, is_lower, conditions)
    mine, theirs = (drain, need) if is_lower else (need, drain)
    start = _bucket_of(table, keys)
    victim, least_work = start, 1000
    lower, upper = LEAST, MOST
    chain_lower, chain_upper = 0, 0
    bound = min(max(bound, LEAST), MOST)
    for slot in range(start, start + WORDS_PER_BUCKET, WORDS_PER_ENTRY):
        data = table[slot + 1]
        old = unpacked(data)
        if table[slot] ^ data == key and check_in(data) == keys.check and old.only_stall == only_stall:
            victim = slot
            lower, upper = old.lower, old.upper
            chain_lower, chain_upper = old.chain_lower, old.chain_upper
            if key != keys.key:
                if (upper if is_lower else lower) != (MOST if is_lower else LEAST):
                    mine, theirs = max(mine, old.need_mine), max(theirs, old.need_theirs)
            elif is_lower:
                mine = old.need_mine
            else:
                theirs = old.need_theirs
            if move == NO_MOVE:
                move = old.move
            work = max(work, old.work)
            break
        if old.work < least_work:
            victim, least_work = slot, old.work
    if is_lower:
        lower, chain_lower = bound, chain
    else:
        upper, chain_upper = bound, chain
    entry = Entry(lower, upper, chain_lower, chain_upper, only_stall, move, work, mine, theirs)
    data = packed(entry, keys.check)
    table[victim] = key ^ data
    table[victim + 1] = data


@kernel
def ransom_code(rules, before, after, mover, captured, taken):
    """Return NO_RANSOM, RANSOM, or RANSOM_FROM_EMPTY (perhaps, where none is won so) of a turn."""
    theirs = owned_by(before, 1 - mover)
    if rules.landing == UUR or not theirs or taken:
        return NO_RANSOM
    if captured == 2:
        return RANSOM
    if captured == 1:
        return RANSOM_FROM_EMPTY
    if not rules.ransoms_empty and not all_hold(after.board, theirs, 2):
        return RANSOM_FROM_EMPTY  # the last seed may have stayed in an empty one
    return NO_RANSOM


@kernel
def joined(conditions, more):
    """Return the Conditions under which two proofs hold."""
    return Conditions(
        max(conditions.chain, more.chain),
        max(conditions.need, more.need),
        max(conditions.drain, more.drain),
    )


@kernel
def before(game, is_for_mover, after_stall, ransom, conditions):
    """Return the Conditions of a proof that looks at a turn, given those of its part after the turn."""
    chain = conditions.chain + 1 if after_stall else 0
    need, drain = conditions.need, conditions.drain
    if is_for_mover and ransom == RANSOM:
        need = min(need + 1, VERY_CONTENTS)
    if not is_for_mover:
        if ransom and drain:
            drain = min(drain + 1, VERY_CONTENTS)
        if ransom == RANSOM_FROM_EMPTY:
            drain = max(drain, 1)
    is_for = game.player if is_for_mover else 1 - game.player
    return Conditions(
        chain,
        need if owned_by(game, 1 - is_for) else 0,
        drain if owned_by(game, is_for) else 0,
    )


@kernel
def as_if_full(rules, worth, ransom, beta):
    """Let the ransom of an empty hole win as much as of a full one, where a turn is worth too little even so.

    Returns:
        What the turn is worth then, and the ransom code that is left.
    """
    more = 2 if rules.ransoms_empty else 4
    if ransom == RANSOM_FROM_EMPTY and worth + more < beta:
        return worth + more, NO_RANSOM
    return worth, ransom
