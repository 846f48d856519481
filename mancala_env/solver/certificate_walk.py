"""The walk through a proof of a round's value, in kernels; :mod:`mancala_env.solver.certificate` runs it.

``docs/reference/proofs.md`` defines the walk and its accounts, and says why it proves the claim. In the
accounts the prover's store is everything that the prover got, seeds in owned holes included. The opponent's
store is empty. Owned holes contain a level, at most `cap`, instead of their seeds.

A *result* is 1 (the prover gets `need` seeds), -1 (the prover does not), or 0 (unknown). Two tables keep
results. Both have whole positions as keys: board with levels, owned holes, player to move and stall
counter. So a match is never false. A value in a table is the number of seeds that the prover still
gets, or does not get, on top of the seeds got so far.

- `table` has the proved positions with more than `leaf` free seeds. No entry is ever lost, because the
  reading of the stream depends on them.
- `leaves` has results of a plain search of smaller positions. New entries replace old ones. A lost entry
  costs time only.

The positions from the start to the current one are the *line*. Each has a frame: its own row of the arrays,
then a row for each of its turns. The line is in arrays, not on a call stack. So the kernel can return at any
position, and resume when called again: after a number of steps, to let the caller enlarge the table, or to
let the caller add a byte to the stream. A generator of proofs is a caller that adds bytes.

Symbols: H holes, P the longest line.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.board import emptied, nth_bit, seeds_in, seeds_within, with_added
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    ENDLESS,
    NUM_COLUMNS,
    RUNNING,
    SOUTH,
    UUR,
    Game,
    load,
    owned_by,
    save,
    store_of,
    territory_of,
)
from mancala_env.engine.turn import legal_holes, play_turn, sow_laps
from mancala_env.rulesets import Ruleset

# Columns of a row's numbers. A turn has a result, a hole and a score; a position the rest.
RESULT, HOLE, SCORE, TURNS, AT, IS_LEAF, HAS_CHOSEN = range(7)
NUM_NUMS = 7
# Registers: the state of the walk, and counts.
PLY, STAGE, FOUND, STATUS, BYTES_READ, USED, VISITED, SEARCHED = range(8)
NUM_REGISTERS = 8
_START, _ENTER, _CHOOSE, _BACK, _LEAVE = range(5)
PAUSED, DONE, NEEDS_BYTE, NEEDS_ROOM, NO_SUCH_TURN, REFUTED = range(6)
"""Values of the register STATUS, the reason why :func:`walk` returned."""

_NO_ROW, _ASK = -1, -2
# The third word of an entry: 55 bits of the position, and the value + 256 (0: a free slot).
VALUE_SHIFT, VALUE_BIAS = np.uint64(55), 256
_POSITION_BITS = np.uint64((1 << 55) - 1)
_K1, _K2, _K3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(0xC2B2AE3D27D4EB4F)
_U0, _U16, _U29, _U32 = (np.uint64(n) for n in (0, 16, 29, 32))
_BITS_9 = np.uint64(511)
_MOST_LOAD_TENTHS = 7


class Claim(NamedTuple):
    """What a proof shows, all int64."""

    prover: Any  # the player whom the proof is for
    need: Any  # they get at least this number of seeds
    cap: Any  # largest level of an owned hole; `total` or more: levels are the seeds
    leaf: Any  # most free seeds of a position that is searched instead of proved
    total: Any  # all seeds


class Line(NamedTuple):
    """Arrays of a walk."""

    # uint64 `[P * (1 + H), NUM_COLUMNS]`, for each frame its position and the positions after its turns
    games: Any
    nums: Any  # int64 `[P * (1 + H), NUM_NUMS]`, the numbers of these rows
    registers: Any  # int64 `[NUM_REGISTERS]`, the state of the walk
    leaves: Any  # uint64 `[2**n, 5]`, results of small positions


def new_line(ruleset: Ruleset, num_leaves: int) -> Line:
    """Allocate the arrays of a walk."""
    rows = (ruleset.max_turns + 2) * (1 + ruleset.num_holes)
    return Line(
        games=np.zeros((rows, NUM_COLUMNS), np.uint64),
        nums=np.zeros((rows, NUM_NUMS), np.int64),
        registers=np.zeros(NUM_REGISTERS, np.int64),
        leaves=new_leaves(num_leaves),
    )


def new_leaves(size: int) -> np.ndarray:
    """Allocate an empty table of a power of two of small positions."""
    return np.zeros((size, 5), np.uint64)


def new_table(ruleset: Ruleset, size: int) -> np.ndarray:
    """Allocate an empty table of a power of two of entries, of 24 or 32 bytes each."""
    return np.zeros((size, 3 if ruleset.num_holes <= 16 else 4), np.uint64)


@kernel
def free_seeds(game):
    """Return the free seeds of both players."""
    return seeds_within(game.board, ~(game.owned_south | game.owned_north))


@kernel
def count_now(rules, claim, game):
    """Return what the prover has if the round ends here."""
    free = territory_of(rules, game, claim.prover) & ~(game.owned_south | game.owned_north)
    return store_of(game, claim.prover) + seeds_within(game.board, free)


@kernel
def start(claim, line, games):
    """Begin a walk at row 0 of `games`: put its accounts into the first frame."""
    game = load(games, 0)
    got = store_of(game, claim.prover) + seeds_within(game.board, owned_by(game, claim.prover))
    save(line.games, 0, _with_accounts(claim, game, game.board, got))
    for i in range(len(line.registers)):
        line.registers[i] = 0


@kernel
def _with_accounts(claim, game, board, got):
    """Return the game with what the prover `got` as their store, and with at most `cap` in owned holes."""
    owned = game.owned_south | game.owned_north
    while owned:
        hole = nth_bit(owned, 0)
        owned &= owned - 1
        if seeds_in(board, hole) > np.uint64(claim.cap):
            board = with_added(emptied(board, hole), hole, np.uint64(claim.cap))
    south = claim.prover == SOUTH
    # Fields 3 and 4 are the stores. numba slices a tuple at literal numbers only.
    return Game(
        board, game.owned_south, game.owned_north, got if south else 0, 0 if south else got, *game[5:]
    )


@kernel
def play_in_accounts(rules, claim, game, hole):
    """Play a turn in the accounts of the prover ("The accounts" in the format's page)."""
    mover, prover = game.player, claim.prover
    after, _, captured, taken = play_turn(rules, game, hole)
    got = store_of(game, prover)
    if after.end == ENDLESS:
        return after
    if rules.landing == UUR:
        if mover == prover:
            got += captured + seeds_within(after.board, taken)
        got += seeds_within(after.board, owned_by(game, prover))  # (their levels were 0)
        return _with_accounts(claim, after, after.board, got)
    if mover == prover:
        got += seeds_within(after.board, taken)
    mine, theirs = owned_by(game, prover), owned_by(game, 1 - mover)
    board = after.board
    if theirs and (captured or not rules.ransoms_empty):
        sown_board, last, before, _ = sow_laps(rules, game, hole)
        if (theirs >> last) & 1:
            # The seeds that fell, without the last one; then the ransom.
            board = with_added(emptied(sown_board, last), last, before)
            got += seeds_within(board, mine) - seeds_within(game.board, mine)
            level = min(np.int64(before), claim.cap)
            won, level = _ransom(rules, claim, mover == prover, level)
            board = with_added(emptied(board, last), last, np.uint64(level))
            return _with_accounts(claim, after, board, got + won)
    got += seeds_within(board, mine) - seeds_within(game.board, mine)
    return _with_accounts(claim, after, board, got)


@kernel
def _ransom(rules, claim, is_provers, level):
    """Return what the prover wins by a last seed in the other player's owned hole, and its next level."""
    if is_provers:
        if level > 0:
            return 2, level - 1
        if rules.ransoms_empty:
            return 1, 0
        return 0, 1 if claim.cap >= claim.total else 0
    if level == claim.cap:
        return -1, level
    if level > 0:
        return -1, level - 1
    return (0, 0) if rules.ransoms_empty else (1, 1)


@kernel
def certain_result(rules, claim, game):
    """Return the result of a position that needs no proof, or 0."""
    if game.end != RUNNING:
        return 1 if count_now(rules, claim, game) >= claim.need else -1
    got, left = store_of(game, claim.prover), free_seeds(game)
    least, most = got, got + left
    if rules.landing != UUR:  # each ransom uses up a free seed, and takes at most one more
        if owned_by(game, claim.prover):
            least -= left
        if owned_by(game, 1 - claim.prover):
            most += left
    if least >= claim.need:
        return 1
    return -1 if most < claim.need else 0


@kernel
def word_of(game):
    """Return 55 bits of the key of a position; the others are its board."""
    return np.uint64(game.owned_south | (game.owned_north << 24) | (game.player << 48) | (game.stall << 49))


@kernel
def hash_of(low, middle, high, word):
    """Return a hash of a board's words and of one more."""
    mixed = low * _K1
    mixed ^= mixed >> _U29
    mixed = (mixed ^ middle) * _K2
    mixed ^= mixed >> _U32
    mixed = (mixed ^ high) * _K3
    mixed ^= mixed >> _U29
    mixed = (mixed ^ word) * _K1
    return mixed ^ (mixed >> _U32)


@kernel
def _slot_of(table, low, middle, high, word):
    """Return the slot of a position in the table, or the free slot for it."""
    last = len(table) - 1
    slot = np.int64(hash_of(low, middle, high, word) & np.uint64(last))
    while True:
        kept = table[slot, 2]
        if kept >> VALUE_SHIFT == _U0:
            return slot
        same = (kept & _POSITION_BITS) == word and table[slot, 0] == low and table[slot, 1] == middle
        if same and (table.shape[1] < 4 or table[slot, 3] == high):
            return slot
        slot = (slot + 1) & last


@kernel
def _leaf_slot_of(leaves, board, word):
    """Return the only slot for a small position, and whether the position is in it."""
    at = np.int64(hash_of(board.low, board.middle, board.high, word) & np.uint64(len(leaves) - 1))
    same = leaves[at, 0] == board.low and leaves[at, 1] == board.middle and leaves[at, 3] == board.high
    return at, same and leaves[at, 2] == word and leaves[at, 4] != _U0


@kernel
def looked_up(rules, claim, line, table, game):
    """Return the result of a position without a walk or a search."""
    result = certain_result(rules, claim, game)
    if result != 0:
        return result
    board, word = game.board, word_of(game)
    missing = claim.need - store_of(game, claim.prover)
    if free_seeds(game) > claim.leaf:
        slot = _slot_of(table, board.low, board.middle, board.high, word)
        kept = np.int64(table[slot, 2] >> VALUE_SHIFT)
        return 1 if kept and kept - VALUE_BIAS >= missing else 0
    slot, is_in = _leaf_slot_of(line.leaves, board, word)
    if not is_in:
        return 0
    proved = np.int64(line.leaves[slot, 4] & _BITS_9)
    refuted = np.int64(line.leaves[slot, 4] >> _U16)
    if proved and proved - VALUE_BIAS >= missing:
        return 1
    return -1 if refuted and refuted - VALUE_BIAS <= missing else 0


@kernel
def _keep(rules, claim, line, table, game):
    """Write a proved position into the table."""
    board, word = game.board, word_of(game)
    slot = _slot_of(table, board.low, board.middle, board.high, word)
    if table[slot, 2] == _U0:
        line.registers[USED] += 1
    table[slot, 0] = board.low
    table[slot, 1] = board.middle
    if table.shape[1] == 4:
        table[slot, 3] = board.high
    value = claim.need - store_of(game, claim.prover) + VALUE_BIAS
    table[slot, 2] = word | (np.uint64(value) << VALUE_SHIFT)


@kernel
def keep_leaf(rules, claim, line, game, result):
    """Write the result of a small position into its slot."""
    board, word = game.board, word_of(game)
    slot, is_in = _leaf_slot_of(line.leaves, board, word)
    leaves = line.leaves
    value = np.uint64(claim.need - store_of(game, claim.prover) + VALUE_BIAS)
    before = leaves[slot, 4] if is_in else _U0
    leaves[slot, 0], leaves[slot, 1], leaves[slot, 3] = board.low, board.middle, board.high
    leaves[slot, 2] = word
    if result > 0:
        leaves[slot, 4] = (before & ~_BITS_9) | value
    else:
        leaves[slot, 4] = (before & _BITS_9) | (value << _U16)


@kernel
def grow(table, larger):
    """Copy all entries into a larger empty table."""
    for i in range(len(table)):
        if table[i, 2] == _U0:
            continue
        high = table[i, 3] if table.shape[1] == 4 else _U0
        slot = _slot_of(larger, table[i, 0], table[i, 1], high, table[i, 2] & _POSITION_BITS)
        for j in range(table.shape[1]):
            larger[slot, j] = table[i, j]


@kernel
def _expand(rules, claim, line, table, first, game):
    """Play every turn and look up the positions after them; return 1 or -1 if one decides, else 0."""
    wanted = 1 if game.player == claim.prover else -1
    holes = legal_holes(rules, game)
    row = first
    while holes:
        hole = nth_bit(holes, 0)
        holes &= holes - 1
        row += 1
        after = play_in_accounts(rules, claim, game, hole)
        result = looked_up(rules, claim, line, table, after)
        if result == wanted:
            return wanted
        save(line.games, row, after)
        line.nums[row, RESULT] = result
        line.nums[row, HOLE] = hole
        line.nums[row, SCORE] = wanted * count_now(rules, claim, after)
        line.nums[row, IS_LEAF] = 1 if free_seeds(after) <= claim.leaf else 0
    line.nums[first, TURNS] = row - first
    line.nums[first, HAS_CHOSEN] = 0
    return 0


@kernel
def _next_turn(line, first, is_provers):
    """Return the row of the next turn to follow, _NO_ROW, or _ASK if the stream has to name a turn."""
    nums = line.nums
    turns = nums[first, TURNS]
    best = _NO_ROW
    for row in range(first + 1, first + 1 + turns):
        if nums[row, RESULT] != 0:
            continue
        if nums[first, IS_LEAF]:
            if best == _NO_ROW or nums[row, SCORE] > nums[best, SCORE]:
                best = row
        elif not is_provers or nums[row, IS_LEAF]:
            return row
    if nums[first, IS_LEAF] or not is_provers or nums[first, HAS_CHOSEN]:
        return best
    nums[first, HAS_CHOSEN] = 1
    return first + 1 if turns == 1 else _ASK


@kernel
def walk(rules, claim, line, table, stream, stream_length, num_steps):
    """Resume a walk until its end, a missing byte, a full table or `num_steps` steps.

    `stream` is uint8 `[S]`, of which the first `stream_length` bytes are there. ``registers[STATUS]`` is the
    reason for the return.
    """
    registers = line.registers
    ply, stage, result = registers[PLY], registers[STAGE], registers[FOUND]
    status = PAUSED
    stride = 1 + 2 * rules.width
    most_used = len(table) // 10 * _MOST_LOAD_TENTHS
    steps = 0
    while True:
        first = ply * stride
        game = load(line.games, first)
        wanted = 1 if game.player == claim.prover else -1
        if stage == _START:
            result = looked_up(rules, claim, line, table, game)
            if result != 0:
                status = DONE if result > 0 else REFUTED
                break
            line.nums[first, IS_LEAF] = 1 if free_seeds(game) <= claim.leaf else 0
            stage = _ENTER
        elif stage == _ENTER:
            # 1. Play every turn.
            if steps >= num_steps:
                break
            if registers[USED] >= most_used:
                status = NEEDS_ROOM
                break
            steps += 1
            registers[SEARCHED if line.nums[first, IS_LEAF] else VISITED] += 1
            result = _expand(rules, claim, line, table, first, game)
            stage = _LEAVE if result != 0 else _CHOOSE
        elif stage == _CHOOSE:
            # 2. Find the next turn to follow.
            row = _next_turn(line, first, wanted > 0)
            if row == _ASK:
                if registers[BYTES_READ] >= stream_length:
                    line.nums[first, HAS_CHOSEN] = 0
                    status = NEEDS_BYTE
                    break
                chosen = np.int64(stream[registers[BYTES_READ]])
                registers[BYTES_READ] += 1
                if chosen >= line.nums[first, TURNS]:
                    status = NO_SUCH_TURN
                    break
                row = first + 1 + chosen
            if row == _NO_ROW:
                result, stage = -wanted, _LEAVE
                continue
            line.nums[first, AT] = row
            after = load(line.games, row)
            result = line.nums[row, RESULT]
            if result == 0:
                result = looked_up(rules, claim, line, table, after)
            stage = _BACK
            if result == 0:
                ply += 1
                save(line.games, ply * stride, after)
                line.nums[ply * stride, IS_LEAF] = line.nums[row, IS_LEAF]
                stage = _ENTER
        elif stage == _BACK:
            # 3. Use the result of the turn.
            line.nums[line.nums[first, AT], RESULT] = result
            stage = _LEAVE if result == wanted else _CHOOSE
        else:
            # 4. Keep the result of the position, and go back.
            is_leaf = line.nums[first, IS_LEAF]
            if result < 0 and (ply == 0 or not is_leaf):
                status = REFUTED
                break
            if is_leaf:
                keep_leaf(rules, claim, line, game, result)
            else:
                _keep(rules, claim, line, table, game)
            if ply == 0:
                status = DONE
                break
            ply -= 1
            stage = _BACK
    registers[PLY], registers[STAGE], registers[FOUND], registers[STATUS] = ply, stage, result, status
