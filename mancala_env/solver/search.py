"""Proof search: is the rest of the round worth at least so many seeds to the player to move?

**Value.** The value of a position is the final count of the player to move minus the opponent's. The
search works with its *rest* R, the value less what is already certain: stores, and the seeds that lie in
owned holes. A turn moves `gain` seeds (twice when they change sides) and hands over, so

    R(position) = max over turns of  gain - R(next)      (gain + R(next) where the opponent passes)

and at the end of a round R is the free seeds in one's territory less those in the opponent's. R has the
parity of the number F of free seeds, so a question "R >= beta?" answered by no means R <= beta - 2. All
searches here ask one such question (a null window); :mod:`mancala_env.solver.exact` asks them in order.
|R| <= F, or 3F where owned holes can lose seeds by ransom (one free seed then moves two).

**Which other positions a proof is valid for.** Two parts of the state hardly ever matter, the stall
counter and how many seeds owned holes hold, so the table leaves them out of its keys, and every proof
carries the conditions under which it holds:

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
other, and stays valid whatever more the holes of the player it is *against* hold and whatever less his own.
What is left are two numbers:

- The *need* is the most ransoms from holes that were not empty that the player it is for has on one of its
  lines. No hole loses more than that. The proof holds if each hole of the other holds as many seeds, or as
  many as here.
- The *drain* is 0 if his own holes are never ransomed while empty; else one more than the most ransoms that
  come before such a one on its line. A hole of his with as many seeds is never found empty. The
  proof holds if each hole with fewer has no more than here. Where the proof has seeds to spare, it counts
  such a ransom as if the hole were full, and no drain arises.

So a proof without drain, whose need is met, is stored for all contents, with the need. Else, if neither
number is more than CAP, it is stored for all contents that are the same up to CAP seeds a hole, and
otherwise for the very contents. In Layli Goobalay the contents never matter. (Measured on Gabata I after 10
random turns: 258 million nodes where each ransom of an empty hole made a proof one for the very contents,
131 with need and drain, 75 with contents up to CAP; caps of 7, 10 and 14 do about equally well, 4 worse.)

A bound from the table enters a proof with the conditions stored beside it, so conditions compose: for
a turn, chain = 0 if the free seeds changed, else 1 + the next position's; need and drain are the next
position's, plus one if the turn ransomed. "At least beta" needs one turn and its conditions, "less" all.

**Giving up and coming back.** One bad turn looked at first, with long cycles behind it, can cost more
than all others together. So a turn is searched with a limit of nodes while there is another one left.
Where that does not suffice the search goes on with the turn that was given up least often, and each
time a turn was given up its limit is four times as high. What was proved on the way stays in the table,
so coming back costs little. How often a question was given up is noted in `attempts`, by position and
beta. (Measured: two fifths of the nodes after 9 to 12 random turns, an eighth in the opening of Layli
Goobalay. It does with alpha-beta what the thresholds of df-pn do with proof numbers, Nagai 2002.)

**Several threads** ask the same question of one table. Each notes the position it is entering in `busy`,
and the others leave that turn for later if there is another (after Kerrigan's simplified ABDADA): what
they find in the table then need not be searched. Now and then a thread looks whether a position on its
own line has been answered by another.

**Resuming.** The kernel keeps its line in arrays instead of recursing and returns after so many nodes;
called again it goes on. A node is a position whose turns were all played out.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.kernel import kernel
from mancala_env.engine.state import _SPREAD as SPREAD
from mancala_env.engine.state import (
    NORTH,
    RUNNING,
    SOUTH,
    STALLED,
    UUR,
    Board,
    Game,
    as_actions,
    load,
    nth_bit,
    num_bits,
    seeds_within,
)
from mancala_env.engine.turn import STALL_LIMIT, legal_holes, play_turn
from mancala_env.solver.table import (
    EXACT_CONTENTS,
    LEAST,
    MOST,
    NO_MOVE,
    U0,
    bits_of,
    entry_of,
)

# Columns of a line's position: words (uint64) and nums (int64).
_LOW, _MIDDLE, _HIGH, _KEY, _EXACT_KEY, _CHECK, _CAPPED_KEY = range(7)
NUM_WORDS = 8
(
    _SOUTH,
    _NORTH,
    _PLAYER,
    _STALL,
    _BETA,
    _BEST,
    _KIDS,
    _AT,
    _CHAIN,
    _NEED,
    _DRAIN,
    _STARTED,
    _LIMIT,
) = range(13)
NUM_NUMS = 16
# Columns of a turn to search: kid_nums (int64); kid_words hold the board and the key after it.
_K_SOUTH, _K_NORTH, _K_PLAYER, _K_STALL, _K_GAIN, _K_HOLE, _K_RANSOM, _K_SCORE, _K_GIVEN_UP = range(9)
NUM_KID_NUMS, NUM_KID_WORDS = 9, 8
# Registers kept between calls: how deep the line is, whether a result is being handed up, the result.
_PLY, _HANDING_UP, ANSWER, _R_CHAIN, _R_NEED, _R_DRAIN, NODES, DONE = range(8)
NUM_REGISTERS = 16

_K1, _K2, _K3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(0xC2B2AE3D27D4EB4F)
_K4, _K5 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_U8, _U29, _U32, _U56, _U63, _U64 = (np.uint64(n) for n in (8, 29, 32, 56, 63, 64))
_ALL_80 = np.uint64(0x8080808080808080)
_ALL_01 = np.uint64(0x0101010101010101)
# Tells the key of proofs for very contents from the key of proofs for all: those of empty holes hash to nothing.
_CONTENTS_ONLY = np.uint64(0x5851F42D4C957F2D)
_RANSOM, _RANSOM_FROM_EMPTY = 1, 2
_NONE = -100_000
_UNLIMITED = 1 << 60
# Nodes a turn is first given; measured: 250 to 1,000 and factors of two and four do about equally well.
_FIRST_LIMIT = 512
_LOG_FACTOR = 2
_MOST_GIVEN_UP = 20
# What having been given up once weighs in the order of turns: more than any gain, less than a thread in it.
_GIVEN_UP_WEIGHT = 2_000
CAP = 8
"""Seeds of an owned hole that proofs may depend on and still be shared; less than EXACT_CONTENTS."""
NUM_ATTEMPTS = 1 << 18
"""Entries of the array `attempts`, 8 bytes each: one question each that was given up."""
# How often a thread looks whether another has answered for a position on its line.
_GLANCE_NODES = 1024


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
    """Under which a proof holds elsewhere; see above. Need and drain are at most EXACT_CONTENTS."""

    chain: Any
    need: Any
    drain: Any


@kernel
def _owned_by(game, player):
    return game.owned_south if player == SOUTH else game.owned_north


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
    """Return the board as North sees it: his row first."""
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
def keys_of(rules, game, seat):
    """Return the Keys of a running game; `seat` tells apart what the mover's view does not."""
    owned = game.owned_south | game.owned_north
    free = _only(game.board, ~owned)
    mine, theirs = game.owned_south, game.owned_north
    if game.player == NORTH:
        free = _rotated(rules, free)
        mine, theirs = as_actions(rules, NORTH, theirs), as_actions(rules, NORTH, mine)
    more = np.uint64(mine | (theirs << 24)) ^ seat
    key, check = _mixed(free, more)
    if rules.landing == UUR or not owned:
        return Keys(key, key, check, key)
    contents = _only(game.board, owned)
    if game.player == NORTH:
        contents = _rotated(rules, contents)
    capped = _mixed(_capped(contents), _U63)[0]
    return Keys(key, key ^ _mixed(contents, U0)[0], check, key ^ capped)


