"""Proofs: the positions for which a proof is valid, its key in the table, and its look-up.

Two parts of a position rarely affect its rest (see :mod:`mancala_env.solver.proof_search`): the stall counter
and the contents of owned holes. So proofs are stored under keys without these parts, with the
:class:`Conditions` under which they hold: the numbers *chain*, *need* and *drain*. They are
defined in ``docs/research/proof_conditions.md``, with the reasons why they suffice.

A proof is *for* one player: the player to move if it is a lower bound, otherwise the opponent. If it has
seeds to spare, a ransom from an empty hole counts as if the hole were full, and the drain is 0.

Need and drain are counted up to EXACT_CONTENTS, which also stands for all larger numbers. Such a need never
counts as met, so the proof holds only for exactly these contents.

**Key in the table.** A proof has one of three keys, which differ even if every owned hole is empty:

- for all contents, with the need, if the drain is 0 and the need is met;
- otherwise for all contents that agree up to CAP seeds in each hole, if neither number exceeds CAP;
- otherwise for exactly these contents.

**Joining conditions.** A proof that uses a bound from the table also takes over its conditions. A turn has
chain 0 if the free seeds changed, otherwise 1 + the chain of the next position. The need grows by one if
the player that the proof is for ransoms a hole that is not empty. A drain above 0 grows by one if the other
player ransoms, and a ransom of an empty hole makes it at least 1. A lower bound needs one turn, an upper
bound all turns.

A :class:`Scope` without sharing uses the key of the whole position and no conditions.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.board import SPREAD, Board
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.prefetch import prefetch
from mancala_env.engine.state import NORTH, RIGHTMOST_OPENING, SOUTH, UUR, as_actions, owned_by, row_of
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.solver.table import (
    EXACT_CONTENTS,
    LEAST,
    MOST,
    NO_MOVE,
    WORDS_PER_BUCKET,
    WORDS_PER_ENTRY,
    Entry,
    check_in,
    packed,
    unpacked,
)

CAP = 8
"""Most seeds of an owned hole that a shared proof may depend on; below EXACT_CONTENTS."""
NO_RANSOM, RANSOM, RANSOM_FROM_EMPTY = 0, 1, 2

U0 = np.uint64(0)
_K1, _K2, _K3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(0xC2B2AE3D27D4EB4F)
_K4, _K5 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_U29, _U32, _U56, _U63, _U64 = (np.uint64(n) for n in (29, 32, 56, 63, 64))
_ALL_80 = np.uint64(0x8080808080808080)
_ALL_01 = np.uint64(0x0101010101010101)
# Separates keys of proofs for exact contents from keys of proofs for all contents: empty contents hash to 0.
_EXACT_CONTENTS_ONLY = np.uint64(0x5851F42D4C957F2D)


class Scope(NamedTuple):
    """Parts of keys besides the position as seen from the player to move."""

    south: Any  # uint64, mixed into keys of positions with South to move; 0: the seat does not matter
    north: Any  # uint64, mixed into keys of positions with North to move
    shares: Any  # 1: a proof serves other positions under its conditions; 0: its key is the whole position


class Keys(NamedTuple):
    """Hashes of a position as seen from the player to move."""

    key: Any  # of everything except the stall counter and the contents of owned holes
    exact: Any  # the same with the contents
    check: Any  # a second hash of the same: a part of the bucket, and eight bits in its entries
    capped: Any  # the same with the contents, up to CAP seeds in each hole


class Conditions(NamedTuple):
    """Conditions under which a proof holds for other positions; need and drain are at most EXACT_CONTENTS."""

    chain: Any
    need: Any
    drain: Any


class ProvedBound(NamedTuple):
    """A bound on a position's rest; `action` proves a lower bound, and is NO_MOVE for an upper bound."""

    bound: Any
    conditions: Any
    action: Any


@kernel
def scope_of(rules, territory, shares):
    """Return the scope of the keys of positions with a territory.

    If each player's territory is their row, positions look the same from both seats, so both seats share
    keys. Otherwise keys depend on the territory and the seat. They also do if South's first turn is
    restricted (RULES 7).
    """
    if territory == row_of(rules, SOUTH) and rules.opening != RIGHTMOST_OPENING:
        return Scope(U0, U0, shares)
    twice = np.uint64(2 * territory)
    return Scope((twice + np.uint64(1)) * _K1, (twice + np.uint64(2)) * _K1, shares)