@kernel
def board_key(rules, game):
    """Return a hash of all that a running game's rest depends on, but for territory and seat."""
    return keys_of(rules, game, U0).exact ^ (np.uint64(game.stall) * _K5)


@kernel
def _all_hold(board, bits, need):
    """Tell whether every hole of a set holds at least `need` seeds (at most 14)."""
    least = np.uint64(need) * _ALL_01
    ok = ((board.low | _ALL_80) - least) | ~SPREAD[bits & 0xFF]
    ok &= ((board.middle | _ALL_80) - least) | ~SPREAD[(bits >> 8) & 0xFF]
    ok &= ((board.high | _ALL_80) - least) | ~SPREAD[(bits >> 16) & 0xFF]
    return (ok & _ALL_80) == _ALL_80


@kernel
def _look_up(rules, table, game, keys):
    """Return what the table has proved of a position.

    Returns:
        Lower bound and its Conditions, upper bound and its Conditions, the hole that proved the lower
        bound (NO_MOVE: none).
    """
    start = np.int64(keys.key & np.uint64(len(table) // 8 - 1)) * 8
    lower, upper, move = LEAST, MOST, NO_MOVE
    at_least = Conditions(0, 0, 0)
    at_most = Conditions(0, 0, 0)
    for slot in range(start, start + 8, 2):
        data = table[slot + 1]
        key = table[slot] ^ data
        if key != keys.key and key != keys.capped and key != keys.exact ^ _CONTENTS_ONLY:
            continue
        if data >> _U56 != keys.check:
            continue
        move_here = bits_of(data, 38, 31)
        if move_here != NO_MOVE:
            move = move_here
        mine, theirs = bits_of(data, 48, 15), bits_of(data, 52, 15)
        drain_mine, drain_theirs = 0, 0
        holds_lower, holds_upper = True, True
        # (One empty set of owned holes is like another; and no need, no condition.)
        if key != keys.key:
            drain_mine, drain_theirs = mine, theirs
        elif mine | theirs:
            holds_lower = _all_hold(game.board, _owned_by(game, 1 - game.player), theirs)
            holds_upper = _all_hold(game.board, _owned_by(game, game.player), mine)
        only_stall = bits_of(data, 32, 63)
        if only_stall and only_stall != game.stall + 1:
            continue
        bound, chain = bits_of(data, 0, 1023) - 512, bits_of(data, 20, 63)
        if bound > lower and holds_lower and (only_stall or game.stall + chain < STALL_LIMIT):
            lower = bound
            at_least = Conditions(STALL_LIMIT - game.stall if only_stall else chain, theirs, drain_mine)
        bound, chain = bits_of(data, 10, 1023) - 512, bits_of(data, 26, 63)
        if bound < upper and holds_upper and (only_stall or game.stall + chain < STALL_LIMIT):
            upper = bound
            at_most = Conditions(STALL_LIMIT - game.stall if only_stall else chain, mine, drain_theirs)
    return lower, at_least, upper, at_most, move


@kernel
def _write(rules, table, game, keys, is_lower, bound, conditions, move, work):
    """Store a bound with the conditions of its proof."""
    only_stall = 0
    chain, need, drain = conditions.chain, conditions.need, conditions.drain
    if game.stall + chain >= STALL_LIMIT:
        only_stall, chain = game.stall + 1, 0
    key = keys.key
    against = 1 - game.player if is_lower else game.player
    # A need that was counted to its end may be any greater one: no hole is known to meet it.
    is_met = need < EXACT_CONTENTS and _all_hold(game.board, _owned_by(game, against), need)
    if drain or (need and not is_met):
        key = keys.capped
        if need > CAP or drain > CAP:
            key = keys.exact ^ _CONTENTS_ONLY
            need = drain = EXACT_CONTENTS
    mine, theirs = (drain, need) if is_lower else (need, drain)
    start = np.int64(keys.key & np.uint64(len(table) // 8 - 1)) * 8
    victim, least_work = start, 1000
    lower, upper = LEAST, MOST
    chain_lower, chain_upper = 0, 0
    bound = min(max(bound, LEAST), MOST)
    for slot in range(start, start + 8, 2):
        data = table[slot + 1]
        if table[slot] ^ data == key and data >> _U56 == keys.check and bits_of(data, 32, 63) == only_stall:
            old_mine, old_theirs = bits_of(data, 48, 15), bits_of(data, 52, 15)
            victim = slot
            lower, upper = bits_of(data, 0, 1023) - 512, bits_of(data, 10, 1023) - 512
            chain_lower, chain_upper = bits_of(data, 20, 63), bits_of(data, 26, 63)
            if key != keys.key:
                if (upper if is_lower else lower) != (MOST if is_lower else LEAST):
                    mine, theirs = max(mine, old_mine), max(theirs, old_theirs)
            elif is_lower:
                mine = old_mine
            else:
                theirs = old_theirs
            if move == NO_MOVE:
                move = bits_of(data, 38, 31)
            work = max(work, bits_of(data, 43, 31))
            break
        old_work = bits_of(data, 43, 31)
        if old_work < least_work:
            victim, least_work = slot, old_work
    if is_lower:
        lower, chain_lower = bound, chain
    else:
        upper, chain_upper = bound, chain
    data = entry_of(lower, upper, chain_lower, chain_upper, only_stall, move, work, mine, theirs, keys.check)
    table[victim] = key ^ data
    table[victim + 1] = data


@kernel
def _log2(number):
    """Return the binary logarithm of a positive number, rounded down, at most 31."""
    log = 0
    while number > 1 and log < 31:
        number >>= 1
        log += 1
    return log


@kernel
def _free_margin(rules, game, player):
    """Return the free seeds in a player's territory less those in the opponent's."""
    free = ~(game.owned_south | game.owned_north)
    south = seeds_within(game.board, free & game.territory)
    north = seeds_within(game.board, free & ~game.territory)
    return south - north if player == SOUTH else north - south


@kernel
def _fixed_margin(game, player):
    """Return by how many seeds a player leads in stores and owned holes."""
    south = game.store_south + seeds_within(game.board, game.owned_south)
    north = game.store_north + seeds_within(game.board, game.owned_north)
    return south - north if player == SOUTH else north - south


@kernel
def _most_won(rules, game, player):
    """Return a number of seeds that a player's rest never exceeds, of the parity of the free seeds."""
    free = seeds_within(game.board, ~(game.owned_south | game.owned_north))
    theirs = game.owned_north if player == SOUTH else game.owned_south
    return 3 * free if theirs and rules.landing != UUR else free


@kernel
def _ransom_code(rules, before, after, mover, captured, taken):
    """Return whether a turn ransoms: 0, _RANSOM, or _RANSOM_FROM_EMPTY (perhaps, where none is won so)."""
    theirs = _owned_by(before, 1 - mover)
    if rules.landing == UUR or not theirs or taken:
        return 0
    if captured == 2:
        return _RANSOM
    if captured == 1:
        return _RANSOM_FROM_EMPTY
    if not rules.ransoms_empty and not _all_hold(after.board, theirs, 2):
        return _RANSOM_FROM_EMPTY  # the last seed may have stayed in an empty one
    return 0


@kernel
def _joined(conditions, more):
    """Return the Conditions under which two proofs hold."""
    return Conditions(
        max(conditions.chain, more.chain),
        max(conditions.need, more.need),
        max(conditions.drain, more.drain),
    )


@kernel
def _before(game, is_for_mover, after_stall, ransom, conditions):
    """Return the Conditions of a proof that looks at a turn, given those of its part after the turn."""
    chain = conditions.chain + 1 if after_stall else 0
    need, drain = conditions.need, conditions.drain
    if is_for_mover and ransom == _RANSOM:
        need = min(need + 1, EXACT_CONTENTS)
    if not is_for_mover:
        if ransom and drain:
            drain = min(drain + 1, EXACT_CONTENTS)
        if ransom == _RANSOM_FROM_EMPTY:
            drain = max(drain, 1)
    is_for = game.player if is_for_mover else 1 - game.player
    return Conditions(
        chain,
        need if _owned_by(game, 1 - is_for) else 0,
        drain if _owned_by(game, is_for) else 0,
    )


@kernel
def _as_if_full(rules, worth, ransom, beta):
    """Let the ransom of an empty hole win as much as of a full one, where a turn is worth too little even so.

    Returns:
        What the turn is worth then, and the ransom code that is left.
    """
    more = 2 if rules.ransoms_empty else 4
    if ransom == _RANSOM_FROM_EMPTY and worth + more < beta:
        return worth + more, 0
    return worth, ransom


@kernel
def as_actions_hole(rules, player, hole):
    """Return a hole as seen from a player."""
    if player == SOUTH:
        return hole
    return hole - rules.width if hole >= rules.width else hole + rules.width


@kernel
def _seat_of(seats, player):
    return seats[0] if player == SOUTH else seats[1]


@kernel
def _line_game(words, nums, ply, territory):
    """Return the position at a ply of the line."""
    return Game(
        Board(words[ply, _LOW], words[ply, _MIDDLE], words[ply, _HIGH]),
        nums[ply, _SOUTH],
        nums[ply, _NORTH],
        0,
        0,
        nums[ply, _PLAYER],
        nums[ply, _STALL],
        RUNNING,
        territory,
        1,
        0,
        0,
        0,
    )


@kernel
def _set_line(words, nums, ply, game, keys, beta):
    words[ply, _LOW] = game.board.low
    words[ply, _MIDDLE] = game.board.middle
    words[ply, _HIGH] = game.board.high
    words[ply, _KEY] = keys.key
    words[ply, _EXACT_KEY] = keys.exact
    words[ply, _CHECK] = keys.check
    words[ply, _CAPPED_KEY] = keys.capped
    nums[ply, _SOUTH] = game.owned_south
    nums[ply, _NORTH] = game.owned_north
    nums[ply, _PLAYER] = game.player
    nums[ply, _STALL] = game.stall
    nums[ply, _BETA] = beta


@kernel
def _kid_game(kid_words, kid_nums, ply, kid, territory):
    return Game(
        Board(kid_words[ply, kid, 0], kid_words[ply, kid, 1], kid_words[ply, kid, 2]),
        kid_nums[ply, kid, _K_SOUTH],
        kid_nums[ply, kid, _K_NORTH],
        0,
        0,
        kid_nums[ply, kid, _K_PLAYER],
        kid_nums[ply, kid, _K_STALL],
        RUNNING,
        territory,
        1,
        0,
        0,
        0,
    )


@kernel
def start(rules, games, b, seats, words, nums, registers, beta):
    """Set up the question "R >= beta?" for row b of a games array."""
    game = load(games, b)
    keys = keys_of(rules, game, _seat_of(seats, game.player))
    _set_line(words, nums, 0, game, keys, beta)
    nums[0, _LIMIT] = _UNLIMITED
    registers[_PLY] = 0
    registers[_HANDING_UP] = 0
    registers[DONE] = 0


@kernel
def known(rules, games, b, seats, table):
    """Return what the table has of row b: lower and upper bound of R, and a good action or NO_MOVE."""
    game = load(games, b)
    keys = keys_of(rules, game, _seat_of(seats, game.player))
    lower, _, upper, _, move = _look_up(rules, table, game, keys)
    return lower, upper, move


@kernel
def fixed_margin(games, b):
    """Return by how many seeds the player to move leads in stores and owned holes."""
    game = load(games, b)
    return _fixed_margin(game, game.player)


@kernel
def _attempt(exact_key, beta):
    """Return a hash of a question, its lowest six bits zero."""
    word = (exact_key ^ np.uint64(beta + 1024)) * _K2
    return (word ^ (word >> _U32)) & ~_U63


@kernel
def _place_of(attempts, attempt):
    return np.int64((attempt >> _U8) & np.uint64(len(attempts) - 1))


@kernel
def _times_given_up(attempts, exact_key, beta):
    """Return how often a question was given up, as far as it is remembered."""
    attempt = _attempt(exact_key, beta)
    entry = attempts[_place_of(attempts, attempt)]
    return np.int64(entry & _U63) if (entry & ~_U63) == attempt else 0


@kernel
def search(
    rules, territory, seats, table, attempts, busy, words, nums, kid_words, kid_nums, registers, num_nodes
):
    """Go on with a question until it is answered or so many nodes were searched.

    `attempts` is uint64 `[NUM_ATTEMPTS]`, kept as long as the table. `busy` is uint64, a power of two of
    words shared by all threads; a single one: there are no others. Afterwards ``registers[DONE]`` tells
    whether it is answered, and ``registers[ANSWER]`` holds the answer: R is at least that if it is at least
    beta, else at most that.
    """
    ply = registers[_PLY]
    handing_up = registers[_HANDING_UP]
    value = registers[ANSWER]
    conditions = Conditions(registers[_R_CHAIN], registers[_R_NEED], registers[_R_DRAIN])
    nodes = registers[NODES]
    last_node = nodes + num_nodes
    next_glance = nodes + _GLANCE_NODES
    together = len(busy) > 1
    done = 0
    while True:
        if not handing_up:
            if nodes >= last_node:
                break
            if together and nodes >= next_glance:
                next_glance = nodes + _GLANCE_NODES
                for above in range(ply):
                    game = _line_game(words, nums, above, territory)
                    keys = Keys(
                        words[above, _KEY],
                        words[above, _EXACT_KEY],
                        words[above, _CHECK],
                        words[above, _CAPPED_KEY],
                    )
                    lower, _, upper, _, _ = _look_up(rules, table, game, keys)
                    if lower >= nums[above, _BETA] or upper < nums[above, _BETA]:
                        ply = above
                        break
            # Is the answer known?
            game = _line_game(words, nums, ply, territory)
            beta = nums[ply, _BETA]
            keys = Keys(words[ply, _KEY], words[ply, _EXACT_KEY], words[ply, _CHECK], words[ply, _CAPPED_KEY])
            lower, at_least, upper, at_most, hint = _look_up(rules, table, game, keys)
            if lower >= beta:
                value, conditions, handing_up = lower, at_least, 1
                continue
            if upper < beta:
                value, conditions, handing_up = upper, at_most, 1
                continue
            # Play every turn. Most gain first, then fewest replies (measured: a third fewer nodes).
            nodes += 1
            mover = game.player
            fixed = _fixed_margin(game, mover)
            best = _NONE
            conditions = Conditions(0, 0, 0)
            kids = 0
            proved = NO_MOVE
            holes = legal_holes(rules, game)
            while holes:
                hole = nth_bit(holes, 0)
                holes &= holes - 1
                after, _, captured, taken = play_turn(rules, game, hole)
                gain = _fixed_margin(after, mover) - fixed
                ransom = _ransom_code(rules, game, after, mover, captured, taken)
                least, most, chain = gain, gain, 0
                if after.end != RUNNING:
                    least += _free_margin(rules, after, mover)
                    most = least
                    if after.end == STALLED:
                        chain = STALL_LIMIT - game.stall
                else:
                    least -= _most_won(rules, after, 1 - mover)
                    most += _most_won(rules, after, mover)
                if least >= beta:
                    here = _before(game, True, 0, ransom, Conditions(0, 0, 0))
                    best, conditions = least, Conditions(chain, here.need, here.drain)
                    proved = as_actions_hole(rules, mover, hole)
                    break
                if most < beta:
                    worth, needs = _as_if_full(rules, most, ransom, beta)
                    here = _before(game, False, 0, needs, Conditions(0, 0, 0))
                    best = max(best, worth)
                    conditions = _joined(conditions, Conditions(chain, here.need, here.drain))
                    continue
                kid_words[ply, kids, 0] = after.board.low
                kid_words[ply, kids, 1] = after.board.middle
                kid_words[ply, kids, 2] = after.board.high
                kid_nums[ply, kids, _K_SOUTH] = after.owned_south
                kid_nums[ply, kids, _K_NORTH] = after.owned_north
                kid_nums[ply, kids, _K_PLAYER] = after.player
                kid_nums[ply, kids, _K_STALL] = after.stall
                kid_nums[ply, kids, _K_GAIN] = gain
                kid_nums[ply, kids, _K_HOLE] = as_actions_hole(rules, mover, hole)
                kid_nums[ply, kids, _K_RANSOM] = ransom
                replies = num_bits(legal_holes(rules, after))
                kid_nums[ply, kids, _K_SCORE] = 4 * gain + (
                    -2 * replies if after.player != mover else 2 * replies
                )
                kids += 1
            # What does the table know of the positions after them?
            left = 0
            if proved == NO_MOVE:
                for kid in range(kids):
                    after = _kid_game(kid_words, kid_nums, ply, kid, territory)
                    gain = kid_nums[ply, kid, _K_GAIN]
                    ransom = kid_nums[ply, kid, _K_RANSOM]
                    kid_keys = keys_of(rules, after, _seat_of(seats, after.player))
                    lower, at_least, upper, at_most, _ = _look_up(rules, table, after, kid_keys)
                    if after.player != mover:
                        lower, upper = gain - upper, gain - lower
                        at_least, at_most = at_most, at_least
                    else:
                        lower, upper = gain + lower, gain + upper
                    if lower >= beta:
                        proved = kid_nums[ply, kid, _K_HOLE]
                        best = lower
                        conditions = _before(game, True, after.stall, ransom, at_least)
                        break
                    if upper < beta:
                        worth, needs = _as_if_full(rules, upper, ransom, beta)
                        here = _before(game, False, after.stall, needs, at_most)
                        best, conditions = max(best, worth), _joined(conditions, here)
                        continue
                    if kid_nums[ply, kid, _K_HOLE] == hint:
                        kid_nums[ply, kid, _K_SCORE] += 1000
                    kid_beta = gain - beta + 2 if after.player != mover else beta - gain
                    kid_nums[ply, kid, _K_GIVEN_UP] = _times_given_up(attempts, kid_keys.exact, kid_beta)
                    kid_words[ply, kid, 3] = kid_keys.key
                    kid_words[ply, kid, 4] = kid_keys.exact
                    kid_words[ply, kid, 6] = kid_keys.capped
                    kid_words[ply, kid, 5] = kid_keys.check
                    if left != kid:
                        for i in range(7):
                            kid_words[ply, left, i] = kid_words[ply, kid, i]
                        for i in range(NUM_KID_NUMS):
                            kid_nums[ply, left, i] = kid_nums[ply, kid, i]
                    left += 1
            if proved != NO_MOVE or left == 0:
                _write(rules, table, game, keys, proved != NO_MOVE, best, conditions, proved, 0)
                value, handing_up = best, 1
                continue
            nums[ply, _BEST] = best
            nums[ply, _KIDS] = left
            nums[ply, _AT] = -1
            nums[ply, _CHAIN] = conditions.chain
            nums[ply, _NEED] = conditions.need
            nums[ply, _DRAIN] = conditions.drain
            nums[ply, _STARTED] = nodes
        else:
            if ply == 0:
                done = 1
                break
            # One turn's answer has come up.
            if together:
                place = np.int64(words[ply, _EXACT_KEY] & np.uint64(len(busy) - 1))
                if busy[place] == words[ply, _EXACT_KEY]:
                    busy[place] = U0
            ply -= 1
            game = _line_game(words, nums, ply, territory)
            beta = nums[ply, _BETA]
            kid = nums[ply, _AT]
            player = kid_nums[ply, kid, _K_PLAYER]
            gain = kid_nums[ply, kid, _K_GAIN]
            worth = gain - value if player != game.player else gain + value
            ransom, stall = kid_nums[ply, kid, _K_RANSOM], kid_nums[ply, kid, _K_STALL]
            keys = Keys(words[ply, _KEY], words[ply, _EXACT_KEY], words[ply, _CHECK], words[ply, _CAPPED_KEY])
            work = _log2(nodes - nums[ply, _STARTED] + 1)
            if worth >= beta:
                here = _before(game, True, stall, ransom, conditions)
                _write(rules, table, game, keys, True, worth, here, kid_nums[ply, kid, _K_HOLE], work)
                value, conditions = worth, here
                continue
            worth, needs = _as_if_full(rules, worth, ransom, beta)
            best = max(nums[ply, _BEST], worth)
            here = _before(game, False, stall, needs, conditions)
            here = _joined(here, Conditions(nums[ply, _CHAIN], nums[ply, _NEED], nums[ply, _DRAIN]))
            if kid + 1 == nums[ply, _KIDS]:
                _write(rules, table, game, keys, False, best, here, NO_MOVE, work)
                value, conditions = best, here
                continue
            nums[ply, _BEST] = best
            nums[ply, _CHAIN] = here.chain
            nums[ply, _NEED] = here.need
            nums[ply, _DRAIN] = here.drain
            handing_up = 0
        if nodes >= nums[ply, _LIMIT]:
            # Too long in one place: go back to where there is another turn, and note what was given up.
            given_up = ply
            while nodes >= nums[given_up - 1, _LIMIT]:
                given_up -= 1
            if together:
                for above in range(given_up, ply + 1):
                    place = np.int64(words[above, _EXACT_KEY] & np.uint64(len(busy) - 1))
                    if busy[place] == words[above, _EXACT_KEY]:
                        busy[place] = U0
            ply = given_up - 1
            kid = nums[ply, _AT]
            times = min(kid_nums[ply, kid, _K_GIVEN_UP] + 1, _MOST_GIVEN_UP)
            kid_nums[ply, kid, _K_GIVEN_UP] = times
            attempt = _attempt(words[given_up, _EXACT_KEY], nums[given_up, _BETA])
            attempts[_place_of(attempts, attempt)] = attempt | np.uint64(times)
            nums[ply, _AT] = kid - 1
        # The most promising turn that is left comes next.
        kid = nums[ply, _AT] + 1
        pick, best_score = kid, 2 * _NONE
        for other in range(kid, nums[ply, _KIDS]):
            score = kid_nums[ply, other, _K_SCORE] - _GIVEN_UP_WEIGHT * kid_nums[ply, other, _K_GIVEN_UP]
            if together and kid > 0:
                place = np.int64(kid_words[ply, other, 4] & np.uint64(len(busy) - 1))
                if busy[place] == kid_words[ply, other, 4]:
                    score += _NONE
            if score > best_score:
                pick, best_score = other, score
        if pick != kid:
            for i in range(7):
                word = kid_words[ply, kid, i]
                kid_words[ply, kid, i] = kid_words[ply, pick, i]
                kid_words[ply, pick, i] = word
            for i in range(NUM_KID_NUMS):
                number = kid_nums[ply, kid, i]
                kid_nums[ply, kid, i] = kid_nums[ply, pick, i]
                kid_nums[ply, pick, i] = number
        nums[ply, _AT] = kid
        after = _kid_game(kid_words, kid_nums, ply, kid, territory)
        gain = kid_nums[ply, kid, _K_GAIN]
        beta = nums[ply, _BETA]
        keys = Keys(
            kid_words[ply, kid, 3], kid_words[ply, kid, 4], kid_words[ply, kid, 5], kid_words[ply, kid, 6]
        )
        flips = after.player != nums[ply, _PLAYER]
        if together:
            busy[np.int64(keys.exact & np.uint64(len(busy) - 1))] = keys.exact
        limit = nums[ply, _LIMIT]
        if kid + 1 < nums[ply, _KIDS]:
            times = kid_nums[ply, kid, _K_GIVEN_UP]
            limit = min(limit, nodes + (_FIRST_LIMIT << (_LOG_FACTOR * times)))
        ply += 1
        nums[ply, _LIMIT] = limit
        _set_line(words, nums, ply, after, keys, gain - beta + 2 if flips else beta - gain)
    registers[_PLY] = ply
    registers[_HANDING_UP] = handing_up
    registers[ANSWER] = value
    registers[_R_CHAIN] = conditions.chain
    registers[_R_NEED] = conditions.need
    registers[_R_DRAIN] = conditions.drain
    registers[NODES] = nodes
    registers[DONE] = done