@kernel
def _only(board, bits):
    """Return the board with only the seeds in a set of holes."""
    return Board(
        board.low & SPREAD[bits & 0xFF],
        board.middle & SPREAD[(bits >> 8) & 0xFF],
        board.high & SPREAD[(bits >> 16) & 0xFF],
    )


@kernel
def _rotated(rules, board):
    """Return the board with North's row first."""
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
    """Return two hashes of a board and 64 more bits; the second one is weaker in its low bits."""
    word = board.low * _K1
    word ^= word >> _U29
    word = (word + board.middle) * _K2
    word ^= word >> _U32
    word = (word + more + board.high * _K4) * _K3
    word ^= word >> _U29
    check = (board.low + (board.middle + more) * _K5 + board.high * _K2) * _K4
    return word, check


@kernel
def _capped_word(word):
    """Return a word of a board with at most CAP seeds in a hole."""
    cap = np.uint64(CAP) * _ALL_01
    over = ((((word | _ALL_80) - cap) & _ALL_80) >> np.uint64(7)) * np.uint64(255)
    return (word & ~over) | (cap & over)


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
    if not owned or (scope.shares and rules.landing == UUR):
        return Keys(key, key, check, key)
    contents = _only(game.board, owned)
    if game.player == NORTH:
        contents = _rotated(rules, contents)
    exact = key ^ _mixed(contents, U0)[0]
    if not scope.shares:
        return Keys(exact, exact, check, exact)
    capped = Board(_capped_word(contents.low), _capped_word(contents.middle), _capped_word(contents.high))
    return Keys(key, exact, check, key ^ _mixed(capped, _U63)[0])


@kernel
def board_key(rules, game):
    """Return a hash of everything that a running game's rest depends on, except territory and seat.

    The checksums of books depend on this hash, so it must never change.
    """
    return keys_of(rules, game, Scope(U0, U0, 1)).exact ^ (np.uint64(game.stall) * _K5)


@kernel
def all_hold(board, bits, need):
    """Return whether every hole of a set holds at least `need` seeds (at most 14)."""
    least = np.uint64(need) * _ALL_01
    ok = ((board.low | _ALL_80) - least) | ~SPREAD[bits & 0xFF]
    ok &= ((board.middle | _ALL_80) - least) | ~SPREAD[(bits >> 8) & 0xFF]
    ok &= ((board.high | _ALL_80) - least) | ~SPREAD[(bits >> 16) & 0xFF]
    return (ok & _ALL_80) == _ALL_80


@kernel
def look_up(table, game, keys):
    """Look up a position.

    Return its lower bound and the bound's Conditions, the same for its upper bound, and the hole that proved
    the lower bound or NO_MOVE.
    """
    start = _bucket_of(table, keys)
    lower, upper, move = LEAST, MOST, NO_MOVE
    at_least = at_most = Conditions(0, 0, 0)
    for slot in range(start, start + WORDS_PER_BUCKET, WORDS_PER_ENTRY):
        data = table[slot + 1]
        key = table[slot] ^ data
        if key != keys.key and key != keys.capped and key != keys.exact ^ _EXACT_CONTENTS_ONLY:
            continue
        if check_in(data) != keys.check >> _U56:
            continue
        entry = unpacked(data)
        if entry.move != NO_MOVE:
            move = entry.move
        drain_mine, drain_theirs = 0, 0
        holds_lower, holds_upper = True, True
        # (Without owned holes or without need, no condition is left to check.)
        if key != keys.key:
            drain_mine, drain_theirs = entry.need_mine, entry.need_theirs
        elif entry.need_mine | entry.need_theirs:
            holds_lower = all_hold(game.board, owned_by(game, 1 - game.player), entry.need_theirs)
            holds_upper = all_hold(game.board, owned_by(game, game.player), entry.need_mine)
        is_for_stall = entry.only_stall > 0
        if is_for_stall and entry.only_stall != game.stall + 1:
            continue
        turns_left = STALL_LIMIT - game.stall
        chain = turns_left if is_for_stall else entry.chain_lower
        if entry.lower > lower and holds_lower and (is_for_stall or chain < turns_left):
            lower, at_least = entry.lower, Conditions(chain, entry.need_theirs, drain_mine)
        chain = turns_left if is_for_stall else entry.chain_upper
        if entry.upper < upper and holds_upper and (is_for_stall or chain < turns_left):
            upper, at_most = entry.upper, Conditions(chain, entry.need_mine, drain_theirs)
    return lower, at_least, upper, at_most, move


@kernel
def prefetch_bucket(table, keys):
    """Start loading what :func:`look_up` reads."""
    prefetch(table, _bucket_of(table, keys))


@kernel
def _bucket_of(table, keys):
    """Return the first word of the bucket for all entries of a position."""
    # For equal keys the bucket depends on the second hash. So keys in a bucket need not agree in any bit.
    number = ((keys.key ^ keys.check) >> _U32) & np.uint64(len(table) // WORDS_PER_BUCKET - 1)
    return np.int64(number) * WORDS_PER_BUCKET


@kernel
def storage_of(game, keys, is_lower, conditions):
    """Return the key under which a proof is stored, and the need and drain stored with it."""
    need, drain = conditions.need, conditions.drain
    against = 1 - game.player if is_lower else game.player
    holes = owned_by(game, against)
    # (Most proofs have no need and no drain, and are not checked further.)
    if not drain and (not need or (need < EXACT_CONTENTS and all_hold(game.board, holes, need))):
        return keys.key, need, drain
    if need <= CAP and drain <= CAP:
        return keys.capped, need, drain
    return keys.exact ^ _EXACT_CONTENTS_ONLY, EXACT_CONTENTS, EXACT_CONTENTS


@kernel
def store(table, game, keys, scope, proved, work):
    """Store a ProvedBound; `work` is the binary logarithm of the nodes spent."""
    conditions = proved.conditions if scope.shares else Conditions(0, 0, 0)
    move, is_lower = proved.action, proved.action != NO_MOVE
    only_stall, chain = 0, conditions.chain
    if game.stall + chain >= STALL_LIMIT:
        only_stall, chain = game.stall + 1, 0
    key, need, drain = storage_of(game, keys, is_lower, conditions)
    mine, theirs = (drain, need) if is_lower else (need, drain)
    start = _bucket_of(table, keys)
    victim, least_work = start, 1000
    lower, upper = LEAST, MOST
    chain_lower, chain_upper = 0, 0
    bound = min(max(proved.bound, LEAST), MOST)
    for slot in range(start, start + WORDS_PER_BUCKET, WORDS_PER_ENTRY):
        data = table[slot + 1]
        old = unpacked(data)
        is_same = table[slot] ^ data == key and check_in(data) == keys.check >> _U56
        if is_same and old.only_stall == only_stall:
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
    data = packed(entry, keys.check >> _U56)
    table[victim] = key ^ data
    table[victim + 1] = data


@kernel
def ransom_code(rules, before, after, mover, captured, taken):
    """Return the kind of ransom in a turn: NO_RANSOM, RANSOM, or a possible RANSOM_FROM_EMPTY."""
    theirs = owned_by(before, 1 - mover)
    if rules.landing == UUR or not theirs or taken:
        return NO_RANSOM
    if captured == 2:
        return RANSOM
    if captured == 1:
        return RANSOM_FROM_EMPTY
    if not rules.ransoms_empty and not all_hold(after.board, theirs, 2):
        return RANSOM_FROM_EMPTY  # the last seed may have stayed in an empty hole
    return NO_RANSOM


@kernel
def joined(conditions, more):
    """Return the Conditions under which both proofs hold."""
    return Conditions(
        max(conditions.chain, more.chain),
        max(conditions.need, more.need),
        max(conditions.drain, more.drain),
    )


@kernel
def before(game, is_for_mover, after_stall, ransom, conditions):
    """Return the Conditions of a proof with a turn, given those of the proof after the turn."""
    chain = conditions.chain + 1 if after_stall else 0
    need, drain = conditions.need, conditions.drain
    if is_for_mover and ransom == RANSOM:
        need = min(need + 1, EXACT_CONTENTS)
    if not is_for_mover:
        if ransom and drain:
            drain = min(drain + 1, EXACT_CONTENTS)
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
    """Count the ransom of an empty hole as if the hole were full, if the turn still stays below beta.

    Return the new value of the turn, and the new kind of ransom.
    """
    more = 2 if rules.ransoms_empty else 4
    if ransom == RANSOM_FROM_EMPTY and worth + more < beta:
        return worth + more, NO_RANSOM
    return worth, ransom
